"""Q-network on recorded transitions with a target network and clipped gradients."""
import copy
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "b3_q_network_clip",
    "source": "CASES.md F change_gradient_clip; own experience",
    "roots": ["bad-gradient-clipping"],
    "description": "gradients are clipped to a norm of 1e-4 before plain SGD: hardly any movement",
    "location": "step: clip_grad_norm_(..., 1e-4)",
    "shows_in": "one-batch",
}

GAMMA, N_ACTIONS = 0.9, 3


class QNet(nn.Module):
    def __init__(self, n_obs=6, hidden=64):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(n_obs, hidden), nn.ReLU(),
            nn.Linear(hidden, hidden), nn.ReLU(),
            nn.Linear(hidden, N_ACTIONS),
        )

    def forward(self, obs):
        return self.net(obs)


def transitions(g, n_batches=8, batch=48):
    prefer = torch.randn(6, N_ACTIONS, generator=g)
    data = []
    for _ in range(n_batches):
        obs = torch.randn(batch, 6, generator=g)
        action = torch.randint(0, N_ACTIONS, (batch,), generator=g)
        reward = torch.tanh((obs @ prefer).gather(1, action[:, None]).squeeze(1))
        data.append({"obs": obs, "action": action, "reward": reward, "next": 0.5 * obs.roll(1, 1)})
    return data


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 53)
    data = transitions(g)
    q = QNet()
    target = copy.deepcopy(q)
    for p in target.parameters():
        p.requires_grad_(False)
    optimizer = torch.optim.SGD(q.parameters(), lr=0.05, momentum=0.9)
    max_norm = 10.0 if fixed else 1e-4

    def step(batch):
        with torch.no_grad():
            bootstrap = target(batch["next"]).max(dim=1).values
        y = batch["reward"] + GAMMA * bootstrap
        value = q(batch["obs"]).gather(1, batch["action"][:, None]).squeeze(1)
        loss = F.mse_loss(value, y)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(q.parameters(), max_norm)
        optimizer.step()
        return loss.detach()

    return {"model": q, "optimizer": optimizer, "data": data, "step": step}
