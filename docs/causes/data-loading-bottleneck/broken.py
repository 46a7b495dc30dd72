"""Sound clips of three seconds, turned into spectrograms again each time they are read."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Dataset

from pytest_trainhealth import Training

GATES = {"max_data_wait": 0.5}


def spectrogram(wave):
    waves = torch.stft(wave, 512, hop_length=128, window=torch.hann_window(512), return_complex=True)
    return F.adaptive_avg_pool2d(waves.abs().unsqueeze(0), (64, 32)).log1p()


class Clips(Dataset):
    def __init__(self, clips=64):
        self.waves = torch.randn(clips, 48_000)
        self.labels = torch.randint(4, (clips,))

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        return spectrogram(self.waves[index]), self.labels[index]


def training():
    convolutions = nn.Sequential(nn.Conv2d(1, 32, 5, stride=2), nn.ReLU(), nn.AdaptiveAvgPool2d(4))
    model = nn.Sequential(convolutions, nn.Flatten(), nn.Linear(512, 4))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    loader = DataLoader(Clips(), batch_size=16, shuffle=True)
    return Training(model, optimizer, criterion=nn.CrossEntropyLoss(), data=loader)
