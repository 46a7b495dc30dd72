"""Fine-tuning the last layer only, unfrozen by its own name."""

import torch
from torch import nn

from pytest_trainhealth import Training


class Encoder(nn.Module):
    """Stands for a pretrained network."""

    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(64, 128), nn.GELU(), nn.Linear(128, 128), nn.GELU())
        self.norm = nn.LayerNorm(128)
        self.classifier = nn.Linear(128, 4)

    def forward(self, x):
        return self.classifier(self.norm(self.body(x)))


def training():
    model = Encoder()
    for name, parameter in model.named_parameters():
        parameter.requires_grad = name.startswith("classifier")
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    inputs, labels = torch.randn(16, 64), torch.randint(4, (16,))
    return Training(model, optimizer, criterion=nn.CrossEntropyLoss(), data=(inputs, labels))
