import copy, torch, torch.nn as nn, torch.nn.functional as F
META = {"id": "b8_dqn_soft_update", "source": "DQN implementations with polyak averaging", "roots": ["updates-lost"], "checks": [],
 "description": "the soft update is called with its arguments swapped: the online network is pulled back to the frozen target network after each step",
 "location": "DQNAgent.learn: soft_update(...)"}

def soft_update(source, dest, tau):
    for s, d in zip(source.parameters(), dest.parameters()):
        d.data.copy_(tau * s.data + (1 - tau) * d.data)

class DuelingQ(nn.Module):
    def __init__(self, s, a):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(s, 48), nn.ReLU(), nn.Linear(48, 48), nn.ReLU())
        self.v, self.a = nn.Linear(48, 1), nn.Linear(48, a)
    def forward(self, s):
        h = self.f(s); a = self.a(h)
        return self.v(h) + a - a.mean(1, keepdim=True)

class DQNAgent:
    def __init__(self, fixed):
        self.fixed = fixed
        self.online = DuelingQ(5, 4)
        self.target = copy.deepcopy(self.online).requires_grad_(False)
        self.opt = torch.optim.Adam(self.online.parameters(), lr=3e-3)
        self.gamma, self.tau = 0.3, 0.1
    def learn(self, batch):
        s, a, r, s2, done = batch
        with torch.no_grad():
            tgt = r + self.gamma * (1 - done) * self.target(s2).max(1).values
        q = self.online(s).gather(1, a[:, None]).squeeze(1)
        loss = F.smooth_l1_loss(q, tgt)
        self.opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.online.parameters(), 10.)
        self.opt.step()
        if self.fixed:
            soft_update(self.online, self.target, self.tau)
        else:
            soft_update(self.target, self.online, self.tau)
        return loss.item()

def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    R = torch.randn(5, 4)
    data = []
    for _ in range(8):
        s = torch.randn(64, 5); a = torch.randint(0, 4, (64,))
        r = 3 + 2 * (s @ R).gather(1, a[:, None]).squeeze(1)
        data.append((s, a, r, 0.8 * s + 0.2 * torch.randn(64, 5), (torch.rand(64) < .1).float()))
    ag = DQNAgent(fixed)
    return {"model": ag.online, "optimizer": ag.opt, "data": data, "step": ag.learn}
