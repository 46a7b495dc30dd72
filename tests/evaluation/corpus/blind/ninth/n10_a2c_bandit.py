import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Categorical

META = {"id": "n10_a2c_bandit",
        "source": "A2C code on forums: delta computed as value - return for the critic and re-used as advantage",
        "roots": ["wrong-loss-sign"], "checks": [],
        "description": "The advantage is value - return, so the policy term makes good actions rarer; the critic (squared) does not notice.",
        "location": "A2CAgent.update: delta"}


class ActorCritic(nn.Module):
    def __init__(self, d, n):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(d, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh())
        self.pi = nn.Linear(64, n)
        self.v = nn.Linear(64, 1)

    def forward(self, obs):
        h = self.trunk(obs)
        return self.pi(h), self.v(h).squeeze(-1)


class A2CAgent:
    def __init__(self, net, opt, fixed, ent=0.002, vf=0.5):
        self.net, self.opt, self.fixed, self.ent, self.vf = net, opt, fixed, ent, vf

    def update(self, batch):
        obs, table = batch                     # table[i, a]: pay-off of every arm in that context
        logits, value = self.net(obs)
        dist = Categorical(logits=logits)
        acts = dist.sample((4,))               # four pulls per context
        ret = table.gather(1, acts.t()).t()
        delta = ret - value if self.fixed else value - ret
        pg = -(dist.log_prob(acts) * delta.detach()).mean()
        loss = pg + self.vf * delta.pow(2).mean() - self.ent * dist.entropy().mean()
        self.opt.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(self.net.parameters(), 1.0)
        self.opt.step()
        with torch.no_grad():
            regret = table.max(1).values - (dist.probs * table).sum(1)
        return regret.mean().item()


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 10)
    w = torch.randn(8, 5, generator=g)
    data = []
    for _ in range(16):
        x = torch.randn(48, 8, generator=g)
        best = (x @ w).argmax(1)
        data.append((x, 2 * F.one_hot(best, 5).float() + 0.05 * torch.randn(48, 5, generator=g)))
    net = ActorCritic(8, 5)
    opt = torch.optim.Adam(net.parameters(), lr=5e-3)
    agent = A2CAgent(net, opt, fixed)
    return {"model": net, "optimizer": opt, "data": data, "step": agent.update}
