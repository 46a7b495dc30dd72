"""Where a run leaves the one that was recorded: the first step, and in it the first layer, in the order of the work.

A step has an order: the values it starts with, the batch, the loss, the gradients, the learning rate, the update. What
differs first is not explained by what comes after it.

As long as a run starts with the recorded values and draws the recorded random numbers, it has to be the recorded run,
up to rounding. One that draws others (layers defined in another order do) is compared with what other seeds came to.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from .. import wording
from ..records.baseline import Baseline, Figure, FirstSteps, added_up
from .layer_pairing import Pairing, pair
from .seed_spread import DIGITS, FEWEST_SEEDS, by_chance, by_rounding, is_the_same, may_be_chance

#: Changes of an architecture that are told one by one. By judgement: a layer has 2 parameters, and 2 layers are enough.
_LISTED = 4
#: Digits that are tried to tell two figures apart: those that everything is told with, up to all that a file holds, 6.
_FEWEST_DIGITS, _MOST_DIGITS = 3, 6

What = Literal["architecture", "start", "batch", "loss", "gradient", "rate", "update", "length"]


@dataclass(frozen=True)
class Departure:
    """What differs first. `words`: what was measured beside what was recorded, and how far it might have been."""

    what: What
    step: int
    words: str
    layer: str = ""
    measured: float = 0.0
    recorded: float = 0.0
    limit: float = 0.0
    #: Another seed might explain it, but how far seeds differ was not recorded.
    unknown: bool = False


@dataclass(frozen=True)
class Followed:
    """How a run compares with the recorded one."""

    departure: Departure | None
    pairing: Pairing
    #: Values at the start are those that were recorded; and the step from which on batches or draws are not, so that
    #: chance is allowed for.
    same_start: bool = True
    other_draws_from: int | None = None


def followed(baseline: Baseline, now: FirstSteps, losses: list[float]) -> Followed:
    pairing = pair(baseline.layers, now.layers)
    if pairing.changed:
        return Followed(Departure("architecture", 0, _listed(pairing.changed)), pairing)
    return _Comparison(baseline, now, losses, pairing).result()


def _listed(changes: tuple[str, ...]) -> str:
    more = len(changes) - _LISTED
    return "; ".join([*changes[:_LISTED], *([f"{more} more"] if more > 0 else [])])


class _Comparison:
    def __init__(self, baseline: Baseline, now: FirstSteps, losses: list[float], pairing: Pairing) -> None:
        self._baseline, self._now, self._losses, self._pairing = baseline, now, losses, pairing
        starts = [(old.start, new.start) for old, new in pairing.pairs]
        self._same_start = all(a is None or b is None or is_the_same(a, b) for a, b in starts)
        self._exact = self._same_start
        self._others_from: int | None = None if self._exact else 0
        #: The step whose gradients and updates are known layer by layer.
        self._first_update = next((n for n, row in enumerate(baseline.steps) if row.rate is not None), 0)

    def result(self) -> Followed:
        found = self._in_layers("start", 0) or self._in_steps()
        return Followed(found, self._pairing, self._same_start, self._others_from)

    def _in_steps(self) -> Departure | None:
        rows = self._baseline.steps
        for step in range(min(len(rows), len(self._losses))):
            found = self._in_step(step)
            if found is not None:
                return found
        if len(rows) != len(self._losses):
            words = f"{wording.plural(len(self._losses), 'step')}, recorded {len(rows)}"
            return Departure("length", min(len(rows), len(self._losses)), words, limit=float(len(rows)))
        return None

    def _in_step(self, step: int) -> Departure | None:
        row = self._baseline.steps[step]
        batch = self._in_batch(step)
        if batch is not None:
            return batch
        self._look_at_draws(step)
        found = self._against_recorded("loss", step, "", row.loss, self._losses[step], 0.0)
        if found is not None:
            return found
        gradient = None
        if step == self._first_update:
            gradient = self._in_layers("gradient", step)
        if gradient is None and row.gradient is not None and self._now.gradients[step] is not None:
            gradient = self._against_recorded("gradient", step, "", row.gradient, self._now.gradients[step] or 0.0, 0.0)
        if gradient is not None or step != self._first_update:
            return gradient or self._in_rate(step)
        return self._in_rate(step) or self._in_layers("update", step)

    def _look_at_draws(self, step: int) -> None:
        """Random numbers that the step itself draws: dropout, noise."""
        then, here = self._baseline.steps[step].batch.draws, self._now.batches[step].draws
        if self._exact and then != here and then and here:
            self._exact, self._others_from = False, step

    def _in_batch(self, step: int) -> Departure | None:
        """Only where all else is the same: with other draws, other batches are to be expected."""
        then, here = self._baseline.steps[step].batch, self._now.batches[step]
        if not self._exact or not then.print or not here.print or then.print == here.print:
            return None
        if abs(then.size - here.size) <= DIGITS * then.size:  # computed in another order, or samples changed places
            return None
        same = self._same_samples()
        if not same and then.draws != here.draws:  # what a loader draws anew is chance
            self._exact, self._others_from = False, step
            return None
        now, before = self._now.order or "no sampler", self._baseline.order or "no sampler"
        known = "" if now == before else f" (ordered by {now}, recorded {before})"
        if same:
            return Departure("batch", step, f"{same} come in another order than recorded{known}")
        sizes = f"norm {wording.short(here.size)}, recorded {wording.short(then.size)}"
        return Departure("batch", step, f"it holds other values: {sizes}{known}", "", here.size, then.size)

    def _same_samples(self) -> str:
        """'the same batches', 'the same samples', or nothing: of the first epoch, where these steps are as long."""
        epoch = self._baseline.batches
        most = len(self._baseline.steps) if epoch is None else min(epoch, len(self._baseline.steps))
        then, here = [row.batch for row in self._baseline.steps][:most], self._now.batches[:most]
        if sorted(each.print for each in then) == sorted(each.print for each in here):
            return "the same batches"
        added = added_up([each.samples for each in then]), added_up([each.samples for each in here])
        return "the same samples" if added[0] and added[0] == added[1] else ""

    def _in_rate(self, step: int) -> Departure | None:
        then, here = self._baseline.steps[step].rate, self._now.rates[step]
        if then is None or here is None or abs(then - here) <= DIGITS * abs(then):
            return None
        words = f"learning rate {wording.short(here)}, recorded {wording.short(then)}"
        return Departure("rate", step, words, "", here, then, DIGITS * abs(then))

    def _in_layers(self, what: Literal["start", "gradient", "update"], step: int) -> Departure | None:
        figures = [getattr(old, what) for old, _ in self._pairing.pairs]
        largest = 0.0 if what == "start" else max((abs(each.value) for each in figures if each is not None), default=0)
        for (_, layer), figure in zip(self._pairing.pairs, figures, strict=True):
            value: float | None = getattr(layer, what)
            if figure is None and value is None:
                continue
            if figure is None or value is None:
                has, had = ("none" if each is None else "one" for each in (value, figure))
                return Departure(what, step, f"{layer.name} has {has} now, and had {had} when recorded", layer.name)
            found = self._against_recorded(what, step, layer.name, figure, value, largest)
            if found is not None:
                return found
        return None

    def _against_recorded(
        self, what: What, step: int, layer: str, figure: Figure, value: float, largest: float
    ) -> Departure | None:
        seeds = self._baseline.seeds
        if is_the_same(figure, value, largest):
            return None
        # where the start itself differs, there is nothing before it that would have to be the same
        exact = self._exact and what != "start"
        if not exact and may_be_chance(figure, value, seeds, largest, computed=what != "start"):
            return None
        by_seeds = by_chance(figure, seeds)
        both = f"{apart(value, figure.value)}"
        if exact or by_seeds is None or figure.mean is None:
            limit = by_rounding(figure, largest)
            words = f"{both} (at most {limit:.1g} apart by rounding)"
        elif by_seeds:
            limit = by_seeds
            low, high = wording.short(figure.mean - limit), wording.short(figure.mean + limit)
            words = f"{both} ({low} to {high} is what {seeds} seeds allow)"
        else:
            limit, words = 0.0, f"{both} (the same with each of {seeds} seeds)"
        unknown = not exact and seeds < FEWEST_SEEDS
        return Departure(what, step, words, layer, value, figure.value, limit, unknown)


def apart(value: float, recorded: float) -> str:
    """With as many digits as it takes to tell them apart."""
    for digits in range(_FEWEST_DIGITS, _MOST_DIGITS + 1):
        shown = f"{value:.{digits}g}", f"{recorded:.{digits}g}"
        if shown[0] != shown[1]:
            break
    if len(shown[0]) <= _MOST_DIGITS and digits == _FEWEST_DIGITS:
        shown = wording.short(value), wording.short(recorded)
    return f"{shown[0]}, recorded {shown[1]}"
