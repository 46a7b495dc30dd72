import torch
from torch import nn

META = {"id": "h9_pointcloud_chamfer", "source": "3D vision paper code", "roots": [], "checks": [],
        "description": "healthy PointNet autoencoder with Chamfer distance and random rotations", "location": ""}


def shapes(n, g):
    kind = torch.randint(0, 3, (n,), generator=g)
    u = torch.rand(n, 64, 2, generator=g)
    th, z = u[..., 0] * 6.2832, u[..., 1] * 2 - 1
    r = torch.stack([(1 - z ** 2).clamp_min(0).sqrt(), torch.full_like(z, 0.5), (1 - z) / 2])  # sphere, tube, cone
    rad = r.permute(1, 0, 2)[torch.arange(n), kind]
    s = 0.5 + torch.rand(n, 1, 1, generator=g)
    return torch.stack([rad * th.cos(), rad * th.sin(), z], -1) * s


class PointAE(nn.Module):
    def __init__(self, latent=32):
        super().__init__()
        self.point = nn.Sequential(nn.Conv1d(3, 32, 1), nn.BatchNorm1d(32), nn.ReLU(),
                                   nn.Conv1d(32, 96, 1), nn.BatchNorm1d(96), nn.ReLU(), nn.Conv1d(96, 96, 1))
        self.to_z = nn.Linear(96, latent)
        self.dec = nn.Sequential(nn.Linear(latent, 128), nn.ELU(), nn.Linear(128, 128), nn.ELU(), nn.Linear(128, 48 * 3))

    def forward(self, pts):
        f = self.point(pts.transpose(1, 2)).amax(-1)
        return self.dec(self.to_z(f)).view(-1, 48, 3)


def chamfer(a, b):
    d = torch.cdist(a, b).pow(2)
    return d.min(2).values.mean() + d.min(1).values.mean()


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed)
    data = [shapes(32, g) for _ in range(10)]
    model = PointAE()
    opt = torch.optim.Adam(model.parameters(), lr=1.5e-3, betas=(0.9, 0.99))

    def augment(p):
        a = torch.rand(len(p)) * 6.2832
        R = torch.zeros(len(p), 3, 3)
        R[:, 0, 0], R[:, 0, 1], R[:, 1, 0], R[:, 1, 1], R[:, 2, 2] = a.cos(), -a.sin(), a.sin(), a.cos(), 1
        return p @ R

    def step(pts):
        model.train()
        pts = augment(pts)
        noisy = pts + 0.01 * torch.randn_like(pts)
        loss = chamfer(model(noisy), pts)
        for p in model.parameters():
            p.grad = None
        loss.backward()
        opt.step()
        return loss.detach()

    return {"model": model, "optimizer": opt, "data": data, "step": step}
