"""Sparse autoencoder for vibration snippets."""
import math
import torch
import torch.nn as nn

META = {
    "id": "b5_sparse_code_bias",
    "source": "CASES.md: DeepFD 42514960 (ReLU bottleneck), TheDeepChecker 49891163 (dead ReLU); own experience",
    "roots": ["dead-activations", "bad-initialization"],
    "description": "the bottleneck bias starts at -8 'for sparsity': every code unit is 0 for every sample and gets no gradient",
    "location": "SparseAE.encode[2].bias / the ReLU after it",
    "shows_in": "one-batch",
}


class SparseAE(nn.Module):
    def __init__(self, n_in=48, hidden=96, code=32, code_bias=0.0):
        super().__init__()
        self.encode = nn.Sequential(
            nn.Linear(n_in, hidden), nn.ReLU(),
            nn.Linear(hidden, code), nn.ReLU(),
        )
        self.decode = nn.Sequential(nn.Linear(code, hidden), nn.ReLU(), nn.Linear(hidden, n_in))
        nn.init.constant_(self.encode[2].bias, code_bias)

    def forward(self, x):
        code = self.encode(x)
        return self.decode(code), code


def vibration(n, seed):
    g = torch.Generator().manual_seed(seed)
    t = torch.linspace(0, 1, 48)
    f = torch.randint(1, 5, (n, 1), generator=g).float()
    amp = 0.5 + torch.rand(n, 1, generator=g)
    phase = torch.randint(0, 4, (n, 1), generator=g) * math.pi / 2
    x = amp * torch.sin(2 * math.pi * f * t + phase)
    return x + 0.03 * torch.randn(n, 48, generator=g)


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    x = vibration(8 * 32, seed)
    data = list(x.split(32))
    model = SparseAE(code_bias=0.0 if fixed else -8.0)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    sparsity = 1e-5

    def loss(model, x):
        recon, code = model(x)
        return nn.functional.mse_loss(recon, x) + sparsity * code.abs().mean()

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
