"""What a departure from the recorded run comes from, as far as its figures show it: rate, scale of the loss, settings.

Nothing here decides: each line is a fact that stands beside the departure.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median

from .. import wording
from ..records.baseline import Baseline
from ..records.wiring import OptimizerRecord
from .departures import Followed

#: How far ratios of one scale may be apart. By judgement: figures have 6 digits, and a scale that is no scale differs
#: from layer to layer by tens of percent.
_ONE_SCALE = 1e-3
#: Of the largest gradient. Smaller ones are rounding errors, whose ratio says nothing. 8 roundings of float32.
_WORTH_A_RATIO = 1e-6


def optimizers_in_words(optimizers: Mapping[str, OptimizerRecord]) -> dict[str, str]:
    """'AdamW, lr 0.001, eps 1e-08, weight_decay 0.01, ...' for each."""
    found = {}
    for label, record in optimizers.items():
        rate = record.rates[0] if record.rates else record.first_lr
        settings = {**({} if rate is None else {"lr": rate}), **record.settings}
        found[label] = ", ".join([record.kind, *(f"{name} {value:g}" for name, value in settings.items())])
    return found


def changed_optimizers(baseline: Baseline, now: Mapping[str, str], *, but: str = " ") -> list[str]:
    """'AdamW, recorded SGD', or the settings of one that differ. `but`: one that was told already."""
    then = baseline.optimizers
    if list(then.values()) == list(now.values()) or not then or not now:
        return []
    if len(then) != len(now):
        return [f"{wording.plural(len(now), 'optimizer')} now, recorded {len(then)}"]
    found = []
    for old, new in zip(then.values(), now.values(), strict=True):
        before, after = ([each for each in side.split(", ") if not each.startswith(but)] for side in (old, new))
        if before[0] != after[0]:
            found.append(f"the optimizer is {new}; recorded was {old}")
        elif before != after:
            lost = [each for each in before if each not in after]
            found.append(
                f"{after[0]} with {', '.join(e for e in after if e not in before)}; recorded {', '.join(lost)}"
            )
    return found


@dataclass(frozen=True)
class Scale:
    """The factors on the loss and on every gradient of the first update."""

    of_loss: float
    of_gradients: float

    @property
    def of_both(self) -> bool:
        return _is_one(self.of_loss / self.of_gradients) and not _is_one(self.of_gradients)

    def in_words(self, batch_size: int | None) -> str:
        """Empty where the factors say nothing."""
        times = _times(self.of_gradients)
        if self.of_both:
            size = f", and {batch_size} is the batch size" if batch_size and self._is(batch_size) else ""
            return f"the loss is {times} the recorded one, and so is every gradient: it is scaled{size}"
        if _is_one(self.of_loss) and not _is_one(self.of_gradients):
            return (
                f"the loss is as recorded, and every gradient is {times} the recorded one: something between the loss "
                "and the step scales them (clipping, a factor on what backward() is called on)"
            )
        if _is_one(self.of_gradients) and not _is_one(self.of_loss):
            return f"only the loss that is reported differs ({_times(self.of_loss)}): every gradient is as recorded"
        return ""

    def _is(self, size: int) -> bool:
        return _is_one(self.of_gradients / size) or _is_one(self.of_gradients * size)


def _is_one(factor: float) -> bool:
    return abs(factor - 1) <= _ONE_SCALE


def scale(baseline: Baseline, losses: list[float], compared: Followed) -> Scale | None:
    """The factors on loss and gradients, where one factor explains every gradient of the first update."""
    pairs = [
        (old.gradient.value, new.gradient)
        for old, new in compared.pairing.pairs
        if old.gradient is not None and new.gradient is not None
    ]
    largest = max((value for value, _ in pairs), default=0.0)
    ratios = [new / old for old, new in pairs if old > _WORTH_A_RATIO * largest]
    recorded = baseline.steps[0].loss.value if baseline.steps else 0.0
    if not ratios or not recorded or not losses or not compared.same_start:
        return None
    factor = median(ratios)
    if factor <= 0 or not all(_is_one(each / factor) for each in ratios):
        return None
    return Scale(losses[0] / recorded, factor)


def _times(factor: float) -> str:
    return f"{wording.short(factor)} times" if factor >= 1 else f"1 / {wording.short(1 / factor)} of"
