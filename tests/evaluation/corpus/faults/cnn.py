"""Convolutional networks."""

from __future__ import annotations

from collections.abc import Iterator

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset

from pytest_trainhealth import Training

from ..healthy.toydata import images, loader
from . import fault


class ConvNet(nn.Module):
    def __init__(self, channels: int = 1, classes: int = 4) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(channels, 8, 3, stride=2, padding=1)
        self.conv2 = nn.Conv2d(8, 16, 3, stride=2, padding=1)
        self.fc = nn.Linear(16 * 9, classes)

    def forward(self, x: Tensor) -> Tensor:
        x = F.relu(self.conv1(x))
        x = F.relu(self.conv2(x))
        return self.fc(x.flatten(1))


class BatchNormNet(nn.Module):
    def __init__(self, classes: int = 4, dropout: float = 0.0) -> None:
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(8, 16, 3, padding=1, bias=False), nn.BatchNorm2d(16), nn.ReLU(), nn.AdaptiveAvgPool2d(3),
        )  # fmt: skip
        self.classifier = nn.Sequential(nn.Flatten(), nn.Dropout(dropout), nn.Linear(16 * 9, classes))

    def forward(self, x: Tensor) -> Tensor:
        return self.classifier(self.features(x))


def pixels(n: int = 192, classes: int = 4) -> tuple[Tensor, Tensor]:
    """Images as files hold them: whole numbers from 0 to 255."""
    x, y = images(n, classes)
    return (128 + 50 * x).clamp(0, 255).round(), y


@fault("unnormalized-inputs")
def pixels_not_scaled(broken: bool) -> Training:
    """Pixels from 0 to 255 go in as they are (ToTensor was left out): the first updates throw the network off."""

    class Pictures(Dataset):
        def __init__(self) -> None:
            self.x, self.y = pixels()

        def __len__(self) -> int:
            return len(self.y)

        def __getitem__(self, index: int) -> tuple[Tensor, Tensor]:
            picture = self.x[index]
            if not broken:
                picture = (picture / 255 - 0.5) / 0.2
            return picture, self.y[index]

    model = ConvNet()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    data = DataLoader(Pictures(), batch_size=24, shuffle=True)
    return Training(model, optimizer, criterion=nn.CrossEntropyLoss(), data=data)


@fault("wrong-mode", hard=True)
def eval_after_the_first_validation(broken: bool) -> Training:
    """The validation in the loop calls `eval()` and nobody calls `train()` again: BatchNorm and dropout stay off.

    From then on BatchNorm normalises with statistics that nothing updates while the weights move on.
    """
    x, y = images(224)
    model = BatchNormNet(dropout=0.2)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    steps = 0

    @torch.no_grad()
    def accuracy() -> float:
        model.eval()
        return (model(x[192:]).argmax(1) == y[192:]).float().mean().item()

    def step(batch: list[Tensor]) -> Tensor:
        nonlocal steps
        if steps % 5 == 0:
            accuracy()
            if not broken:
                model.train()
        steps += 1
        optimizer.zero_grad()
        loss = F.cross_entropy(model(batch[0]), batch[1])
        loss.backward()
        optimizer.step()
        return loss

    return Training(model, optimizer, step=step, data=loader(x[:192], y[:192], batch_size=24))


@fault("batch-too-small")
def batch_norm_with_two_samples(broken: bool) -> Training:
    """Two samples a batch, as when memory is short: BatchNorm after pooling sees two values a channel, so it only
    says which of the two is larger, and what was learnt does not hold in the next batch."""

    class PooledNet(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv1 = nn.Conv2d(1, 12, 3, stride=2, padding=1)
            self.conv2 = nn.Conv2d(12, 24, 6)
            self.norm = nn.BatchNorm1d(24)
            self.fc = nn.Linear(24, 4)

        def forward(self, x: Tensor) -> Tensor:
            x = F.relu(self.conv1(x))
            return self.fc(F.relu(self.norm(self.conv2(x).flatten(1))))

    model = PooledNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    data = loader(*images(192), batch_size=2 if broken else 24)
    return Training(model, optimizer, criterion=nn.CrossEntropyLoss(), data=data)


@fault("labels-not-aligned", hard=True)
def images_and_labels_shuffled_apart(broken: bool) -> Training:
    """A loader for the images and one for the labels, both of which shuffle: each image has the label of another, and
    of yet another in the next epoch. One batch can still be memorised."""

    class Zipped:
        """Two loaders side by side."""

        def __init__(self, first: DataLoader, second: DataLoader) -> None:
            self.first, self.second = first, second

        def __len__(self) -> int:
            return len(self.first)

        def __iter__(self) -> Iterator[tuple[Tensor, Tensor]]:
            return zip(self.first, self.second, strict=True)

    x, y = images(512)
    shuffled = Zipped(DataLoader(x, batch_size=32, shuffle=True), DataLoader(y, batch_size=32, shuffle=True))
    model = ConvNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    data = shuffled if broken else loader(x, y, batch_size=32)
    return Training(model, optimizer, criterion=nn.CrossEntropyLoss(), data=data)


class Cached(Dataset):
    """Keeps decoded images in memory and standardises each when it is asked for."""

    def __init__(self, in_place: bool) -> None:
        self.in_place = in_place
        self.x, self.y = pixels()

    def __len__(self) -> int:
        return len(self.y)

    def __getitem__(self, index: int) -> tuple[Tensor, Tensor]:
        picture = self.x[index]
        if self.in_place:
            picture.sub_(128).div_(50)
        else:
            picture = picture.sub(128).div(50)
        return picture, self.y[index]


@fault("in-place-modification")
def cache_standardised_again_each_epoch(broken: bool) -> Training:
    """`__getitem__` standardises the cached image in place: from the second epoch on it is done again and again."""
    model = BatchNormNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    data = DataLoader(Cached(in_place=broken), batch_size=24, shuffle=True)
    return Training(model, optimizer, criterion=nn.CrossEntropyLoss(), data=data)


@fault("loss-reduction")
def summed_cross_entropy(broken: bool) -> Training:
    """reduction="sum" with the learning rate of a mean: each step is 32 times as long as meant."""
    model = ConvNet()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    criterion = nn.CrossEntropyLoss(reduction="sum" if broken else "mean")
    return Training(model, optimizer, criterion=criterion, data=loader(*images(256), batch_size=32))


@fault("invalid-labels")
def classes_counted_from_one(broken: bool) -> Training:
    """Classes 1 to 4 as in the file of annotations, for four outputs: the last one is out of range and it crashes."""
    x, y = images(192)
    model = ConvNet(classes=4)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    return Training(model, optimizer, criterion=nn.CrossEntropyLoss(), data=loader(x, y + 1 if broken else y))


class Residual(nn.Module):
    """Two blocks with a shortcut; the second has a projection of its own."""

    def __init__(self, shortcut: bool) -> None:
        super().__init__()
        self.use_shortcut = shortcut
        self.conv1 = nn.Conv2d(1, 8, 3, stride=2, padding=1)
        self.conv2 = nn.Conv2d(8, 16, 3, stride=2, padding=1)
        self.shortcut = nn.Conv2d(8, 16, 1, stride=2)
        self.fc = nn.Linear(16 * 9, 4)

    def forward(self, x: Tensor) -> Tensor:
        x = F.relu(self.conv1(x))
        h = F.relu(self.conv2(x))
        if self.use_shortcut:
            h = h + self.shortcut(x)
        return self.fc(h.flatten(1))


@fault("unused-parameters", hard=True)
def shortcut_never_added(broken: bool) -> Training:
    """`forward` forgets the projection that `__init__` makes: the residual network is none, and learns all the same."""
    model = Residual(shortcut=not broken)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    return Training(model, optimizer, criterion=nn.CrossEntropyLoss(), data=loader(*images(192), batch_size=24))


class Accumulating:
    """Four small batches make one step."""

    def __init__(self, scaled: bool, every: int = 4) -> None:
        self.model = ConvNet()
        # a rate that suits the mean: with 0.1 the sum learns as well, even faster
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.6, momentum=0.9)
        self.scale, self.every, self.seen = (1 / every if scaled else 1.0), every, 0

    def step(self, batch: list[Tensor]) -> float:
        loss = F.cross_entropy(self.model(batch[0]), batch[1])
        (self.scale * loss).backward()
        self.seen += 1
        if self.seen % self.every == 0:
            self.optimizer.step()
            self.optimizer.zero_grad()
        return loss.item()


@fault("accumulation-not-scaled")
def accumulates_the_sum(broken: bool) -> Training:
    """The loss is not divided by the four batches of an accumulation: the step is that of a fourfold learning rate."""
    trainer = Accumulating(scaled=not broken)
    return Training(trainer.model, trainer.optimizer, step=trainer.step, data=loader(*images(256), batch_size=16))


class LogSpectrum(nn.Module):
    """Reads spectrograms; works on log-probabilities over frequency, as speech models do."""

    def __init__(self, rectified: bool) -> None:
        super().__init__()
        self.conv = nn.Conv1d(12, 24, 3, padding=1)
        self.activation = nn.ReLU() if rectified else nn.Tanh()
        self.mix = nn.Conv1d(24, 24, 3, padding=1)
        self.head = nn.Linear(24 * 12, 4)

    def forward(self, x: Tensor) -> Tensor:
        x = F.log_softmax(self.conv(x.squeeze(1)), dim=1)
        return self.head(F.leaky_relu(self.mix(self.activation(x))).flatten(1))


@fault("dead-activations")
def relu_of_log_probabilities(broken: bool) -> Training:
    """A ReLU after log_softmax, whose values are never positive: every unit is dead for every sample."""
    model = LogSpectrum(rectified=broken)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    return Training(model, optimizer, criterion=nn.CrossEntropyLoss(), data=loader(*images(192), batch_size=24))


class LogProbabilities(ConvNet):
    def __init__(self, normalised: bool) -> None:
        super().__init__()
        self.normalised = normalised

    def forward(self, x: Tensor) -> Tensor:
        logits = super().forward(x)
        return F.log_softmax(logits, dim=1) if self.normalised else logits


@fault("missing-activation-for-loss")
def nll_of_raw_scores(broken: bool) -> Training:
    """NLLLoss wants log-probabilities and gets raw scores: it makes them larger without end, the loss falls below 0."""
    model = LogProbabilities(normalised=not broken)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    return Training(model, optimizer, criterion=nn.NLLLoss(), data=loader(*images(192), batch_size=24))


@fault("lr-too-low")
def rate_of_one_in_a_million(broken: bool) -> Training:
    """SGD with lr 1e-5 where 0.05 was meant (a config value of Adam's for fine-tuning): nothing to see for days."""
    model = BatchNormNet()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-5 if broken else 0.05, momentum=0.9, weight_decay=5e-4)
    return Training(model, optimizer, criterion=nn.CrossEntropyLoss(), data=loader(*images(192), batch_size=24))


@fault("target-shape-mismatch", hard=True)
def brightness_broadcast(broken: bool) -> Training:
    """Targets of shape (N,) against outputs (N, 1): MSE compares all with all, and the best answer is the mean.

    The loss still falls, from that of a wrong offset to the variance of the targets.
    """
    x, _ = images(192)
    weights = torch.randn(12, 12) / 6
    target = 3 + (x.squeeze(1) * weights).sum((1, 2))

    class Meter(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv = nn.Conv2d(1, 12, 3, stride=2, padding=1)
            self.fc = nn.Linear(12 * 36, 1)

        def forward(self, x: Tensor) -> Tensor:
            return self.fc(F.relu(self.conv(x)).flatten(1))

    model = Meter()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    targets = target if broken else target.unsqueeze(1)
    return Training(model, optimizer, criterion=nn.MSELoss(), data=loader(x, targets, batch_size=24))


@fault("wrong-mode", second="labels-not-aligned")
def trained_in_eval_mode_on_shuffled_labels(broken: bool) -> None:
    """A script that loads for inference first (`eval()`), trains, and draws images and labels in two orders."""
    x, y = images(192)
    model = BatchNormNet(dropout=0.2)
    if broken:
        model.eval()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for _ in range(10):
        order = torch.randperm(len(x))
        labels = y[torch.randperm(len(y))] if broken else y[order]
        for inputs, targets in zip(x[order].split(24), labels.split(24), strict=True):
            optimizer.zero_grad()
            loss = F.cross_entropy(model(inputs), targets)
            loss.backward()
            optimizer.step()
