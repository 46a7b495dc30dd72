"""Solar output regression with periodic validation."""
import torch
import torch.nn as nn

META = {
    "id": "b1_val_eval",
    "source": "PyTorch forum classic: model.eval() in validation, model.train() never called again",
    "roots": ["wrong-mode"],
    "description": "after the first validation the model stays in eval mode: dropout and BatchNorm are off for the rest of training",
    "location": "validate: model.eval() without model.train() afterwards",
    "shows_in": "wiring",
}


class SolarNet(nn.Module):
    def __init__(self, n_in):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(n_in, 96), nn.BatchNorm1d(96), nn.ReLU(), nn.Dropout(0.05),
            nn.Linear(96, 64), nn.BatchNorm1d(64), nn.ReLU(),
            nn.Linear(64, 1),
        )

    def forward(self, x):
        return self.net(x).squeeze(-1)


def make_days(n):
    cloud = torch.rand(n)
    hour = torch.rand(n) * 12 - 6
    season = torch.rand(n) * 6.283
    temp = 10 * torch.sin(season) + 3 * torch.randn(n)
    tilt = torch.rand(n)
    sun = torch.clamp(torch.cos(hour / 12 * 3.1416), min=0) * (1 + 0.3 * torch.sin(season))
    power = sun * (1 - 0.75 * cloud) * (1 + 0.4 * tilt) - 0.004 * temp
    x = torch.stack([cloud, hour, torch.sin(season), torch.cos(season), temp, tilt], 1)
    x = (x - x.mean(0)) / x.std(0)
    return x, (power - power.mean()) / power.std()


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    bs = 48
    x, y = make_days(10 * bs)
    data = [(x[i:i + bs], y[i:i + bs]) for i in range(0, 8 * bs, bs)]
    x_val, y_val = x[8 * bs:], y[8 * bs:]
    model = SolarNet(x.shape[1])
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    criterion = nn.MSELoss()
    log = {"step": 0, "val": []}

    def validate():
        model.eval()
        with torch.no_grad():
            log["val"].append(criterion(model(x_val), y_val).item())
        if fixed:
            model.train()

    def step(batch):
        x, y = batch
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        log["step"] += 1
        if log["step"] % len(data) == 0:
            validate()
        return loss

    return {"model": model, "optimizer": optimizer, "data": data, "step": step}
