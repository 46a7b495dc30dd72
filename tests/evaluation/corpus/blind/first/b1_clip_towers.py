"""Two-tower contrastive training that matches sensor windows to their captions."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "b1_clip_towers",
    "source": "CASES.md D flipped_sign, ported to InfoNCE",
    "roots": ["wrong-loss-sign"],
    "description": "InfoNCE written by hand without the minus sign: matching pairs are pushed apart",
    "location": "info_nce: return value",
    "shows_in": "one-batch",
}


class SignalTower(nn.Module):
    def __init__(self, channels, dim):
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv1d(channels, 24, 5, stride=2, padding=2), nn.ReLU(),
            nn.Conv1d(24, 32, 3, stride=2, padding=1), nn.ReLU(),
        )
        self.proj = nn.Linear(32, dim)

    def forward(self, x):
        return self.proj(self.conv(x).mean(-1))


class TextTower(nn.Module):
    def __init__(self, vocab, dim):
        super().__init__()
        self.emb = nn.EmbeddingBag(vocab, 32, mode="mean")
        self.mlp = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, dim))

    def forward(self, tokens):
        return self.mlp(self.emb(tokens))


class Matcher(nn.Module):
    def __init__(self, vocab=60, channels=4, dim=32):
        super().__init__()
        self.signal = SignalTower(channels, dim)
        self.text = TextTower(vocab, dim)
        self.logit_scale = nn.Parameter(torch.tensor(2.0))

    def forward(self, signal, tokens):
        a = F.normalize(self.signal(signal), dim=-1)
        b = F.normalize(self.text(tokens), dim=-1)
        return self.logit_scale.exp() * a @ b.t()


def make_pairs(n, vocab=60, channels=4, length=32):
    latent = torch.randn(n, 6)
    t = torch.linspace(0, 6.28, length)
    freqs = torch.arange(1, 7).float()
    mix = torch.randn(channels, 6) * 0.8
    waves = latent.unsqueeze(-1) * torch.sin(freqs.view(1, 6, 1) * t)
    signal = torch.einsum("cf,nfl->ncl", mix, waves) + (latent @ torch.randn(6, channels)).unsqueeze(-1)
    bins = ((latent + 2.5) / 5 * 10).long().clamp(0, 9)
    tokens = bins + 10 * torch.arange(6)
    return signal, tokens


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    signal, tokens = make_pairs(10 * 24)
    data = list(zip(signal.split(24), tokens.split(24)))
    model = Matcher()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)

    def info_nce(model, batch):
        logits = model(*batch)
        log_p = torch.diag(F.log_softmax(logits, dim=1)) + torch.diag(F.log_softmax(logits, dim=0))
        return -log_p.mean() / 2 if fixed else log_p.mean() / 2

    return {"model": model, "optimizer": optimizer, "data": data, "loss": info_nce}
