"""Fully connected networks."""

from __future__ import annotations

import itertools

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

from pytest_trainhealth import Training

from ..healthy.toydata import blobs, loader
from . import fault


class Classifier(nn.Module):
    def __init__(self, features: int = 16, hidden: int = 48, classes: int = 4) -> None:
        super().__init__()
        self.fc1 = nn.Linear(features, hidden)
        self.fc2 = nn.Linear(hidden, hidden)
        self.out = nn.Linear(hidden, classes)

    def forward(self, x: Tensor) -> Tensor:
        x = F.relu(self.fc1(x))
        x = F.relu(self.fc2(x))
        return self.out(x)


def spirals(n: int = 256, arms: int = 3) -> tuple[Tensor, Tensor]:
    """Interleaved arms in the plane, lifted to eight features."""
    labels = torch.arange(n)[torch.randperm(n)] % arms
    radius = 0.2 + torch.rand(n)
    angle = 4 * radius + 6.283 * labels / arms + 0.1 * torch.randn(n)
    plane = torch.stack([radius * angle.cos(), radius * angle.sin()], 1)
    return 2 * plane @ torch.randn(2, 8), labels


@fault("missing-zero-grad")
def forgot_zero_grad(broken: bool) -> None:
    """The first training loop of many a beginner: gradients of all batches so far pile up, the loss swings wildly."""
    x, y = blobs(256)
    data = DataLoader(TensorDataset(x, y), batch_size=32, shuffle=True)
    model = Classifier()
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    for _ in range(10):
        for inputs, labels in data:
            loss = criterion(model(inputs), labels)
            if not broken:
                optimizer.zero_grad()
            loss.backward()
            optimizer.step()


@fault("gradients-cleared-before-step")
def zero_grad_in_the_wrong_line(broken: bool) -> Training:
    """`zero_grad()` slipped between `backward()` and `step()`: whoever reorders a loop by hand meets it."""
    model = Classifier()
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

    def step(batch: list[Tensor]) -> Tensor:
        inputs, labels = batch
        if not broken:
            optimizer.zero_grad()
        loss = criterion(model(inputs), labels)
        loss.backward()
        if broken:
            optimizer.zero_grad()
        optimizer.step()
        return loss

    return Training(model, optimizer, step=step, data=loader(*blobs(256), batch_size=32))


class Probabilities(Classifier):
    """`forward` gives what a web page said a classifier gives."""

    def forward(self, x: Tensor) -> Tensor:
        return F.softmax(super().forward(x), dim=1)


@fault("double-softmax", hard=True)
def softmax_then_cross_entropy(broken: bool) -> Training:
    """Softmax at the end of the model and again in CrossEntropyLoss: the loss cannot fall below 0.74 of 1.39."""
    model = Probabilities() if broken else Classifier()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    return Training(model, optimizer, criterion=nn.CrossEntropyLoss(), data=loader(*blobs(256), batch_size=32))


class Stack(nn.Module):
    def __init__(self, layers: list[nn.Module], registered: bool) -> None:
        super().__init__()
        self.entry = nn.Linear(8, 32)
        self.hidden = nn.ModuleList(layers) if registered else layers
        self.head = nn.Linear(32, 3)

    def forward(self, x: Tensor) -> Tensor:
        x = torch.tanh(self.entry(x))
        for layer in self.hidden:
            x = torch.tanh(layer(x))
        return self.head(x)


@fault("parameters-not-in-optimizer", hard=True)
def layers_in_a_plain_list(broken: bool) -> Training:
    """Hidden layers in a Python list instead of a ModuleList: `parameters()` does not see them, they never learn."""
    model = Stack([nn.Linear(32, 32) for _ in range(3)], registered=not broken)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    return Training(model, optimizer, criterion=nn.CrossEntropyLoss(), data=loader(*spirals(), batch_size=32))


@fault("bad-initialization")
def constant_weights(broken: bool) -> Training:
    """Every weight starts at 0.05: all units of a layer compute the same for ever, so each layer is one unit wide."""

    def init(module: nn.Module) -> None:
        if isinstance(module, nn.Linear):
            if broken:
                nn.init.constant_(module.weight, 0.05)
            else:
                nn.init.xavier_uniform_(module.weight)
            nn.init.zeros_(module.bias)

    model = Classifier(features=8, classes=3).apply(init)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    return Training(model, optimizer, criterion=nn.CrossEntropyLoss(), data=loader(*spirals(), batch_size=32))


class Tower(nn.Module):
    def __init__(self, activation: type[nn.Module], depth: int = 10) -> None:
        super().__init__()
        sizes = [16, *([32] * depth)]
        layers: list[nn.Module] = []
        for a, b in itertools.pairwise(sizes):
            layers += [nn.Linear(a, b), activation()]
        self.body = nn.Sequential(*layers)
        self.head = nn.Linear(32, 4)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.body(x))


@fault("vanishing-gradients")
def ten_sigmoid_layers(broken: bool) -> Training:
    """Ten sigmoid layers without normalisation: next to nothing of the gradient reaches the first ones."""
    model = Tower(nn.Sigmoid if broken else nn.ELU)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    return Training(model, optimizer, criterion=nn.CrossEntropyLoss(), data=loader(*blobs(256), batch_size=32))


@fault("bad-momentum")
def momentum_of_0_999(broken: bool) -> Training:
    """Momentum 0.999 where 0.9 was meant (a beta2 copied over): the loss swings and grows instead of settling."""
    model = nn.Sequential(nn.Linear(8, 64), nn.Tanh(), nn.Linear(64, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.999 if broken else 0.9)
    x = torch.randn(256, 8)
    y = 1.5 + x @ torch.randn(8, 1) / 2 + torch.tanh(x[:, :1] * x[:, 1:2])
    return Training(model, optimizer, criterion=nn.MSELoss(), data=loader(x, y, batch_size=32))


@fault("too-much-regularization")
def weight_decay_of_one_half(broken: bool) -> Training:
    """Weight decay 0.5 (5e-4 was meant) pulls every weight to zero before the data can move it: loss at chance."""
    model = Classifier()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=0.5 if broken else 5e-4)

    def step(batch: list[Tensor]) -> float:
        model.train()
        loss = F.cross_entropy(model(batch[0]), batch[1])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.item()

    return Training(model, optimizer, step=step, data=loader(*blobs(256), batch_size=32))


@fault("insufficient-capacity")
def xor_without_activation(broken: bool) -> Training:
    """The activation between two linear layers was forgotten: the network is one linear map and XOR is out of reach."""
    bits = torch.randint(0, 2, (256, 2))
    x = (2 * bits - 1).float() + 0.2 * torch.randn(256, 2)
    y = (bits[:, 0] ^ bits[:, 1]).float().unsqueeze(1)
    if broken:
        model = nn.Sequential(nn.Linear(2, 32), nn.Linear(32, 1))
    else:
        model = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    return Training(model, optimizer, criterion=nn.BCEWithLogitsLoss(), data=loader(x, y, batch_size=32))


class Clipped(nn.Module):
    """Cuts outliers of the hidden features off, with the numpy function at hand or with torch's."""

    def __init__(self, with_numpy: bool) -> None:
        super().__init__()
        self.with_numpy = with_numpy
        self.features = nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh())
        self.head = nn.Linear(32, 3)

    def forward(self, x: Tensor) -> Tensor:
        h = self.features(x)
        if self.with_numpy:
            clipped = h.detach().numpy().clip(-0.9, 0.9)
            return self.head(torch.from_numpy(clipped))
        return self.head(h.clamp(-0.9, 0.9))


@fault("disconnected-graph", hard=True)
def through_numpy_and_back(broken: bool) -> Training:
    """A detour through numpy cuts the graph: only the head learns, on random features. The loss still falls."""
    model = Clipped(with_numpy=broken)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    return Training(model, optimizer, criterion=nn.CrossEntropyLoss(), data=loader(*spirals(), batch_size=32))


class Hashing(nn.Module):
    """Nearly binary codes: tanh(sharpness * h), of which the sharpness is to grow from 1 in the course of training."""

    def __init__(self, sharpness: float) -> None:
        super().__init__()
        self.sharpness = sharpness
        self.encoder = nn.Sequential(nn.Linear(8, 48), nn.ReLU(), nn.Linear(48, 6))
        self.code = nn.Tanh()
        self.head = nn.Linear(6, 3)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.code(self.sharpness * self.encoder(x)))


@fault("saturated-activations")
def hash_codes_sharp_from_the_start(broken: bool) -> Training:
    """Deep hashing with the last value of its annealed sharpness: every tanh sits at -1 or 1 and passes no gradient."""
    model = Hashing(sharpness=1000.0 if broken else 1.0)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    return Training(model, optimizer, criterion=nn.CrossEntropyLoss(), data=loader(*spirals(), batch_size=32))


@fault("lr-too-high")
def adam_with_the_rate_of_sgd(broken: bool) -> Training:
    """Adam with lr 1, as one would give SGD: each step throws all weights about, the loss jumps and never settles."""
    model = Stack([nn.Linear(32, 32)], registered=True)
    optimizer = torch.optim.Adam(model.parameters(), lr=1.0 if broken else 3e-3)
    return Training(model, optimizer, criterion=nn.CrossEntropyLoss(), data=loader(*spirals(), batch_size=32))


@fault("missing-optimizer-step", second="double-softmax")
def no_step_and_two_softmaxes(broken: bool) -> Training:
    """`optimizer.step()` was lost in a refactoring, and the model's softmax is repeated by the loss."""
    model = Probabilities() if broken else Classifier()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

    def step(batch: list[Tensor]) -> Tensor:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(batch[0]), batch[1])
        loss.backward()
        if not broken:
            optimizer.step()
        return loss

    return Training(model, optimizer, step=step, data=loader(*blobs(256), batch_size=32))


@fault("gradients-cleared-before-step", hard=True)
def cleared_at_every_micro_batch(broken: bool) -> Training:
    """Gradients are accumulated over four micro-batches, and cleared before each: only the last one counts."""
    model = Classifier()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

    def step(batch: list[Tensor]) -> Tensor:
        optimizer.zero_grad()
        total = torch.zeros(())
        for x, y in zip(batch[0].chunk(4), batch[1].chunk(4), strict=True):
            if broken:
                optimizer.zero_grad()
            loss = F.cross_entropy(model(x), y) / 4
            loss.backward()
            total += loss.detach()
        optimizer.step()
        return total

    return Training(model, optimizer, step=step, data=loader(*blobs(), batch_size=32))


@fault("loss-scaler-misuse")
def stepped_past_the_scaler(broken: bool) -> Training:
    """The loss is scaled for half precision, and the optimizer is stepped directly, with the scaled gradients."""
    model = Classifier()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
    scaler = torch.amp.GradScaler("cpu")

    def step(batch: list[Tensor]) -> Tensor:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(batch[0]), batch[1])
        scaler.scale(loss).backward()
        if broken:
            optimizer.step()
        else:
            scaler.step(optimizer)
            scaler.update()
        return loss

    return Training(model, optimizer, step=step, data=loader(*blobs()))


@fault("wrong-mode", hard=True)
def validated_in_training_mode(broken: bool) -> Training:
    """Every step ends with a look at validation data, without gradients, and BatchNorm takes part in it."""
    model = nn.Sequential(nn.Linear(16, 48), nn.BatchNorm1d(48), nn.ReLU(), nn.Linear(48, 4))
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    x, y = blobs(128)

    def step(batch: list[Tensor]) -> Tensor:
        model.train()
        loss = F.cross_entropy(model(batch[0]), batch[1])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if not broken:
            model.eval()
        with torch.no_grad():
            F.cross_entropy(model(x[64:]), y[64:]).item()
        return loss

    return Training(model, optimizer, step=step, data=loader(x[:64], y[:64]))
