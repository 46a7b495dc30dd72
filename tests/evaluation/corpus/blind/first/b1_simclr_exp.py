"""Self-supervised contrastive pretraining of vibration embeddings (two noisy views)."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "b1_simclr_exp",
    "source": "CASES.md D wrong_softmax_impl, SO IPS_14 (softmax cross-entropy without stabilisation)",
    "roots": ["unstable-operation"],
    "description": "NT-Xent with a hand-written softmax: exp(sim / 0.01) overflows float32 once views agree",
    "location": "nt_xent: torch.exp(sim / temperature)",
    "shows_in": "nan",
}


class VibrationEncoder(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv1d(1, 16, 7, stride=2, padding=3), nn.ReLU(),
            nn.Conv1d(16, 32, 5, stride=2, padding=2), nn.ReLU(),
        )
        self.proj = nn.Sequential(nn.Flatten(), nn.Linear(32 * 12, 64), nn.ReLU(), nn.Linear(64, dim))

    def forward(self, x):
        return F.normalize(self.proj(self.conv(x)), dim=-1)


def make_vibrations(n, length=48):
    t = torch.linspace(0, 1, length)
    amps = torch.randn(n, 5, 1)
    freqs = torch.tensor([2.0, 3.0, 5.0, 8.0, 11.0]).view(1, 5, 1)
    phase = 6.28 * torch.rand(n, 5, 1)
    x = (amps * torch.sin(6.28 * freqs * t + phase)).sum(1, keepdim=True)
    return x / x.std()


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    clean = make_vibrations(8 * 32)
    view1 = clean + 0.6 * torch.randn_like(clean)
    view2 = clean * (0.9 + 0.2 * torch.rand(len(clean), 1, 1)) + 0.6 * torch.randn_like(clean)
    data = list(zip(view1.split(32), view2.split(32)))
    model = VibrationEncoder()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    temperature = 0.01

    def nt_xent(model, batch):
        z1, z2 = model(batch[0]), model(batch[1])
        sim = z1 @ z2.t()
        if fixed:
            return F.cross_entropy(sim / temperature, torch.arange(len(sim)))
        e = torch.exp(sim / temperature)
        return -torch.log(e.diagonal() / e.sum(dim=1)).mean()

    return {"model": model, "optimizer": optimizer, "data": data, "loss": nt_xent}
