"""Mean teacher on half-labelled batches."""
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "h_mean_teacher",
    "description": 'Consistency to an EMA teacher is ramped up by a counter; half of the labels are -1 and ignored on purpose.',
    "roots": [],
}


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    centre = torch.randn(4, 10)
    data = []
    for _ in range(8):
        y = torch.randint(0, 4, (48,))
        x = centre[y] + 0.5 * torch.randn(48, 10)
        y[24:] = -1                              # unlabelled half
        data.append((x, y))
    model = nn.Sequential(nn.Linear(10, 64), nn.ReLU(), nn.Linear(64, 4))
    teacher = copy.deepcopy(model).requires_grad_(False)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    state = {"n": 0}

    def step(batch):
        x, y = batch
        ramp = min(1.0, state["n"] / 80)
        state["n"] += 1
        logits = model(x + 0.1 * torch.randn_like(x))
        with torch.no_grad():
            target = teacher(x + 0.1 * torch.randn_like(x)).softmax(1)
        loss = F.cross_entropy(logits, y, ignore_index=-1) + ramp * F.mse_loss(logits.softmax(1), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            for p, q in zip(model.parameters(), teacher.parameters()):
                q.lerp_(p, 0.05)
        return loss

    return {"model": model, "optimizer": optimizer, "data": data, "step": step}
