"""Document scoring: attention over a document's sentences, padded to the longest document."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "b4_empty_doc",
    "source": "CASES.md getting-nan-in-the-softmax-layer/74894; pytorch/pytorch #41508 (fully masked rows)",
    "roots": ["unstable-operation"],
    "description": "documents without sentences give a row of -inf, whose softmax is NaN",
    "location": "SentenceAttention.forward, softmax over masked scores",
    "shows_in": "nan",
}


class SentenceAttention(nn.Module):
    def __init__(self, dim, fill):
        super().__init__()
        self.key = nn.Linear(dim, dim)
        self.query = nn.Parameter(torch.randn(dim) * 0.1)
        self.fill = fill

    def forward(self, h, mask):
        scores = torch.tanh(self.key(h)) @ self.query
        scores = scores.masked_fill(~mask, self.fill)
        weights = torch.softmax(scores, dim=1)
        return (weights.unsqueeze(-1) * h * mask.unsqueeze(-1)).sum(1)


class DocScorer(nn.Module):
    def __init__(self, fill, n_in=16, dim=48):
        super().__init__()
        self.embed = nn.Sequential(nn.Linear(n_in, dim), nn.ReLU())
        self.attention = SentenceAttention(dim, fill)
        self.out = nn.Linear(dim, 3)

    def forward(self, sentences, mask):
        return self.out(self.attention(self.embed(sentences), mask))


def documents(n, most=7, n_in=16):
    label = torch.randint(0, 3, (n,))
    direction = torch.randn(3, n_in)
    sentences = torch.randn(n, most, n_in) + 1.2 * direction[label][:, None]
    length = torch.randint(1, most + 1, (n,))
    empty = torch.arange(n) % 50 == 49
    length[empty] = 0
    label[empty] = 0
    mask = torch.arange(most) < length[:, None]
    return sentences * mask[..., None], mask, label


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    sentences, mask, label = documents(288)
    data = [{"s": sentences[i:i + 36], "mask": mask[i:i + 36], "y": label[i:i + 36]} for i in range(0, 288, 36)]
    model = DocScorer(fill=-1e4 if fixed else float("-inf"))
    optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)

    def loss(model, batch):
        return F.cross_entropy(model(batch["s"], batch["mask"]), batch["y"])

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
