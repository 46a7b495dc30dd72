"""Runs a case: a generated training is examined, something is raised in it, and all that can be seen is compared."""

from __future__ import annotations

import gc
import re
import traceback
import warnings
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

from pytest_trainhealth import Training, diagnose
from pytest_trainhealth.records.verdict import Report
from pytest_trainhealth.settings import BATTERY
from pytest_trainhealth.state.process import undisturbed
from pytest_trainhealth.state.process_settings import process_settings_kept

from .seen_in_objects import seen_in_objects
from .seen_in_process import differences, seen_in_process
from .trainings.bench import FORMS, SUBJECTS, Bench, Case, trains_itself
from .trainings.faults import FAULTS, POINTS, Trip
from .trainings.habits import HABITS
from .trainings.loaders import LOADERS, WITH_WORKERS
from .trainings.models import MODELS
from .trainings.optimizers import OPTIMIZERS, SCHEDULES

#: Seconds for one check. Most take a hundredth of it; a case that is cut short has to leave nothing behind, either.
_BUDGET = 2
#: One case in this many has a loader with workers: starting them takes longer than all else.
_WORKERS_IN = 40
#: Differences of one case that are counted. By judgement: a model that was not put back differs in every tensor.
_SHOWN = 3
#: What may differ afterwards: a generator cannot be rewound, and what has been left is told.
_TOLD = "left changed: "


@dataclass
class Tally:
    cases: Counter[str] = field(default_factory=Counter)
    faults: Counter[str] = field(default_factory=Counter)
    points: Counter[str] = field(default_factory=Counter)
    outcomes: Counter[str] = field(default_factory=Counter)
    #: What differed, with the first case and how often.
    found: dict[str, tuple[str, Case]] = field(default_factory=dict)
    often: Counter[str] = field(default_factory=Counter)

    def add(self, case: Case, raised: int, outcome: str, changed: list[str]) -> None:
        self.cases[case.subject] += 1
        self.outcomes[outcome] += 1
        if raised:
            self.faults[str(case.fault)] += 1
            self.points[case.point] += 1
        for name in changed[:_SHOWN]:
            kind = re.sub(r"\d+", "N", name.partition(":")[0])
            self.found.setdefault(kind, (name, case))
            self.often[kind] += 1

    def table(self) -> str:
        faults = sum(self.faults.values())
        rows = [
            ("cases", self.cases.total(), _listed(self.cases)),
            ("outcomes", self.outcomes.total(), _listed(self.outcomes)),
            ("with a fault", faults, _listed(self.faults)),
            ("raised at", faults, _listed(self.points)),
            ("differences", self.often.total(), f"of {len(self.found)} kinds"),
        ]
        lines = [f"{label:<13} {count:>7,}  {rest}" for label, count, rest in rows]
        examples = [f"  {self.often[kind]:>5}  {what}\n         {case}" for kind, (what, case) in self.found.items()]
        return "\n".join([*lines, *examples])


def _listed(counter: Counter[str]) -> str:
    return ", ".join(f"{name} {count:,}" for name, count in counter.most_common())


def run(case: Case, tally: Tally | None = None) -> list[str]:
    """What differs afterwards, in words. Nothing should."""
    trip = Trip(case.fault or "RuntimeError", case.point if case.fault else "nowhere", case.at, case.stays)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        bench = Bench(case, trip)
        subject = _subject(case, bench, trip)

        def seen() -> dict[str, Any]:
            if case.subject in ("factory", "watched"):
                return {}  # what a function of the user's makes and changes is its own affair
            made = vars(subject) if case.subject == "training" else {}
            parts = {f"training.{name}": value for name, value in made.items() if name != "step"}
            return seen_in_objects({**bench.roots(), **parts, "step": bench.step})

        gc.collect()  # what the case before has left to it, batches in shared memory say, does not go during this one
        around, inside = seen_in_process(), seen()
        report, error = _examined(case, subject)
        raised = trip.raised()
        told = _told(report, error)
        changed = [each for each in differences(inside, seen()) if not _is_told(each, told)]
        for kind in _own_affairs(case, told):
            del around[kind]
        changed += _process_differences(around, [error, *raised])
        changed += _misjudged(case, report, error, raised)
    outcome = type(error).__name__ if report is None else report.verdicts[0].outcome
    if tally is not None:
        tally.add(case, len(raised), outcome, changed)
    return changed


def _own_affairs(case: Case, told: list[str]) -> list[str]:
    """What a test that trains itself changes: a context variable that it sets is like a global one, and the workers of
    its loader have folders for as long as they live. And a step that is a generator, which cannot be rewound, keeps the
    batch that it was last sent: shared memory, where workers made it, and so an open file."""
    if case.subject == "watched":
        return ["context", "temporary files"] if case.data in WITH_WORKERS else ["context"]
    keeps_a_batch = case.data in WITH_WORKERS and any("generator" in each for each in told)
    return ["open files"] if keeps_a_batch else []


def _process_differences(around: dict[str, Any], errors: list[BaseException | None]) -> list[str]:
    """An error holds the frames it passed, and what they hold may be open files: then that is let go of, first."""
    changed = differences(around, _seen_again(around))
    if changed:
        for error in errors:
            while error is not None and error.__traceback__ is not None:  # errors may be each other's context
                traceback.clear_frames(error.__traceback__)
                error = error.with_traceback(None).__context__
        gc.collect()
        changed = differences(around, _seen_again(around))
    return changed


def _seen_again(around: dict[str, Any]) -> dict[str, Any]:
    return {kind: value for kind, value in seen_in_process().items() if kind in around}


def _subject(case: Case, bench: Bench, trip: Trip) -> Any:
    if case.subject == "training":
        return bench.build()
    if case.subject == "shared model":  # as a fixture of the session would hand it out
        return bench.build
    if case.subject == "watched":
        return lambda: trains_itself(Bench(case, trip), case.steps)

    def factory() -> Training:
        return Bench(case, trip).build()

    return factory


def _examined(case: Case, subject: Any) -> tuple[Report | None, BaseException | None]:
    settings: dict[str, Any] = {"budget": _BUDGET, "steps": case.steps}
    if case.check == "uses_its_input":
        del settings["steps"]
    if case.check == "trains_without_nan":
        settings["sweep"] = case.seed % 2 == 0
    try:
        return diagnose(subject, [case.check], **settings), None
    except BaseException as error:
        return None, error


def _told(report: Report | None, error: BaseException | None) -> list[str]:
    notes = getattr(error, "__notes__", []) if report is None else report.verdicts[0].notes
    return [note.removeprefix(_TOLD) for note in notes if note.startswith(_TOLD)]


def _is_told(change: str, told: list[str]) -> bool:
    """A generator that has been read, and its local variables, and nothing else."""
    path = change.partition(":")[0]
    return any("generator" in each for each in told) and (" local " in path or path.endswith(" position"))


def _misjudged(
    case: Case, report: Report | None, error: BaseException | None, raised: list[BaseException]
) -> list[str]:
    """What was raised comes out as it is; what was not raised does not come out; and nothing passes on an error."""
    if case.data in WITH_WORKERS and case.point.startswith("loader"):
        return []  # it is raised in another process, and comes back as another error
    at_end = case.point == "end of life"
    if error is not None:
        if not raised or at_end:
            return (
                []
                if type(error) is type(_by_itself(case))
                else [f"raises {type(error).__name__} by itself: {_words(error)}"]
            )
        known = any(error is each for each in raised) or isinstance(raised[0], StopIteration)
        return (
            []
            if known or type(error) is type(_by_itself(case))
            else [f"raises {type(error).__name__} instead of {type(raised[0]).__name__}: {_words(error)}"]
        )
    assert report is not None
    if at_end or not raised:
        return []
    if any(not isinstance(each, Exception) for each in raised):
        return [f"swallows {type(raised[0]).__name__}"]
    always = case.at == 1 and case.stays and case.point not in ("loader begins", "loader goes on", "schedule")
    return ["passes on an error"] if always and report.verdicts[0].outcome == "passed" else []


def _by_itself(case: Case) -> BaseException | None:
    """What the user's own loop raises, with nobody looking."""
    with process_settings_kept(), undisturbed():
        bench = Bench(case, Trip("RuntimeError", "nowhere", 1, False))
        try:
            trains_itself(bench, 60)
        except Exception as error:
            return error
    return None


def _words(error: BaseException) -> str:
    try:
        return str(error)
    except ValueError:
        return "(without words)"


def cases() -> st.SearchStrategy[Case]:
    data = st.integers(1, _WORKERS_IN).flatmap(
        lambda each: st.sampled_from(list(WITH_WORKERS if each == _WORKERS_IN else LOADERS))
    )
    return st.builds(
        Case,
        model=st.sampled_from(list(MODELS)),
        optimizer=st.sampled_from(list(OPTIMIZERS)),
        schedule=st.sampled_from(list(SCHEDULES)),
        data=data,
        form=st.sampled_from(FORMS),
        habits=st.lists(st.sampled_from(list(HABITS)), max_size=3, unique=True).map(tuple),
        warm=st.integers(0, 2),
        scaler=st.booleans(),
        precision=st.sampled_from([None, None, None, "bfloat16"]),
        subject=st.sampled_from([*["training"] * 4, *SUBJECTS]),
        fault=st.sampled_from([None, None, *FAULTS, *FAULTS]),
        point=st.sampled_from(POINTS),
        at=st.integers(1, 12),
        stays=st.booleans(),
        check=st.sampled_from(BATTERY),
        steps=st.integers(2, 4),
        seed=st.integers(0, 1000),
    ).filter(_ends)


def _ends(case: Case) -> bool:
    """A worker that is interrupted tells nobody, and torch waits for it."""
    in_worker = case.data in WITH_WORKERS and case.point.startswith("loader")
    return not in_worker or isinstance(FAULTS[case.fault or "ValueError"](), Exception)


def warm_up() -> None:
    """What torch does once in a process is no difference of the case that happens to be the first to need it."""
    for check in BATTERY:
        run(Case(check=check))
    for name in OPTIMIZERS:
        run(Case(optimizer=name))
    for name in WITH_WORKERS:
        run(Case(data=name))
