"""Masked autoencoder on patches."""
import torch
import torch.nn as nn

META = {
    "id": "h_masked_autoencoder",
    "description": 'A random 60 percent of the patches is dropped before the encoder; the loss counts masked patches only and has a floor, since part of them cannot be guessed.',
    "roots": [],
}


class MAE(nn.Module):
    def __init__(self, patches=16, size=4, dim=32):
        super().__init__()
        self.embed = nn.Linear(size, dim)
        self.pos = nn.Parameter(0.02 * torch.randn(patches, dim))
        self.dec_pos = nn.Parameter(0.02 * torch.randn(patches, dim))
        self.mask_token = nn.Parameter(torch.zeros(dim))
        make = lambda: nn.TransformerEncoderLayer(dim, 4, 64, dropout=0.0, batch_first=True, norm_first=True)
        self.enc, self.dec = make(), make()
        self.out = nn.Linear(dim, size)

    def forward(self, x, ratio=0.6):
        B, N, _ = x.shape
        order = torch.rand(B, N).argsort(1)
        keep = order[:, :int(N * (1 - ratio))]
        tok = self.embed(x) + self.pos
        idx = keep[..., None].expand(-1, -1, tok.shape[-1])
        enc = self.enc(tok.gather(1, idx))
        full = self.mask_token.expand(B, N, -1).scatter(1, idx, enc)
        rec = self.out(self.dec(full + self.dec_pos))
        masked = torch.ones(B, N).scatter(1, keep, 0.0)
        return ((rec - x).pow(2).mean(2) * masked).sum() / masked.sum()


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    t = torch.linspace(0, 6.28, 64)
    data = []
    for _ in range(6):
        ph, f = 6.28 * torch.rand(16, 1), 1 + torch.randint(0, 3, (16, 1))
        data.append(torch.sin(f * t + ph).view(16, 16, 4))
    model = MAE()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)

    def loss(model, x):
        return model(x)

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
