"""Which series of a log is the training loss, which its validation, which the learning rate: told by their names.

There is no standard. 'loss', 'train_loss', 'train/loss_epoch', 'Loss/train' and 'training.loss' are the same;
'val_loss', 'eval_loss', 'Loss/valid' belong to it. What no name tells is not guessed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from ..records.history import History, Series

_VALIDATION = {"val", "valid", "validation", "eval", "dev", "evaluation"}
_TEST = {"test", "testing"}
_TRAINING = {"train", "training", "trn", "tr"}
#: Words that say how a value was gathered, not what it is.
_MANNER = {"step", "epoch", "avg", "average", "mean", "total", "running", "batch", "iter", "smoothed", "ema", "metrics"}
_LOSS_WORDS = {"loss", "nll", "xent", "bce", "mse", "ppl", "perplexity", "crossentropy", "objective"}
_LARGER_IS_BETTER = {"elbo", "likelihood", "loglik", "logp", "logprob"}
_OPPOSITE = {"neg", "negative", "minus", "loss"}
_SCORES = {
    *("accuracy", "acc", "top1", "top5", "f1", "auc", "auroc", "map", "map50", "iou", "miou", "dice", "precision"),
    *("recall", "bleu", "rouge", "psnr", "ssim", "r2", "mcc", "score"),
}
_ONE_PLAYER = {"generator", "gen", "g", "netg"}
_OTHER_PLAYER = {"discriminator", "disc", "d", "netd", "critic"}
_REWARDS = {"reward", "rewards", "return", "returns", "rew", "episodic"}
_SPEEDS = {"samples_per_second", "steps_per_second", "it_per_s", "its_per_second", "tokens_per_second", "it_s"}
_SECONDS = {
    *("seconds_per_step", "step_time", "time_per_step", "sec_per_step", "batch_time", "iter_time", "step_seconds"),
    *("epoch_time", "time_per_epoch", "epoch_seconds", "seconds_per_epoch", "sec_per_epoch", "epoch_duration"),
}
#: Values of a mean over an epoch that are enough to show a shape; with fewer, those of steps are looked at. By
#: judgement: as many as a shape needs.
_ENOUGH = 10


@dataclass(frozen=True)
class Name:
    """A series' name taken apart: the part of the data it is of, and what it measures."""

    part: str
    measure: tuple[str, ...]
    per_epoch: bool

    @classmethod
    def of(cls, name: str) -> Name:
        spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name)
        words = [word for word in re.split(r"[^a-z0-9]+", spaced.lower()) if word]
        kinds = (("validation", _VALIDATION), ("test", _TEST), ("training", _TRAINING))
        part = next((kind for kind, known in kinds if any(word in known for word in words)), "training")
        rest = tuple(word for word in words if word not in {*_VALIDATION, *_TEST, *_TRAINING, *_MANNER})
        return cls(part, rest, "epoch" in words)

    @property
    def is_loss(self) -> bool:
        return any(word in _LOSS_WORDS or word.endswith("loss") for word in self.measure) or self.rises

    @property
    def rises(self) -> bool:
        """A likelihood, which training makes larger."""
        return bool(_LARGER_IS_BETTER & set(self.measure)) and not _OPPOSITE & set(self.measure)

    @property
    def is_score(self) -> bool:
        return bool(_SCORES & set(self.measure)) and not self.is_loss


class Roles:
    """The series of a history by what they are. What is not logged is None."""

    def __init__(self, history: History) -> None:
        self.history = history
        self.names = {name: Name.of(name) for name in history.series}

    @cached_property
    def losses(self) -> tuple[Series, ...]:
        """Whatever is called a loss, of any part of the data."""
        return tuple(each for name, each in self.history.series.items() if self.names[name].is_loss)

    @cached_property
    def loss(self) -> Series | None:
        return self._loss_of("training")

    @cached_property
    def val_loss(self) -> Series | None:
        """Of the validation set; or of the test set, where that was looked at again and again instead."""
        found = self._loss_of("validation")
        tested = self._loss_of("test") if found is None else None
        return tested if tested is not None and len(tested) > 2 else found

    @cached_property
    def score(self) -> Series | None:
        return self._score_of("training")

    @cached_property
    def val_score(self) -> Series | None:
        return self._score_of("validation") or self._score_of("test")

    @cached_property
    def rates(self) -> tuple[Series, ...]:
        return tuple(each for name, each in self.history.series.items() if _is_rate(self.names[name].measure))

    @cached_property
    def gradient_norm(self) -> Series | None:
        found = [(n.measure, each) for (name, each) in self.history.series.items() if _is_norm(n := self.names[name])]
        return min(found, key=lambda pair: len(pair[0]))[1] if found else None

    @cached_property
    def seconds(self) -> Series | None:
        """Per step. A speed is turned round."""
        for name, each in self.history.series.items():
            plain = "_".join(word for word in re.split(r"[^a-z0-9]+", name.lower()) if word not in _TRAINING)
            if plain in _SECONDS:
                return each
            if plain in _SPEEDS and all(value > 0 for value in each.values):
                return _replaced(each, [1 / value for value in each.values])
        return None

    @cached_property
    def rewards(self) -> Series | None:
        found = [each for name, each in self.history.series.items() if _REWARDS & set(self.names[name].measure)]
        return max(found, key=len, default=None)

    @cached_property
    def adversaries(self) -> tuple[str, ...]:
        """Losses of two that play against each other: each says who is ahead."""
        losses = {name: set(self.names[name].measure) for name in self.history.series if self.names[name].is_loss}
        one = [name for name, words in losses.items() if words & _ONE_PLAYER]
        other = [name for name, words in losses.items() if words & _OTHER_PLAYER]
        named = [name for name, words in losses.items() if words & {"adv", "adversarial", "gan"}]
        return tuple(dict.fromkeys((*one, *other, *named))) if (one and other) or named else ()

    def _loss_of(self, part: str) -> Series | None:
        own = {n: s for n, s in self.history.series.items() if self.names[n].is_loss and self.names[n].part == part}
        measures: dict[tuple[str, ...], dict[str, Series]] = {}
        for name, each in own.items():
            measures.setdefault(self.names[name].measure, {})[name] = each
        whole = measures.get(("loss",)) or next((m for w, m in measures.items() if len(w) == 1), None)
        if whole is None and len(measures) == 1:
            whole = next(iter(measures.values()))
        if whole is not None:
            return self._falling(self._best(whole))
        parts = [self._best(of_measure) for of_measure in measures.values()]
        return _sum(parts) if len(parts) > 1 else None

    def _score_of(self, part: str) -> Series | None:
        own = {n: s for n, s in self.history.series.items() if self.names[n].is_score and self.names[n].part == part}
        first = next((self.names[name].measure for name in own), None)
        same = {name: each for name, each in own.items() if self.names[name].measure == first}
        return self._best(same) if same else None

    def _best(self, same: Mapping[str, Series]) -> Series:
        """Of several series of the same, the means over epochs, if there are enough of them; else the longest."""
        means = [each for name, each in same.items() if self.names[name].per_epoch and len(each) >= _ENOUGH]
        return max(means or same.values(), key=len)

    def _falling(self, series: Series) -> Series:
        """A likelihood rises: its negative is judged as every loss is."""
        name = self.names.get(series.name)
        return _replaced(series, [-value for value in series.values]) if name is not None and name.rises else series


def _is_rate(words: tuple[str, ...]) -> bool:
    named = "lr" in words or ("learning" in words and "rate" in words)
    return named and not {"momentum", "beta", "scale", "mult"} & set(words)


def _is_norm(name: Name) -> bool:
    return "gnorm" in name.measure or (
        "norm" in name.measure and bool({"grad", "gradient", "gradients"} & {*name.measure})
    )


def _replaced(series: Series, values: Iterable[float], name: str = "") -> Series:
    return Series(**{**vars(series), "values": tuple(values), "name": name or series.name})


def _sum(parts: list[Series]) -> Series | None:
    """Of the parts of a loss whose sum nobody has logged; None where they do not stand side by side."""
    if any(list(each.steps) != list(parts[0].steps) for each in parts[1:]):
        return None
    values = [sum(together) for together in zip(*(each.values for each in parts), strict=True)]
    swings = [sum(together) for together in zip(*(each.swings for each in parts), strict=True)]
    summed = _replaced(parts[0], values, " + ".join(each.name for each in parts))
    return Series(**{**vars(summed), "swings": tuple(swings)})
