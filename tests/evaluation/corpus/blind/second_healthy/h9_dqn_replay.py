import copy, random
from collections import deque, namedtuple
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {"id": "h9_dqn_replay", "source": "RL tutorial", "roots": [], "checks": [],
        "description": "healthy double DQN with Huber loss, soft target, replay buffer filled from the batches", "location": ""}
Transition = namedtuple("Transition", "s a r s2 done")


class DuelingQ(nn.Module):
    def __init__(self, n_obs=6, n_act=3):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(n_obs, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU())
        self.val, self.adv = nn.Linear(64, 1), nn.Linear(64, n_act)

    def forward(self, s):
        h = self.body(s)
        a = self.adv(h)
        return self.val(h) + a - a.mean(1, keepdim=True)


def play(n, g):
    """thermostat: action moves the temperature, the reward is closeness to a set point"""
    s = torch.randn(n, 6, generator=g)
    a = torch.randint(0, 3, (n,), generator=g)
    s2 = s.clone()
    s2[:, 0] = s[:, 0] + (a - 1).float() * 0.5
    r = 2 - 2 * (s2[:, 0] - s2[:, 1]).abs()
    done = torch.rand(n, generator=g) < 0.3
    return [Transition(*row) for row in zip(s, a, r, s2, done.float())]


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    rnd = random.Random(seed)
    g = torch.Generator().manual_seed(seed)
    data = [play(32, g) for _ in range(20)]
    online = DuelingQ()
    target = copy.deepcopy(online).requires_grad_(False)
    opt = torch.optim.AdamW(online.parameters(), lr=2e-3, amsgrad=True)
    memory = deque(play(200, g), maxlen=2000)

    def step(transitions):
        memory.extend(transitions)
        b = Transition(*map(torch.stack, zip(*rnd.sample(memory, 64))))
        q = online(b.s).gather(1, b.a[:, None]).squeeze(1)
        with torch.no_grad():
            best = online(b.s2).argmax(1, keepdim=True)
            y = b.r + 0.7 * (1 - b.done) * target(b.s2).gather(1, best).squeeze(1)
        loss = F.smooth_l1_loss(q, y)
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_value_(online.parameters(), 100)
        opt.step()
        with torch.no_grad():
            for pt, po in zip(target.parameters(), online.parameters()):
                pt.lerp_(po, 0.01)
        return loss.item()

    return {"model": online, "optimizer": opt, "data": data, "step": step}
