"""Makes a baseline: one run, others with other seeds, and others in which nothing but rounding differs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from statistics import fmean, stdev

from ..analysis.changed_recipe import optimizers_in_words
from ..analysis.run_failures import broke_down
from ..analysis.seed_spread import FEWEST_SEEDS
from ..engine.examination import Examination
from ..programs.plan import RunPlan
from ..records.baseline import Baseline, Figure, FirstSteps, LayerFigures, LayerSteps, StepRow
from ..records.intervention import Cure
from ..records.trace import Trace
from .memorising import MOST_STEPS, steps_to_memorise

#: Seeds, the recorded one included. By judgement: with 8, chance reaches 12 times the spread, with 5 30 times; more
#: gain little (10: 9 times), and each is a whole run.
SEEDS = 8
#: From one seed to the next. By judgement: any would do; 104,729 is the 10,000th prime, far from seeds in use.
_APART = 104_729
#: Runs that differ by rounding alone.
_ROUNDED = (
    Cure("threads", "two threads", {"count": 2}),
    Cure("nudged_start", "one rounding error away", {"seed": 1}),
    Cure("nudged_start", "another rounding error away", {"seed": 2}),
)


class NotRecorded(Exception):
    """Why there is no baseline, in one line."""


def first_run(examination: Examination) -> Trace:
    return examination.program.first_run or examination.record(examination.plan)


def recorded(examination: Examination, main: Trace, test: str, seed: int, steps: int) -> Baseline:
    """`main`: the run that is recorded. Raises `NotRecorded` where that was no healthy run, or would be no help."""
    first = _checked(main)
    again = examination.record(examination.rerun.curing(Cure("once_more", "once more")))
    same = again.state.first_steps
    if again.cut_short or same is None:
        raise NotRecorded(again.cut_short or "the same run could not be made twice")
    if _starts_and_batches(first) != _starts_and_batches(same):
        raise NotRecorded("two runs with the same seeds differ, so that none can follow a third: see is_reproducible")
    rounded = [again, *_others(examination, [examination.rerun.curing(cure) for cure in _ROUNDED])]
    offsets = [_APART * number for number in range(1, SEEDS)] if _has_seeds(examination) else []
    seeded = [main, *_others(examination, [replace(examination.rerun, seed_offset=each) for each in offsets])]
    seeds = len(seeded) if len(seeded) >= FEWEST_SEEDS else 1
    memorised = [steps_to_memorise(examination, seed_offset=each) for each in (0, *offsets[: seeds - 1])]
    make = _Figures(main, rounded, seeded if seeds > 1 else [])
    return Baseline(
        test=test,
        seed=seed,
        seeds=seeds,
        surroundings=first.surroundings,
        optimizers=optimizers_in_words(main.wiring.optimizers),
        order=first.order,
        batch_size=main.batch_size,
        batches=main.batches,
        memorised=_memorised(memorised),
        layers=tuple(make.layer(layer) for layer in first.layers),
        steps=tuple(make.step(number) for number in range(min(steps, main.steps))),
    )


def _checked(main: Trace) -> FirstSteps:
    broken, first = broke_down(main), main.state.first_steps
    if broken is not None:
        raise NotRecorded(f"a baseline is of a healthy run, and here {broken.summary}")
    if main.cut_short or first is None or not first.layers or not main.losses:
        raise NotRecorded(main.cut_short or "no step was taken")
    if main.not_read:
        raise NotRecorded(f"not read: {next(iter(main.not_read.values()))}")
    return first


def _starts_and_batches(first: FirstSteps) -> tuple[list[float | None], list[str]]:
    return [layer.start for layer in first.layers], [batch.print for batch in first.batches]


def _has_seeds(examination: Examination) -> bool:
    """A training that was handed in as it is starts with the same values whatever the seed is."""
    start = examination.program.start
    return start is None or start.rebuilds


def _others(examination: Examination, plans: Sequence[RunPlan]) -> list[Trace]:
    """As many as there is time for; none that broke down, or raised: then chance is known a little less well."""
    found = []
    for plan in plans:
        trace = examination.record(replace(plan, catch_errors=True))
        if trace.cut_short:
            break
        if trace.finite and trace.crash is None and trace.state.first_steps is not None and trace.losses:
            found.append(trace)
    return found


def _memorised(taken: Sequence[int | None]) -> Figure | None:
    if taken[0] is None:
        return None
    known = [float(each if each is not None else MOST_STEPS) for each in taken]
    mean, spread = _spread(known)
    return Figure(known[0], mean, spread)


def _spread(values: Sequence[float]) -> tuple[float | None, float | None]:
    """Mean and spread over the seeds."""
    return (fmean(values), stdev(values)) if len(values) >= FEWEST_SEEDS else (None, None)


class _Figures:
    """Puts the figures of all runs beside one another."""

    def __init__(self, main: Trace, rounded: Sequence[Trace], seeded: Sequence[Trace]) -> None:
        self._main, self._rounded, self._seeded = main, rounded, seeded

    def _figure(self, value: float | None, of: Callable[[Trace], float | None]) -> Figure | None:
        if value is None:
            return None
        rounded = [abs(each - value) for each in map(of, self._rounded) if each is not None]
        known = [each for each in map(of, self._seeded) if each is not None]
        mean, spread = _spread(known)
        return Figure(value, mean, spread, max(rounded, default=0.0))

    def layer(self, layer: LayerSteps) -> LayerFigures:
        def of(what: str) -> Figure | None:
            return self._figure(getattr(layer, what), lambda trace: _in_layer(trace, layer.name, what))

        return LayerFigures(layer.name, layer.shape, of("start"), of("gradient"), of("update"))

    def step(self, number: int) -> StepRow:
        first = self._main.state.first_steps
        assert first is not None
        loss = self._figure(self._main.losses[number], lambda trace: _nth(trace.losses, number))
        assert loss is not None
        gradient = self._figure(first.gradients[number], lambda trace: _nth(_first(trace).gradients, number))
        return StepRow(loss, gradient, first.rates[number], first.batches[number])


def _first(trace: Trace) -> FirstSteps:
    return trace.state.first_steps or FirstSteps()


def _in_layer(trace: Trace, name: str, what: str) -> float | None:
    return next((getattr(layer, what) for layer in _first(trace).layers if layer.name == name), None)


def _nth(values: Sequence[float | None], number: int) -> float | None:
    return values[number] if number < len(values) else None
