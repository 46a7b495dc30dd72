import torch
import torch.nn.functional as F
from torch import nn

META = {"id": "h3_spiking_surrogate", "source": "healthy; surrogate-gradient spiking network",
        "roots": [], "checks": [], "description": "leaky integrate-and-fire layer with fast-sigmoid surrogate, readout averaged over time", "location": ""}


class FastSigmoid(torch.autograd.Function):
    @staticmethod
    def forward(ctx, v):
        ctx.save_for_backward(v)
        return (v > 0).float()

    @staticmethod
    def backward(ctx, grad):
        v, = ctx.saved_tensors
        return grad / (1 + 5 * v.abs()) ** 2


class LIFNet(nn.Module):
    def __init__(self, i=10, h=64, o=3, beta=0.8, steps=8):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(i, h), nn.Linear(h, o)
        self.beta, self.steps = beta, steps
        self.threshold = 0.5

    def forward(self, x):
        cur = self.fc1(x)
        v = torch.zeros_like(cur)
        out = 0
        for _ in range(self.steps):
            v = self.beta * v + 0.5 * cur
            s = FastSigmoid.apply(v - self.threshold)
            v = v - s.detach() * self.threshold
            out = out + self.fc2(s)
        return out / self.steps


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 18)
    x = torch.randn(40 * 24, 10, generator=g)
    y = (x @ torch.randn(10, 3, generator=g)).argmax(1)
    net = LIFNet()
    return {"model": net, "optimizer": torch.optim.Adamax(net.parameters(), lr=1e-2),
            "data": list(zip(x.split(40), y.split(40))), "loss": lambda m, b: F.cross_entropy(m(b[0]), b[1])}
