import torch
from torch import nn
from torch.nn.utils import parameters_to_vector, vector_to_parameters

META = {"id": "h9_evolution_strategy", "source": "black-box optimisation script", "roots": [], "checks": [],
        "description": "healthy OpenAI-ES: antithetic samples, rank shaping, estimated gradient put into .grad and given to Adam; no autograd",
        "location": ""}


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed)
    W = torch.randn(6, 2, generator=g) * 0.8
    data = []
    for _ in range(10):
        s = torch.randn(32, 6, generator=g)
        data.append((s, torch.tanh(s @ W)))           # states and the actions the black box rewards most
    policy = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 2), nn.Tanh())
    opt = torch.optim.Adam(policy.parameters(), lr=0.05)
    sigma, pairs = 0.08, 24

    @torch.no_grad()
    def fitness(theta, batch):
        vector_to_parameters(theta, policy.parameters())
        return -(policy(batch[0]) - batch[1]).pow(2).sum(1).mean()

    @torch.no_grad()
    def step(batch):
        theta = parameters_to_vector(policy.parameters()).clone()
        base = fitness(theta, batch)
        eps = torch.randn(pairs, theta.numel())
        eps = torch.cat([eps, -eps])
        scores = torch.stack([fitness(theta + sigma * e, batch) for e in eps])
        rank = scores.argsort().argsort().float() / (len(eps) - 1) - 0.5
        grad = -(rank[:, None] * eps).mean(0) / sigma
        vector_to_parameters(theta, policy.parameters())
        i = 0
        for p in policy.parameters():
            p.grad = grad[i:i + p.numel()].view_as(p).clone()
            i += p.numel()
        opt.step()
        return -base.item()

    return {"model": policy, "optimizer": opt, "data": data, "step": step}
