"""Autoencoder with tied weights and a tight bottleneck."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "h_tied_autoencoder",
    "description": "The decoder uses the encoder's transposed matrices; three latent units for data of five factors, so the loss keeps a floor by design.",
    "roots": [],
}


class TiedAE(nn.Module):
    def __init__(self, n=30, h=24, z=3):
        super().__init__()
        self.w1 = nn.Parameter(torch.empty(h, n))
        self.w2 = nn.Parameter(torch.empty(z, h))
        nn.init.xavier_uniform_(self.w1)
        nn.init.xavier_uniform_(self.w2)
        self.b1, self.b2 = nn.Parameter(torch.zeros(h)), nn.Parameter(torch.zeros(z))
        self.c1, self.c2 = nn.Parameter(torch.zeros(h)), nn.Parameter(torch.zeros(n))

    def forward(self, x):
        z = F.linear(F.elu(F.linear(x, self.w1, self.b1)), self.w2, self.b2)
        return F.linear(F.elu(F.linear(z, self.w2.t(), self.c1)), self.w1.t(), self.c2)


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    scale = torch.tensor([3.0, 2.0, 1.5, 0.4, 0.3])
    mix = torch.randn(5, 30) / 5 ** 0.5
    data = [(torch.randn(48, 5) * scale) @ mix for _ in range(8)]
    model = TiedAE()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)

    def loss(model, x):
        return F.mse_loss(model(x), x)

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
