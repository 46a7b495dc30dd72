"""Discrete soft actor-critic with a learned temperature."""
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "h_sac_discrete",
    "description": 'Four optimised parts: two critics, actor, temperature; Polyak targets; the returned sum of losses contains negative parts (entropy) and need not fall.',
    "roots": [],
}


class Agent(nn.Module):
    def __init__(self, n=4, actions=3):
        super().__init__()
        net = lambda: nn.Sequential(nn.Linear(n, 48), nn.ReLU(), nn.Linear(48, actions))
        self.q1, self.q2, self.pi = net(), net(), net()
        self.t1 = copy.deepcopy(self.q1).requires_grad_(False)
        self.t2 = copy.deepcopy(self.q2).requires_grad_(False)
        self.log_alpha = nn.Parameter(torch.tensor(-1.0))


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    W = torch.randn(4, 3)
    data = []
    for _ in range(8):
        s, a = torch.randn(48, 4), torch.randint(0, 3, (48,))
        r = (s @ W).gather(1, a[:, None]).squeeze(1)
        data.append((s, a, r, 0.9 * s.roll(1, 1)))
    m = Agent()
    opt_q = torch.optim.Adam([*m.q1.parameters(), *m.q2.parameters()], lr=3e-3)
    opt_pi = torch.optim.Adam(m.pi.parameters(), lr=3e-3)
    opt_a = torch.optim.Adam([m.log_alpha], lr=3e-3)
    gamma, h_target = 0.5, 0.6

    def step(batch):
        s, a, r, s2 = batch
        alpha = m.log_alpha.exp().detach()
        with torch.no_grad():
            logp2 = m.pi(s2).log_softmax(1)
            v2 = (logp2.exp() * (torch.min(m.t1(s2), m.t2(s2)) - alpha * logp2)).sum(1)
            y = r + gamma * v2
        q_loss = sum(F.mse_loss(q(s).gather(1, a[:, None]).squeeze(1), y) for q in (m.q1, m.q2))
        opt_q.zero_grad()
        q_loss.backward()
        opt_q.step()

        logp = m.pi(s).log_softmax(1)
        q = torch.min(m.q1(s), m.q2(s)).detach()
        pi_loss = (logp.exp() * (alpha * logp - q)).sum(1).mean()
        opt_pi.zero_grad()
        pi_loss.backward()
        opt_pi.step()

        entropy = -(logp.exp() * logp).sum(1).mean().detach()
        a_loss = m.log_alpha.exp() * (entropy - h_target)
        opt_a.zero_grad()
        a_loss.backward()
        opt_a.step()
        with torch.no_grad():
            for net, tgt in ((m.q1, m.t1), (m.q2, m.t2)):
                for p, t in zip(net.parameters(), tgt.parameters()):
                    t.lerp_(p, 0.02)
        return q_loss

    return {"model": m, "optimizer": [opt_q, opt_pi, opt_a], "data": data, "step": step}
