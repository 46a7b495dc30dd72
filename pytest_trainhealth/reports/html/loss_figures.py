"""The loss curve, with the re-runs laid over it and the levels that it is judged by."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from ... import wording
from ...records.recorded import Curve, Recorded
from ...records.verdict import Rerun, Verdict
from .figure import Figure, JudgedRuns, drawable
from .line_plots import lines
from .specs import can_be_drawn

#: Re-runs in one plot. By judgement: more lines are not entries apart; the table lists them all.
_MOST_RERUNS = 5
#: Losses that are worth a plot. By judgement: fewer are a figure, not a curve.
_SHORTEST = 5
_ON = {"overfits_one_batch": "on one batch", "learns_from_data": "over the data"}


def losses_of(known: JudgedRuns) -> Iterator[Figure]:
    """Of the checks that are about learning, or of another one. A run that several have judged is drawn once."""
    worth = [(verdict, run, run.losses) for verdict, run in known if run.losses and len(run.losses.values) >= _SHORTEST]
    about_learning = [each for each in worth if each[0].check in _ON]
    others = sorted(worth, key=lambda each: (not each[0].failed, -each[0].steps))
    drawn: list[Curve] = []
    for verdict, run, losses in sorted(about_learning, key=lambda each: not each[0].failed) or others[:1]:
        if losses not in drawn:
            drawn.append(losses)
            yield _loss(verdict, run, losses, _reruns(verdict))


def _reruns(verdict: Verdict) -> list[Rerun]:
    """Those that confirm first; one that two findings share is drawn once."""
    every = {rerun.cure: rerun for finding in verdict.findings for rerun in finding.reruns}
    every |= {rerun.cure: rerun for rerun in verdict.reruns if rerun.cure not in every}
    found = [rerun for rerun in every.values() if rerun.losses is not None]
    return sorted(found, key=lambda rerun: (not rerun.confirms, not rerun.healthy))[:_MOST_RERUNS]


def _loss(verdict: Verdict, run: Recorded, losses: Curve, reruns: Sequence[Rerun]) -> Figure:
    marks = [(name, level) for name, level in _marks(run) if can_be_drawn(level)]
    curves = [("", "run", drawable(losses))]
    for number, rerun in enumerate(reruns, 1):
        curves.append((str(number), "cured" if rerun.healthy else "still", drawable(rerun.losses)))
    finite = [each for each in curves if each[2]]  # a curve may be nan throughout
    spec = lines(finite, marks, "step", "loss") if finite else None
    legend = tuple(f"{rerun.cure}: {rerun.result}, {'passes' if rerun.healthy else 'still fails'}" for rerun in reruns)
    where = _ON.get(verdict.check, f"in {verdict.check}")
    return Figure(f"Loss {where}", " ".join(_loss_words(losses, run, len(reruns), verdict)), spec, legend)


def _loss_words(losses: Curve, run: Recorded, reruns: int, verdict: Verdict) -> Iterator[str]:
    taken = int(losses.steps[-1]) + 1
    yield f"The loss goes from {wording.loss(losses.values[0])} to {wording.loss(losses.values[-1])}" + (
        f" in {wording.plural(taken, 'step')}."
    )
    odd = next(
        (step for step, value in zip(losses.steps, losses.values, strict=True) if not math.isfinite(value)), None
    )
    if odd is not None:
        yield f"From step {odd:,.0f} on it has values that are not finite, which cannot be drawn."
    words = {
        "chance": "the best constant answer gives",
        "floor": "the least possible is",
        "reach": "a plain recipe gets to",
    }
    entries = [f"{words[name]} {wording.loss(level) if level else '0'} ({name})" for name, level in _marks(run)]
    if entries:
        yield f"{'; '.join(entries)}.".capitalize()
    if reruns:
        yield f"{wording.plural(reruns, 're-run')} from the same start {'is' if reruns == 1 else 'are'} laid over it."
    elif verdict.passed:
        yield f"{verdict.check} passed."


def _marks(run: Recorded) -> list[tuple[str, float]]:
    named = (("chance", run.chance), ("floor", run.floor), ("reach", run.reach))
    return [(name, level) for name, level in named if level is not None]
