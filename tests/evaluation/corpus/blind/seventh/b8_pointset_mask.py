import torch, torch.nn as nn
META = {"id": "b8_pointset_mask", "source": "deep sets / attention pooling on padded point clouds", "roots": ["mask-ignored"], "checks": [],
 "description": "masked_fill is not in place and its result is dropped: the attention pooling runs over the padding rows, which hold left-over values",
 "location": "AttnPool.forward"}

class AttnPool(nn.Module):
    def __init__(self, d, fixed):
        super().__init__()
        self.q, self.fixed = nn.Linear(d, 1), fixed
    def forward(self, h, valid):
        s = self.q(h).squeeze(-1)
        if self.fixed:
            s = s.masked_fill(~valid, -1e9)
        else:
            s.masked_fill(~valid, -1e9)
        return (s.softmax(-1).unsqueeze(-1) * h).sum(1)

class SetNet(nn.Module):
    def __init__(self, fixed):
        super().__init__()
        self.phi = nn.Sequential(nn.Linear(3, 48), nn.GELU(), nn.Linear(48, 48), nn.GELU())
        self.pool = AttnPool(48, fixed)
        self.rho = nn.Linear(48, 2)
    def forward(self, pts, valid):
        return self.rho(self.pool(self.phi(pts), valid))

def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    def batch():
        n = torch.randint(2, 7, (32,))
        valid = torch.arange(20)[None] < n[:, None]
        c = torch.randn(32, 1, 3)
        pts = torch.where(valid[..., None], c + 0.2 * torch.randn(32, 20, 3), 2.0 * torch.randn(32, 20, 3))
        m = (pts * valid[..., None]).sum(1) / n[:, None]
        return pts, valid, m[:, :2] * 2 + m[:, 2:]
    data = [batch() for _ in range(8)]
    model = SetNet(fixed)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    def loss(model, b):
        return nn.functional.smooth_l1_loss(model(b[0], b[1]), b[2])
    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss, "val_data": [batch(), batch()]}
