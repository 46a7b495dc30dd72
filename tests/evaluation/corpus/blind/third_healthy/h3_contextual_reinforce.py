import torch
from torch import nn
from torch.distributions import Categorical

META = {"id": "h3_contextual_reinforce", "source": "healthy; REINFORCE for contextual bandits as in recommender bandit repositories",
        "roots": [], "checks": [], "description": "policy gradient with running baseline and entropy bonus", "location": ""}


class Policy(nn.Module):
    def __init__(self, d, k):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(d, 48), nn.Tanh())
        self.logits = nn.Linear(48, k)
        nn.init.zeros_(self.logits.bias)

    def forward(self, s):
        return Categorical(logits=self.logits(self.body(s)))


class Bandit:
    def __init__(self, gen, d=6, k=4):
        self.theta = torch.randn(d, k, generator=gen)

    def pull(self, ctx, arm):
        score = ctx @ self.theta
        return (score.gather(1, arm[:, None]).squeeze(1) - score.mean(1)) / 2.0


class Agent:
    def __init__(self, policy, bandit, lr=1e-2, ent=1e-3):
        self.policy, self.bandit, self.ent = policy, bandit, ent
        self.opt = torch.optim.Adam(policy.parameters(), lr=lr)
        self.baseline = 0.0

    def learn(self, ctx):
        pi = self.policy(ctx)
        arms = pi.sample((8,))
        reward = torch.stack([self.bandit.pull(ctx, a) for a in arms])
        adv = reward - self.baseline
        loss = -(adv * pi.log_prob(arms)).mean() - self.ent * pi.entropy().mean()
        self.opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.policy.parameters(), 5.0)
        self.opt.step()
        self.baseline = 0.95 * self.baseline + 0.05 * reward.mean().item()
        return -reward.mean().item()


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 17)
    bandit = Bandit(g)
    data = list(torch.randn(20 * 48, 6, generator=g).split(48))
    agent = Agent(Policy(6, 4), bandit)
    return {"model": agent.policy, "optimizer": agent.opt, "data": data, "step": agent.learn}
