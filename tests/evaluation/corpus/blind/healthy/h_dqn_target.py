"""DQN on recorded transitions of a small chain."""
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "h_dqn_target",
    "description": 'The target network is frozen and copied every 25 steps; the Huber TD loss may jump at each copy; rewards reach only one action per sample.',
    "roots": [],
}


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    n = 8
    data = []
    for _ in range(8):
        s = torch.randint(0, n, (32,))
        a = torch.randint(0, 2, (32,))
        s2 = (s + 2 * a - 1).clamp(0, n - 1)
        r = (s2 == n - 1).float()
        done = r.clone()
        data.append({"s": F.one_hot(s, n).float(), "a": a, "r": r, "s2": F.one_hot(s2, n).float(), "done": done})
    model = nn.Sequential(nn.Linear(n, 64), nn.ReLU(), nn.Linear(64, 2))
    target = copy.deepcopy(model).requires_grad_(False)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    state = {"n": 0}

    def step(b):
        q = model(b["s"]).gather(1, b["a"][:, None]).squeeze(1)
        with torch.no_grad():
            y = b["r"] + 0.9 * (1 - b["done"]) * target(b["s2"]).amax(1)
        loss = F.smooth_l1_loss(q, y)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_value_(model.parameters(), 1.0)
        optimizer.step()
        state["n"] += 1
        if state["n"] % 25 == 0:
            target.load_state_dict(model.state_dict())
        return loss

    return {"model": model, "optimizer": optimizer, "data": data, "step": step}
