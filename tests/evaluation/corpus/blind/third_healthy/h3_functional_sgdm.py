import torch
import torch.nn.functional as F
from torch import nn
from torch.func import functional_call, grad_and_value, vmap

META = {"id": "h3_functional_sgdm", "source": "healthy; functorch per-sample gradient clipping",
        "roots": [], "checks": [], "description": "per-sample gradients by vmap, clipped one by one, averaged and given to SGD", "location": ""}


class RegNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(6, 32), nn.Linear(32, 2)

    def forward(self, x):
        return self.b(torch.tanh(self.a(x)))


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 31)
    x = torch.randn(32 * 20, 6, generator=g)
    y = torch.sin(x @ torch.randn(6, 2, generator=g) * 0.6)
    model = RegNet()
    opt = torch.optim.SGD(model.parameters(), lr=0.15, momentum=0.9)

    def one(params, xi, yi):
        return F.mse_loss(functional_call(model, params, (xi[None],)), yi[None])

    per_sample = vmap(grad_and_value(one), in_dims=(None, 0, 0))

    def step(batch, max_norm=2.0):
        params = {k: p.detach() for k, p in model.named_parameters()}
        grads, losses = per_sample(params, *batch)
        norms = torch.stack([v.flatten(1).norm(dim=1) for v in grads.values()]).norm(dim=0)
        w = (max_norm / (norms + 1e-6)).clamp(max=1.0)
        opt.zero_grad()
        for k, p in model.named_parameters():
            p.grad = torch.einsum("n,n...->...", w, grads[k]) / len(w)
        opt.step()
        return losses.mean().item()

    return {"model": model, "optimizer": opt, "data": list(zip(x.split(32), y.split(32))), "step": step}
