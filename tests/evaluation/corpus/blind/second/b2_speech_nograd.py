"""Keyword spotting from raw waveforms: conv front end and GRU."""
import torch
from torch import nn
import torch.nn.functional as F

META = {
    "id": "b2_speech_nograd",
    "source": "own experience (feature extraction left under no_grad after moving from a pretrained to a fresh front end)",
    "roots": ["disconnected-graph"],
    "description": "the front end, made from scratch, runs under torch.no_grad in forward and never learns",
    "location": "KeywordNet.extract",
    "shows_in": "wiring",
}


class KeywordNet(nn.Module):
    def __init__(self, n_words=6, fixed=False):
        super().__init__()
        self.fixed = fixed
        self.frontend = nn.Sequential(
            nn.Conv1d(1, 16, 15, stride=4, padding=7), nn.ReLU(),
            nn.Conv1d(16, 24, 9, stride=4, padding=4), nn.ReLU(),
        )
        self.gru = nn.GRU(24, 32, batch_first=True)
        self.fc = nn.Linear(32, n_words)

    def extract(self, wav):
        if self.fixed:
            return self.frontend(wav.unsqueeze(1))
        with torch.no_grad():
            return self.frontend(wav.unsqueeze(1))

    def forward(self, wav):
        feats = self.extract(wav)
        out, _ = self.gru(feats.transpose(1, 2))
        return self.fc(out.mean(1))


def make_data(n_batches=6, batch_size=24, length=256):
    freqs = torch.tensor([0.05, 0.09, 0.15, 0.23, 0.31, 0.43])
    t = torch.arange(length).float()
    data = []
    for _ in range(n_batches):
        y = torch.randint(0, 6, (batch_size,))
        f0 = freqs[y][:, None]
        f1 = freqs[(y + 2) % 6][:, None]
        phase = torch.rand(batch_size, 1) * 6.28
        wav = torch.where(t < length // 2, torch.sin(6.28 * f0 * t + phase), torch.sin(6.28 * f1 * t + phase))
        data.append((wav + 0.2 * torch.randn(batch_size, length), y))
    return data


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    data = make_data()
    model = KeywordNet(fixed=fixed)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

    def loss(model, batch):
        wav, word = batch
        return F.cross_entropy(model(wav), word)

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
