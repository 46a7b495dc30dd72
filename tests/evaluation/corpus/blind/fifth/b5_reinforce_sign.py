"""REINFORCE on recorded bandit logs: reward 1 for a good recommendation, else 0."""
import torch
import torch.nn as nn
from torch.distributions import Categorical

META = {
    "id": "b5_reinforce_sign",
    "source": "CASES.md: TheDeepChecker flipped_sign; own experience (policy-gradient loss without the minus)",
    "roots": ["wrong-loss-sign"],
    "description": "the policy loss is +log_prob * reward: gradient descent makes the rewarded actions less likely without bound",
    "location": "policy_loss: missing minus",
    "shows_in": "one-batch",
}


class RecPolicy(nn.Module):
    def __init__(self, n_context, n_items, width=96):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(n_context, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU())
        self.logits = nn.Linear(width, n_items)

    def forward(self, context):
        return Categorical(logits=self.logits(self.body(context)))


def bandit_logs(n, g):
    context = torch.randn(n, 12, generator=g)
    shared = torch.Generator().manual_seed(40)
    best = (context @ torch.randn(12, 6, generator=shared)).argmax(1)
    shown = torch.randint(0, 6, (n,), generator=g)
    explored = torch.rand(n, generator=g) < 0.4
    shown = torch.where(explored, shown, best)
    return context, shown, (shown == best).float()


def policy_loss(dist, action, reward, sign):
    weighted = dist.log_prob(action) * reward
    return sign * weighted.mean()


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed)
    logs = bandit_logs(8 * 48, g)
    data = list(zip(*[column.split(48) for column in logs]))
    policy = RecPolicy(12, 6)
    optimizer = torch.optim.Adam(policy.parameters(), lr=1e-3)
    sign = -1.0 if fixed else 1.0

    def step(batch):
        context, action, reward = batch
        optimizer.zero_grad()
        loss = policy_loss(policy(context), action, reward, sign)
        loss.backward()
        nn.utils.clip_grad_norm_(policy.parameters(), 10.0)
        optimizer.step()
        return loss

    return {"model": policy, "optimizer": optimizer, "data": data, "step": step}
