import torch
from torch import nn
import torch.nn.functional as F

META = {"id": "v10_review_polarity_distant",
        "source": "distant supervision by emoticons for tweet polarity: about a third of the automatic labels is wrong (Go et al. type data sets)",
        "roots": ["label-noise", "overfitting"],
        "checks": [],
        "description": "35 % of the training polarities are flipped by the automatic labelling, so the model memorises contradictions and its loss on hand-labelled reviews rises.",
        "location": "distant_label: flips a share of the labels"}

V, T = 240, 20


def reviews(n, g, tone):
    pol = torch.randint(0, 2, (n,), generator=g).float()
    lean = torch.where(pol[:, None] > 0, tone[None], -tone[None])
    ids = torch.multinomial(torch.softmax(lean, 1), T, replacement=True, generator=g)
    return ids, pol


def distant_label(pol, g, wrong):
    flip = torch.rand(pol.shape, generator=g) < wrong
    return torch.where(flip, 1 - pol, pol)


class AttentivePool(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.score = nn.Linear(dim, 1)

    def forward(self, h):
        return (self.score(h).softmax(1) * h).sum(1)


class Polarity(nn.Module):
    def __init__(self, dim=64):
        super().__init__()
        self.emb = nn.Embedding(V, dim)
        self.mix = nn.Sequential(nn.Linear(dim, dim), nn.Tanh())
        self.pool = AttentivePool(dim)
        self.out = nn.Linear(dim, 1)

    def forward(self, ids):
        return self.out(self.pool(self.mix(self.emb(ids)))).squeeze(-1)


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 77)
    tone = 0.5 * torch.randn(V, generator=g)
    ids, pol = reviews(768, g, tone)
    pol = distant_label(pol, g, 0.0 if fixed else 0.35)
    v_ids, v_pol = reviews(256, g, tone)
    model = Polarity()
    opt = torch.optim.Adam([{"params": model.emb.parameters(), "lr": 4e-3},
                            {"params": [p for n, p in model.named_parameters() if not n.startswith("emb")], "lr": 2e-3}])

    def objective(m, batch):
        return F.binary_cross_entropy_with_logits(m(batch["ids"]), batch["pol"])

    pack = lambda a, b, k: [{"ids": i, "pol": p} for i, p in zip(a.split(k), b.split(k))]
    return {"model": model, "optimizer": opt, "data": pack(ids, pol, 32), "val": pack(v_ids, v_pol, 64),
            "loss": objective}
