"""Tries the panel on a training, and says what helps: chosen on some seeds, shown on others, ranked by what it gains.

Advice is never a failure, and a training that fails gets none: what makes a sick training better hides its fault.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from .. import wording
from ..analysis import gains
from ..programs.plan import RunPlan
from ..programs.program import Program
from ..records.advice import Advice
from .fingerprint import fingerprint
from .kept_pairs import KeptPairs
from .panel import TIMES, Change, panel
from .statements import advice_of
from .traits import traits_of
from .trial import Trial
from .trial_runs import TrialRuns, record

#: Seeds that choose, and seeds that judge what was chosen. By judgement: one change in 8 that makes no difference is
#: better on three seeds, and one in 32 on five others; that it is so by a quarter as well is rarer still.
CHOOSING, JUDGING = (1, 2, 3), (4, 5, 6, 7, 8)
#: Of the budget, for the seeds that choose: what they find has to be shown in the rest. By judgement.
_FOR_CHOOSING = 0.6
#: The training as a whole, in a line that is about no change.
EVERYTHING = "every change"

Progress = Callable[[str], None]


@dataclass(frozen=True)
class Panel:
    """What advice is asked for."""

    #: Where pairs of runs are kept; None: nowhere.
    kept_in: Path | None = None
    progress: Progress | None = None
    #: xdist's workers share the machine: what is faster cannot be told then.
    alone: bool = True
    #: What builds the training, if that is known.
    factory: object = None

    def tell(self, words: str) -> None:
        if self.progress is not None:
            self.progress(words)


def measured_advice(program: Program, plan: RunPlan, wanted: Panel) -> tuple[Advice, ...]:
    """`plan`: of one run. Its budget is that of all of them."""
    reason = _why_not(program)
    if reason:
        return (Advice(EVERYTHING, "not tried", reason),)
    first, trace = record(program, plan, CHOOSING[0])
    if first.broken or first.cut_short:
        why = trace.cut_short if first.cut_short else f"as it is, {first.broken}"
        return (Advice(EVERYTHING, "not tried", why),)
    assert program.start is not None
    traits = traits_of(program.start.training, trace)
    kept = KeptPairs(wanted.kept_in, fingerprint(program.start.training, wanted.factory, first))
    changes = panel(traits, plan.max_steps)
    found = _Advisor(plan, wanted, TrialRuns(program, plan, kept)).tried(changes, traits.compiled)
    notes = [f"{wording.plural(kept.found, 'measurement')} of an earlier run used again"] if kept.found else []
    notes += [kept.trouble] if kept.trouble else []
    for note in notes:
        wanted.tell(f"advice: {note}")
    return tuple(ranked([advice_of(trial) for trial in found]))


def ranked(found: Sequence[Advice]) -> list[Advice]:
    """Gains first, the largest first of all; then what was tried in vain, and what was not tried."""
    order = ("gain", "no gain", "not tried", "not measured")
    return sorted(found, key=lambda each: (order.index(each.status), -(each.figures.get("gain") or 0.0)))


def _why_not(program: Program) -> str:
    if program.start is None:
        return "a watched test runs as a whole: return a Training, and changes can be tried on it"
    return "" if program.repeatable else program.why_not


class _Advisor:
    def __init__(self, plan: RunPlan, wanted: Panel, trials: TrialRuns) -> None:
        self._plan, self._wanted, self._trials = plan, wanted, trials
        self._whole = plan.budget.left

    def tried(self, changes: Sequence[Change], compiled: bool) -> list[Trial]:
        found = [Trial(change, untried=self._unfit(change, compiled)) for change in changes]
        able = [trial for trial in found if not trial.untried]
        runs = [self._trials.unchanged(seed) for seed in CHOOSING[:2]]
        one_start = gains.same_course([run for run in runs if run is not None])
        for number, trial in enumerate(able, 1):
            trial.one_start = one_start
            self._choose(trial)
            self._wanted.tell(f"advice: {number} of {len(able)} changes tried, {trial.change.name} the latest")
        _leave_noise_to_decay(found)
        promising = [trial for trial in able if trial.promising and not trial.untried]
        promising.sort(key=lambda trial: -gains.estimate(trial.totals(trial.chosen_by)).middle)
        for number, trial in enumerate(promising, 1):
            self._judge(trial)
            self._wanted.tell(f"advice: {number} of {len(promising)} looked into, {trial.change.name} the latest")
        return found

    def _unfit(self, change: Change, compiled: bool) -> str:
        if change.timed and not self._wanted.alone:
            return "other processes share the machine: nothing can be timed with -n"
        if change.timed and compiled:
            return "the model is compiled, and a change would take it back to code that is not"
        return change.unfit

    def _choose(self, trial: Trial) -> None:
        for seed in self._seeds(trial, CHOOSING):
            if trial.hopeless or trial.refused:
                return
            if self._plan.budget.left < (1 - _FOR_CHOOSING) * self._whole:
                trial.untried = self._used_up()
                return
            pair = self._trials.pair(trial.change, seed)
            if pair is None:
                trial.untried = self._used_up()
                return
            trial.chosen_by.append(pair)
            joins = any(cure.kind == "larger_batches" for cure in trial.change.cures)
            if joins and not gains.comparable(pair, TIMES):
                trial.refused = "the loss is a sum over the batch, and cannot be compared with that of a larger one"

    def _judge(self, trial: Trial) -> None:
        if trial.one_start and not trial.change.timed:
            return
        for seed in JUDGING:
            pair = self._trials.pair(trial.change, seed)
            if pair is None:
                trial.untried = self._used_up()
                return
            trial.fresh.append(pair)

    def _seeds(self, trial: Trial, seeds: Sequence[int]) -> Sequence[int]:
        return seeds[:1] if trial.one_start and not trial.change.timed else seeds

    def _used_up(self) -> str:
        return self._plan.budget.used_up("not tried").removesuffix(": not tried")


def _leave_noise_to_decay(found: Sequence[Trial]) -> None:
    """A lower rate ends lower where steps are noisy, and so does one that falls: the latter is no slower before."""
    decay = next(trial for trial in found if trial.change.name == "decay")
    if not decay.promising:
        return
    for trial in found:
        better = gains.as_good(decay.totals(decay.chosen_by), trial.totals(trial.chosen_by))
        if trial.change.lower_rate and trial.promising and better:
            trial.refused = "a decay gains as much: what helps is less noise at the end"
