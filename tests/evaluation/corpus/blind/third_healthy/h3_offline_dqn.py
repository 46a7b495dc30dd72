import copy
from collections import namedtuple
import torch
import torch.nn.functional as F
from torch import nn

META = {"id": "h3_offline_dqn", "source": "healthy; double DQN on a fixed replay with Polyak target network",
        "roots": [], "checks": [], "description": "double Q-learning with target net and Huber loss on logged transitions", "location": ""}

Transition = namedtuple("Transition", "obs act rew next_obs done")


class QNet(nn.Module):
    def __init__(self, obs=4, act=3, hid=64):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(obs, hid), nn.ReLU(), nn.Linear(hid, hid), nn.ReLU())
        self.value = nn.Linear(hid, 1)
        self.adv = nn.Linear(hid, act)

    def forward(self, o):
        h = self.trunk(o)
        a = self.adv(h)
        return self.value(h) + a - a.mean(-1, keepdim=True)


def simulate(n, g):
    obs = torch.rand(n, 4, generator=g) * 2 - 1
    act = torch.randint(0, 3, (n,), generator=g)
    force = (act.float() - 1.0) * 0.3
    vel = 0.9 * obs[:, 1] + force
    pos = obs[:, 0] + 0.3 * vel
    nxt = torch.stack([pos, vel, obs[:, 2], obs[:, 3]], 1)
    rew = 1.0 - (pos - obs[:, 2]).abs() - 0.1 * (act != 1).float() + 0.3 * obs[:, 3]
    done = (pos.abs() > 1.1).float()
    return Transition(obs, act, rew, nxt, done)


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 5)
    tr = simulate(64 * 24, g)
    data = [Transition(*(t[i:i + 64] for t in tr)) for i in range(0, 64 * 24, 64)]
    online = QNet()
    target = copy.deepcopy(online).requires_grad_(False)
    opt = torch.optim.Adam(online.parameters(), lr=2e-3)
    gamma, tau = 0.8, 0.05

    def update(batch):
        q = online(batch.obs).gather(1, batch.act[:, None]).squeeze(1)
        with torch.no_grad():
            best = online(batch.next_obs).argmax(1, keepdim=True)
            nq = target(batch.next_obs).gather(1, best).squeeze(1)
            y = batch.rew + gamma * (1 - batch.done) * nq
        td = F.smooth_l1_loss(q, y)
        opt.zero_grad(set_to_none=True)
        td.backward()
        nn.utils.clip_grad_norm_(online.parameters(), 10.0)
        opt.step()
        with torch.no_grad():
            for p, tp in zip(online.parameters(), target.parameters()):
                tp.lerp_(p, tau)
        return td.detach()

    return {"model": {"online": online, "target": target}, "optimizer": opt, "data": data, "step": update}
