"""Orthogonalised momentum for matrices, Adam for the rest."""
import torch
import torch.nn as nn

META = {
    "id": "h_muon_like",
    "description": 'A custom optimizer orthogonalises each matrix update by Newton-Schulz, biases and the head get Adam; two optimizers on one model.',
    "roots": [],
}


class Muon(torch.optim.Optimizer):
    def __init__(self, params, lr=0.02, momentum=0.9):
        super().__init__(params, dict(lr=lr, momentum=momentum))

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                buf = self.state[p].setdefault("buf", torch.zeros_like(p))
                buf.mul_(group["momentum"]).add_(p.grad)
                x = buf / (buf.norm() + 1e-7)
                tall = x.shape[0] > x.shape[1]
                x = x.t() if tall else x
                for _ in range(5):
                    a = x @ x.t()
                    x = 3.4445 * x + (-4.7750 * a + 2.0315 * a @ a) @ x
                p.add_(x.t() if tall else x, alpha=-group["lr"])


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    data = []
    for _ in range(6):
        x = torch.randn(32, 10)
        data.append((x, torch.sin(x[:, 0] + x[:, 1]) + 0.5 * x[:, 2]))
    model = nn.Sequential(nn.Linear(10, 48), nn.GELU(), nn.Linear(48, 48), nn.GELU(), nn.Linear(48, 1))
    matrices = [model[0].weight, model[2].weight]
    others = [model[0].bias, model[2].bias, *model[4].parameters()]
    muon = Muon(matrices, lr=0.02)
    adam = torch.optim.Adam(others, lr=3e-3)

    def step(batch):
        x, y = batch
        loss = (model(x).squeeze(1) - y).pow(2).mean()
        model.zero_grad()
        loss.backward()
        muon.step()
        adam.step()
        return loss

    return {"model": model, "optimizer": [muon, adam], "data": data, "step": step}
