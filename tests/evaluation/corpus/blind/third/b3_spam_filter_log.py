"""Spam filter: bag-of-words network with the likelihood written out by hand."""
import torch
import torch.nn as nn

META = {
    "id": "b3_spam_filter_log",
    "source": "CASES.md J, how-to-solve-the-loss-become-nan-because-of-using-torch-log/54499",
    "roots": ["unstable-operation"],
    "description": "hand-written binary likelihood: once a probability rounds to exactly 1, log(1 - p) is -inf and 0 * -inf is NaN",
    "location": "log_likelihood: torch.log(1 - p)",
    "shows_in": "nan",
}

VOCAB = 200


class SpamNet(nn.Module):
    def __init__(self, hidden=64):
        super().__init__()
        self.words = nn.EmbeddingBag(VOCAB, hidden, mode="sum")
        self.fc1 = nn.Linear(hidden, hidden)
        self.fc2 = nn.Linear(hidden, 1)

    def forward(self, words):
        h = torch.relu(self.words(words))
        h = torch.relu(self.fc1(h))
        return torch.sigmoid(self.fc2(h)).squeeze(1)


def log_likelihood(p, y, eps):
    p = p.clamp(eps, 1 - eps)
    return y * torch.log(p) + (1 - y) * torch.log(1 - p)


def make_mails(g, n_batches=8, batch=32, length=30):
    weight = torch.randn(VOCAB, generator=g)
    data = []
    for _ in range(n_batches):
        words = torch.randint(0, VOCAB, (batch, length), generator=g)
        data.append((words, (weight[words].sum(1) > 0).float()))
    return data


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 19)
    data = make_mails(g)
    model = SpamNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    eps = 1e-6 if fixed else 0.0

    def loss(model, batch):
        words, spam = batch
        return -log_likelihood(model(words), spam, eps).mean()

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
