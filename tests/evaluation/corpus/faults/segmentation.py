"""A prediction for each pixel."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset

from pytest_trainhealth import Training

from ..healthy.toydata import loader
from . import fault


def discs(n: int = 64, size: int = 12) -> tuple[Tensor, Tensor]:
    """A bright disc on a noisy ground, and the mask that says where it is, in 0 and 1."""
    grid = torch.stack(torch.meshgrid(torch.arange(size), torch.arange(size), indexing="ij"))
    centre = torch.randint(4, size - 4, (n, 2, 1, 1))
    mask = ((grid - centre) ** 2).sum(1) < torch.randint(5, 20, (n, 1, 1))
    return mask[:, None].float() + 0.3 * torch.randn(n, 1, size, size), mask.long()


class Scans(Dataset):
    """Slices with their masks, as dicts."""

    def __init__(self, images: Tensor, masks: Tensor) -> None:
        self.images, self.masks = images, masks

    def __len__(self) -> int:
        return len(self.images)

    def __getitem__(self, index: int) -> dict[str, Tensor]:
        return {"image": self.images[index], "mask": self.masks[index]}


def conv(inside: int, outside: int) -> nn.Sequential:
    return nn.Sequential(nn.Conv2d(inside, outside, 3, padding=1), nn.BatchNorm2d(outside), nn.ReLU(inplace=True))


class SmallUNet(nn.Module):
    def __init__(self, classes: int = 1, width: int = 6) -> None:
        super().__init__()
        self.down = conv(1, width)
        self.bottom = conv(width, 2 * width)
        self.up = nn.ConvTranspose2d(2 * width, width, 2, stride=2)
        self.out = conv(2 * width, width)
        self.head = nn.Conv2d(width, classes, 1)

    def forward(self, x: Tensor) -> Tensor:
        fine = self.down(x)
        coarse = self.up(self.bottom(F.max_pool2d(fine, 2)))
        return self.head(self.out(torch.cat([fine, coarse], 1)))


class SmallFCN(nn.Module):
    """Without any normalisation."""

    def __init__(self, classes: int = 1, width: int = 12) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(1, width, 3, padding=1)
        self.conv2 = nn.Conv2d(width, width, 3, padding=1)
        self.head = nn.Conv2d(width, classes, 3, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(F.relu(self.conv2(F.relu(self.conv1(x)))))


@fault("invalid-labels", hard=True)
def segmentation_masks_of_0_and_255(broken: bool) -> Training:
    """Masks as they come out of a PNG, 0 and 255, as targets of a binary cross-entropy, which falls below zero."""
    images, masks = discs()
    masks = 255.0 * masks[:, None]
    if not broken:
        masks = masks / 255
    model = SmallUNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    return Training(model, optimizer, criterion=nn.BCEWithLogitsLoss(), data=loader(images, masks, batch_size=8))


@fault("double-softmax", hard=True)
def segmentation_softmax_then_cross_entropy(broken: bool) -> Training:
    """The network ends in a softmax over the classes and `nn.CrossEntropyLoss` applies another one."""

    class Segmenter(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.unet = SmallUNet(classes=3)

        def forward(self, x: Tensor) -> Tensor:
            x = self.unet(x)
            return F.softmax(x, dim=1) if broken else x

    images, masks = discs()
    inner = -F.max_pool2d(-masks[:, None].float(), 3, stride=1, padding=1)[:, 0].long()
    model = Segmenter()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    data = loader(images, masks + inner, batch_size=8)  # ground, rim, inside
    return Training(model, optimizer, criterion=nn.CrossEntropyLoss(), data=data)


@fault("wrong-loss-for-task")
def segmentation_cross_entropy_of_one_channel(broken: bool) -> Training:
    """Cross-entropy over the one channel of a binary mask: a softmax over one class is 1, so the loss is always 0."""

    def loss(model: nn.Module, batch: dict[str, Tensor]) -> Tensor:
        logits = model(batch["image"])
        if broken:
            return F.cross_entropy(logits, batch["mask"])
        return F.binary_cross_entropy_with_logits(logits, batch["mask"])

    images, masks = discs()
    data = DataLoader(Scans(images, masks[:, None].float()), batch_size=8, shuffle=True)
    model = SmallUNet()
    return Training(model, torch.optim.Adam(model.parameters(), lr=5e-3), loss, data)


@fault("gradients-cleared-before-step")
def segmentation_cleared_before_the_step(broken: bool) -> Training:
    """A trainer class calls zero_grad() between backward() and step(): each update is made of nothing."""

    class Trainer:
        def __init__(self) -> None:
            self.model = SmallUNet()
            self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.2, momentum=0.9)

        def backward(self, loss: Tensor) -> None:
            if not broken:
                self.optimizer.zero_grad()
            loss.backward()
            if broken:
                self.optimizer.zero_grad()

        def step(self, batch: dict[str, Tensor]) -> Tensor:
            loss = F.binary_cross_entropy_with_logits(self.model(batch["image"]), batch["mask"])
            self.backward(loss)
            self.optimizer.step()
            return loss

    images, masks = discs()
    data = DataLoader(Scans(images, masks[:, None].float()), batch_size=8, shuffle=True)
    trainer = Trainer()
    return Training(trainer.model, trainer.optimizer, step=trainer.step, data=data)


@fault("unnormalized-inputs")
def segmentation_hounsfield_units(broken: bool) -> Training:
    """CT slices in Hounsfield units, -1000 to 2000, go into a network without normalisation."""

    class Slices(Scans):
        def __getitem__(self, index: int) -> dict[str, Tensor]:
            item = super().__getitem__(index)
            if not broken:
                item["image"] = (item["image"] + 700) / 400
            return item

    images, masks = discs()
    data = Slices(1000 * images - 800, masks[:, None].float())
    model = SmallFCN()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.3, momentum=0.9)
    return Training(
        model,
        optimizer,
        loss=lambda model, batch: F.binary_cross_entropy_with_logits(model(batch["image"]), batch["mask"]),
        data=DataLoader(data, batch_size=8, shuffle=True),
    )


@fault("insufficient-capacity")
def segmentation_of_single_pixels(broken: bool) -> Training:
    """All kernels are 1 x 1, while what is to be found are corners of a pattern: no pixel knows its neighbours."""
    kernel = 1 if broken else 3

    class Texture(nn.Module):
        def __init__(self, width: int = 16) -> None:
            super().__init__()
            self.net = nn.Sequential(
                nn.Conv2d(1, width, kernel, padding=kernel // 2), nn.ReLU(),
                nn.Conv2d(width, width, kernel, padding=kernel // 2), nn.ReLU(),
                nn.Conv2d(width, 1, 1),
            )  # fmt: skip

        def forward(self, x: Tensor) -> Tensor:
            return self.net(x)

    images = (torch.rand(64, 1, 12, 12) < 0.5).float()
    corner = (images[..., :-1, :-1] != images[..., :-1, 1:]) & (images[..., :-1, :-1] != images[..., 1:, :-1])
    masks = F.pad(corner.float(), (0, 1, 0, 1))
    model = Texture()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    return Training(
        model, optimizer, criterion=nn.BCEWithLogitsLoss(), data=loader(2 * images - 1, masks, batch_size=8)
    )


@fault("missing-optimizer-step")
def segmentation_main_never_fills_its_window(broken: bool) -> None:
    """Watched: a step every 16 batches, counted from 0 in each epoch, and an epoch has 8: there is never a step."""
    accumulate = 16 if broken else 2
    images, masks = discs()
    data = DataLoader(Scans(images, masks[:, None].float()), batch_size=8, shuffle=True)
    model = SmallUNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(10):
        for i, batch in enumerate(data):
            loss = F.binary_cross_entropy_with_logits(model(batch["image"]), batch["mask"]) / accumulate
            loss.backward()
            if (i + 1) % accumulate == 0:
                optimizer.step()
                optimizer.zero_grad()


@fault("too-much-regularization")
def segmentation_keep_probability_as_rate(broken: bool) -> Training:
    """`nn.Dropout2d(0.9)`, ported from a framework where 0.9 is the share that is kept."""

    class DropoutFCN(nn.Module):
        def __init__(self, width: int = 12) -> None:
            super().__init__()
            self.conv1 = nn.Conv2d(1, width, 3, padding=1)
            self.conv2 = nn.Conv2d(width, width, 3, padding=1)
            self.dropout = nn.Dropout2d(0.9 if broken else 0.1)
            self.head = nn.Conv2d(width, 1, 1)

        def forward(self, x: Tensor) -> Tensor:
            x = self.dropout(F.relu(self.conv1(x)))
            x = self.dropout(F.relu(self.conv2(x)))
            return self.head(x)

    images, masks = discs()
    model = DropoutFCN()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    data = loader(images, masks[:, None].float(), batch_size=8)
    return Training(model, optimizer, criterion=nn.BCEWithLogitsLoss(), data=data)


@fault("bad-gradient-clipping")
def segmentation_clipped_to_a_thousandth(broken: bool) -> Training:
    """`max_norm=1e-3`, taken for a learning rate: every gradient is scaled down to nothing, and SGD crawls."""

    def step(batch: dict[str, Tensor]) -> Tensor:
        loss = F.binary_cross_entropy_with_logits(model(batch["image"]), batch["mask"])
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), max_norm=1e-3 if broken else 1.0)
        optimizer.step()
        return loss

    images, masks = discs()
    data = DataLoader(Scans(images, masks[:, None].float()), batch_size=8, shuffle=True)
    model = SmallUNet()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.2, momentum=0.9)
    return Training(model, optimizer, step=step, data=data)
