"""Healthy trainings with `val_data` that look odd from outside: little data, noise, a loss that is another in training.

None of them may fail `generalizes`, with any seed.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset, TensorDataset

from pytest_trainhealth import Training

Batches = list[tuple[Tensor, Tensor]]


def batches(x: Tensor, y: Tensor, size: int = 16) -> Batches:
    return list(zip(x.split(size), y.split(size), strict=True))


def clusters(samples: int, classes: int = 4, features: int = 12, apart: float = 1.0) -> tuple[Tensor, Tensor]:
    centres = apart * torch.randn(classes, features, generator=torch.Generator().manual_seed(3))
    labels = torch.randint(classes, (samples,))
    return centres[labels] + torch.randn(samples, features), labels


def mlp(features: int, classes: int, width: int = 64, dropout: float = 0.0) -> nn.Sequential:
    return nn.Sequential(nn.Linear(features, width), nn.ReLU(), nn.Dropout(dropout), nn.Linear(width, classes))


def made(
    model: nn.Module, data: object, val: object, rate: float = 3e-3, criterion: nn.Module | None = None
) -> Training:
    optimizer = torch.optim.Adam(model.parameters(), lr=rate)
    return Training(model, optimizer, criterion=criterion or nn.CrossEntropyLoss(), data=data, val_data=val)


def tiny_data() -> Training:
    return made(mlp(12, 4), batches(*clusters(32)), batches(*clusters(64)), 1e-2)


def one_batch() -> Training:
    return made(mlp(12, 4), clusters(32), clusters(32), 1e-2)


def very_small_validation() -> Training:
    return made(mlp(12, 4), batches(*clusters(128)), clusters(6), 1e-2)


def noisy_labels() -> Training:
    x, y = clusters(256)
    y = torch.where(torch.rand(256) < 0.2, torch.randint(4, (256,)), y)
    return made(mlp(12, 4), batches(x, y, 32), batches(*clusters(128)))


def noise_on_both_sides() -> Training:
    def noisy(samples: int) -> tuple[Tensor, Tensor]:
        x, y = clusters(samples)
        return x, torch.where(torch.rand(samples) < 0.3, torch.randint(4, (samples,)), y)

    return made(mlp(12, 4, 256), batches(*noisy(128), 32), batches(*noisy(128)), 1e-2)


def heavy_dropout() -> Training:
    return made(mlp(12, 4, dropout=0.8), batches(*clusters(256), 32), batches(*clusters(64)), 1e-2)


def label_smoothing() -> Training:
    criterion = nn.CrossEntropyLoss(label_smoothing=0.2)
    return made(mlp(12, 4), batches(*clusters(128)), batches(*clusters(64)), 1e-2, criterion)


class Augmented(Dataset[tuple[Tensor, Tensor]]):
    """Strong noise on what is learnt from: its loss stays above that of validation."""

    def __init__(self, samples: int) -> None:
        self.x, self.y = clusters(samples)

    def __len__(self) -> int:
        return len(self.y)

    def __getitem__(self, index: int) -> tuple[Tensor, Tensor]:
        return self.x[index] + 2 * torch.randn(12), self.y[index]


def augmentation_of_data_alone() -> Training:
    loader = DataLoader(Augmented(128), batch_size=16, shuffle=True)
    return made(mlp(12, 4), loader, batches(*clusters(64)), 1e-2)


def class_weights() -> Training:
    x, y = clusters(256)
    rare = (y == 0) & (torch.rand(256) < 0.9)
    criterion = nn.CrossEntropyLoss(weight=torch.tensor([10.0, 1.0, 1.0, 1.0]))
    return made(mlp(12, 4), batches(x[~rare], y[~rare]), batches(*clusters(64)), 1e-2, criterion)


def pretrained() -> Training:
    model = mlp(12, 4)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for x, y in 4 * batches(*clusters(256), 32):
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
    return made(model, batches(*clusters(64)), batches(*clusters(64)), 1e-3)


def regression_with_noise() -> Training:
    teacher = torch.randn(10, 1)
    x, val = torch.randn(96, 10), torch.randn(64, 10)
    data = batches(x, x @ teacher + 2 * torch.randn(96, 1))
    return made(mlp(10, 1), data, batches(val, val @ teacher + 2 * torch.randn(64, 1)), 1e-2, nn.MSELoss())


def regression_of_noise() -> Training:
    data, val = batches(torch.randn(64, 10), torch.randn(64, 1)), batches(torch.randn(64, 10), torch.randn(64, 1))
    return made(mlp(10, 1), data, val, 1e-2, nn.MSELoss())


def random_labels() -> Training:
    def noise(samples: int) -> Batches:
        return batches(torch.randn(samples, 12), torch.randint(4, (samples,)))

    return made(mlp(12, 4), noise(64), noise(64), 1e-2)


def fewer_samples_than_features() -> Training:
    x, val = clusters(48, features=200, apart=0.3), clusters(64, features=200, apart=0.3)
    return made(mlp(200, 4), batches(*x), batches(*val), 1e-2)


class Tokens(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed, self.rnn = nn.Embedding(16, 24), nn.GRU(24, 48, batch_first=True)
        self.head = nn.Linear(48, 16)

    def forward(self, tokens: Tensor) -> Tensor:
        return self.head(self.rnn(self.embed(tokens))[0])


def tokens() -> Training:
    """Counting up, with some random tokens in between."""

    def texts(samples: int) -> list[Tensor]:
        counted = (torch.randint(16, (samples, 1)) + torch.arange(12)) % 16
        mixed = torch.where(torch.rand(samples, 12) < 0.2, torch.randint(16, (samples, 12)), counted)
        return list(mixed.split(16))

    def loss(model: nn.Module, batch: Tensor) -> Tensor:
        return F.cross_entropy(model(batch[:, :-1]).flatten(0, 1), batch[:, 1:].flatten())

    model = Tokens()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    return Training(model, optimizer, loss=loss, data=texts(64), val_data=texts(64))


def images_with_batch_norm() -> Training:
    def pictures(samples: int) -> Batches:
        labels = torch.randint(3, (samples,))
        x = 0.5 * torch.randn(samples, 1, 8, 8)
        x[torch.arange(samples), 0, labels] += 1.0
        return batches(x, labels)

    model = nn.Sequential(
        nn.Conv2d(1, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.AdaptiveAvgPool2d((6, 1)), nn.Flatten(), nn.Linear(48, 3)
    )
    return made(model, pictures(96), pictures(64), 1e-2)


def validation_from_elsewhere() -> Training:
    x, y = clusters(64)
    return made(mlp(12, 4), batches(*clusters(128)), batches(1.5 * x + 0.5, y), 1e-2)


def far_too_high_a_rate_for_long() -> Training:
    return made(mlp(12, 4, 256), batches(*clusters(64)), batches(*clusters(128)), 5e-2)


def loaders() -> Training:
    data, val = TensorDataset(*clusters(128)), TensorDataset(*clusters(64))
    return made(mlp(12, 4), DataLoader(data, batch_size=16, shuffle=True), DataLoader(val, batch_size=32), 1e-2)


class Autoencoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encode, self.decode = nn.Linear(20, 8), nn.Linear(4, 20)

    def forward(self, x: Tensor) -> Tensor:
        mean, log_var = self.encode(x).chunk(2, -1)
        z = mean + (log_var / 2).exp() * torch.randn_like(mean)
        kl = 0.5 * (mean**2 + log_var.exp() - log_var - 1).sum(-1).mean()
        return ((self.decode(z) - x) ** 2).sum(-1).mean() + kl


def autoencoder() -> Training:
    mixing = torch.randn(3, 20)
    model = Autoencoder()
    return Training(
        model,
        torch.optim.Adam(model.parameters(), lr=1e-2),
        loss=lambda model, batch: model(batch),
        data=[torch.randn(16, 3) @ mixing for _ in range(6)],
        val_data=[torch.randn(16, 3) @ mixing for _ in range(4)],
    )


def several_labels() -> Training:
    x, val = torch.randn(128, 12), torch.randn(64, 12)
    teacher = torch.randn(12, 5)
    targets = [(each @ teacher > 1).float() for each in (x, val)]
    return made(mlp(12, 5), batches(x, targets[0]), batches(val, targets[1]), 1e-2, nn.BCEWithLogitsLoss())


def own_step() -> Training:
    model = mlp(12, 4, dropout=0.3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)

    def step(batch: tuple[Tensor, Tensor]) -> Tensor:
        model.train()
        optimizer.zero_grad()
        loss = F.cross_entropy(model(batch[0]), batch[1])
        loss.backward()
        optimizer.step()
        return loss

    def evaluate(data: Batches) -> float:
        model.eval()
        with torch.no_grad():
            return sum(float(F.cross_entropy(model(x), y)) for x, y in data) / len(data)

    return Training(
        model, optimizer, step=step, data=batches(*clusters(128)), val_data=batches(*clusters(64)), evaluate=evaluate
    )


PROGRAMS: tuple[Callable[[], Training], ...] = (
    tiny_data,
    one_batch,
    very_small_validation,
    noisy_labels,
    noise_on_both_sides,
    heavy_dropout,
    label_smoothing,
    augmentation_of_data_alone,
    class_weights,
    pretrained,
    regression_with_noise,
    regression_of_noise,
    random_labels,
    fewer_samples_than_features,
    tokens,
    images_with_batch_norm,
    validation_from_elsewhere,
    far_too_high_a_rate_for_long,
    loaders,
    autoencoder,
    several_labels,
    own_step,
)
