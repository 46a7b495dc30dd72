"""Shared-trunk multi-task network: a class and a continuous value from the same signal."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "b4_multitask_zero",
    "source": "own experience (per-task backward with zero_grad in the task loop)",
    "roots": ["gradients-cleared-before-step"],
    "description": "zero_grad is called for every task before its backward, so the first task's gradient is lost before the step",
    "location": "zero_grad inside the task loop; heads['kind'] never learns",
    "shows_in": "one-batch",
}


class MultiTask(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(30, 96), nn.ReLU(), nn.Linear(96, 48), nn.ReLU())
        self.heads = nn.ModuleDict({"kind": nn.Linear(48, 5), "size": nn.Linear(48, 1)})

    def forward(self, x):
        z = self.trunk(x)
        return {name: head(z) for name, head in self.heads.items()}


def task_losses(outputs, batch):
    yield "kind", F.cross_entropy(outputs["kind"], batch["kind"])
    yield "size", F.mse_loss(outputs["size"].squeeze(1), batch["size"])


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    kind = torch.randint(0, 5, (320,))
    centre = torch.randn(5, 30)
    size = torch.randn(320)
    direction = torch.randn(30) / 5
    x = centre[kind] + size[:, None] * direction + 0.2 * torch.randn(320, 30)
    data = []
    for i in range(0, 320, 40):
        data.append({"x": x[i:i + 40], "kind": kind[i:i + 40], "size": size[i:i + 40]})
    model = MultiTask()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)

    def step(batch):
        model.train()
        outputs = model(batch["x"])
        total = 0.0
        if fixed:
            optimizer.zero_grad()
        for name, task_loss in task_losses(outputs, batch):
            if not fixed:
                optimizer.zero_grad()
            task_loss.backward(retain_graph=True)
            total = total + task_loss.detach()
        optimizer.step()
        return total

    return {"model": model, "optimizer": optimizer, "data": data, "step": step}
