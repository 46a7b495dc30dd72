"""SimCLR-like contrastive training of two noisy views."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "h_infonce_views",
    "description": "InfoNCE over the batch with temperature 0.2: the loss cannot reach zero, the samples of a batch are each other's negatives, and the projection head is thrown away later.",
    "roots": [],
}


class Encoder(nn.Module):
    def __init__(self, n_in=20, dim=32):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(n_in, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU())
        self.projector = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, dim))

    def forward(self, x):
        return F.normalize(self.projector(self.backbone(x)), dim=1)


def nt_xent(za, zb, tau=0.2):
    z = torch.cat([za, zb])
    sim = z @ z.t() / tau
    sim = sim.masked_fill(torch.eye(len(z), dtype=torch.bool), float("-inf"))
    n = len(za)
    return F.cross_entropy(sim, torch.arange(2 * n).roll(n))


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    basis = torch.randn(6, 20)
    data = [torch.randn(32, 6) @ basis for _ in range(8)]
    model = Encoder()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)

    def augment(x):
        return x * (1 + 0.1 * torch.randn_like(x)) + 0.1 * torch.randn_like(x)

    def loss(model, x):
        return nt_xent(model(augment(x)), model(augment(x)))

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
