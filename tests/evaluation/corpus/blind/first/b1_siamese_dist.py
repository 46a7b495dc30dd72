"""Siamese network with a contrastive loss on signature features."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "b1_siamese_dist",
    "source": "PyTorch forum classic: NaN gradient of sqrt at zero in a hand-written distance",
    "roots": ["unstable-operation"],
    "description": "Euclidean distance with a plain sqrt: its gradient is NaN for pairs with identical inputs",
    "location": "contrastive: torch.sqrt",
    "shows_in": "nan",
}


class SignatureEncoder(nn.Module):
    def __init__(self, n_in, dim=16):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(n_in, 96), nn.LeakyReLU(0.1),
            nn.Linear(96, 96), nn.LeakyReLU(0.1),
            nn.Linear(96, dim),
        )

    def forward(self, x):
        return self.net(x)


def make_pairs(n, n_writers=12, n_in=20):
    style = torch.randn(n_writers, n_in)
    w1 = torch.randint(0, n_writers, (n,))
    same = torch.rand(n) < 0.5
    w2 = torch.where(same, w1, (w1 + torch.randint(1, n_writers, (n,))) % n_writers)
    a = style[w1] + 0.3 * torch.randn(n, n_in)
    b = style[w2] + 0.3 * torch.randn(n, n_in)
    # some signatures were paired with themselves
    itself = same & (torch.rand(n) < 0.08)
    b[itself] = a[itself]
    return a, b, same.float()


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    bs, margin = 48, 2.0
    a, b, same = make_pairs(8 * bs)
    data = list(zip(a.split(bs), b.split(bs), same.split(bs)))
    model = SignatureEncoder(a.shape[1])
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

    def contrastive(model, batch):
        a, b, same = batch
        sq = (model(a) - model(b)).pow(2).sum(dim=1)
        dist = torch.sqrt(sq + 1e-8) if fixed else torch.sqrt(sq)
        pull = same * dist.pow(2)
        push = (1 - same) * F.relu(margin - dist).pow(2)
        return (pull + push).mean()

    return {"model": model, "optimizer": optimizer, "data": data, "loss": contrastive}
