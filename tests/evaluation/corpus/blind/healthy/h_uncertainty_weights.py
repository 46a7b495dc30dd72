"""Multi-task learning with learned uncertainty weights."""
import torch
import torch.nn as nn

META = {
    "id": "h_uncertainty_weights",
    "description": 'The two losses are weighted by exp(-s) with s learned and added on: the total goes below zero while both errors fall.',
    "roots": [],
}


class MultiTask(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(10, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU())
        self.reg, self.cls = nn.Linear(64, 2), nn.Linear(64, 3)
        self.log_var = nn.Parameter(torch.zeros(2))

    def forward(self, x):
        h = self.trunk(x)
        return self.reg(h), self.cls(h)


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    A, B = torch.randn(10, 2), torch.randn(10, 3)
    data = []
    for _ in range(8):
        x = torch.randn(32, 10)
        data.append({"x": x, "pos": torch.tanh(x @ A), "kind": (x @ B).argmax(1)})
    model = MultiTask()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

    def loss(model, b):
        pos, kind = model(b["x"])
        losses = torch.stack([nn.functional.mse_loss(pos, b["pos"]), nn.functional.cross_entropy(kind, b["kind"])])
        return (torch.exp(-model.log_var) * losses + model.log_var).sum()

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
