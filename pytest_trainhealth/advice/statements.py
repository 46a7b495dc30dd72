"""What a trial has shown, in one line with its figures, and the code to paste."""

from __future__ import annotations

from statistics import median

from .. import wording
from ..analysis.gains import Estimate, estimate
from ..records.advice import Advice, PairOfRuns
from .trial import Trial

#: Of what is kept for the backward pass, times: less of a difference is not mentioned. By judgement: a quarter.
_MORE, _LESS = 1.25, 0.8
#: A run that never gets to the loss counts as a hundredth of the steps (analysis/gains.py). By judgement: below a fifth
#: there is nothing to give figures for.
_WORSE = 0.2


def advice_of(trial: Trial) -> Advice:
    name = trial.change.name
    if trial.untried and not trial.pairs:
        return Advice(name, "not tried", trial.untried)
    if trial.shown:
        return Advice(name, "gain", _gain(trial), trial.change.code, _figures(trial, trial.judged_by))
    return Advice(name, "not tried" if _open(trial) else "no gain", _no_gain(trial), (), _figures(trial, trial.pairs))


def _open(trial: Trial) -> bool:
    """It looked better, and there was no time to see whether it is."""
    return bool(trial.untried) and trial.promising


def _gain(trial: Trial) -> str:
    found, one_start = estimate(trial.totals(trial.judged_by)), trial.one_start and not trial.change.timed
    spread = _interval(found) if not one_start else "from one start: a function that builds the training shows others"
    if not trial.change.timed:
        words = f"the same loss in {_times(found)} fewer steps ({spread})"
    elif not trial.change.learns:
        words = f"{_times(found)} as many samples a second ({spread})"
    else:
        each = trial.gains_of(trial.judged_by)
        fewer, faster = estimate([g.steps for g in each]), estimate([g.speed for g in each])
        words = f"the same loss in {_times(found)} less time ({spread}): a step takes {_factor(1 / faster.middle)} "
        words += f"times as long, and {_factor(1 / fewer.middle)} times as many are needed"
    return words + _memory(trial.judged_by)


def _no_gain(trial: Trial) -> str:
    if trial.broken:
        return trial.broken
    if trial.no_difference:
        return "changes nothing here"
    if trial.refused:
        return trial.refused
    totals = trial.totals(trial.chosen_by)
    found = estimate(totals)
    seeds = wording.plural(len(totals), "seed")
    if _open(trial):
        return f"{_times(found)} better on {seeds}, not tried on others: {trial.untried}"
    if trial.promising and trial.fresh:
        others = estimate(trial.totals(trial.fresh))
        return f"{_times(found)} better on {seeds}, and {_factor(others.middle)} times on others ({_interval(others)})"
    if min(each.steps for each in trial.gains_of(trial.chosen_by)) < _WORSE:
        return "the loss ends higher"
    return f"{_factor(found.middle)} times as fast to the same loss on {seeds}"


def _figures(trial: Trial, pairs: list[PairOfRuns]) -> dict[str, float | None]:
    each = trial.gains_of(pairs)
    found = estimate([gain.total for gain in each])
    kept = _kept_ratio(pairs)
    return {
        "gain": found.middle,
        "low": found.low,
        "high": found.high,
        "steps": estimate([gain.steps for gain in each]).middle,
        "speed": estimate([gain.speed for gain in each]).middle,
        "samples_per_second": _samples_per_second(pairs),
        "kept_for_backward": kept,
        "seeds": float(found.count),
    }


def _samples_per_second(pairs: list[PairOfRuns]) -> float | None:
    found = [p.changed.samples / p.changed.seconds for p in pairs if p.changed.samples and p.changed.seconds]
    return median(found) if found else None


def _memory(pairs: list[PairOfRuns]) -> str:
    ratio = _kept_ratio(pairs)
    if ratio is None or _LESS < ratio < _MORE:
        return ""
    return f"; {_factor(ratio)} times the memory for the backward pass"


def _kept_ratio(pairs: list[PairOfRuns]) -> float | None:
    ratios = [p.changed.kept / p.unchanged.kept for p in pairs if p.changed.kept and p.unchanged.kept]
    return median(ratios) if ratios else None


def _interval(found: Estimate) -> str:
    return f"{_factor(found.low)} to {_factor(found.high)} over {wording.plural(found.count, 'fresh seed')}"


def _times(found: Estimate) -> str:
    return f"{_factor(found.middle)} times"


def _factor(value: float) -> str:
    """Two digits: more would be noise."""
    return f"{float(f'{value:.2g}'):g}"
