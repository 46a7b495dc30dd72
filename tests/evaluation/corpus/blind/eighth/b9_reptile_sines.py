import copy
import math
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {"id": "b9_reptile_sines", "source": "Reptile/MAML re-implementations: meta-test adapts the meta-learned weights in place",
        "roots": ["evaluation-changes-state"], "checks": ["evaluates_cleanly"],
        "description": "meta-test fine-tunes the meta-learned network itself on the support sets of the test tasks, not a copy",
        "location": "meta_test"}


class SineNet(nn.Module):
    def __init__(self, hidden=48):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(1, hidden), nn.Tanh(), nn.Linear(hidden, hidden), nn.Tanh(), nn.Linear(hidden, 1))

    def forward(self, x):
        return self.layers(x)


def sample_tasks(n, points, seed):
    g = torch.Generator().manual_seed(seed)
    amp = 0.5 + 1.5 * torch.rand(n, 1, 1, generator=g)
    phase = 0.6 * torch.rand(n, 1, 1, generator=g)
    x = torch.rand(n, points, 1, generator=g) * 6 - 3
    return [(a, b) for a, b in zip(x, amp * torch.sin(x + phase))]


def adapt(net, x, y, lr=0.02, steps=3):
    opt = torch.optim.SGD(net.parameters(), lr=lr)
    for _ in range(steps):
        opt.zero_grad()
        F.mse_loss(net(x), y).backward()
        opt.step()
    opt.zero_grad()
    return net


class FOMAML:
    """First-order MAML: query gradients of the adapted copies, averaged into the meta-parameters."""

    def __init__(self, lr=3e-3, fixed=False):
        self.net = SineNet()
        self.meta_opt = torch.optim.Adam(self.net.parameters(), lr=lr)
        self.fixed = fixed

    def meta_train_step(self, tasks):
        self.meta_opt.zero_grad()
        for p in self.net.parameters():
            p.grad = torch.zeros_like(p)
        total = 0.0
        for x, y in tasks:
            half = x.size(0) // 2
            fast = adapt(copy.deepcopy(self.net), x[:half], y[:half], steps=1)
            loss = F.mse_loss(fast(x[half:]), y[half:])
            grads = torch.autograd.grad(loss, list(fast.parameters()))
            for p, g in zip(self.net.parameters(), grads):
                p.grad += g / len(tasks)
            total += loss.item() / len(tasks)
        self.meta_opt.step()
        return total


def meta_test(learner, tasks):
    losses = []
    for x, y in tasks:
        half = x.size(0) // 2
        net = copy.deepcopy(learner.net) if learner.fixed else learner.net
        adapt(net, x[:half], y[:half])
        with torch.no_grad():
            losses.append(F.mse_loss(net(x[half:]), y[half:]).item())
    return {"post_adaptation_mse": sum(losses) / len(losses)}


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    tasks = sample_tasks(96, 20, seed + 36)
    data = [tasks[i:i + 4] for i in range(0, 96, 4)]
    test_tasks = sample_tasks(8, 20, seed + 1036)
    learner = FOMAML(fixed=fixed)
    return {"model": learner.net, "optimizer": learner.meta_opt, "data": data, "step": learner.meta_train_step,
            "evaluate": lambda: meta_test(learner, test_tasks)}
