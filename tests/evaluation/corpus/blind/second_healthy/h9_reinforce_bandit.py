import torch
from torch import nn
from torch.distributions import Categorical

META = {"id": "h9_reinforce_bandit", "source": "policy gradient notebook", "roots": [], "checks": [],
        "description": "healthy contextual bandit: REINFORCE with a leave-one-out baseline and entropy bonus; reports regret",
        "location": ""}


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed)
    W = torch.randn(8, 5, generator=g)
    ctx = torch.randn(16, 48, 8, generator=g)
    data = [(c, torch.sigmoid(c @ W)) for c in ctx]          # context, pay-off probability of each arm
    policy = nn.Sequential(nn.Linear(8, 48), nn.SiLU(), nn.Linear(48, 5))
    nn.init.normal_(policy[2].weight, std=0.01)
    nn.init.zeros_(policy[2].bias)
    opt = torch.optim.Adam(policy.parameters(), lr=1e-2, maximize=True)
    K = 8

    def step(batch):
        c, pay = batch
        d = Categorical(logits=policy(c))
        a = d.sample((K,))
        with torch.no_grad():
            r = torch.bernoulli(pay.expand(K, -1, -1).gather(2, a[..., None]).squeeze(-1))
            base = (r.sum(0, keepdim=True) - r) / (K - 1)
        objective = ((r - base) * d.log_prob(a)).mean() + 0.002 * d.entropy().mean()
        opt.zero_grad()
        objective.backward()
        opt.step()
        regret = (pay.max(1).values - (d.probs.detach() * pay).sum(1)).mean()
        return regret.item()

    return {"model": policy, "optimizer": opt, "data": data, "step": step}
