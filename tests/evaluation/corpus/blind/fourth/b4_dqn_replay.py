"""Q-learning on recorded transitions of a small corridor, with a frozen target network."""
import copy
import torch
import torch.nn as nn

META = {
    "id": "b4_dqn_replay",
    "source": "CASES.md stackoverflow 49206550 / pyro-ppl/pyro 286 (missing squeeze)",
    "roots": ["target-shape-mismatch"],
    "description": "gathered Q values are (B, 1), the bootstrapped targets (B,); their difference is (B, B)",
    "location": "td error in Agent.learn",
    "shows_in": "one-batch",
}


class QNet(nn.Module):
    def __init__(self, n_state=6, n_action=3):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(n_state, 96), nn.ReLU(), nn.Linear(96, 96), nn.ReLU(), nn.Linear(96, n_action))

    def forward(self, s):
        return self.net(s)


class Agent:
    gamma = 0.8

    def __init__(self, fixed):
        self.q = QNet()
        self.target = copy.deepcopy(self.q).requires_grad_(False)
        self.opt = torch.optim.Adam(self.q.parameters(), lr=3e-3)
        self.fixed = fixed

    def learn(self, batch):
        s, a, r, s2, done = batch
        chosen = self.q(s).gather(1, a[:, None])
        if self.fixed:
            chosen = chosen.squeeze(1)
        with torch.no_grad():
            target = r + self.gamma * (1 - done) * self.target(s2).max(1).values
        td = chosen - target
        loss = td.pow(2).mean()
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        return loss


def transitions(n, n_state=6):
    s = torch.randn(n, n_state)
    a = torch.randint(0, 3, (n,))
    shift = torch.zeros(n, n_state)
    shift[:, 0] = (a - 1).float()
    s2 = 0.8 * s + shift
    r = 2 * (s2[:, 0].abs() < 0.7).float() - s2[:, 1]
    done = (s2[:, 0].abs() > 2).float()
    return s, a, r, s2, done


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    columns = transitions(512)
    data = [tuple(c[i:i + 64] for c in columns) for i in range(0, 512, 64)]
    agent = Agent(fixed)
    return {"model": agent.q, "optimizer": agent.opt, "data": data, "step": agent.learn}
