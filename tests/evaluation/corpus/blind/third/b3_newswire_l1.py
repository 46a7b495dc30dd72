"""Newswire topics from bag-of-words vectors with a sparsity penalty on the weights."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "b3_newswire_l1",
    "source": "CASES.md G R1 (reuters, l1 regularisation added)",
    "roots": ["too-much-regularization"],
    "description": "L1 penalty far too strong: it drives all the weights to zero",
    "location": "loss: l1 * sum of absolute weights",
    "shows_in": "one-batch",
}

VOCAB, TOPICS = 120, 8


class TopicNet(nn.Module):
    def __init__(self, hidden=64):
        super().__init__()
        self.fc1 = nn.Linear(VOCAB, hidden)
        self.fc2 = nn.Linear(hidden, hidden)
        self.fc3 = nn.Linear(hidden, TOPICS)

    def forward(self, x):
        return self.fc3(F.relu(self.fc2(F.relu(self.fc1(x)))))


def make_docs(g, n_batches=8, batch=40, words=40):
    topic_words = torch.softmax(2.0 * torch.randn(TOPICS, VOCAB, generator=g), dim=1)
    data = []
    for _ in range(n_batches):
        y = torch.randint(0, TOPICS, (batch,), generator=g)
        ids = torch.multinomial(topic_words[y], words, replacement=True, generator=g)
        counts = torch.zeros(batch, VOCAB).scatter_add_(1, ids, torch.ones(batch, words))
        data.append((torch.log1p(counts), y))
    return data


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 60)
    data = make_docs(g)
    model = TopicNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    l1 = 1e-6 if fixed else 1e-2

    def loss(model, batch):
        x, y = batch
        penalty = l1 * sum(m.weight.abs().sum() for m in (model.fc1, model.fc2, model.fc3))
        return F.cross_entropy(model(x), y) + penalty

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
