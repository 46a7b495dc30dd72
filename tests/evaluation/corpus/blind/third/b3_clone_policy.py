"""Behaviour cloning: a policy network imitates recorded grid-world actions."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Categorical

META = {
    "id": "b3_clone_policy",
    "source": "CASES.md E NervanaSystems/distiller 0a8a3b3 (redundant softmax layer)",
    "roots": ["double-softmax"],
    "description": "the policy returns probabilities, which are passed to Categorical as logits",
    "location": "step: Categorical(logits=probs)",
    "shows_in": "one-batch",
}

N_ACTIONS = 8


class Policy(nn.Module):
    def __init__(self, n_obs=10, hidden=96):
        super().__init__()
        self.trunk = nn.Sequential(
            nn.Linear(n_obs, hidden), nn.ReLU(),
            nn.Linear(hidden, hidden), nn.ReLU(),
        )
        self.pi = nn.Linear(hidden, N_ACTIONS)

    def forward(self, obs):
        return F.softmax(self.pi(self.trunk(obs)), dim=-1)


def recorded(g, n_batches=8, batch=64):
    """The expert walks in the compass direction of the goal, a little bent by the wind."""
    data = []
    for _ in range(n_batches):
        obs = torch.randn(batch, 10, generator=g)
        dx = obs[:, 2] - obs[:, 0] + 0.3 * obs[:, 4]
        dy = obs[:, 3] - obs[:, 1] + 0.3 * obs[:, 5]
        sector = (torch.atan2(dy, dx) / (2 * torch.pi) * N_ACTIONS).round().long() % N_ACTIONS
        data.append({"obs": obs, "action": sector})
    return data


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 14)
    data = recorded(g)
    policy = Policy()
    optimizer = torch.optim.Adam(policy.parameters(), lr=3e-3)

    def step(batch):
        probs = policy(batch["obs"])
        dist = Categorical(probs=probs) if fixed else Categorical(logits=probs)
        loss = -dist.log_prob(batch["action"]).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.item()

    return {"model": policy, "optimizer": optimizer, "data": data, "step": step}
