"""Actor-critic with a shared trunk on simulated roll-outs."""
import torch
import torch.nn as nn

META = {
    "id": "h_actor_critic",
    "description": 'Policy, value and entropy terms are summed, the advantage is detached; the total may be negative and is noisy since actions are sampled.',
    "roots": [],
}


class ActorCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(3, 64), nn.Tanh())
        self.pi, self.v = nn.Linear(64, 2), nn.Linear(64, 1)

    def forward(self, s):
        h = self.trunk(s)
        return torch.distributions.Categorical(logits=self.pi(h)), self.v(h).squeeze(1)


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    data = [torch.randn(32, 3) for _ in range(8)]    # start states
    model = ActorCritic()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

    def step(s):
        logps, values, rewards, ents = [], [], [], []
        for _ in range(5):                           # push every coordinate's sum towards 0
            dist, v = model(s)
            a = dist.sample()
            s = s + 0.3 * (2.0 * a[:, None] - 1)
            rewards.append(-s.mean(1).abs())
            logps.append(dist.log_prob(a))
            ents.append(dist.entropy())
            values.append(v)
        ret, g = [], torch.zeros(len(s))
        for r in reversed(rewards):
            g = r + 0.9 * g
            ret.insert(0, g)
        ret, values = torch.stack(ret), torch.stack(values)
        adv = (ret - values).detach()
        policy_loss = -(torch.stack(logps) * adv).mean()
        loss = policy_loss + 0.5 * (ret - values).pow(2).mean() - 0.001 * torch.stack(ents).mean()
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        optimizer.step()
        return loss

    return {"model": model, "optimizer": optimizer, "data": data, "step": step}
