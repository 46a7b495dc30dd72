"""Custom optimizer: Lion."""
import torch
import torch.nn as nn

META = {
    "id": "h_lion_custom",
    "description": 'A subclass of torch.optim.Optimizer with sign updates and decoupled decay: every weight moves by the same amount each step.',
    "roots": [],
}


class Lion(torch.optim.Optimizer):
    def __init__(self, params, lr=3e-4, betas=(0.9, 0.99), weight_decay=0.0):
        super().__init__(params, dict(lr=lr, betas=betas, weight_decay=weight_decay))

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            b1, b2 = group["betas"]
            for p in group["params"]:
                if p.grad is None:
                    continue
                m = self.state[p].setdefault("m", torch.zeros_like(p))
                p.mul_(1 - group["lr"] * group["weight_decay"])
                p.add_((m * b1 + p.grad * (1 - b1)).sign(), alpha=-group["lr"])
                m.mul_(b2).add_(p.grad, alpha=1 - b2)


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    centre = torch.randn(6, 24)
    data = []
    for _ in range(8):
        y = torch.randint(0, 6, (32,))
        data.append((centre[y] + 0.8 * torch.randn(32, 24), y))
    model = nn.Sequential(nn.Linear(24, 64), nn.LayerNorm(64), nn.ReLU(), nn.Linear(64, 6))
    optimizer = Lion(model.parameters(), lr=1e-3, weight_decay=0.1)

    def loss(model, batch):
        x, y = batch
        return nn.functional.cross_entropy(model(x), y)

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
