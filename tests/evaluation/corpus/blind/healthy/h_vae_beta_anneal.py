"""VAE whose KL weight is annealed by a Python counter."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "h_vae_beta_anneal",
    "description": 'ELBO with a floor; the KL weight rises from 0 to 1 over 100 steps in a counter, so the loss may rise for a while although all is well.',
    "roots": [],
}


class VAE(nn.Module):
    def __init__(self, n=36, z=4):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(n, 64), nn.ReLU())
        self.mu, self.logvar = nn.Linear(64, z), nn.Linear(64, z)
        self.dec = nn.Sequential(nn.Linear(z, 64), nn.ReLU(), nn.Linear(64, n))

    def forward(self, x):
        h = self.enc(x)
        mu, logvar = self.mu(h), self.logvar(h)
        z = mu + torch.randn_like(mu) * (0.5 * logvar).exp()
        return self.dec(z), mu, logvar


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    data = []
    for _ in range(8):
        row, col = torch.randint(0, 6, (32,)), torch.randint(0, 6, (32,))
        img = torch.zeros(32, 6, 6)
        img[torch.arange(32), row] = 1
        img[torch.arange(32), :, col] = 1
        data.append(img.flatten(1))
    model = VAE()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    state = {"it": 0}

    def step(x):
        beta = min(1.0, state["it"] / 100)
        state["it"] += 1
        optimizer.zero_grad()
        logits, mu, logvar = model(x)
        rec = F.binary_cross_entropy_with_logits(logits, x, reduction="sum") / len(x)
        kl = -0.5 * (1 + logvar - mu ** 2 - logvar.exp()).sum() / len(x)
        loss = rec + beta * kl
        loss.backward()
        optimizer.step()
        return loss

    return {"model": model, "optimizer": optimizer, "data": data, "step": step}
