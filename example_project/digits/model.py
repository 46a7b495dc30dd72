"""The network: two convolutions, one hidden layer, one head. About 25,000 parameters."""

import torch.nn.functional as F
from torch import Tensor, nn

from .data import CLASSES, SIZE


class DigitNet(nn.Module):
    def __init__(self, channels: int = 16, width: int = 64) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(1, channels, kernel_size=3, padding=1)
        self.conv2 = nn.Conv2d(channels, 2 * channels, kernel_size=3, padding=1)
        self.hidden = nn.Linear(2 * channels * (SIZE // 4) ** 2, width)  # both poolings halve the image
        self.head = nn.Linear(width, CLASSES)

    def forward(self, images: Tensor) -> Tensor:
        x = F.max_pool2d(F.relu(self.conv1(images)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        x = F.relu(self.hidden(x.flatten(1)))
        return self.head(x)  # logits: cross_entropy does the softmax, and does it without underflow
