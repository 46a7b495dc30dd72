import torch
from torch import nn
from torch.distributions import Normal

META = {"id": "h9_ppo_target", "source": "RL library", "roots": [], "checks": [],
        "description": "healthy PPO on a vectorised point-reaching task; each batch holds start states and goals", "location": ""}


def layer(i, o, gain):
    l = nn.Linear(i, o)
    nn.init.orthogonal_(l.weight, gain)
    nn.init.zeros_(l.bias)
    return l


class ActorCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.pi = nn.Sequential(layer(4, 32, 2 ** .5), nn.Tanh(), layer(32, 32, 2 ** .5), nn.Tanh(), layer(32, 2, 0.01))
        self.vf = nn.Sequential(layer(4, 32, 2 ** .5), nn.Tanh(), layer(32, 32, 2 ** .5), nn.Tanh(), layer(32, 1, 1.0))
        self.log_std = nn.Parameter(torch.full((2,), -0.5))

    def dist(self, o):
        return Normal(self.pi(o), self.log_std.exp())


def build(fixed=False, seed=0, T=8, gamma=0.9, lam=0.95):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed)
    data = [{"pos": torch.rand(32, 2, generator=g) * 2 - 1, "goal": torch.rand(32, 2, generator=g) * 2 - 1} for _ in range(10)]
    ac = ActorCritic()
    opt = torch.optim.Adam(ac.parameters(), lr=1e-3, eps=1e-5)

    @torch.no_grad()
    def rollout(b):
        pos, goal = b["pos"].clone(), b["goal"]
        O, A, LP, R, V = [], [], [], [], []
        for _ in range(T):
            o = torch.cat([pos, goal], 1)
            d = ac.dist(o)
            a = d.sample()
            O.append(o), A.append(a), LP.append(d.log_prob(a).sum(-1)), V.append(ac.vf(o).squeeze(-1))
            pos = pos + 0.4 * a.clamp(-1, 1)
            R.append(-(pos - goal).norm(dim=1))
        V.append(ac.vf(torch.cat([pos, goal], 1)).squeeze(-1))
        adv, last = [None] * T, 0
        for t in reversed(range(T)):
            last = R[t] + gamma * V[t + 1] - V[t] + gamma * lam * last
            adv[t] = last
        adv = torch.stack(adv)
        return [x.flatten(0, 1) for x in (torch.stack(O), torch.stack(A), torch.stack(LP), adv, adv + torch.stack(V[:-1]))]

    def step(batch):
        o, a, lp, adv, ret = rollout(batch)
        adv = (adv - adv.mean()) / (adv.std() + 1e-8)
        total = 0.0
        for _ in range(2):
            for idx in torch.randperm(len(o)).chunk(2):
                d = ac.dist(o[idx])
                ratio = (d.log_prob(a[idx]).sum(-1) - lp[idx]).exp()
                pg = -torch.min(ratio * adv[idx], ratio.clamp(0.8, 1.2) * adv[idx]).mean()
                v = 0.5 * (ac.vf(o[idx]).squeeze(-1) - ret[idx]).pow(2).mean()
                loss = pg + 0.5 * v - 0.001 * d.entropy().sum(-1).mean()
                opt.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(ac.parameters(), 0.5)
                opt.step()
                total += loss.item() / 4
        return total

    return {"model": ac, "optimizer": opt, "data": data, "step": step}
