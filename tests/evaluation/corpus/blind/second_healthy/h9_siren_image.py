import math
import torch
from torch import nn

META = {"id": "h9_siren_image", "source": "implicit neural representation demo", "roots": [], "checks": [],
        "description": "healthy SIREN fit of one image: values and gradients supervised, one tensor of pixels, random subsets per step",
        "location": ""}


class Sine(nn.Module):
    def __init__(self, i, o, w0=12.0, first=False):
        super().__init__()
        self.lin, self.w0 = nn.Linear(i, o), w0
        b = 1 / i if first else math.sqrt(6 / i) / w0
        nn.init.uniform_(self.lin.weight, -b, b)

    def forward(self, x):
        return torch.sin(self.w0 * self.lin(x))


def picture(xy):
    x, y = xy.unbind(-1)
    v = torch.stack([torch.sin(5 * x) * torch.cos(4 * y), torch.exp(-4 * (x ** 2 + y ** 2)), torch.tanh(6 * (x - y))], -1)
    return 0.5 + 0.4 * v


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed)
    lin = torch.linspace(-1, 1, 32)
    pix = torch.cartesian_prod(lin, lin)
    d = 1e-2
    vals = picture(pix)
    grad = torch.stack([(picture(pix + s) - picture(pix - s)) / (2 * d) for s in (torch.tensor([d, 0.0]), torch.tensor([0.0, d]))], -1)
    net = nn.Sequential(Sine(2, 48, first=True), Sine(48, 48), Sine(48, 48), nn.Linear(48, 3))
    b = math.sqrt(6 / 48) / 12
    nn.init.uniform_(net[-1].weight, -b, b)
    opt = torch.optim.Adam(net.parameters(), lr=1e-3)
    sched = torch.optim.lr_scheduler.ExponentialLR(opt, 0.999)
    order = torch.randperm(len(pix), generator=g)

    def step(idx):
        xy = pix[idx].requires_grad_(True)
        out = net(xy)
        jac = torch.stack([torch.autograd.grad(out[:, c].sum(), xy, create_graph=True)[0] for c in range(3)], 1)
        loss = (out - vals[idx]).pow(2).mean() + 0.01 * (jac - grad[idx]).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        sched.step()
        return loss.item()

    return {"model": net, "optimizer": opt, "data": list(order.split(128)), "step": step}
