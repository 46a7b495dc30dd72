"""A prediction for each pixel."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from pytest_trainhealth import Training

from . import healthy
from .toydata import loader


def scenes(n: int = 32, size: int = 16) -> tuple[Tensor, Tensor]:
    """A bright disc on a noisy ground; the mask says where it is."""
    grid = torch.stack(torch.meshgrid(torch.arange(size), torch.arange(size), indexing="ij"))
    centre = torch.randint(4, size - 4, (n, 2, 1, 1))
    mask = ((grid - centre) ** 2).sum(1) < torch.randint(6, 20, (n, 1, 1))
    return mask[:, None].float() + 0.4 * torch.randn(n, 1, size, size), mask.long()


class UNet(nn.Module):
    def __init__(self, classes: int = 2, width: int = 8) -> None:
        super().__init__()
        self.down1 = self._double(1, width)
        self.down2 = self._double(width, 2 * width)
        self.up = nn.ConvTranspose2d(2 * width, width, 2, stride=2)
        self.out = self._double(2 * width, width)
        self.head = nn.Conv2d(width, classes, 1)

    @staticmethod
    def _double(inside: int, outside: int) -> nn.Sequential:
        return nn.Sequential(
            nn.Conv2d(inside, outside, 3, padding=1), nn.BatchNorm2d(outside), nn.ReLU(inplace=True),
            nn.Conv2d(outside, outside, 3, padding=1), nn.BatchNorm2d(outside), nn.ReLU(inplace=True),
        )  # fmt: skip

    def forward(self, x: Tensor) -> Tensor:
        fine = self.down1(x)
        coarse = self.down2(F.max_pool2d(fine, 2))
        return self.head(self.out(torch.cat([fine, self.up(coarse)], 1)))


@healthy
def unet_ignore_index() -> Training:
    """The rim of each object is marked 255 and left out of the loss, as in Pascal VOC."""
    x, mask = scenes()
    grown = F.max_pool2d(mask[:, None].float(), 3, stride=1, padding=1)[:, 0].long()
    target = torch.where(grown != mask, 255, mask)
    model = UNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    criterion = nn.CrossEntropyLoss(ignore_index=255)
    return Training(model, optimizer, criterion=criterion, data=loader(x, target, batch_size=6))


@healthy
def unet_dice_and_bce() -> Training:
    """Dice plus binary cross-entropy, few positive pixels; the dice part is in 0..1."""

    def criterion(logits: Tensor, mask: Tensor) -> Tensor:
        probability = logits.sigmoid()
        overlap = (probability * mask).sum((1, 2))
        dice = 1 - (2 * overlap + 1) / (probability.sum((1, 2)) + mask.sum((1, 2)) + 1)
        return dice.mean() + F.binary_cross_entropy_with_logits(logits, mask)

    model = nn.Sequential(UNet(classes=1), nn.Flatten(1, 2))
    x, mask = scenes()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    return Training(model, optimizer, criterion=criterion, data=loader(x, mask.float(), batch_size=6))


class CentreDetector(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(1, 16, 3, stride=2, padding=1), nn.GroupNorm(4, 16), nn.ReLU(),
            nn.Conv2d(16, 16, 3, stride=2, padding=1), nn.GroupNorm(4, 16), nn.ReLU(),
        )  # fmt: skip
        self.heat = nn.Conv2d(16, 1, 1)
        self.size = nn.Conv2d(16, 1, 1)
        nn.init.constant_(self.heat.bias, -2.2)  # objects are rare: start at a probability of 0.1

    def forward(self, x: Tensor) -> dict[str, Tensor]:
        h = self.body(x)
        return {"heat": self.heat(h).squeeze(1), "size": self.size(h).squeeze(1)}


@healthy
def detector_with_empty_images() -> Training:
    """Nested targets; half of the images hold no object, so the size head learns from the others only."""

    def loss(model: nn.Module, batch: tuple[Tensor, dict[str, Tensor]]) -> Tensor:
        x, target = batch
        output = model(x)
        heat = F.binary_cross_entropy_with_logits(output["heat"], target["heat"], reduction="sum")
        objects = target["heat"] > 0
        size = F.l1_loss(output["size"][objects], target["size"][objects], reduction="sum")
        return (heat + size) / objects.sum().clamp(min=1)

    batches = []
    for _ in range(4):
        x, mask = scenes(12)
        x[::2], mask[::2] = 0.4 * torch.randn(6, 1, 16, 16), 0
        area = mask.sum((1, 2))
        peak = F.avg_pool2d(mask[:, None].float(), 4)[:, 0].flatten(1).argmax(1)
        heat = F.one_hot(peak, 16).view(12, 4, 4).float() * (area > 0)[:, None, None]
        batches.append((x, {"heat": heat, "size": heat * area[:, None, None] / 20}))
    model = CentreDetector()
    return Training(model, torch.optim.Adam(model.parameters(), lr=3e-3), loss, batches)
