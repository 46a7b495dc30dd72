"""history_is_healthy: the log of a finished run shows a training that learnt, and nothing that went wrong

What it does
    Reads the log: CSV (Lightning's `metrics.csv`), JSON (Keras' history, Hugging Face's `trainer_state.json`), JSON
    lines, TensorBoard's event files, offline runs of Weights & Biases, dicts, lists and pandas frames. Which series is
    the training loss, the validation loss, an accuracy, the learning rate, the norm of the gradient and the time of a
    step is told by their names. Nothing is run, so no cause is ever *confirmed*.

When it fails
    The loss is NaN or infinite and does not come back; the learning rate is 0 throughout; the loss never moves, or loss
    and accuracy stay those of chance; it ends far above its best; its swings grow, or training and validation jump
    together; the norm of the gradient grows a hundredfold and nothing is learnt meanwhile, or is almost 0; the learning
    rate is gone while the loss still fell, is too low to move anything, or still warms up when the run is over; the
    validation loss rises while the training loss falls; steps take three times as long from one entry on, to the end.

What is not an alarm
    A run that is flat at its end: it has converged. Noise, bumps, warm restarts, runs that were resumed, a loss below
    0, a validation loss that gives back a little, or rises while its accuracy does not fall; a gap between training and
    validation; steps that get a little slower, or after a restart. Some of that is worth a note. Losses of adversaries
    and of reinforcement learning say nothing by themselves: could not judge, unless a reward rises. What is not logged
    is not claimed, and the notes say what would have to be.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .. import wording
from ..analysis.history_advice import advice
from ..analysis.history_curve import Curve
from ..analysis.history_faults import find_faults
from ..analysis.history_limits import ENOUGH_FOR_A_PASS, has_gained
from ..analysis.history_roles import Roles
from ..records.history import History, Series
from ..records.judgement import NO_CONTROLS, CouldNotJudge, FailedRun, Judgement, Passed
from ..records.trace import Trace

SIGNALS: tuple[str, ...] = ()
ONE_BATCH = False
BLAMES_RATES = True
READS_HISTORY = True
STEPS = 1  # by judgement: none is taken, but whoever counts steps needs a number


def judge(trace: Trace, settings: Mapping[str, Any], controls: Mapping[str, Trace] = NO_CONTROLS) -> Judgement:
    history = trace.history
    if history is None:
        return CouldNotJudge("there is no log: return a History, or the path of one")
    faults = find_faults(history)
    if faults:
        return faults[0].symptom
    roles = Roles(history)
    return _unfit(roles) or _passed(history, roles)


def notes_of(history: History) -> tuple[str, ...]:
    """What a verdict of any kind says besides: about the log, further faults, and what is odd."""
    faults = find_faults(history)
    others = (f"also: {fault.headline}" for fault in faults[1:])
    source = (f"read from {history.source}",) if faults and history.is_file else ()
    return (*source, *history.notes, *others, *advice(Roles(history), failed=bool(faults)))


def evidence_of(history: History) -> tuple[str, ...]:
    """What speaks for the first fault, for a verdict without a cause to say it. Where it is stands in its summary."""
    faults = find_faults(history)[:1]
    return tuple(each.text for fault in faults for each in fault.evidence[fault.kind == "nonfinite" :])


def _unfit(roles: Roles) -> CouldNotJudge | None:
    if not roles.history.series:
        return CouldNotJudge("the log is empty")
    if roles.adversaries:
        players = wording.names(roles.adversaries)
        return CouldNotJudge(
            f"{players} are losses of adversaries, which say who is ahead and not how good they are: log a measure of "
            "what they make"
        )
    main = _main(roles)
    if main is None:
        found = wording.names(roles.history.names, 5)
        return CouldNotJudge(
            f"no series of it is known to be a loss or a score; it holds {found}. Log the loss as 'loss'"
        )
    series, _ = main
    if series.empty_from is not None:
        point = series.empty_from
        line = f" (line {point.line})" if point.line else ""
        return CouldNotJudge(
            f"{series.name} is empty from {series.at(point)}{line} on, while other columns go on: either it was no "
            "longer logged, or it was NaN and written as nothing"
        )
    if len(series) < ENOUGH_FOR_A_PASS:
        count = f"only {len(series)} values of {series.name}"
        return CouldNotJudge(f"{count}: at least {ENOUGH_FOR_A_PASS} are needed to tell a course from chance")
    return None


def _main(roles: Roles) -> tuple[Series, int] | None:
    """What the run is judged by, and whether it ought to fall (1) or rise (-1)."""
    if roles.rewards is not None:
        return roles.rewards, -1
    for series, sign in ((roles.loss, 1), (roles.val_loss, 1), (roles.score, -1), (roles.val_score, -1)):
        if series is not None:
            return series, sign
    return None


def _passed(history: History, roles: Roles) -> Judgement:
    main = _main(roles)
    assert main is not None
    series, sign = main
    curve = Curve(series, sign)
    figures = {"values": float(len(series)), "first": sign * curve.start, "best": sign * curve.best,
               "last": sign * curve.end, "noise": curve.noise}  # fmt: skip
    improved = curve.start - curve.end
    if not has_gained(curve) or improved <= 0:
        changed = f"{series.name} goes {wording.change(sign * curve.start, sign * curve.end)}"
        return CouldNotJudge(
            f"{changed}, which is no more than its noise ({wording.loss(curve.noise)}): whether it was good from the "
            "start or has not learnt cannot be told",
            figures,
        )
    return Passed(figures=figures)


def result(trace: Trace, failed_run: FailedRun | None = None) -> str:
    if trace.history is None:
        return "no log"
    main = _main(Roles(trace.history))
    return "no loss" if main is None else wording.change(main[0].values[0], main[0].values[-1])
