"""REINFORCE with a moving baseline on a contextual bandit."""
import torch
import torch.nn as nn

META = {
    "id": "h_reinforce_baseline",
    "description": 'The surrogate loss is around zero and says nothing; what falls is the negative mean reward, which the step returns.',
    "roots": [],
}


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    W = torch.randn(6, 4)
    data = []
    for _ in range(8):
        x = torch.randn(64, 6)
        data.append((x, (x @ W).argmax(1)))
    policy = nn.Sequential(nn.Linear(6, 64), nn.Tanh(), nn.Linear(64, 4))
    optimizer = torch.optim.Adam(policy.parameters(), lr=1e-2)
    state = {"baseline": 0.0}

    def step(batch):
        x, best = batch
        dist = torch.distributions.Categorical(logits=policy(x))
        action = dist.sample()
        reward = (action == best).float()
        surrogate = -(dist.log_prob(action) * (reward - state["baseline"])).mean() - 0.003 * dist.entropy().mean()
        optimizer.zero_grad()
        surrogate.backward()
        optimizer.step()
        state["baseline"] = 0.9 * state["baseline"] + 0.1 * float(reward.mean())
        return 1 - reward.mean()

    return {"model": policy, "optimizer": optimizer, "data": data, "step": step}
