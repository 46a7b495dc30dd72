"""State: runs that cannot be repeated, or resumed, or that differ with how a batch is cut. The loss falls in all."""

from __future__ import annotations

import copy
import time
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from pytest_trainhealth import Training

from . import fault

REPRODUCIBLE = ("is_reproducible",)
RESUMES = ("resumes_exactly",)
ACCUMULATES = ("accumulates_exactly",)
EVALUATES = ("evaluates_cleanly",)
PRECISION = ("keeps_precision",)


def classes(batches: int = 6) -> list[tuple[Tensor, Tensor]]:
    """Which of the first four numbers is the largest?"""
    found = []
    for _ in range(batches):
        inputs = torch.randn(16, 8)
        found.append((inputs, inputs[:, :4].argmax(1)))
    return found


def network() -> nn.Sequential:
    return nn.Sequential(nn.Linear(8, 48), nn.ReLU(), nn.Linear(48, 48), nn.ReLU(), nn.Linear(48, 4))


def cross_entropy(model: nn.Module, batch: tuple[Tensor, Tensor]) -> Tensor:
    return F.cross_entropy(model(batch[0]), batch[1])


@fault("nondeterministic", hard=True, checks=REPRODUCIBLE)
def noise_is_seeded_with_the_clock(broken: bool) -> Training:
    model = network()
    noise = torch.Generator().manual_seed(int(time.time()) if broken else 7)

    def loss(model: nn.Module, batch: tuple[Tensor, Tensor]) -> Tensor:
        inputs, labels = batch
        return F.cross_entropy(model(inputs + 0.1 * torch.randn(inputs.shape, generator=noise)), labels)

    return Training(model, torch.optim.Adam(model.parameters(), lr=5e-3), loss, classes())


@fault("nondeterministic", hard=True, checks=REPRODUCIBLE)
def samples_are_ordered_by_the_hash_of_their_names(broken: bool) -> Training:
    """As when files are dealt out to shards by their names."""
    model, inputs = network(), torch.randn(96, 8)
    names = [f"sample-{number:03}.png" for number in range(96)]
    order = sorted(range(96), key=lambda n: hash(names[n]) if broken else zlib.crc32(names[n].encode()))
    data = torch.utils.data.TensorDataset(inputs[order], inputs[order][:, :4].argmax(1))
    loader = torch.utils.data.DataLoader(data, batch_size=16)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    return Training(model, optimizer, criterion=F.cross_entropy, data=loader)


@fault("nondeterministic", hard=True, checks=REPRODUCIBLE)
def weights_come_from_a_generator_without_a_seed(broken: bool) -> Training:
    model = network()
    random = np.random.default_rng(None if broken else 3)
    with torch.no_grad():
        for layer in (model[0], model[2], model[4]):
            drawn = random.normal(0, layer.weight.shape[1] ** -0.5, tuple(layer.weight.shape))
            layer.weight.copy_(torch.from_numpy(drawn))
    return Training(model, torch.optim.Adam(model.parameters(), lr=5e-3), cross_entropy, classes())


@fault("nondeterministic", hard=True, checks=REPRODUCIBLE)
def dropped_values_are_chosen_by_the_system(broken: bool) -> Training:
    """A mask drawn in numpy, by a generator that is made anew at each call."""
    model = network()
    calls = []

    def loss(model: nn.Module, batch: tuple[Tensor, Tensor]) -> Tensor:
        inputs, labels = batch
        calls.append(len(calls))
        random = np.random.default_rng() if broken else np.random.default_rng(len(calls))
        kept = torch.from_numpy(random.random(tuple(inputs.shape)) > 0.05)
        return F.cross_entropy(model(inputs * kept), labels)

    return Training(model, torch.optim.Adam(model.parameters(), lr=5e-3), loss, classes())


@fault("checkpoint-incomplete", hard=True, checks=RESUMES)
def moments_are_not_saved(broken: bool) -> Training:
    model = network()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)

    def save(path: Path) -> None:
        torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, path)

    def load(path: Path) -> None:
        saved = torch.load(path)
        model.load_state_dict(saved["model"])
        if not broken:
            optimizer.load_state_dict(saved["optimizer"])

    return Training(model, optimizer, cross_entropy, classes(), save=save, load=load)


class Annealed(nn.Module):
    """Noise that becomes less from step to step, by a counter that is an attribute, or a buffer."""

    def __init__(self, broken: bool) -> None:
        super().__init__()
        self.layers = network()
        if broken:
            self.calls: Any = 0
        else:
            self.register_buffer("calls", torch.zeros(()))

    def forward(self, x: Tensor) -> Tensor:
        if self.training:
            x = x + torch.randn_like(x) * 0.95 ** float(self.calls) * 0.3
            self.calls = self.calls + 1
        return self.layers(x)


@fault("checkpoint-incomplete", hard=True, checks=RESUMES)
def counter_of_an_annealing_is_an_attribute(broken: bool) -> Training:
    model = Annealed(broken)
    return Training(model, torch.optim.Adam(model.parameters(), lr=5e-3), cross_entropy, classes())


@fault("checkpoint-incomplete", hard=True, checks=RESUMES)
def schedule_begins_anew(broken: bool) -> Training:
    """The step warms up and decays; of all that it keeps, only the scheduler is left out."""
    model = network()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1.0, 0.2 + 0.1 * step))

    def step(batch: tuple[Tensor, Tensor]) -> Tensor:
        loss = cross_entropy(model, batch)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        return loss

    def save(path: Path) -> None:
        parts = {"model": model, "optimizer": optimizer, "scheduler": scheduler}
        torch.save({name: part.state_dict() for name, part in parts.items()}, path)

    def load(path: Path) -> None:
        saved = torch.load(path)
        model.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])
        if not broken:
            scheduler.load_state_dict(saved["scheduler"])

    return Training(model, optimizer, step=step, data=classes(), save=save, load=load)


@fault("checkpoint-incomplete", hard=True, checks=RESUMES)
def random_numbers_begin_anew(broken: bool) -> Training:
    """With dropout, a resumed run draws the masks of the first steps once more."""
    model = nn.Sequential(nn.Linear(8, 48), nn.ReLU(), nn.Dropout(0.2), nn.Linear(48, 4))
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)

    def save(path: Path) -> None:
        states = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "random": torch.get_rng_state()}
        torch.save(states, path)

    def load(path: Path) -> None:
        saved = torch.load(path)
        model.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])
        if not broken:
            torch.set_rng_state(saved["random"])

    return Training(model, optimizer, cross_entropy, classes(), save=save, load=load)


@fault("accumulation-not-scaled", hard=True, checks=ACCUMULATES)
def four_means_are_added(broken: bool) -> Training:
    model = network()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)

    def step(batch: tuple[Tensor, Tensor]) -> Tensor:
        optimizer.zero_grad()
        total = torch.zeros(())
        for inputs, labels in zip(*(each.chunk(4) for each in batch), strict=True):
            loss = F.cross_entropy(model(inputs), labels)
            (loss if broken else loss / 4).backward()
            total += loss.detach() / 4
        optimizer.step()
        return total

    return Training(model, optimizer, step=step, data=classes())


@fault("accumulation-not-scaled", hard=True, checks=ACCUMULATES)
def last_part_of_a_batch_is_shorter(broken: bool) -> Training:
    """A batch of 16 in parts of 6 is 6, 6 and 4."""
    model = network()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)

    def step(batch: tuple[Tensor, Tensor]) -> Tensor:
        optimizer.zero_grad()
        total = torch.zeros(())
        for inputs, labels in zip(*(each.split(6) for each in batch), strict=True):
            loss = F.cross_entropy(model(inputs), labels)
            share = 1 / 3 if broken else len(labels) / 16
            (loss * share).backward()
            total += loss.detach() * share
        optimizer.step()
        return total

    return Training(model, optimizer, step=step, data=classes())


class Tagger(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.words, self.head = nn.Embedding(20, 16), nn.Linear(16, 4)

    def forward(self, tokens: Tensor) -> Tensor:
        return self.head(torch.tanh(self.words(tokens)))


@fault("accumulation-not-scaled", hard=True, checks=ACCUMULATES)
def tokens_of_short_sentences_count_more(broken: bool) -> Training:
    """An update is made every third call; each call takes the mean over its own tokens."""
    model, calls = Tagger(), [0]
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    lengths = (12, 3, 6, 12, 4, 8)
    data = []
    for length in lengths:
        tokens = torch.randint(1, 20, (8, 12))
        data.append((tokens, torch.where(torch.arange(12) < length, tokens % 4, -100)))
    #: Labels of three calls that belong together.
    counted = [8 * sum(lengths[:3]), 8 * sum(lengths[3:])]

    def step(batch: tuple[Tensor, Tensor]) -> Tensor:
        tokens, labels = batch
        logits, labels = model(tokens).flatten(0, 1), labels.flatten()
        if broken:
            loss = F.cross_entropy(logits, labels)
            (loss / 3).backward()
        else:
            loss = F.cross_entropy(logits, labels, reduction="sum") / counted[calls[0] // 3 % 2]
            loss.backward()
        calls[0] += 1
        if calls[0] % 3 == 0:
            optimizer.step()
            optimizer.zero_grad()
        return loss

    return Training(model, optimizer, step=step, data=data)


def accuracy(model: nn.Module) -> Callable[[Any], float]:
    @torch.no_grad()
    def evaluate(data: Any) -> float:
        right = [(model(inputs).argmax(1) == labels).float().mean() for inputs, labels in data]
        return float(torch.stack(right).mean())

    return evaluate


def normed() -> nn.Sequential:
    return nn.Sequential(nn.Linear(8, 48), nn.BatchNorm1d(48), nn.ReLU(), nn.Dropout(0.3), nn.Linear(48, 4))


@fault("wrong-mode", hard=True, checks=EVALUATES)
def evaluation_forgets_to_switch_the_mode(broken: bool) -> Training:
    model = normed()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    inner = accuracy(model)

    def evaluate(data: Any) -> float:
        if not broken:
            model.eval()
        found = inner(data)
        model.train()
        return found

    data, val_data = classes(), classes(3)
    return Training(model, optimizer, cross_entropy, data, val_data=val_data, evaluate=evaluate)


@fault("evaluation-changes-state", hard=True, checks=EVALUATES)
def averaged_weights_stay_in_the_model(broken: bool) -> Training:
    """Evaluates the average of the weights, and forgets to put the trained ones back."""
    model = network()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    average = copy.deepcopy(model.state_dict())
    inner = accuracy(model)

    def step(batch: tuple[Tensor, Tensor]) -> Tensor:
        loss = cross_entropy(model, batch)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        for name, value in model.state_dict().items():
            average[name].lerp_(value, 0.1)
        return loss

    def evaluate(data: Any) -> float:
        trained = copy.deepcopy(model.state_dict())
        model.load_state_dict(average)
        found = inner(data)
        if not broken:
            model.load_state_dict(trained)
        return found

    return Training(model, optimizer, step=step, data=classes(), val_data=classes(3), evaluate=evaluate)


class ForgetsTheMode(nn.Module):
    def __init__(self, broken: bool) -> None:
        super().__init__()
        self.first, self.second, self.broken = nn.Linear(8, 48), nn.Linear(48, 4), broken

    def forward(self, x: Tensor) -> Tensor:
        hidden = torch.relu(self.first(x))
        hidden = F.dropout(hidden, 0.2) if self.broken else F.dropout(hidden, 0.2, self.training)
        return self.second(hidden)


@fault("wrong-mode", hard=True, checks=EVALUATES)
def dropout_is_on_in_evaluation(broken: bool) -> Training:
    model = ForgetsTheMode(broken)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    inner = accuracy(model)

    def evaluate(data: Any) -> float:
        model.eval()
        found = inner(data)
        model.train()
        return found

    return Training(model, optimizer, cross_entropy, classes(), val_data=classes(3), evaluate=evaluate)


class MixesInEvaluation(nn.Module):
    """Centres its features by the mean of the batch, or of the features."""

    def __init__(self, broken: bool) -> None:
        super().__init__()
        self.first, self.second, self.broken = nn.Linear(8, 48), nn.Linear(48, 4), broken

    def forward(self, x: Tensor) -> Tensor:
        hidden = self.first(x)
        hidden = hidden - hidden.mean(0 if self.broken else 1, keepdim=True)
        return self.second(torch.relu(hidden))


@fault("batch-mixing", hard=True, checks=EVALUATES)
def answers_depend_on_the_batch_size(broken: bool) -> Training:
    model = MixesInEvaluation(broken)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    return Training(model, optimizer, cross_entropy, classes(), val_data=classes(3), evaluate=accuracy(model))


class Dated(nn.Module):
    """Its inputs are days since 1970, give or take two weeks: bfloat16 has one number for 64 of them."""

    def __init__(self, broken: bool) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(8, 48), nn.Linear(48, 4)
        self.origin = 0.0 if broken else 20_000.0
        self.shift = 20_000.0 if broken else 0.0
        with torch.no_grad():  # as a model does that was fitted to such numbers
            self.first.bias -= self.shift * self.first.weight.sum(1)

    def forward(self, x: Tensor) -> Tensor:
        return self.second(torch.relu(self.first(x - self.origin)))


@fault("precision-mismatch", hard=True, checks=PRECISION)
def days_are_rounded_to_months(broken: bool) -> Training:
    model = Dated(broken)
    data = [(inputs + 20_000.0, labels) for inputs, labels in classes()]
    optimizer = torch.optim.Adam(
        [{"params": model.first.parameters(), "lr": 1e-4}, {"params": model.second.parameters()}], lr=5e-3
    )
    return Training(model, optimizer, cross_entropy, data, precision="bfloat16")


@fault("updates-lost", hard=True, checks=PRECISION)
def weights_of_16_bits_round_the_updates_away(broken: bool) -> Training:
    model = network()
    if broken:
        model.bfloat16()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-5)

    def loss(model: nn.Module, batch: tuple[Tensor, Tensor]) -> Tensor:
        return F.cross_entropy(model(batch[0].to(model[0].weight.dtype)).float(), batch[1])

    return Training(model, optimizer, loss, classes(), precision=None if broken else "bfloat16")


@fault("evaluation-changes-state", hard=True, checks=EVALUATES)
def a_seed_is_set_for_what_is_evaluated(broken: bool) -> Training:
    """The corrupted samples have to be the same each time; so is all the dropout after it. The healthy one forks."""
    model = nn.Sequential(nn.Linear(8, 48), nn.ReLU(), nn.Dropout(0.2), nn.Linear(48, 4))
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    inner = accuracy(model)

    def corrupted(data: Any) -> float:
        torch.manual_seed(0)
        return inner([(inputs + 0.1 * torch.randn_like(inputs), labels) for inputs, labels in data])

    def evaluate(data: Any) -> float:
        if broken:
            return corrupted(data)
        with torch.random.fork_rng(devices=[]):
            return corrupted(data)

    return Training(model, optimizer, cross_entropy, classes(), val_data=classes(3), evaluate=evaluate)
