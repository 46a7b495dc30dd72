"""Gradient accumulation over micro-batches."""
import torch
import torch.nn as nn

META = {
    "id": "h_grad_accum",
    "description": 'zero_grad and step happen once per four micro-batches only, the loss of each is divided by four; three of four calls leave the weights as they are.',
    "roots": [],
}


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(16, 64), nn.LayerNorm(64), nn.GELU(), nn.Linear(64, 64), nn.GELU(), nn.Linear(64, 3))

    def forward(self, x):
        return self.net(x)


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    w = torch.randn(16, 3)
    data = []
    for _ in range(8):
        x = torch.randn(12, 16)
        data.append((x, (x @ w).argmax(1)))
    model = Net()
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
    accum = 4
    state = {"micro": 0}

    def step(batch):
        x, y = batch
        loss = nn.functional.cross_entropy(model(x), y)
        (loss / accum).backward()
        state["micro"] += 1
        if state["micro"] % accum == 0:
            optimizer.step()
            optimizer.zero_grad()
        return loss

    return {"model": model, "optimizer": optimizer, "data": data, "step": step}
