"""MADE on binary chains."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "h_made_binary",
    "description": 'Masked autoregressive density: the last input reaches no output and the first output depends on nothing but its bias, both by design.',
    "roots": [],
}


class MaskedLinear(nn.Linear):
    def set_mask(self, mask):
        self.register_buffer("mask", mask.float())

    def forward(self, x):
        return F.linear(x, self.weight * self.mask, self.bias)


class MADE(nn.Module):
    def __init__(self, n=12, hidden=96):
        super().__init__()
        order = torch.arange(n)
        deg = torch.arange(hidden) % (n - 1)
        self.l1, self.l2, self.l3 = MaskedLinear(n, hidden), MaskedLinear(hidden, hidden), MaskedLinear(hidden, n)
        self.l1.set_mask(deg[:, None] >= order[None])
        self.l2.set_mask(deg[:, None] >= deg[None])
        self.l3.set_mask(order[:, None] > deg[None])

    def forward(self, x):
        h = torch.relu(self.l1(x))
        h = torch.relu(self.l2(h))
        return self.l3(h)


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    data = []
    for _ in range(8):
        x = torch.zeros(32, 12)
        x[:, :2] = (torch.rand(32, 2) < 0.5).float()
        for i in range(2, 12):
            bit = (x[:, i - 1] + x[:, i - 2]) % 2
            flip = (torch.rand(32) < 0.03).float()
            x[:, i] = (bit + flip) % 2
        data.append(x)
    model = MADE()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)

    def loss(model, x):
        return F.binary_cross_entropy_with_logits(model(x), x, reduction="none").sum(1).mean()

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
