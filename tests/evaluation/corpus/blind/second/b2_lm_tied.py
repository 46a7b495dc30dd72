"""GRU language model with the output layer tied to the input embedding."""
import torch
from torch import nn
import torch.nn.functional as F

META = {
    "id": "b2_lm_tied",
    "source": "own experience (weights tied, then a module re-created by the initialisation)",
    "roots": ["tied-weights-broken"],
    "description": "tie_weights copies the embedding into the decoder instead of sharing it: two tensors are trained where one was meant",
    "location": "decoder.weight / encoder.weight",
    "shows_in": "wiring",
}
VOCAB, DIM, LENGTH = 32, 48, 16


class TiedLM(nn.Module):
    def __init__(self, tie_weights=True, fixed=False):
        super().__init__()
        self.encoder = nn.Embedding(VOCAB, DIM)
        self.rnn = nn.GRU(DIM, DIM, batch_first=True)
        self.decoder = nn.Linear(DIM, VOCAB)
        nn.init.normal_(self.encoder.weight, std=0.1)
        nn.init.zeros_(self.decoder.bias)
        if tie_weights:
            self.tie_weights(fixed)

    def tie_weights(self, fixed):
        if fixed:
            self.decoder.weight = self.encoder.weight
        else:
            self.decoder.weight.data = self.encoder.weight.data.clone()

    def forward(self, ids):
        out, _ = self.rnn(self.encoder(ids))
        return self.decoder(out)


def make_data(n_batches=6, batch_size=16):
    table = torch.randint(0, VOCAB, (VOCAB, 2))
    data = []
    for _ in range(n_batches):
        seq = [torch.randint(0, VOCAB, (batch_size,))]
        style = torch.randint(0, 2, (batch_size,))
        for _ in range(LENGTH):
            seq.append((table[seq[-1], style] + 1) % VOCAB)
        data.append(torch.stack(seq, 1))
    return data


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    data = make_data()
    model = TiedLM(fixed=fixed)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)

    def loss(model, batch):
        logits = model(batch[:, :-1])
        return F.cross_entropy(logits.flatten(0, 1), batch[:, 1:].flatten())

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
