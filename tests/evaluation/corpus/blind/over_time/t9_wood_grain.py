import torch
from torch import nn

META = {"id": "t9_wood_grain", "source": "transfer learning notebook, features of a backbone stored beforehand", "roots": [],
        "checks": ["generalizes"], "description": "healthy: a head on features of a trained backbone, good from the first steps", "location": ""}

N_WOODS, DIM = 8, 64


def grain(n, g):
    wood = torch.randint(0, N_WOODS, (n,), generator=g)
    t = torch.linspace(0, 1, 40)
    shift = torch.rand(n, 1, generator=g)
    rings = torch.sin(6.2832 * (2 + wood[:, None].float()) * (t + shift))
    return rings + 0.4 * torch.randn(n, 40, generator=g), wood


class Backbone(nn.Module):
    """Stands for the published encoder: windowed spectrum, then a wide fixed projection."""

    def __init__(self):
        super().__init__()
        g = torch.Generator().manual_seed(2024)
        self.register_buffer("projection", torch.randn(21, DIM, generator=g) / 21 ** 0.5)

    def forward(self, x):
        spectrum = torch.fft.rfft(x).abs().log1p()
        return torch.relu(spectrum @ self.projection)


@torch.no_grad()
def extract(backbone, n, g):
    x, y = grain(n, g)
    return backbone(x), y


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 19)
    backbone = Backbone().eval()
    feats, woods = extract(backbone, 1536, g)
    vfeats, vwoods = extract(backbone, 288, g)
    mean, std = feats.mean(0), feats.std(0) + 1e-3
    feats, vfeats = (feats - mean) / std, (vfeats - mean) / std
    head = nn.Sequential(nn.Linear(DIM, 48), nn.ReLU(), nn.Dropout(0.1), nn.Linear(48, N_WOODS))
    optimizer = torch.optim.Adam(head.parameters(), lr=2e-3, weight_decay=1e-4)
    ce = nn.CrossEntropyLoss()

    def head_loss(head, batch):
        f, wood = batch
        return ce(head(f), wood)

    return {"model": head, "optimizer": optimizer, "loss": head_loss,
            "data": list(zip(feats.split(32), woods.split(32))), "val": list(zip(vfeats.split(48), vwoods.split(48)))}
