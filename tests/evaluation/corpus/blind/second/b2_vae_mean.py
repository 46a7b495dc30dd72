"""VAE on smooth random curves."""
import torch
from torch import nn
import torch.nn.functional as F

META = {
    "id": "b2_vae_mean",
    "source": "pyro-ppl/pyro #731 (wrong loss scaling), common in VAE repositories",
    "roots": ["loss-reduction"],
    "description": "the reconstruction term is a mean over pixels while the KL is a sum over the latents: the KL outweighs it and the posterior collapses",
    "location": "F.mse_loss(recon, x) with the default mean",
    "shows_in": "one-batch",
}


class VAE(nn.Module):
    def __init__(self, n=80, hidden=96, latent=6):
        super().__init__()
        self.fc1 = nn.Linear(n, hidden)
        self.fc_mu = nn.Linear(hidden, latent)
        self.fc_logvar = nn.Linear(hidden, latent)
        self.fc3 = nn.Linear(latent, hidden)
        self.fc4 = nn.Linear(hidden, n)

    def encode(self, x):
        h = F.relu(self.fc1(x))
        return self.fc_mu(h), self.fc_logvar(h)

    def reparameterize(self, mu, logvar):
        return mu + torch.exp(0.5 * logvar) * torch.randn_like(mu)

    def forward(self, x):
        mu, logvar = self.encode(x)
        z = self.reparameterize(mu, logvar)
        return self.fc4(F.relu(self.fc3(z))), mu, logvar


def make_data(n_batches=8, batch_size=32, n=80):
    t = torch.linspace(0, 6.28, n)
    data = []
    for _ in range(n_batches):
        amp = 1.0 + 2.5 * torch.rand(batch_size, 1)
        phase = 6.28 * torch.rand(batch_size, 1)
        level = 1.5 * torch.randn(batch_size, 1)
        data.append(amp * torch.sin(t + phase) + level)
    return data


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    data = make_data()
    model = VAE()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

    def loss(model, batch):
        recon, mu, logvar = model(batch)
        if fixed:
            rec = F.mse_loss(recon, batch, reduction="sum") / len(batch)
        else:
            rec = F.mse_loss(recon, batch)
        kld = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp()) / len(batch)
        return rec + kld

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
