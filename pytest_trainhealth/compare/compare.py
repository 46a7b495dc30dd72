"""The comparison from its beginning to its end: a revision and a training in, a record out."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from statistics import median
from typing import Any

import torch

from ..engine.request import Request
from ..programs.plan import RunPlan
from ..records.comparison import Comparison, OperatorTime
from ..settings import WrongSetting, setting
from . import thread_counts
from .decision import decide
from .differences import grown_operators, of_files, of_losses, of_memorising
from .git import CannotCompare, commit_of, dependencies_differ, top_of, uncommitted
from .import_paths import Folders
from .pairing import Pairs, TooFewPairs, paired
from .revision import Revision
from .test_locator import TestLocator, of_function
from .worktree import Worktree, worktree

#: Steps whose losses are held against each other; steps under the profiler, and how many times each side is looked at.
#: By judgement: 20 losses show where two trainings part, and of 5 looks under the profiler the least is that of a quiet
#: machine.
_FIRST_LOSSES, _PROFILED, _LOOKS = 20, 3, 5
#: Steps to memorise one batch in, and the share of the time that is left that they may take. The steps are those of
#: `overfits_one_batch`; the share is by judgement, a note must not cost the comparison.
_MEMORISING, _SHARE = 200, 0.25
#: The check's own steps and a diagnosis need time, too. By judgement: they share what is left, 120 s of 300.
_SHARE_OF_BUDGET = 0.6


@dataclass(frozen=True)
class Terms:
    """On which both revisions are compared."""

    revision: str
    tolerance: float
    deadline: float
    check: str
    seed: int
    #: torch's number, the same for both.
    threads: int
    device: str | None
    #: Steps that the check itself takes from one start.
    promised: int

    @property
    def build(self) -> dict[str, Any]:
        """What a process has to know to build the training."""
        return {name: getattr(self, name) for name in ("check", "seed", "threads", "device", "promised")}


def with_revision(subject: object, request: Request, plan: RunPlan) -> Comparison:
    """As the settings of a check ask for it."""
    values, revision = request.values, request.values["against"]
    if not str(revision).strip():
        raise WrongSetting("against: the revision is empty: is a variable not set?")
    now = time.monotonic()
    terms = Terms(
        revision,
        tolerance=values.get("tolerance", setting("tolerance").default),
        deadline=now + _SHARE_OF_BUDGET * (plan.deadline - now),
        check=request.check,
        seed=request.seed,
        threads=torch.get_num_threads(),
        device=values.get("device"),
        promised=plan.max_steps,
    )
    locator = request.locator
    try:
        return compare(of_function(subject) if locator is None else replace(locator, call=request.call), terms)
    except CannotCompare as why:
        return Comparison(revision, "could not compare", terms.tolerance, str(why))


def compare(locator: TestLocator, terms: Terms) -> Comparison:
    """`WrongSetting` where there is no such revision."""
    revision, tolerance, deadline = terms.revision, terms.tolerance, terms.deadline
    try:
        top = top_of(locator.file.parent)
        commit = commit_of(top, revision)
        notes = of_files(uncommitted(top), dependencies_differ(top, commit), revision)
        with worktree(top, commit) as made, _sides(locator, made, terms) as (current, other):
            pairs, threads_notes = _timed(current, other, terms)
            notes += threads_notes
            found = pairs.found()
            outcome = decide(found, tolerance)
            grown = _grown(current, other) if outcome == "slower" else ()
            notes += _dynamics(current, other, revision, deadline, median(pairs.current))
    except (CannotCompare, TooFewPairs) as why:
        return Comparison(revision, "could not compare", tolerance, str(why))
    return Comparison(
        revision, outcome, tolerance, "", found.ratio, found.low, found.high, len(pairs.current), pairs.steps_a_round,
        *pairs.typical, tuple(notes), grown, *pairs.waits,
    )  # fmt: skip


@contextmanager
def _sides(locator: TestLocator, other: Worktree, terms: Terms) -> Iterator[tuple[Revision, Revision]]:
    """Both are started before either is waited for: most of it is importing torch."""
    top = other.top
    if not locator.file.resolve().is_relative_to(top):
        raise CannotCompare(f"{locator.file.name} is not in the repository {top}")
    with ExitStack() as ended:
        sides: list[Revision] = []
        for name, side in (("here", top), (f"at {terms.revision}", other.folder)):
            folders = Folders(top, side)
            path = folders.import_path(sys.path, sys.modules)
            order = locator.order(folders, other.around / f"cache-{len(sides)}")
            order |= {**terms.build, "top": str(top), "side": str(side), "worktree": other.to_json(), "path": path}
            sides.append(ended.enter_context(Revision(name, order, terms.deadline)))
        for each in sides:
            each.ready()
        yield sides[0], sides[1]


def _timed(current: Revision, other: Revision, terms: Terms) -> tuple[Pairs, list[str]]:
    """Pairs, and why with other threads than the user's."""
    notes = thread_counts.settle((current, other), terms.threads)
    return paired(current, other, terms.tolerance, terms.deadline), notes


def _grown(current: Revision, other: Revision) -> tuple[OperatorTime, ...]:
    try:
        looks = [[side.ask("profile", _PROFILED)["operators"] for side in (current, other)] for _ in range(_LOOKS)]
        return grown_operators([look[0] for look in looks], [look[1] for look in looks])
    except CannotCompare:  # the times stand, with the operators or without
        return ()


def _dynamics(current: Revision, other: Revision, revision: str, deadline: float, step: float) -> list[str]:
    """Whether the training itself is another: its first losses, and how soon it knows one batch by heart."""
    try:
        losses = [side.ask("losses", _FIRST_LOSSES)["losses"] for side in (current, current, other)]
        notes = of_losses(losses[0], losses[1], losses[2], revision)
        affordable = int(_SHARE * (deadline - time.monotonic()) / (2 * max(step, 1e-6)))
        if affordable >= _MEMORISING:
            taken = [side.ask("memorise", _MEMORISING)["steps"] for side in (current, other)]
            notes += of_memorising(taken[0], taken[1], revision)
        return notes
    except CannotCompare as why:
        return [f"losses not compared: {why}"]
