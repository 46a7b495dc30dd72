"""Which of two trainings is better, over seeds that both have run with, and how sure that is.

The verdict on a fix (KNOWLEDGE.md, section 5): validation loss better by more than 10 %, no NaN or Inf, and overfitting
reduced. A difference that other seeds may undo is none, and one of less than 10 % is called what it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import isfinite, sqrt
from statistics import fmean, stdev

from .. import wording
from ..records.improvement import Course, Improvement, Outcome, SeedRun

#: KNOWLEDGE.md, section 5: a fix makes the validation loss smaller by more than this share.
ENOUGH = 0.1
#: KNOWLEDGE.md, section 5: overfitting is a gap above this, over the last 5 points.
_GAP, _LAST_POINTS = 0.5, 5
#: Two-sided limits of Student's t for 95 %, by the number of seeds.
_STUDENT = {2: 12.7, 3: 4.3, 4: 3.18, 5: 2.78, 6: 2.57, 7: 2.45, 8: 2.36, 9: 2.31}
_MANY = 2.26  # for 10 seeds; a little more than for any larger number
#: Of the first value: two measures of one model on one set of batches are the same measure. 10 roundings of float32.
_THE_SAME = 1e-6


def compared(
    before: Sequence[SeedRun], after: Sequence[SeedRun], *, steps: int, names: tuple[str, str] = ("before", "after")
) -> Improvement:
    """Runs in the order of their seeds, the same for both."""
    found = _compared(before, after, steps, names)
    return replace(found, summary=summary_of(found))


def _compared(before: Sequence[SeedRun], after: Sequence[SeedRun], steps: int, names: tuple[str, str]) -> Improvement:
    by = _judged_by(before, after)
    count = min(len(before), len(after))
    first, second = _course(names[0], before, by), _course(names[1], after, by)
    points = _points(before, by)
    whole = Improvement("could not compare", first, second, judged_by=by, seeds=count, steps=steps, points=points)
    notes = _notes(before, after, by)
    stopped = next((run.stopped for run in (*before, *after) if run.stopped), "")
    if stopped or not count:
        return replace(whole, reason=stopped or "no run was made", notes=notes)
    other = _other_measure(before, after, by)
    if other:
        return replace(whole, reason=other, notes=notes)
    if first.not_finite or second.not_finite:
        return replace(_by_finiteness(whole, count), notes=notes)
    return replace(_by_results(whole, before), notes=notes)


def _judged_by(before: Sequence[SeedRun], after: Sequence[SeedRun]) -> str:
    kinds = {run.validation.what for run in (*before, *after) if not run.validation.why_not and run.validation.points}
    every = all(run.validation.points or not run.finite for run in (*before, *after))
    return kinds.pop() if len(kinds) == 1 and every else "training loss"


def _points(runs: Sequence[SeedRun], by: str) -> tuple[int, ...]:
    if by != "training loss":
        return tuple(step for step, _ in max((run.validation.points for run in runs), key=len, default=[]))
    longest = max((len(run.losses) for run in runs), default=0)
    return tuple(range(longest))


def _values(run: SeedRun, by: str) -> list[float]:
    return list(run.losses) if by == "training loss" else [value for _, value in run.validation.points]


def _course(name: str, runs: Sequence[SeedRun], by: str) -> Course:
    finite = [run for run in runs if _is_finite(run, by)]
    curves = [_values(run, by) for run in finite]
    length = min(map(len, curves), default=0)
    train = tuple(_end_of(run.losses, len(run.validation.points)) for run in finite)
    results = tuple(_end_of(curve, 0) for curve in curves)
    gap = fmean(results) - fmean(train) if results and by == "validation loss" else None
    return Course(
        name=name,
        results=results,
        train=train,
        curve=tuple(fmean(curve[at] for curve in curves) for at in range(length)),
        not_finite=len(runs) - len(finite),
        gap=gap,
    )


def _is_finite(run: SeedRun, by: str) -> bool:
    return run.finite and all(map(isfinite, _values(run, by))) and bool(_values(run, by))


def _end_of(values: Sequence[float], points: int) -> float:
    """The mean over the last 5 points; of steps, over as many as these points span."""
    last = _LAST_POINTS if points == 0 else max(1, len(values) * _LAST_POINTS // max(points, 1))
    return fmean(values[-last:]) if values else float("nan")


def _other_measure(before: Sequence[SeedRun], after: Sequence[SeedRun], by: str) -> str:
    """The same weights on the same batches, and another value: the two losses are not the same function."""
    if by != "validation loss":
        return ""
    for one, other in zip(before, after, strict=False):
        a, b = one.validation, other.validation
        same = a.start and a.start == b.start and a.batches and a.batches == b.batches and a.points and b.points
        if same and abs(a.points[0][1] - b.points[0][1]) > _THE_SAME * abs(a.points[0][1]):
            first, second = wording.loss(a.points[0][1]), wording.loss(b.points[0][1])
            return (
                f"with the same weights and batches, the validation loss is {first} before and {second} after: the two "
                "are not the same loss. Hand in measure=, a function of a training that says how good it is"
            )
    return ""


def _by_finiteness(whole: Improvement, count: int) -> Improvement:
    before, after = whole.before.not_finite, whole.after.not_finite
    words = f"{before} of {count} seeds end in NaN or Inf before, {after} after"
    demands = ((_NO_NAN, after == 0),)
    outcome: Outcome = "no difference beyond noise"
    if after == 0 and before == count:
        outcome = "better"
    elif before == 0 and after == count:
        outcome = "worse"
    elif after == 0 or before == 0:  # some seeds only: with as few as this, chance may do it
        surely = max(before, after) > count / 2
        outcome = ("better" if after == 0 else "worse") if surely else outcome
    return replace(whole, outcome=outcome, reason=words, demands=demands)


_NO_NAN = "no NaN or Inf"


def _by_results(whole: Improvement, before: Sequence[SeedRun]) -> Improvement:
    pairs = list(zip(whole.before.results, whole.after.results, strict=True))
    scale = _scale(whole, before)
    if not scale:
        return replace(whole, reason=f"{whole.judged_by} is 0 throughout before: there is nothing to compare with")
    changes = [(a - b) / scale for a, b in pairs]
    change = fmean(changes)
    reach = _reach(changes)
    low, high = (change, change) if reach is None else (change - reach, change + reach)
    by_enough = low > 0 and change > ENOUGH
    less = _less_overfitting(whole)
    demands = (
        (f"{whole.judged_by} better by more than {wording.share(ENOUGH)}", by_enough),
        (_NO_NAN, True),
        ("less overfitting", less),
    )
    outcome: Outcome = "no difference beyond noise"
    if by_enough:
        outcome = "better"
    elif high < 0 and change < -ENOUGH:
        outcome = "worse"
    elif low > 0 or high < 0:
        outcome = "less than 10 % apart" if abs(change) <= ENOUGH else outcome
    found = replace(whole, outcome=outcome, change=change, demands=demands)
    if reach is None:
        return replace(found, seeds=1)
    return replace(found, low=low, high=high)


def _scale(whole: Improvement, before: Sequence[SeedRun]) -> float:
    """What a share is a share of: the loss; of one that is not above 0, what was gained until then."""
    results = whole.before.results
    if min(results) > 0:
        return fmean(results)
    firsts = [_values(run, whole.judged_by)[0] for run in before]
    return abs(fmean(firsts) - fmean(results))


def _reach(changes: Sequence[float]) -> float | None:
    """Half of the interval of 95 %. None where all seeds give the same: then nothing was left to chance, or tried."""
    if len(changes) < 2 or len(set(changes)) == 1:
        return None
    return _STUDENT.get(len(changes), _MANY) * stdev(changes) / sqrt(len(changes))


def _less_overfitting(whole: Improvement) -> bool | None:
    """None where there is none to reduce, before or after."""
    before, after = whole.before.gap, whole.after.gap
    if before is None or after is None or max(before, after) <= _GAP:
        return None
    return after < before


def _notes(before: Sequence[SeedRun], after: Sequence[SeedRun], by: str) -> tuple[str, ...]:
    notes = []
    why = next((run.validation.why_not for run in (*before, *after) if run.validation.why_not), "")
    if by == "training loss":
        why = why or "nothing to validate on"
        notes.append(f"judged by the training loss, which says nothing about overfitting: {why}")
    sizes = {run.batch_size for run in before}, {run.batch_size for run in after}
    if sizes[0] != sizes[1] and None not in sizes[0] | sizes[1]:
        shown = [" or ".join(map(str, sorted(each))) for each in sizes]  # type: ignore[type-var]
        notes.append(f"batches of {shown[0]} before and of {shown[1]} after: steps are the same, samples seen are not")
    if len({run.losses for run in before}) == 1 and len({run.losses for run in after}) == 1:
        notes.append(
            "only one start was tried, so that chance is not known: hand in functions that build the trainings, and "
            "several seeds"
        )
    return tuple(notes)


def summary_of(found: Improvement) -> str:
    """'better: validation loss 0.812 -> 0.534, 34 % smaller (95 %: -28 % to -40 %, 5 seeds, 200 steps)'."""
    if found.change is None:
        return f"{found.outcome}: {found.reason}"
    size = wording.share(abs(found.change))
    change = "as large" if not found.change else f"{size} {'smaller' if found.change > 0 else 'larger'}"
    interval = ""
    if found.low is not None and found.high is not None:
        ends = sorted((found.low, found.high), key=abs)
        interval = f"95 %: {_signed(ends[0])} to {_signed(ends[1])}, "
    results = wording.change(fmean(found.before.results), fmean(found.after.results))
    runs = f"{interval}{wording.plural(found.seeds, 'seed')}, {wording.plural(found.steps, 'step')}"
    return f"{found.outcome}: {found.judged_by} {results}, {change} ({runs})"


def _signed(gain: float) -> str:
    """What is smaller after than before is a gain."""
    return f"{'-' if gain > 0 else '+'}{wording.share(abs(gain))}"
