import torch
from torch import nn
from torch.distributions import Normal

META = {"id": "h3_a2c_pointmass", "source": "healthy; A2C with short rollouts in a differentiable-free toy simulator",
        "roots": [], "checks": [], "description": "actor-critic with n-step returns from start states in the batch", "location": ""}


class ActorCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.pi = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 1))
        self.v = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 1))
        self.log_std = nn.Parameter(torch.full((1,), -0.5))

    def act(self, s):
        return Normal(self.pi(s), self.log_std.exp())


class Runner:
    def __init__(self, net, horizon=6, gamma=0.9):
        self.net, self.horizon, self.gamma = net, horizon, gamma
        self.opt = torch.optim.Adam([{"params": list(net.pi.parameters()) + [net.log_std], "lr": 5e-3},
                                     {"params": net.v.parameters(), "lr": 1e-2}])

    @staticmethod
    def env(s, a):
        x = s[:, :1] + 0.5 * a.clamp(-2, 2)
        return torch.cat([x, s[:, 1:]], 1), -(x - s[:, 1:]).abs().squeeze(1)

    def __call__(self, start):
        s, logs, vals, rews, ents = start, [], [], [], []
        for _ in range(self.horizon):
            dist = self.net.act(s)
            a = dist.sample()
            logs.append(dist.log_prob(a).squeeze(1))
            ents.append(dist.entropy().mean())
            vals.append(self.net.v(s).squeeze(1))
            s, r = self.env(s, a)
            rews.append(r)
        with torch.no_grad():
            ret = self.net.v(s).squeeze(1)
        targets = []
        for r in reversed(rews):
            ret = r + self.gamma * ret
            targets.insert(0, ret)
        targets, vals, logs = torch.stack(targets), torch.stack(vals), torch.stack(logs)
        adv = (targets - vals).detach()
        adv = (adv - adv.mean()) / (adv.std() + 1e-6)
        loss = -(adv * logs).mean() + 0.5 * (targets - vals).pow(2).mean() - 1e-3 * torch.stack(ents).mean()
        self.opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.net.parameters(), 1.0)
        self.opt.step()
        return -torch.stack(rews).mean().item()


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 1)
    net = ActorCritic()
    run = Runner(net)
    data = [torch.rand(48, 2, generator=g) * 3 - 1.5 for _ in range(16)]
    return {"model": net, "optimizer": run.opt, "data": data, "step": run}
