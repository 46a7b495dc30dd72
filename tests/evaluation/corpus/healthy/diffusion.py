"""Diffusion and its relatives on two-dimensional data: fresh noise in each step, so the loss has a floor."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from pytest_trainhealth import Training

from . import healthy


def spiral(n: int = 128) -> Tensor:
    t = torch.rand(n).sqrt() * 9
    return torch.stack([t * t.cos(), t * t.sin()], -1) / 5 + 0.03 * torch.randn(n, 2)


class TimeMLP(nn.Module):
    def __init__(self, width: int = 48) -> None:
        super().__init__()
        self.time = nn.Sequential(nn.Linear(1, width), nn.SiLU(), nn.Linear(width, width))
        self.inlet = nn.Linear(2, width)
        self.body = nn.Sequential(nn.SiLU(), nn.Linear(width, width), nn.SiLU(), nn.Linear(width, 2))

    def forward(self, x: Tensor, t: Tensor) -> Tensor:
        return self.body(self.inlet(x) + self.time(t))


@healthy
def ddpm_noise_prediction() -> Training:
    """Predicts the noise that was added: from 1.0 the loss falls to a floor well above zero, and jitters."""

    def loss(model: nn.Module, x: Tensor) -> Tensor:
        t = torch.randint(0, 50, (len(x), 1))
        noise = torch.randn_like(x)
        alpha = alphas[t]
        return F.mse_loss(model(alpha.sqrt() * x + (1 - alpha).sqrt() * noise, t / 50), noise)

    alphas = (1 - torch.linspace(1e-3, 0.2, 50)).cumprod(0)
    model = TimeMLP()
    return Training(model, torch.optim.Adam(model.parameters(), lr=3e-3), loss, list(spiral().split(64)))


@healthy
def flow_matching_with_ema() -> Training:
    """An averaged copy of the model is updated in the step; it is trainable by its flags but never trained."""

    class Trainer:
        def __init__(self) -> None:
            self.model = TimeMLP()
            self.ema = torch.optim.swa_utils.AveragedModel(
                self.model, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.99)
            )
            self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=3e-3)

        def step(self, x: Tensor) -> float:
            self.model.train()
            noise, t = torch.randn_like(x), torch.rand(len(x), 1)
            loss = F.mse_loss(self.model((1 - t) * noise + t * x, t), x - noise)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            self.ema.update_parameters(self.model)
            return loss.item()

    trainer = Trainer()
    return Training(trainer.model, trainer.optimizer, step=trainer.step, data=list(spiral().split(64)))


class AdaLNBlock(nn.Module):
    """Transformer block whose shifts, scales and gates come from the condition and start at zero (DiT)."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width, elementwise_affine=False)
        self.mlp = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))
        self.modulation = nn.Sequential(nn.SiLU(), nn.Linear(width, 3 * width))
        nn.init.zeros_(self.modulation[1].weight)
        nn.init.zeros_(self.modulation[1].bias)

    def forward(self, x: Tensor, condition: Tensor) -> Tensor:
        shift, scale, gate = self.modulation(condition).chunk(3, -1)
        return x + gate * self.mlp(self.norm(x) * (1 + scale) + shift)


class TinyDiT(nn.Module):
    def __init__(self, width: int = 32) -> None:
        super().__init__()
        self.inlet = nn.Linear(2, width)
        self.time = nn.Sequential(nn.Linear(1, width), nn.SiLU(), nn.Linear(width, width))
        self.label = nn.Embedding(3, width)  # the last row stands for "no label"
        self.blocks = nn.ModuleList(AdaLNBlock(width) for _ in range(3))
        self.outlet = nn.Linear(width, 2)
        nn.init.zeros_(self.outlet.weight)
        nn.init.zeros_(self.outlet.bias)

    def forward(self, x: Tensor, t: Tensor, label: Tensor) -> Tensor:
        h, condition = self.inlet(x), self.time(t) + self.label(label)
        for block in self.blocks:
            h = block(h, condition)
        return self.outlet(h)


@healthy
def dit_adaln_zero() -> Training:
    """Zeros three deep: outlet, then gates, then the blocks; the condition is dropped at random (guidance)."""

    def loss(model: nn.Module, batch: dict[str, Tensor]) -> Tensor:
        x, label = batch["x"], batch["label"]
        label = torch.where(torch.rand(len(x)) < 0.1, 2, label)
        noise, t = torch.randn_like(x), torch.rand(len(x), 1)
        return F.mse_loss(model((1 - t) * noise + t * x, t, label), x - noise)

    x = spiral(128)
    label = torch.arange(128) % 2
    x = x + 2 * label[:, None] * torch.tensor([1.0, 0.0])
    model = TinyDiT()
    batches = [{"x": x[i : i + 64], "label": label[i : i + 64]} for i in (0, 64)]
    return Training(model, torch.optim.AdamW(model.parameters(), lr=3e-3), loss, batches)


@healthy
def score_matching_sliced() -> Training:
    """The loss is 0.5 |s|^2 + v'(ds/dx)v, negative at its best; it needs second derivatives."""

    def loss(model: nn.Module, x: Tensor) -> Tensor:
        x = (x + 0.1 * torch.randn_like(x)).requires_grad_()
        v = torch.randn_like(x)
        score = model(x)
        (jacobian_v,) = torch.autograd.grad((score * v).sum(), x, create_graph=True)
        return ((jacobian_v * v).sum(-1) + 0.5 * (score * v).sum(-1) ** 2).mean()

    x = torch.tensor([[1.5, 0.0], [-1.5, 0.0], [0.0, 1.5]])[torch.arange(96) % 3] + 0.3 * torch.randn(96, 2)
    model = nn.Sequential(nn.Linear(2, 32), nn.Softplus(), nn.Linear(32, 32), nn.Softplus(), nn.Linear(32, 2))
    return Training(model, torch.optim.Adam(model.parameters(), lr=3e-3), loss, list(x.split(48)))
