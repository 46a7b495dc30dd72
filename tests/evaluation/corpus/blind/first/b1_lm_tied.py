"""LSTM language model with tied input and output embeddings."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "b1_lm_tied",
    "source": "own experience; PyTorch forum threads on weight tying",
    "roots": ["tied-weights-broken"],
    "description": "the output layer gets a clone of the embedding matrix although tie_weights=True: the two drift apart",
    "location": "WordLM.decoder.weight / WordLM.encoder.weight",
    "shows_in": "wiring",
}


class WordLM(nn.Module):
    def __init__(self, vocab, dim=40, tie_weights=True, share=True):
        super().__init__()
        self.tie_weights = tie_weights
        self.encoder = nn.Embedding(vocab, dim)
        self.rnn = nn.LSTM(dim, dim, batch_first=True)
        self.decoder = nn.Linear(dim, vocab)
        nn.init.uniform_(self.encoder.weight, -0.1, 0.1)
        nn.init.zeros_(self.decoder.bias)
        if tie_weights:
            if share:
                self.decoder.weight = self.encoder.weight
            else:
                self.decoder.weight = nn.Parameter(self.encoder.weight.clone())

    def forward(self, tokens):
        out, _ = self.rnn(self.encoder(tokens))
        return self.decoder(out)


def make_corpus(n_sent, length, vocab):
    # each topic walks through its own small cycle of words
    n_topics = 6
    cycles = [torch.randperm(vocab)[:8] for _ in range(n_topics)]
    rows = []
    for _ in range(n_sent):
        cyc = cycles[int(torch.randint(n_topics, ()))]
        start = int(torch.randint(8, ()))
        step = 1 + int(torch.randint(2, ()))
        idx = (start + step * torch.arange(length + 1)) % 8
        rows.append(cyc[idx])
    return torch.stack(rows)


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    vocab, length, bs = 50, 16, 16
    corpus = make_corpus(8 * bs, length, vocab)
    data = [{"input": c[:, :-1], "target": c[:, 1:]} for c in corpus.split(bs)]
    model = WordLM(vocab, share=fixed)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)

    def loss(model, batch):
        logits = model(batch["input"])
        return F.cross_entropy(logits.reshape(-1, logits.size(-1)), batch["target"].reshape(-1))

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
