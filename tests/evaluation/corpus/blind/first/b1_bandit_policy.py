"""REINFORCE on logged clicks: learn which banner to show."""
import torch
import torch.nn as nn
from torch.distributions import Categorical

META = {
    "id": "b1_bandit_policy",
    "source": "CASES.md D flipped_sign, as in many first policy-gradient programs",
    "roots": ["wrong-loss-sign"],
    "description": "the policy-gradient loss lacks its minus sign, so rewarded actions become less likely",
    "location": "step: loss = (log_prob * reward).mean()",
    "shows_in": "one-batch",
}


class Policy(nn.Module):
    def __init__(self, n_features, n_banners):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(n_features, 64), nn.Tanh(),
            nn.Linear(64, 64), nn.Tanh(),
            nn.Linear(64, n_banners),
        )

    def forward(self, context):
        return Categorical(logits=self.net(context))


def logged_clicks(n, n_features=10, n_banners=4):
    context = torch.randn(n, n_features)
    taste = torch.randn(n_features, n_banners)
    best = (context @ taste).argmax(dim=1)
    shown = torch.where(torch.rand(n) < 0.5, best, torch.randint(0, n_banners, (n,)))
    click = (shown == best).float()
    return context, shown, click


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    batch_size = 48
    context, shown, click = logged_clicks(10 * batch_size)
    data = [
        {"context": context[i:i + batch_size], "action": shown[i:i + batch_size], "reward": click[i:i + batch_size]}
        for i in range(0, len(context), batch_size)
    ]
    policy = Policy(context.shape[1], 4)
    optimizer = torch.optim.Adam(policy.parameters(), lr=3e-3)

    def step(batch):
        dist = policy(batch["context"])
        log_prob = dist.log_prob(batch["action"])
        loss = (log_prob * batch["reward"]).mean()
        if fixed:
            loss = -loss
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(policy.parameters(), 5.0)
        optimizer.step()
        return loss

    return {"model": policy, "optimizer": optimizer, "data": data, "step": step}
