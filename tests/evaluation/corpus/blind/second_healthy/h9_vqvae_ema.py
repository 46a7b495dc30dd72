import torch
from torch import nn
import torch.nn.functional as F

META = {"id": "h9_vqvae_ema", "source": "audio codec repo", "roots": [], "checks": [],
        "description": "healthy VQ-VAE on waveforms: straight-through, EMA codebook with k-means-like start and dead code revival",
        "location": ""}


class VQ(nn.Module):
    def __init__(self, k=32, d=8, decay=0.95):
        super().__init__()
        self.register_buffer("code", torch.randn(k, d))
        self.register_buffer("count", torch.ones(k))
        self.register_buffer("total", self.code.clone())
        self.decay = decay

    def forward(self, z):
        flat = z.transpose(1, 2).reshape(-1, z.shape[1])
        idx = torch.cdist(flat, self.code).argmin(1)
        q = self.code[idx].view(len(z), -1, z.shape[1]).transpose(1, 2)
        if self.training:
            with torch.no_grad():
                hot = F.one_hot(idx, len(self.code)).float()
                self.count.lerp_(hot.sum(0), 1 - self.decay)
                self.total.lerp_(hot.T @ flat, 1 - self.decay)
                dead = self.count < 0.3
                if dead.any():
                    new = flat[torch.randint(0, len(flat), (int(dead.sum()),))]
                    self.count[dead], self.total[dead] = 1.0, new
                self.code.copy_(self.total / self.count[:, None])
        return z + (q - z).detach(), F.mse_loss(z, q.detach())


class Codec(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Sequential(nn.Conv1d(1, 24, 8, 4, 2), nn.ELU(), nn.Conv1d(24, 24, 3, 1, 1), nn.ELU(), nn.Conv1d(24, 8, 1))
        self.vq = VQ()
        self.dec = nn.Sequential(nn.Conv1d(8, 24, 3, 1, 1), nn.ELU(), nn.ConvTranspose1d(24, 24, 8, 4, 2), nn.ELU(), nn.Conv1d(24, 1, 5, 1, 2))

    def forward(self, x):
        q, commit = self.vq(self.enc(x))
        return self.dec(q), commit


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed)
    t = torch.arange(128) / 128
    f = torch.randint(2, 9, (384, 2), generator=g)
    ph = torch.rand(384, 2, generator=g) * 6.28
    x = torch.sin(6.2832 * f[..., None] * t + ph[..., None]).mul(torch.tensor([1.0, 0.5])[None, :, None]).sum(1, keepdim=True)
    codec = Codec()
    with torch.no_grad():
        z = codec.enc(x[:64]).transpose(1, 2).reshape(-1, 8)
        codec.vq.code.copy_(z[torch.randperm(len(z))[:32]])
        codec.vq.total.copy_(codec.vq.code)
    opt = torch.optim.Adam(codec.parameters(), lr=4e-3, betas=(0.8, 0.99))

    def step(wave):
        codec.train()
        rec, commit = codec(wave)
        a, b = (torch.stft(w.squeeze(1), 32, 16, window=torch.hann_window(32), return_complex=True).abs() for w in (rec, wave))
        loss = F.mse_loss(rec, wave) + 0.1 * F.l1_loss(a, b) + 0.25 * commit
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss.item()

    return {"model": codec, "optimizer": opt, "data": list(x.split(16)), "step": step}
