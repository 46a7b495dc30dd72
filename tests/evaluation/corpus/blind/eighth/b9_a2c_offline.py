import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Categorical

META = {"id": "b9_a2c_offline", "source": "actor-critic repositories with separate optimizers",
        "roots": ["missing-optimizer-step"], "checks": [],
        "description": "the critic's gradients are computed, but its optimizer never steps; the advantages come from an untrained value net",
        "location": "A2C.update"}


class Actor(nn.Module):
    def __init__(self, obs, act, hidden=64):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(obs, hidden), nn.Tanh(), nn.Linear(hidden, act))

    def forward(self, s):
        return Categorical(logits=self.net(s))


class Critic(nn.Module):
    def __init__(self, obs, hidden=64):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(obs, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, 1))

    def forward(self, s):
        return self.net(s).squeeze(-1)


class A2C:
    """Advantage-weighted updates from logged transitions."""

    def __init__(self, obs, act, cfg, fixed):
        self.actor, self.critic = Actor(obs, act), Critic(obs)
        self.actor_opt = torch.optim.Adam(self.actor.parameters(), lr=cfg["lr_actor"])
        self.critic_opt = torch.optim.Adam(self.critic.parameters(), lr=cfg["lr_critic"])
        self.cfg, self.fixed = cfg, fixed

    def update(self, batch):
        obs, action, ret = batch
        value = self.critic(obs)
        critic_loss = F.mse_loss(value, ret)

        advantage = (ret - value).detach()
        weight = torch.exp(advantage / self.cfg["temperature"]).clamp(max=5.0)
        dist = self.actor(obs)
        actor_loss = -(weight * dist.log_prob(action)).mean() - self.cfg["ent_coef"] * dist.entropy().mean()

        self.actor_opt.zero_grad()
        self.critic_opt.zero_grad()
        (actor_loss + self.cfg["vf_coef"] * critic_loss).backward()
        nn.utils.clip_grad_norm_(list(self.actor.parameters()) + list(self.critic.parameters()), 5.0)
        self.actor_opt.step()
        if self.fixed:
            self.critic_opt.step()
        return (actor_loss + self.cfg["vf_coef"] * critic_loss).item()


def logged_transitions(n, seed, obs=8, act=4):
    g = torch.Generator().manual_seed(seed + 101)
    s = torch.randn(n, obs, generator=g)
    prefs = torch.randn(obs, act, generator=g)
    best = (s @ prefs).argmax(1)
    rand = torch.randint(0, act, (n,), generator=g)
    a = torch.where(torch.rand(n, generator=g) < 0.6, best, rand)
    ret = 2.0 * (a == best).float() + 1.5 * torch.sin(2 * s[:, 0]) + s[:, 1]
    return s, a, ret


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    cfg = {"lr_actor": 2e-3, "lr_critic": 3e-3, "temperature": 1.0, "ent_coef": 0.003, "vf_coef": 0.5}
    agent = A2C(8, 4, cfg, fixed)
    s, a, r = logged_transitions(1024, seed)
    data = [(s[i:i + 64], a[i:i + 64], r[i:i + 64]) for i in range(0, 1024, 64)]
    model = nn.ModuleDict({"actor": agent.actor, "critic": agent.critic})
    return {"model": model, "optimizer": {"actor": agent.actor_opt, "critic": agent.critic_opt},
            "data": data, "step": agent.update}
