import torch, torch.nn as nn
from torch.distributions import Normal
META = {"id": "b8_awr_policy", "source": "offline RL, advantage-weighted regression", "roots": ["wrong-loss-sign"], "checks": [],
 "description": "the policy objective is a log-likelihood and is minimised instead of maximised",
 "location": "policy_loss"}

class GaussianPolicy(nn.Module):
    def __init__(self, obs, act):
        super().__init__()
        self.mu = nn.Sequential(nn.Linear(obs, 64), nn.Tanh(), nn.Linear(64, act))
        self.log_std = nn.Parameter(torch.zeros(act))
    def forward(self, o):
        return Normal(self.mu(o), self.log_std.clamp(-2, 1).exp())

def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    K = torch.randn(6, 2) * 0.5
    data = []
    for _ in range(8):
        obs = torch.randn(64, 6)
        act = torch.tanh(obs @ K) + 0.15 * torch.randn(64, 2)
        adv = -((act - torch.tanh(obs @ K)) ** 2).sum(1)
        data.append(dict(obs=obs, act=act, adv=adv))
    pi = GaussianPolicy(6, 2)
    optimizer = torch.optim.Adam(pi.parameters(), lr=1e-2)

    def policy_loss(model, batch):
        w = torch.exp(batch["adv"] / 0.2).clamp(max=20.)
        logp = model(batch["obs"]).log_prob(batch["act"]).sum(-1)
        objective = (w * logp).sum() / w.sum()
        return -objective if fixed else objective

    return {"model": pi, "optimizer": optimizer, "data": data, "loss": policy_loss}
