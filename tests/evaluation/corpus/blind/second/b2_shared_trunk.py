"""Shared trunk with two tasks, each task with its own optimizer and backward."""
import torch
from torch import nn
import torch.nn.functional as F

META = {
    "id": "b2_shared_trunk",
    "source": "own experience (shared encoder handed to both optimizers)",
    "roots": ["duplicate-parameters"],
    "description": "the trunk is in both optimizers, so every gradient of the joint loss moves it twice",
    "location": "cls_opt and reg_opt both hold trunk.*",
    "shows_in": "wiring",
}


class TwoTask(nn.Module):
    def __init__(self, n_in=16, hidden=160):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(n_in, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU())
        self.cls_head = nn.Linear(hidden, 4)
        self.reg_head = nn.Linear(hidden, 2)

    def forward(self, x):
        h = self.trunk(x)
        return self.cls_head(h), self.reg_head(h)


def make_data(n_batches=8, batch_size=48):
    w_cls, w_reg = torch.randn(16, 4), torch.randn(16, 2) / 4
    data = []
    for _ in range(n_batches):
        x = torch.randn(batch_size, 16)
        data.append((x, (x @ w_cls).argmax(-1), torch.sin(2 * x @ w_reg)))
    return data


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    data = make_data()
    model = TwoTask()
    trunk = list(model.trunk.parameters())
    cls_opt = torch.optim.Adam(trunk + list(model.cls_head.parameters()), lr=3e-3)
    reg_params = list(model.reg_head.parameters())
    reg_opt = torch.optim.Adam(reg_params if fixed else trunk + reg_params, lr=3e-3)

    def step(batch):
        x, label, value = batch
        logits, pred = model(x)
        loss = F.cross_entropy(logits, label) + F.mse_loss(pred, value)
        cls_opt.zero_grad()
        reg_opt.zero_grad()
        loss.backward()
        cls_opt.step()
        reg_opt.step()
        return loss.detach()

    return {"model": model, "optimizer": [cls_opt, reg_opt], "data": data, "step": step}
