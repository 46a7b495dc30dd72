"""Denoising autoencoder for smooth spectra."""
import torch
import torch.nn as nn

META = {
    "id": "b4_denoise_sum",
    "source": "CASES.md 41954308 (works with reduce_mean but not reduce_sum) / SO IPS_17",
    "roots": ["loss-reduction"],
    "description": "the squared error is summed over the batch, with a learning rate meant for the mean",
    "location": "return value of loss()",
    "shows_in": "nan",
}


class Denoiser(nn.Module):
    def __init__(self, bins=32, code=16):
        super().__init__()
        self.encode = nn.Sequential(nn.Linear(bins, 64), nn.ReLU(), nn.Linear(64, code))
        self.decode = nn.Sequential(nn.Linear(code, 64), nn.ReLU(), nn.Linear(64, bins))

    def forward(self, x):
        return self.decode(self.encode(x))


def spectra(n, bins=32):
    axis = torch.linspace(0, 1, bins)
    out = torch.zeros(n, bins)
    for _ in range(2):
        centre = torch.rand(n, 1)
        height = 1 + torch.rand(n, 1)
        out += height * torch.exp(-((axis - centre) / 0.12) ** 2)
    return out - out.mean()


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    clean = spectra(512)
    noisy = clean + 0.1 * torch.randn_like(clean)
    data = [{"noisy": noisy[i:i + 64], "clean": clean[i:i + 64]} for i in range(0, 512, 64)]
    model = Denoiser()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    criterion = nn.MSELoss(reduction="none")

    def loss(model, batch):
        per_spectrum = criterion(model(batch["noisy"]), batch["clean"]).mean(dim=1)
        return per_spectrum.mean() if fixed else per_spectrum.sum()

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
