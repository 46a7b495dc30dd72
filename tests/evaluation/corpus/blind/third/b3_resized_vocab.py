"""GRU language model with tied embeddings; a few special tokens are added to the vocabulary."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "b3_resized_vocab",
    "source": "CASES.md E stackoverflow 34900246 (incorrect state sharing); own experience (resize after tying)",
    "roots": ["tied-weights-broken"],
    "description": "resizing makes a new output matrix as a copy of the embedding: input and output weights are no longer one tensor",
    "location": "GRULM.resize: self.out.weight",
    "shows_in": "wiring",
}


class GRULM(nn.Module):
    def __init__(self, vocab, dim=48):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        nn.init.normal_(self.embed.weight, std=0.1)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.out = nn.Linear(dim, vocab)
        self.out.weight = self.embed.weight

    def resize(self, vocab, tie):
        old = self.embed.weight.data
        weight = 0.1 * torch.randn(vocab, old.shape[1])
        weight[: len(old)] = old
        self.embed = nn.Embedding.from_pretrained(weight, freeze=False)
        self.out = nn.Linear(old.shape[1], vocab)
        if tie:
            self.out.weight = self.embed.weight
        else:
            self.out.weight = nn.Parameter(self.embed.weight.detach().clone())

    def forward(self, x):
        h, _ = self.rnn(self.embed(x))
        return self.out(h)


def make_data(g, vocab, n_batches=8, batch=16, length=14):
    follow = torch.randperm(vocab, generator=g)
    data = []
    for _ in range(n_batches):
        seq = torch.zeros(batch, length + 1, dtype=torch.long)
        seq[:, 0] = torch.randint(0, vocab, (batch,), generator=g)
        for t in range(length):
            seq[:, t + 1] = follow[seq[:, t]]
        data.append(seq)
    return data


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 18)
    model = GRULM(vocab=36)
    model.resize(40, tie=fixed)
    data = make_data(g, 40)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)

    def loss(model, batch):
        logits = model(batch[:, :-1])
        return F.cross_entropy(logits.flatten(0, 1), batch[:, 1:].flatten())

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
