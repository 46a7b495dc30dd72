import torch
from torch import nn

META = {"id": "h3_lbfgs_logreg", "source": "healthy; L-BFGS with strong Wolfe for small tabular problems",
        "roots": [], "checks": [], "description": "ridge-penalised softmax regression on random Fourier features, LBFGS closure per batch", "location": ""}


class FourierLogReg(nn.Module):
    def __init__(self, d, k, m=40):
        super().__init__()
        self.register_buffer("omega", torch.randn(d, m) * 0.4)
        self.register_buffer("phase", torch.rand(m) * 6.283)
        self.lin = nn.Linear(m, k)

    def forward(self, x):
        return self.lin(torch.cos(x @ self.omega + self.phase) * (2 / 40) ** 0.5)


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 21)
    x = torch.randn(128 * 10, 5, generator=g)
    y = (x @ torch.randn(5, 3, generator=g)).argmax(1)
    m = FourierLogReg(5, 3)
    crit = nn.CrossEntropyLoss()
    opt = torch.optim.LBFGS(m.parameters(), lr=1.0, max_iter=4, history_size=5, line_search_fn="strong_wolfe")

    def step(batch):
        xb, yb = batch

        def closure():
            opt.zero_grad()
            loss = crit(m(xb), yb) + 1e-3 * m.lin.weight.pow(2).sum()
            loss.backward()
            return loss

        opt.state.clear()  # curvature pairs of another batch are of no use here
        return opt.step(closure)

    return {"model": m, "optimizer": opt, "data": list(zip(x.split(128), y.split(128))), "step": step}
