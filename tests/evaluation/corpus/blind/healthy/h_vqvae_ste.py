"""VQ-VAE with a straight-through estimator and an EMA codebook."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "h_vqvae_ste",
    "description": 'The nearest code is copied through with z + (q - z).detach(); the codebook is a buffer moved by running averages, not by the optimizer; the loss has a commitment term.',
    "roots": [],
}


class VQVAE(nn.Module):
    def __init__(self, n=24, dim=8, codes=64, slots=4, decay=0.9):
        super().__init__()
        self.slots, self.dim, self.decay = slots, dim, decay
        self.enc = nn.Sequential(nn.Linear(n, 96), nn.ReLU(), nn.Linear(96, slots * dim))
        self.norm = nn.LayerNorm(dim)
        self.dec = nn.Sequential(nn.Linear(slots * dim, 96), nn.ReLU(), nn.Linear(96, n))
        self.register_buffer("codes", torch.randn(codes, dim))
        self.register_buffer("count", torch.ones(codes))
        self.register_buffer("total", self.codes.clone())

    @torch.no_grad()
    def update_codes(self, z, idx):
        hot = F.one_hot(idx, len(self.codes)).float()
        self.count.mul_(self.decay).add_(hot.sum(0), alpha=1 - self.decay)
        self.total.mul_(self.decay).add_(hot.t() @ z, alpha=1 - self.decay)
        self.codes.copy_(self.total / self.count.clamp(min=1e-3)[:, None])
        dead = self.count < 0.05                 # restart codes nobody uses
        if dead.any():
            pick = z[torch.randint(0, len(z), (int(dead.sum()),))]
            self.codes[dead], self.total[dead], self.count[dead] = pick, pick, 1.0

    def forward(self, x):
        z = self.norm(self.enc(x).view(-1, self.dim))
        idx = torch.cdist(z.detach(), self.codes).argmin(1)
        q = self.codes[idx]
        commit = F.mse_loss(z, q)
        if self.training:
            self.update_codes(z.detach(), idx)
        q = z + (q - z).detach()
        return self.dec(q.view(len(x), -1)), commit


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    patterns = torch.randn(4, 8, 6)
    data = []
    for _ in range(8):
        pick = torch.randint(0, 8, (32, 4))
        x = torch.stack([patterns[s][pick[:, s]] for s in range(4)], 1).flatten(1)
        data.append(x + 0.02 * torch.randn(32, 24))
    model = VQVAE()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

    def loss(model, x):
        rec, commit = model(x)
        return F.mse_loss(rec, x) + 0.25 * commit

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
