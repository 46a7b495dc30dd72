"""Sparse autoencoder with a transposed start and unit-norm decoder."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "h_sparse_autoencoder",
    "description": "The decoder starts as the encoder's transpose (a copy, not tied), has its columns renormalised after every step, and an L1 term leaves the loss a floor; many latents stay off.",
    "roots": [],
}


class SAE(nn.Module):
    def __init__(self, d=24, latents=96):
        super().__init__()
        W = F.normalize(torch.randn(d, latents), dim=0)
        self.W_dec = nn.Parameter(W.clone())
        self.W_enc = nn.Parameter(W.t().clone())
        self.b_enc = nn.Parameter(torch.zeros(latents))
        self.b_dec = nn.Parameter(torch.zeros(d))

    def forward(self, x):
        z = torch.relu((x - self.b_dec) @ self.W_enc.t() + self.b_enc)
        return z @ self.W_dec.t() + self.b_dec, z


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    feats = F.normalize(torch.randn(40, 24), dim=1)
    data = []
    for _ in range(8):
        on = (torch.rand(64, 40) < 0.07) * torch.rand(64, 40) * 2
        data.append(on @ feats + 0.5)
    model = SAE()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)

    def step(x):
        rec, z = model(x)
        loss = (rec - x).pow(2).sum(1).mean() + 0.05 * z.abs().sum(1).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            model.W_dec.div_(model.W_dec.norm(dim=0, keepdim=True))
        return loss

    return {"model": model, "optimizer": optimizer, "data": data, "step": step}
