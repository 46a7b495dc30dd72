"""Audio clips, turned into spectrograms once."""

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

from pytest_trainhealth import Training


class Clips(Dataset):
    def __init__(self, clips=64):
        self.waves = torch.randn(clips, 16_000)
        self.spectrograms = [spectrogram(wave) for wave in self.waves]
        self.labels = torch.randint(4, (clips,))

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        return self.spectrograms[index], self.labels[index]


def spectrogram(wave):
    window = torch.hann_window(512)
    return torch.stft(wave, 512, hop_length=128, window=window, return_complex=True).abs().log1p()


def training():
    model = nn.Sequential(nn.Conv1d(257, 64, 5, stride=4), nn.ReLU(), nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(64, 4))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    loader = DataLoader(Clips(), batch_size=8, shuffle=True)
    return Training(model, optimizer, criterion=nn.CrossEntropyLoss(), data=loader)
