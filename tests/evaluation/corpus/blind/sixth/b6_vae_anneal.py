"""VAE on curves with linear KL annealing."""
import torch
import torch.nn.functional as F
from torch import nn

META = {
    "id": "b6_vae_anneal",
    "source": "KL-annealing trainers whose iteration counter is an attribute (several VAE repositories; cf. CASES.md entrenar PR 257: step counters lost on resume)",
    "roots": ["checkpoint-incomplete"],
    "checks": ["resumes_exactly"],
    "description": "The iteration counter that drives the KL weight is not saved; after a resume the annealing starts again at 0.",
    "location": "VAETrainer.save: self.iteration is missing",
}


class CurveVAE(nn.Module):
    def __init__(self, n=20, z=3):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(n, 48), nn.GELU())
        self.mu = nn.Linear(48, z)
        self.logvar = nn.Linear(48, z)
        self.dec = nn.Sequential(nn.Linear(z, 48), nn.GELU(), nn.Linear(48, n))

    def forward(self, x, noise):
        h = self.enc(x)
        mu, logvar = self.mu(h), self.logvar(h)
        z = mu + noise * torch.exp(0.5 * logvar)
        return self.dec(z), mu, logvar


class VAETrainer:
    WARMUP = 120

    def __init__(self, seed, with_iteration):
        self.model = CurveVAE()
        self.opt = torch.optim.Adam(self.model.parameters(), lr=4e-3)
        self.gen = torch.Generator().manual_seed(seed)
        self.iteration = 0
        self.with_iteration = with_iteration

    @property
    def beta(self):
        return 0.2 * min(1.0, self.iteration / self.WARMUP)

    def step(self, x):
        noise = torch.randn(x.size(0), 3, generator=self.gen)
        recon, mu, logvar = self.model(x, noise)
        rec = F.mse_loss(recon, x, reduction="sum") / x.size(0)
        kl = -0.5 * (1 + logvar - mu.pow(2) - logvar.exp()).sum(1).mean()
        loss = rec + self.beta * kl
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        self.iteration += 1
        return loss

    def save(self, path):
        state = {
            "weights": self.model.state_dict(),
            "adam": self.opt.state_dict(),
            "rng": self.gen.get_state(),
        }
        if self.with_iteration:
            state["iteration"] = self.iteration
        torch.save(state, path)

    def load(self, path):
        state = torch.load(path)
        self.model.load_state_dict(state["weights"])
        self.opt.load_state_dict(state["adam"])
        self.gen.set_state(state["rng"])
        self.iteration = state.get("iteration", 0)


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    grid = torch.linspace(0, 1, 20)
    data = []
    for _ in range(8):
        a = torch.randn(32, 1)
        p = torch.rand(32, 1) * 3
        data.append(a * torch.sin(6.28 * grid + p) + 0.5 * a)
    trainer = VAETrainer(seed + 11, with_iteration=fixed)
    return {
        "model": trainer.model, "optimizer": trainer.opt, "data": data,
        "step": trainer.step, "save": trainer.save, "load": trainer.load,
    }
