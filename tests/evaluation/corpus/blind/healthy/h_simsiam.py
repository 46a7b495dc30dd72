"""SimSiam: stop-gradient without a momentum encoder."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "h_simsiam",
    "description": 'Negative cosine similarity: the loss runs from about 0 towards -1; one branch is detached each way.',
    "roots": [],
}


class SimSiam(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(24, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, dim), nn.BatchNorm1d(dim, affine=False))
        self.predictor = nn.Sequential(nn.Linear(dim, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, dim))

    def forward(self, a, b):
        za, zb = self.encoder(a), self.encoder(b)
        return self.predictor(za), self.predictor(zb), za.detach(), zb.detach()


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    mix = torch.randn(6, 24)
    data = [torch.randn(64, 6) @ mix for _ in range(8)]
    model = SimSiam()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4)

    def loss(model, x):
        pa, pb, za, zb = model(x + 0.3 * torch.randn_like(x), x + 0.3 * torch.randn_like(x))
        return -0.5 * (F.cosine_similarity(pa, zb).mean() + F.cosine_similarity(pb, za).mean())

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
