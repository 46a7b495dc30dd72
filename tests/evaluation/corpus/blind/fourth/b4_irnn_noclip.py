"""Rainfall to river level: a ReLU recurrence, initialised at the identity, accumulates the inputs."""
import torch
import torch.nn as nn

META = {
    "id": "b4_irnn_noclip",
    "source": "CASES.md 53848232 / explode (repair: gradient clipping)",
    "roots": ["exploding-gradients", "lr-too-high"],
    "description": "backpropagation through 40 steps of an unsquashed recurrence without gradient clipping",
    "location": "step (no clip_grad_norm_)",
    "shows_in": "one-batch",
}


class IRNN(nn.Module):
    def __init__(self, n_in=2, hidden=40):
        super().__init__()
        self.w_in = nn.Linear(n_in, hidden)
        self.w_rec = nn.Linear(hidden, hidden, bias=False)
        self.out = nn.Linear(hidden, 1)
        nn.init.eye_(self.w_rec.weight)
        nn.init.normal_(self.w_in.weight, std=0.02)
        nn.init.zeros_(self.w_in.bias)

    def forward(self, x):
        h = x.new_zeros(x.size(0), self.w_rec.in_features)
        for t in range(x.size(1)):
            h = torch.relu(self.w_in(x[:, t]) + self.w_rec(h))
        return self.out(h).squeeze(1)


def catchment(n, steps=40):
    rain = torch.randn(n, steps)
    soil = torch.rand(n, 1).expand(n, steps)
    decay = 0.97 ** torch.arange(steps - 1, -1, -1).float()
    level = (torch.relu(rain) * soil * decay).sum(1)
    return torch.stack([rain, soil], -1), (level - 4.6) / 2.5


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    x, y = catchment(256)
    data = list(zip(x.split(32), y.split(32)))
    model = IRNN()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.005, momentum=0.9)

    def step(batch):
        seq, target = batch
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(seq), target)
        loss.backward()
        if fixed:
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        return loss

    return {"model": model, "optimizer": optimizer, "data": data, "step": step}
