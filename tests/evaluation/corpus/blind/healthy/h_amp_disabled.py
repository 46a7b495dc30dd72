"""AMP-style loop with GradScaler and autocast disabled."""
import torch
import torch.nn as nn

META = {
    "id": "h_amp_disabled",
    "description": 'scaler.scale, unscale_, step, update and autocast are all there, but disabled on the CPU, so they pass everything through.',
    "roots": [],
}


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.GroupNorm(4, 16), nn.ReLU(), nn.Conv2d(16, 32, 3, stride=2, padding=1), nn.GroupNorm(4, 32), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 3))

    def forward(self, x):
        return self.net(x)


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    data = []
    for _ in range(6):
        y = torch.randint(0, 3, (16,))
        x = 0.5 * torch.randn(16, 3, 8, 8)
        x[torch.arange(16), y, 2:5, 2:5] += 1.5
        data.append((x, y))
    model = Net()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    use_amp = torch.cuda.is_available()
    scaler = torch.amp.GradScaler("cuda", enabled=use_amp)

    def step(batch):
        x, y = batch
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cuda" if use_amp else "cpu", enabled=use_amp):
            loss = nn.functional.cross_entropy(model(x), y)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        return loss

    return {"model": model, "optimizer": optimizer, "data": data, "step": step}
