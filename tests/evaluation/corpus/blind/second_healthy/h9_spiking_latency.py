import torch
from torch import nn
import torch.nn.functional as F

META = {"id": "h9_spiking_latency", "source": "neuromorphic tutorial", "roots": [], "checks": [],
        "description": "healthy LIF network with surrogate gradient, learned leak, spike-rate regulariser", "location": ""}


class FastSigmoidSpike(torch.autograd.Function):
    @staticmethod
    def forward(ctx, v):
        ctx.save_for_backward(v)
        return (v > 0).float()

    @staticmethod
    def backward(ctx, g):
        v, = ctx.saved_tensors
        return g / (1 + 5 * v.abs()) ** 2


class LIFNet(nn.Module):
    def __init__(self, i=30, h=64, o=4):
        super().__init__()
        self.w1, self.w2 = nn.Linear(i, h), nn.Linear(h, o)
        nn.init.normal_(self.w1.weight, std=2.0 / i ** 0.5)
        self.leak = nn.Parameter(torch.full((h,), 2.0))

    def forward(self, spikes):
        v = s = spikes.new_zeros(spikes.shape[1], 64)
        out = spikes.new_zeros(spikes.shape[1], 4)
        acc, rate = 0, 0
        beta = torch.sigmoid(self.leak)
        for x in spikes:                                   # time first
            v = beta * v * (1 - s.detach()) + self.w1(x)
            s = FastSigmoidSpike.apply(v - 1)
            out = 0.9 * out + self.w2(s)
            acc, rate = acc + out, rate + s.mean()
        return acc / len(spikes), rate / len(spikes)


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed)
    rates = torch.rand(4, 30, generator=g) ** 2 * 0.6
    data = []
    for _ in range(12):
        y = torch.randint(0, 4, (32,), generator=g)
        data.append(((torch.rand(16, 32, 30, generator=g) < rates[y]).float(), y))
    net = LIFNet()
    opt = torch.optim.Adam([{"params": [net.leak], "lr": 1e-2}, {"params": [*net.w1.parameters(), *net.w2.parameters()]}], lr=2e-3)

    def step(batch):
        x, y = batch
        logits, rate = net(x)
        loss = F.cross_entropy(logits, y) + 0.1 * F.relu(rate - 0.3) ** 2
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss.item()

    return {"model": net, "optimizer": opt, "data": data, "step": step}
