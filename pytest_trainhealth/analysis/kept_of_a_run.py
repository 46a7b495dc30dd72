"""What is kept of a run for reports that draw it: thinned curves, a few figures per layer, a summary of the data.

Made once a check is decided, from what was recorded anyway: a healthy run takes no more looks because of it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from .. import wording
from ..records.history import History, Series
from ..records.recorded import ActivationFigures, Curve, FieldFigures, ParameterFigures, Recorded
from ..records.survey import SurveyRecord
from ..records.trace import Trace
from ..records.wiring import OptimizerRecord, ParameterRecord
from .history_roles import Roles
from .reference_points import points, reach

#: Points of the judged run, and of each re-run. By judgement: a plot of this size shows no more, and a verdict with ten
#: re-runs stays below 20 kB.
RUN_POINTS, RERUN_POINTS = 120, 60
#: Parameters, activation functions, fields, classes and logged curves. By judgement: more rows are not read.
_PARAMETERS, _ACTIVATIONS, _FIELDS, _CLASSES, _LOGGED = 48, 24, 12, 20, 6
#: Significant digits of what is kept. By judgement: nobody sees the sixth in a plot, and it would double the JSON.
_DIGITS = 5


def recorded(trace: Trace, controls: Mapping[str, Trace] | None = None, closer: Trace | None = None) -> Recorded:
    """`controls`: the runs that it was compared with. `closer`: the same run with every signal, if there was one."""
    if trace.history is not None:
        return Recorded(logged=_logged(trace.history))
    marks, reached = points(trace), reach(controls or {})
    looked = trace if closer is None else closer
    survey = trace.data.survey or looked.data.survey
    weights = [p for p in (looked.trainable or trace.trainable) if p.gradients]
    return Recorded(
        losses=curve("the run", trace.losses) if trace.loss_seen and trace.losses else None,
        rates=tuple(_rates(each) for each in _optimizers(trace, looked) if each.rates)[:_LOGGED],
        chance=_kept(marks.chance),
        floor=_kept(marks.floor),
        reach=None if reached is None else _kept(reached.level),
        parameters=tuple(_parameter(each) for each in _some(weights, _PARAMETERS)),
        parameter_count=len(weights),
        activations=_activations(looked if looked.numbers.activations else trace),
        fields=_fields(looked, trace),
        classes=_classes(survey),
        samples=0 if survey is None else survey.samples,
        val_samples=0 if survey is None else survey.val_samples,
    )


def curve(name: str, values: Sequence[float], most: int = RUN_POINTS) -> Curve:
    """One value a step, from step 0."""
    kept = thinned(values, most)
    return Curve(name, tuple(map(float, kept)), tuple(_rounded(values[at]) for at in kept))


def thinned(values: Sequence[float], most: int) -> list[int]:
    """Indices of at most this many values: first and last, and the extremes of every stretch, so that no peak is lost.

    A value that is not finite is an extreme: the first of a stretch is kept.
    """
    count = len(values)
    if count <= most:
        return list(range(count))
    kept, stretches = {0, count - 1}, (most - 2) // 2
    for number in range(stretches):
        begin, end = 1 + number * (count - 2) // stretches, 1 + (number + 1) * (count - 2) // stretches
        stretch = range(begin, end)
        odd = next((at for at in stretch if not math.isfinite(values[at])), None)
        kept |= {min(stretch, key=values.__getitem__), max(stretch, key=values.__getitem__)} if odd is None else {odd}
    return sorted(kept)


def _optimizers(trace: Trace, looked: Trace) -> list[OptimizerRecord]:
    return list((trace.wiring.optimizers or looked.wiring.optimizers).values())


def _rates(optimizer: OptimizerRecord) -> Curve:
    """A rate that never changes is two points."""
    most = 2 if len(set(optimizer.rates)) == 1 else RUN_POINTS
    return replace(curve(optimizer.kind or optimizer.label, optimizer.rates, most), unit="update")


def _parameter(record: ParameterRecord) -> ParameterFigures:
    scale = max(record.size, 1) ** 0.5
    per_value = [None if size is None else size / scale for _, size in sorted(record.gradients.items())]
    updates: list[float | None] = [size for _, size in sorted(record.updates.items())]
    return ParameterFigures(record.name, record.size, record.trainable, _ends(per_value), _ends(updates))


def _ends(values: Sequence[float | None]) -> tuple[float | None, float | None]:
    return (_kept(values[0]), _kept(values[-1])) if values else (None, None)


def _activations(trace: Trace) -> tuple[ActivationFigures, ...]:
    """Those with something to see come first where there are too many."""
    found = [
        ActivationFigures(
            each.function, each.module, each.units, _kept(_latest(each.dead)), _kept(_latest(each.saturated))
        )
        for each in trace.numbers.activations.values()
    ]
    known = [each for each in found if each.dead is not None or each.saturated is not None]
    if len(known) > _ACTIVATIONS:
        worst = sorted(known, key=lambda each: -max(each.dead or 0.0, each.saturated or 0.0))[:_ACTIVATIONS]
        known = [each for each in known if each in worst][:_ACTIVATIONS]
    return tuple(known)


def _latest(by_step: Mapping[int, float]) -> float | None:
    return by_step[max(by_step)] if by_step else None


def _fields(looked: Trace, trace: Trace) -> tuple[FieldFigures, ...]:
    """Of the first batch that was looked at; else of the features, as a look through the data has found them."""
    first, survey = next(iter((looked.data.fields or trace.data.fields).values()), []), trace.data.survey
    if not first and survey is not None:
        return tuple(
            FieldFigures(
                each.name, wording.plural(each.features, "feature"), mean=_kept(each.mean), std=_kept(each.std)
            )
            for each in survey.fields[:_FIELDS]
        )
    return tuple(
        FieldFigures(
            each.name,
            " ".join(filter(None, (" x ".join(map(str, each.shape)), each.dtype))),
            *map(_kept, (each.low, each.high, each.mean, each.std)),
        )
        for each in first[:_FIELDS]
    )


def _classes(survey: SurveyRecord | None) -> tuple[tuple[int, int], ...]:
    counts = {} if survey is None else next((each.counts for each in survey.classes), {})
    largest = sorted(counts, key=lambda label: -counts[label])[:_CLASSES]
    return tuple((int(label), int(counts[label])) for label in sorted(largest))


def _logged(history: History) -> tuple[Curve, ...]:
    """What people look at first: losses, then scores, rates and the norm of the gradient."""
    roles = Roles(history)
    wanted = [
        roles.loss,
        roles.val_loss,
        *roles.losses,
        roles.score,
        roles.val_score,
        *roles.rates,
        roles.gradient_norm,
    ]
    found = {each.name: each for each in wanted if each is not None and len(each)}
    return tuple(_of_series(each) for each in list(found.values())[:_LOGGED])


def _of_series(series: Series) -> Curve:
    kept = thinned(series.values, RUN_POINTS)
    steps = tuple(_rounded(float(series.steps[at]), 10) for at in kept)
    return Curve(series.name, steps, tuple(_rounded(float(series.values[at])) for at in kept), series.unit)


def _some(items: Sequence[ParameterRecord], most: int) -> list[ParameterRecord]:
    """Evenly over all of them, the first and the last included."""
    if len(items) <= most:
        return list(items)
    return [items[round(at * (len(items) - 1) / (most - 1))] for at in range(most)]


def _kept(value: float | None) -> float | None:
    return None if value is None else _rounded(value)


def _rounded(value: float, digits: int = _DIGITS) -> float:
    return float(f"{value:.{digits}g}")
