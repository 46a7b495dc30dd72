"""VAE on small binary shapes with an evaluation that reports reconstruction and sample diversity."""
import torch
import torch.nn.functional as F
from torch import nn

META = {
    "id": "b6_vae_report",
    "source": "torch.manual_seed(0) inside the validation function to get the same samples every epoch (many generative repositories)",
    "roots": ["evaluation-changes-state"],
    "checks": ["evaluates_cleanly"],
    "description": "Evaluation reseeds the global generator, so after each evaluation training repeats the same latent noise and dropout masks.",
    "location": "Experiment.evaluate: torch.manual_seed(1234)",
}


class ShapeVAE(nn.Module):
    def __init__(self, n=36, z=4):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(n, 64), nn.ReLU(), nn.Dropout(0.05))
        self.stats = nn.Linear(64, 2 * z)
        self.dec = nn.Sequential(nn.Linear(z, 64), nn.ReLU(), nn.Linear(64, n))

    def encode(self, x):
        return self.stats(self.enc(x)).chunk(2, dim=1)

    def forward(self, x):
        mu, logvar = self.encode(x)
        z = mu
        if self.training:
            z = mu + torch.randn_like(mu) * (0.5 * logvar).exp()
        return self.dec(z), mu, logvar


class Experiment:
    def __init__(self, private_rng):
        self.model = ShapeVAE()
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=4e-3)
        self.private_rng = private_rng

    def loss(self, model, x):
        logits, mu, logvar = model(x)
        rec = F.binary_cross_entropy_with_logits(logits, x, reduction="none").sum(1)
        kl = -0.5 * (1 + logvar - mu ** 2 - logvar.exp()).sum(1)
        return (rec + 0.3 * kl).mean()

    @torch.no_grad()
    def evaluate(self, val_data):
        mode = self.model.training
        self.model.eval()
        rec, n = 0.0, 0
        for x in val_data:
            logits, _, _ = self.model(x)
            rec += F.binary_cross_entropy_with_logits(logits, x, reduction="sum").item()
            n += x.size(0)
        if self.private_rng:
            gen = torch.Generator().manual_seed(1234)
            z = torch.randn(64, 4, generator=gen)
        else:
            torch.manual_seed(1234)
            z = torch.randn(64, 4)
        diversity = torch.sigmoid(self.model.dec(z)).std(0).mean().item()
        self.model.train(mode)
        return {"recon": rec / n, "diversity": diversity}


def shapes(n):
    r, c = torch.randint(0, 6, (n,)), torch.randint(0, 6, (n,))
    img = torch.zeros(n, 6, 6)
    img[torch.arange(n), r, :] = 1.0
    img[torch.arange(n), :, c] = 1.0
    return img.flatten(1)


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    data = [shapes(32) for _ in range(8)]
    val = [shapes(32) for _ in range(2)]
    exp = Experiment(private_rng=fixed)
    return {
        "model": exp.model, "optimizer": exp.optimizer, "data": data, "val": val,
        "loss": exp.loss, "evaluate": exp.evaluate,
    }
