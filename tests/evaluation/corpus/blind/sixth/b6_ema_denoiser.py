"""1-D denoiser with an exponential moving average of the weights that is used for evaluation."""
import copy

import torch
import torch.nn.functional as F
from torch import nn

META = {
    "id": "b6_ema_denoiser",
    "source": "EMA store/copy_to/restore helpers that keep state_dict() without clone (diffusion training scripts)",
    "roots": ["evaluation-changes-state"],
    "checks": ["evaluates_cleanly"],
    "description": "The backup made before swapping in the EMA weights is a dict of references, so restoring it does nothing and training continues from the EMA weights.",
    "location": "evaluate: backup = model.state_dict()",
}


class Denoiser(nn.Module):
    def __init__(self, width=24):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv1d(1, width, 5, padding=2), nn.GELU(),
            nn.Conv1d(width, width, 5, padding=2), nn.GELU(),
            nn.Conv1d(width, 1, 5, padding=2),
        )

    def forward(self, x):
        return x - self.net(x)


class EMA:
    def __init__(self, model, decay=0.97):
        self.decay = decay
        self.shadow = {k: v.detach().clone() for k, v in model.state_dict().items()}

    def update(self, model):
        for k, v in model.state_dict().items():
            self.shadow[k].mul_(self.decay).add_(v.detach(), alpha=1 - self.decay)


def signals(n, gen):
    t = torch.linspace(0, 1, 32)
    f = 1 + 2 * torch.rand(n, 1, generator=gen)
    clean = torch.sin(6.28 * f * t + 6.28 * torch.rand(n, 1, generator=gen))
    noisy = clean + 0.5 * torch.sin(6.28 * 13 * t) * (0.5 + torch.rand(n, 1, generator=gen))
    return noisy.unsqueeze(1), clean.unsqueeze(1)


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    gen = torch.Generator().manual_seed(seed)
    data = [signals(24, gen) for _ in range(8)]
    val = [signals(24, gen) for _ in range(2)]
    model = Denoiser()
    ema = EMA(model)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

    def step(batch):
        noisy, clean = batch
        optimizer.zero_grad()
        loss = F.mse_loss(model(noisy), clean)
        loss.backward()
        optimizer.step()
        ema.update(model)
        return loss

    def evaluate(val_data):
        backup = copy.deepcopy(model.state_dict()) if fixed else model.state_dict()
        model.load_state_dict(ema.shadow)
        model.eval()
        total, n = 0.0, 0
        with torch.no_grad():
            for noisy, clean in val_data:
                total += F.mse_loss(model(noisy), clean, reduction="none").mean((1, 2)).sum().item()
                n += noisy.size(0)
        model.train()
        model.load_state_dict(backup)
        return total / n

    return {"model": model, "optimizer": optimizer, "data": data, "val": val, "step": step, "evaluate": evaluate}
