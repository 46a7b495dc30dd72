"""PPO clipped objective on freshly sampled actions."""
import torch
import torch.nn as nn

META = {
    "id": "h_ppo_recorded",
    "description": 'Old log-probabilities come from a snapshot; three epochs of updates in each step; the clipped loss hovers around zero, so the step returns the mean regret.',
    "roots": [],
}


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(5, 48), nn.Tanh())
        self.mean = nn.Linear(48, 1)
        self.value = nn.Linear(48, 1)
        self.log_std = nn.Parameter(torch.tensor(-0.5))

    def forward(self, s):
        h = self.body(s)
        return torch.distributions.Normal(self.mean(h).squeeze(1), self.log_std.exp()), self.value(h).squeeze(1)


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    w = torch.randn(5)
    data = []
    for _ in range(6):
        s = torch.randn(64, 5)
        data.append((s, torch.tanh(s @ w)))
    model = Policy()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

    def step(batch):
        s, best = batch
        with torch.no_grad():
            dist, value = model(s)
            a = dist.sample()
            logp_old = dist.log_prob(a)
            reward = -(a - best).pow(2)
            adv = reward - value
            adv = (adv - adv.mean()) / (adv.std() + 1e-8)
        for _ in range(3):
            dist, value = model(s)
            ratio = (dist.log_prob(a) - logp_old).exp()
            clipped = torch.min(ratio * adv, ratio.clamp(0.8, 1.2) * adv)
            loss = -clipped.mean() + 0.5 * (value - reward).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        return -reward.mean()

    return {"model": model, "optimizer": optimizer, "data": data, "step": step}
