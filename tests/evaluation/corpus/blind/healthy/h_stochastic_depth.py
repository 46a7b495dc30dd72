"""Residual MLP with stochastic depth."""
import torch
import torch.nn as nn

META = {
    "id": "h_stochastic_depth",
    "description": 'Blocks are skipped at random for the whole batch (up to 40 percent), so in some steps a block gets no gradient at all; kept ones are rescaled.',
    "roots": [],
}


class Block(nn.Module):
    def __init__(self, dim, drop):
        super().__init__()
        self.drop = drop
        self.f = nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, dim), nn.GELU(), nn.Linear(dim, dim))

    def forward(self, x):
        if self.training:
            if torch.rand(()) < self.drop:
                return x
            return x + self.f(x) / (1 - self.drop)
        return x + self.f(x)


class Net(nn.Module):
    def __init__(self, depth=5, dim=48):
        super().__init__()
        self.inp = nn.Linear(12, dim)
        self.blocks = nn.Sequential(*[Block(dim, 0.4 * i / (depth - 1)) for i in range(depth)])
        self.out = nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, 4))

    def forward(self, x):
        return self.out(self.blocks(self.inp(x)))


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    w = torch.randn(12, 4)
    data = []
    for _ in range(8):
        x = torch.randn(32, 12)
        data.append((x, (x @ w).argmax(1)))
    model = Net()
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)

    def loss(model, batch):
        x, y = batch
        return nn.functional.cross_entropy(model(x), y)

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
