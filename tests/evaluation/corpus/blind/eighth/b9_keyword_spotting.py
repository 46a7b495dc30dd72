import math
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {"id": "b9_keyword_spotting", "source": "speech-command repositories (in-place normalisation of cached spectrograms)",
        "roots": ["in-place-modification"], "checks": [],
        "description": "augmentation (gain and time masking) writes into the cached spectrograms, so that they get quieter and emptier with every epoch",
        "location": "spec_augment"}


def log_spectrogram(wave, n_fft=64, hop=32):
    spec = torch.stft(wave, n_fft, hop, window=torch.hann_window(n_fft), return_complex=True).abs()
    return torch.log1p(10 * spec)


def make_clips(n, seed, n_words=5, length=1024, sr=8000):
    g = torch.Generator().manual_seed(seed + 41)
    t = torch.arange(length) / sr
    y = torch.randint(0, n_words, (n,), generator=g)
    f0 = 400 + 500 * y.float() + 60 * torch.randn(n, generator=g)
    glide = torch.where(y % 2 == 0, 1.0, -1.0) * 2500
    phase = 2 * math.pi * (f0[:, None] * t + glide[:, None] * t ** 2)
    wave = torch.sin(phase) + 0.4 * torch.randn(n, length, generator=g)
    return log_spectrogram(wave), y


def spec_augment(spec, rng, width=3, fixed=False):
    """Random gain and one masked time stripe per clip."""
    if fixed:
        spec = spec.clone()
    gain = 0.75 + 0.3 * torch.rand(spec.size(0), 1, 1, generator=rng)
    spec *= gain
    starts = torch.randint(0, spec.size(2) - width, (spec.size(0),), generator=rng)
    for row, s in zip(spec, starts.tolist()):
        row[:, s:s + width] = 0.0
    return spec


class DSCNN(nn.Module):
    def __init__(self, n_mels=33, n_words=5, ch=24):
        super().__init__()
        self.conv1 = nn.Conv1d(n_mels, ch, 5, padding=2)
        self.gn1 = nn.GroupNorm(4, ch)
        self.dw = nn.Conv1d(ch, ch, 5, padding=2, groups=ch)
        self.pw = nn.Conv1d(ch, 2 * ch, 1)
        self.gn2 = nn.GroupNorm(4, 2 * ch)
        self.fc = nn.Linear(2 * ch, n_words)

    def forward(self, x):
        x = F.relu(self.gn1(self.conv1(x)))
        x = F.relu(self.gn2(self.pw(self.dw(x))))
        return self.fc(x.mean(-1))


class Trainer:
    def __init__(self, model, lr, seed, fixed):
        self.model, self.fixed = model, fixed
        self.opt = torch.optim.Adam(model.parameters(), lr=lr)
        self.rng = torch.Generator().manual_seed(seed + 7)

    def training_step(self, batch):
        spec, label = batch
        spec = spec_augment(spec, self.rng, fixed=self.fixed)
        loss = F.cross_entropy(self.model(spec), label)
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        return loss.item()


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    x, y = make_clips(320, seed)
    cache = [(x[i:i + 32].clone(), y[i:i + 32]) for i in range(0, 320, 32)]
    trainer = Trainer(DSCNN(), 2e-3, seed, fixed)
    return {"model": trainer.model, "optimizer": trainer.opt, "data": cache, "step": trainer.training_step}
