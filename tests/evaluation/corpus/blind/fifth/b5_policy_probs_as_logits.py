"""Behaviour cloning plus entropy bonus of a discrete policy on recorded expert moves."""
import torch
import torch.nn as nn
from torch.distributions import Categorical

META = {
    "id": "b5_policy_probs_as_logits",
    "source": "own experience",
    "roots": ["double-softmax"],
    "description": "the policy returns probabilities, which are passed to Categorical as logits: the policy can't get sharper than e/(e+7)",
    "location": "Categorical(logits=policy(obs))",
    "shows_in": "one-batch",
}


class Policy(nn.Module):
    def __init__(self, obs_dim, n_actions, hidden=96):
        super().__init__()
        self.trunk = nn.Sequential(
            nn.Linear(obs_dim, hidden), nn.Tanh(),
            nn.Linear(hidden, hidden), nn.Tanh(),
        )
        self.pi = nn.Linear(hidden, n_actions)

    def forward(self, obs):
        return self.pi(self.trunk(obs)).softmax(dim=-1)


class Agent:
    def __init__(self, obs_dim, n_actions, fixed):
        self.policy = Policy(obs_dim, n_actions)
        self.opt = torch.optim.Adam(self.policy.parameters(), lr=1e-3, eps=1e-5)
        self.fixed = fixed
        self.ent_coef = 1e-3

    def distribution(self, obs):
        out = self.policy(obs)
        return Categorical(probs=out) if self.fixed else Categorical(logits=out)

    def update(self, batch):
        obs, expert_action = batch["obs"], batch["act"]
        dist = self.distribution(obs)
        loss = -dist.log_prob(expert_action).mean() - self.ent_coef * dist.entropy().mean()
        self.opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.policy.parameters(), 5.0)
        self.opt.step()
        return loss


def expert_moves(n, g):
    obs = torch.randn(n, 10, generator=g)
    shared = torch.Generator().manual_seed(2)
    w = torch.randn(10, 8, generator=shared)
    return obs, (obs @ w).argmax(1)


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed)
    obs, act = expert_moves(8 * 48, g)
    data = [{"obs": o, "act": a} for o, a in zip(obs.split(48), act.split(48))]
    agent = Agent(10, 8, fixed)
    return {"model": agent.policy, "optimizer": agent.opt, "data": data, "step": agent.update}
