"""Surrogate for strain fields (values of order 1e-3) from load parameters, float16 autocast."""
import torch
import torch.nn.functional as F
from torch import nn

META = {
    "id": "b6_strain_field",
    "source": "fp16 autocast without loss scaling; CASES.md I: bytedance/Protenix PR 258",
    "roots": ["low-precision-overflow", "precision-mismatch", "updates-lost"],
    "checks": ["keeps_precision"],
    "description": "No loss scaling: the gradients of the tiny mean-squared error underflow to zero in float16.",
    "location": "SurrogateTrainer.step: loss.backward() with scale 1",
}


class Surrogate(nn.Module):
    def __init__(self, n_in=5, n_out=1024):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(n_in, 48), nn.GELU(), nn.Linear(48, 48), nn.GELU())
        self.out = nn.Linear(48, n_out)
        nn.init.normal_(self.out.weight, std=1e-4)
        nn.init.zeros_(self.out.bias)

    def forward(self, p):
        return self.out(self.body(p))


class SurrogateTrainer:
    def __init__(self, model, scale):
        self.model = model
        self.scale = scale
        self.opt = torch.optim.Adam(model.parameters(), lr=2e-4, eps=1e-12)

    def step(self, batch):
        params, strain = batch
        self.opt.zero_grad()
        loss = F.mse_loss(self.model(params).float(), strain)
        (loss * self.scale).backward()
        if self.scale != 1.0:
            for p in self.model.parameters():
                p.grad.div_(self.scale)
        self.opt.step()
        return loss.detach()


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    grid = torch.linspace(0, 1, 32)
    gy, gx = torch.meshgrid(grid, grid, indexing="ij")
    data = []
    for _ in range(8):
        p = torch.randn(32, 5)
        a, b, c = p[:, 0, None, None], p[:, 1, None, None], p[:, 2, None, None]
        field = a * torch.sin(3.14 * gx) + b * gy + 0.5 * c * torch.cos(3.14 * gy) * gx
        data.append((p, 1e-3 * field.flatten(1)))
    trainer = SurrogateTrainer(Surrogate(), scale=2.0 ** 20 if fixed else 1.0)
    return {
        "model": trainer.model, "optimizer": trainer.opt, "data": data,
        "step": trainer.step, "precision": torch.float16,
    }
