import torch, torch.nn as nn, torch.nn.functional as F
import torch.nn.utils.prune as prune

META = {"id": "h9_magnitude_pruning", "source": "model compression scripts", "roots": [], "checks": [],
        "description": "healthy gradual magnitude pruning while training a small CNN (20% then 40% sparsity)", "location": ""}


def make():
    return nn.Sequential(nn.Conv2d(1, 16, 3, padding=1, bias=False), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
                         nn.Conv2d(16, 24, 3, padding=1, bias=False), nn.BatchNorm2d(24), nn.ReLU(), nn.AdaptiveAvgPool2d(2),
                         nn.Flatten(), nn.Linear(96, 5))


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed)
    templates = torch.randn(5, 1, 10, 10, generator=g)
    y = torch.randint(0, 5, (384,), generator=g)
    x = templates[y] + 0.8 * torch.randn(384, 1, 10, 10, generator=g)
    data = list(zip(x.split(32), y.split(32)))
    net = make()
    layers = [m for m in net if isinstance(m, (nn.Conv2d, nn.Linear))]
    for m in layers:
        prune.identity(m, "weight")
    opt = torch.optim.SGD(net.parameters(), lr=0.03, momentum=0.9)
    milestones = {20: 0.2, 40: 0.4}
    clock = [0]

    def sparsify(frac):
        for m in layers:
            w = (m.weight_orig * m.weight_mask).abs().flatten()
            thr = w.kthvalue(max(1, int(frac * w.numel()))).values
            m.weight_mask = ((m.weight_orig * m.weight_mask).abs() > thr).float()

    def step(batch):
        net.train()
        if clock[0] in milestones:
            sparsify(milestones[clock[0]])
        opt.zero_grad()
        loss = F.cross_entropy(net(batch[0]), batch[1])
        loss.backward()
        opt.step()
        clock[0] += 1
        return loss.item()

    return {"model": net, "optimizer": opt, "data": data, "step": step}
