"""Convolutional networks."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from pytest_trainhealth import Training

from . import healthy
from .toydata import images, loader


@healthy
def cnn_conv_bias_before_batchnorm() -> Training:
    """The convolutions keep their bias although BatchNorm takes it out again: its gradient is rounding noise."""
    model = nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(8, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.AdaptiveAvgPool2d(2),
        nn.Flatten(), nn.Linear(64, 4),
    )  # fmt: skip
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    return Training(model, optimizer, criterion=nn.CrossEntropyLoss(), data=loader(*images()))


class BasicBlock(nn.Module):
    """A residual block whose branch starts at zero and is skipped at random while training."""

    def __init__(self, channels: int, drop: float) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(channels)
        self.drop = drop
        nn.init.zeros_(self.bn2.weight)

    def forward(self, x: Tensor) -> Tensor:
        if self.training and torch.rand(()) < self.drop:
            return x
        branch = self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x)))))
        return F.relu(x + (branch / (1 - self.drop) if self.training else branch))


@healthy
def cnn_stochastic_depth() -> Training:
    """Blocks are skipped whole (no gradient at all in that step) and the last BatchNorm of each starts at zero."""
    model = nn.Sequential(
        nn.Conv2d(1, 8, 3, stride=2, padding=1, bias=False), nn.BatchNorm2d(8), nn.ReLU(),
        *(BasicBlock(8, drop) for drop in (0.1, 0.2, 0.3)),
        nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(32, 4),
    )  # fmt: skip
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, nesterov=True, weight_decay=1e-4)
    return Training(model, optimizer, criterion=nn.CrossEntropyLoss(), data=loader(*images()))


class ConvNeXtBlock(nn.Module):
    def __init__(self, width: int, scale: float = 1e-6) -> None:
        super().__init__()
        self.depthwise = nn.Conv2d(width, width, 5, padding=2, groups=width)
        self.norm = nn.LayerNorm(width)
        self.expand = nn.Linear(width, 4 * width)
        self.contract = nn.Linear(4 * width, width)
        self.scale = nn.Parameter(torch.full((width,), scale))

    def forward(self, x: Tensor) -> Tensor:
        h = self.norm(self.depthwise(x).permute(0, 2, 3, 1))
        return x + (self.scale * self.contract(F.gelu(self.expand(h)))).permute(0, 3, 1, 2)


@healthy
def cnn_convnext_layer_scale() -> Training:
    """Layer scale 1e-6 as in the paper: at first the gradients of the blocks are a millionth of the head's."""
    model = nn.Sequential(
        nn.Conv2d(3, 16, 2, stride=2), ConvNeXtBlock(16), ConvNeXtBlock(16), nn.AdaptiveAvgPool2d(2), nn.Flatten(),
        nn.LayerNorm(64), nn.Linear(64, 4),
    )  # fmt: skip
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=0.05)
    return Training(model, optimizer, criterion=nn.CrossEntropyLoss(), data=loader(*images(channels=3)))


class SqueezeExcite(nn.Module):
    def __init__(self, channels: int) -> None:
        super().__init__()
        self.gate = nn.Sequential(
            nn.AdaptiveAvgPool2d(1), nn.Conv2d(channels, channels // 4, 1), nn.ReLU(),
            nn.Conv2d(channels // 4, channels, 1), nn.Sigmoid(),
        )  # fmt: skip

    def forward(self, x: Tensor) -> Tensor:
        return x * self.gate(x)


@healthy
def cnn_grouped_squeeze_excite() -> Training:
    """Grouped and depthwise convolutions with gates, BatchNorm with a momentum of 0.01 as in MobileNet recipes."""
    model = nn.Sequential(
        nn.Conv2d(3, 16, 3, padding=1, bias=False), nn.BatchNorm2d(16, momentum=0.01), nn.Hardswish(),
        nn.Conv2d(16, 16, 3, padding=1, groups=16, bias=False), nn.BatchNorm2d(16, momentum=0.01), nn.Hardswish(),
        SqueezeExcite(16),
        nn.Conv2d(16, 32, 3, stride=2, groups=4, bias=False), nn.BatchNorm2d(32, momentum=0.01), nn.Hardswish(),
        nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Dropout(0.2), nn.Linear(128, 4),
    )  # fmt: skip
    optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-3, momentum=0.9, alpha=0.9)
    return Training(model, optimizer, criterion=nn.CrossEntropyLoss(), data=loader(*images(channels=3)))


@healthy
def cnn_random_crops_and_flips() -> Training:
    """Augmented anew in each step, so even the one batch is never the same twice."""

    def augment(x: Tensor) -> Tensor:
        if torch.rand(()) < 0.5:
            x = x.flip(-1)
        top, left = torch.randint(0, 3, (2,)).tolist()
        return F.pad(x, (1, 1, 1, 1))[..., top : top + x.shape[-2], left : left + x.shape[-1]]

    def step(batch: tuple[Tensor, Tensor]) -> Tensor:
        model.train()
        x, y = batch
        optimizer.zero_grad()
        loss = F.cross_entropy(model(augment(x)), y)
        loss.backward()
        optimizer.step()
        return loss

    model = nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(),
        nn.AdaptiveMaxPool2d(2), nn.Flatten(), nn.Linear(128, 4),
    )  # fmt: skip
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    return Training(model, optimizer, step=step, data=loader(*images()))


@healthy
def cnn_autoencoder() -> Training:
    """The batch is one tensor, input and target at once; the loss is the pixel error."""
    model = nn.Sequential(
        nn.Conv2d(1, 8, 3, stride=2, padding=1), nn.ELU(), nn.Conv2d(8, 16, 3, stride=2, padding=1), nn.ELU(),
        nn.ConvTranspose2d(16, 8, 4, stride=2, padding=1), nn.ELU(), nn.ConvTranspose2d(8, 1, 4, stride=2, padding=1),
    )  # fmt: skip
    x, _ = images(64)
    return Training(
        model,
        torch.optim.Adam(model.parameters(), lr=3e-3),
        loss=lambda model, x: F.mse_loss(model(x), x),
        data=list(x.split(16)),
    )


@healthy
def cnn_cosine_restarts_clipped() -> Training:
    """The learning rate jumps up again at each restart, and so may the loss."""

    def step(batch: tuple[Tensor, Tensor]) -> float:
        optimizer.zero_grad(set_to_none=True)
        loss = F.cross_entropy(model(batch[0]), batch[1])
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        return loss.item()

    model = nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1), nn.GroupNorm(2, 8), nn.SiLU(), nn.AvgPool2d(3), nn.Flatten(), nn.Linear(128, 4)
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, T_0=30, T_mult=2)
    return Training(model, optimizer, step=step, scheduler=scheduler, data=loader(*images()))


@healthy
def cnn_1d_keyword_spotting() -> Training:
    """Dilated causal convolutions on a waveform, ending in global pooling."""
    labels = torch.arange(64) % 4
    time = torch.linspace(0, 1, 64)
    waves = torch.sin(6.28 * (3 * labels[:, None, None] + 2) * time + 6.28 * torch.rand(64, 1, 1))
    model = nn.Sequential(
        nn.ConstantPad1d((4, 0), 0.0), nn.Conv1d(1, 16, 5), nn.ReLU(),
        nn.ConstantPad1d((8, 0), 0.0), nn.Conv1d(16, 16, 5, dilation=2), nn.ReLU(),
        nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(16, 4),
    )  # fmt: skip
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
    data = loader(waves + 0.1 * torch.randn_like(waves), labels)
    return Training(model, optimizer, criterion=nn.CrossEntropyLoss(), data=data)
