"""Convolutional networks whose numbers leave the finite range."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset

from pytest_trainhealth import Training

from ..healthy.toydata import loader
from . import fault


class Autoencoder(nn.Module):
    """From colour images of 32 x 32 to a code of 8 x 8 and back."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv2d(3, 12, 4, stride=2, padding=1), nn.ReLU(), nn.Conv2d(12, 8, 4, stride=2, padding=1)
        )
        self.decoder = nn.Sequential(
            nn.ConvTranspose2d(8, 12, 4, stride=2, padding=1), nn.ReLU(),
            nn.ConvTranspose2d(12, 3, 4, stride=2, padding=1),
        )  # fmt: skip

    def forward(self, x: Tensor) -> Tensor:
        return self.decoder(self.encoder(x))


@fault("low-precision-overflow", operation="sum")
def cnn_squared_errors_summed_in_half(broken: bool) -> Training:
    """A root mean squared error by hand: squares are summed over all 98 304 pixels of a batch, then divided. Under
    float16 autocast the sum is beyond 65504, and the slope of a root at Inf is 0: nothing is learnt."""
    photos = F.interpolate(torch.randn(96, 3, 8, 8), scale_factor=4) + 0.1 * torch.randn(96, 3, 32, 32)
    model = Autoencoder()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)

    def loss(model: nn.Module, batch: list[Tensor]) -> Tensor:
        with torch.autocast("cpu", dtype=torch.float16, enabled=broken):
            rebuilt = model(batch[0])
            error = rebuilt - batch[0].to(rebuilt.dtype)
            total = error.square().sum()  # guilty
            return torch.sqrt(total / error.numel())

    return Training(model, optimizer, loss, loader(photos, batch_size=32))


class Faces(Dataset):
    """Images of one bright spot per landmark; the targets are where the spots lie, between -1 and 1."""

    def __init__(self, n: int = 192, size: int = 16) -> None:
        self.landmarks = 1.6 * torch.rand(n, 2, 2) - 0.8
        grid = torch.linspace(-1, 1, size)
        across = torch.exp(-8 * (grid - self.landmarks[..., :1]) ** 2)
        down = torch.exp(-8 * (grid - self.landmarks[..., 1:]) ** 2)
        self.images = 3 * across[:, :, None] * down[..., None] + 0.1 * torch.randn(n, 2, size, size)

    def __len__(self) -> int:
        return len(self.images)

    def __getitem__(self, index: int) -> dict[str, Tensor]:
        return {"image": self.images[index], "landmarks": self.landmarks[index].flatten()}


class LandmarkNet(nn.Sequential):
    def __init__(self) -> None:
        super().__init__(
            nn.Conv2d(2, 12, 3, stride=2, padding=1), nn.ReLU(), nn.Conv2d(12, 16, 3, stride=2, padding=1), nn.ReLU(),
            nn.Flatten(), nn.Linear(16 * 16, 32), nn.ReLU(), nn.Linear(32, 4),
        )  # fmt: skip


@fault("nan-in-data")
def cnn_landmark_not_annotated(broken: bool) -> Training:
    """In one photo a landmark is hidden behind a hand; the annotation file leaves it empty, which is read as NaN."""
    faces = Faces()
    hidden = 77
    if broken:
        faces.landmarks[hidden, 1] = float("nan")
    model = LandmarkNet()
    return Training(
        model,
        torch.optim.Adam(model.parameters(), lr=3e-3),
        loss=lambda model, batch: F.smooth_l1_loss(model(batch["image"]), batch["landmarks"]),
        data=DataLoader(faces, batch_size=24, shuffle=True),
    )


@fault("lr-too-high")
def cnn_denoiser_with_a_rate_for_batch_norm(broken: bool) -> Training:
    """SGD with momentum at 0.5, the rate of a classifier with batch norm, on a denoiser without: it overflows."""
    clean = F.interpolate(torch.randn(128, 1, 4, 4), scale_factor=4)
    noisy = clean + 0.4 * torch.randn_like(clean)
    model = nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1), nn.LeakyReLU(0.1), nn.Conv2d(16, 16, 3, padding=1), nn.LeakyReLU(0.1),
        nn.Conv2d(16, 1, 3, padding=1),
    )  # fmt: skip
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5 if broken else 0.05, momentum=0.9)
    return Training(model, optimizer, criterion=nn.MSELoss(), data=loader(noisy, clean, batch_size=16))


class Upscaler(nn.Module):
    """Residual blocks without batch norm, as super-resolution networks have them (EDSR)."""

    def __init__(self, width: int = 16, depth: int = 8) -> None:
        super().__init__()
        self.head = nn.Conv2d(1, width, 3, padding=1)
        self.blocks = nn.ModuleList(
            nn.Sequential(nn.Conv2d(width, width, 3, padding=1), nn.ReLU(), nn.Conv2d(width, width, 3, padding=1))
            for _ in range(depth)
        )
        self.tail = nn.Sequential(nn.Conv2d(width, 4, 3, padding=1), nn.PixelShuffle(2))

    def forward(self, x: Tensor) -> Tensor:
        h = self.head(x)
        for block in self.blocks:
            h = h + block(h)
        return self.tail(h)


@fault("bad-initialization")
def cnn_initialised_like_batch_norm(broken: bool) -> Training:
    """DCGAN's `weights_init` with its branches mixed up: convolutions get normal_(1.0, 0.02), which was meant for the
    scale of batch norm, instead of normal_(0.0, 0.02). Each block makes its input 20 000 times as large."""

    def weights_init(layer: nn.Module) -> None:
        if isinstance(layer, nn.Conv2d):
            nn.init.normal_(layer.weight, 1.0 if broken else 0.0, 0.02)
            nn.init.zeros_(layer.bias)

    large = F.interpolate(torch.randn(96, 1, 4, 4), size=(12, 12), mode="bicubic")
    small = F.avg_pool2d(large, 2)
    model = Upscaler()
    model.apply(weights_init)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    return Training(model, optimizer, criterion=nn.MSELoss(), data=loader(small, large, batch_size=16))
