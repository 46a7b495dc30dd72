import torch
import torch.nn as nn
import torch.nn.functional as F

META = {"id": "t9_seismic_phases", "source": "geophysics research code, validate() without model.eval()",
        "roots": ["wrong-mode", "evaluation-changes-state"], "checks": ["evaluates_cleanly"],
        "description": "validation runs in training mode: dropout is on and the statistics of BatchNorm take in validation batches",
        "location": "Trainer.validate"}


def traces(n, g):
    t = torch.arange(80) / 80
    y = torch.randint(0, 3, (n,), generator=g)
    onset = 0.2 + 0.4 * torch.rand(n, 1, generator=g)
    after = (t[None] - onset).clamp(min=0)
    freq = torch.tensor([6.0, 14.0, 26.0])[y][:, None] * (0.9 + 0.2 * torch.rand(n, 1, generator=g))
    wave = torch.sin(6.2832 * freq * after) * torch.exp(-4 * after) * (after > 0)
    return (1.5 * wave + 0.4 * torch.randn(n, 80, generator=g))[:, None], y


class PhasePicker(nn.Module):
    def __init__(self, p=0.3):
        super().__init__()
        self.conv1 = nn.Conv1d(1, 16, 7, padding=3)
        self.bn1 = nn.BatchNorm1d(16)
        self.conv2 = nn.Conv1d(16, 32, 5, padding=2)
        self.bn2 = nn.BatchNorm1d(32)
        self.drop = nn.Dropout(p)
        self.out = nn.Linear(32, 3)

    def forward(self, x):
        x = F.max_pool1d(F.relu(self.bn1(self.conv1(x))), 4)
        x = F.relu(self.bn2(self.conv2(x))).mean(-1)
        return self.out(self.drop(x))


class Trainer:
    def __init__(self, model, optimizer, val, use_eval):
        self.model, self.optimizer, self.val, self.use_eval = model, optimizer, val, use_eval

    def step(self, batch):
        self.model.train()
        x, y = batch
        loss = F.cross_entropy(self.model(x), y)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.detach()

    @torch.no_grad()
    def validate(self):
        if self.use_eval:
            self.model.eval()
        total, count = 0.0, 0
        for x, y in self.val:
            total += F.cross_entropy(self.model(x), y, reduction="sum").item()
            count += len(y)
        self.model.train()
        return total / count


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 8)
    x, y = traces(1024, g)
    vx, vy = traces(256, g)
    model = PhasePicker()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    val = list(zip(vx.split(32), vy.split(32)))
    trainer = Trainer(model, optimizer, val, use_eval=fixed)
    return {"model": model, "optimizer": optimizer, "data": list(zip(x.split(32), y.split(32))),
            "step": trainer.step, "val": val, "evaluate": trainer.validate}
