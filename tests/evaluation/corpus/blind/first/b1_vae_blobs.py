"""Variational autoencoder for small images of two blobs."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "b1_vae_blobs",
    "source": "PyTorch forum classic: KL summed over the batch, reconstruction averaged over pixels",
    "roots": ["loss-reduction", "too-much-regularization"],
    "description": "the KL term is summed over batch and latent dimensions while the reconstruction is a mean: the posterior collapses",
    "location": "loss: kld = ....sum()",
    "shows_in": "one-batch",
}


class VAE(nn.Module):
    def __init__(self, n_pix, latent=8, hidden=128):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(n_pix, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU())
        self.mu = nn.Linear(hidden, latent)
        self.logvar = nn.Linear(hidden, latent)
        self.dec = nn.Sequential(nn.Linear(latent, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU(),
                                 nn.Linear(hidden, n_pix))

    def reparameterize(self, mu, logvar):
        std = torch.exp(0.5 * logvar)
        return mu + std * torch.randn_like(std)

    def forward(self, x):
        h = self.enc(x)
        mu, logvar = self.mu(h), self.logvar(h)
        return self.dec(self.reparameterize(mu, logvar)), mu, logvar


def make_blobs(n, size=12):
    grid = torch.linspace(-1, 1, size)
    yy, xx = torch.meshgrid(grid, grid, indexing="ij")
    img = torch.zeros(n, size, size)
    for k in range(2):
        c = torch.rand(n, 2, 1, 1) * 1.4 - 0.7
        img += (1 - 2 * k) * torch.exp(-((xx - c[:, 0]) ** 2 + (yy - c[:, 1]) ** 2) / 0.15)
    img = img.flatten(1)
    return (img - img.mean()) / img.std()


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    x = make_blobs(8 * 32)
    data = list(x.split(32))
    model = VAE(x.shape[1])
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    beta = 0.01

    def loss(model, x):
        recon, mu, logvar = model(x)
        mse = F.mse_loss(recon, x)
        kld = -0.5 * (1 + logvar - mu.pow(2) - logvar.exp())
        kld = kld.mean() if fixed else kld.sum()
        return mse + beta * kld

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
