"""The whole comparison: a revision and a training in, a `Comparison` out."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from statistics import median
from typing import Any

import torch

from ..budget import monotonic
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

#: Steps whose losses are compared; steps under the profiler, and how many times each revision is profiled. By
#: judgement: 20 losses show where two trainings part, and the least of 5 profiles is that of a quiet machine.
_FIRST_LOSSES, _PROFILED, _LOOKS = 20, 3, 5
#: Steps to memorise one batch in, and the share of the remaining time they may take. The steps are those of
#: `overfits_one_batch`; the share is by judgement: a note must not cost the comparison itself.
_MEMORISING, _SHARE = 200, 0.25
#: The check's own steps and a diagnosis need time too. By judgement: they share what is left, 120 s of 300.
_SHARE_OF_BUDGET = 0.6


@dataclass(frozen=True)
class Terms:
    """What both revisions have in common during a comparison."""

    revision: str
    tolerance: float
    deadline: float
    check: str
    seed: int
    #: torch's number of threads, the same for both.
    threads: int
    device: str | None
    #: Steps that the check itself takes from one start, so that the training has to bear as many.
    promised: int

    @property
    def build(self) -> dict[str, Any]:
        """What a process has to know to build the training."""
        return {name: getattr(self, name) for name in ("check", "seed", "threads", "device", "promised")}


def with_revision(subject: object, request: Request, plan: RunPlan) -> Comparison:
    """The comparison with the revision that the settings of the check name."""
    values, revision = request.values, request.values["against"]
    if not str(revision).strip():
        raise WrongSetting("against: the revision is empty: is a variable not set?")
    terms = Terms(
        revision,
        tolerance=values.get("tolerance", setting("tolerance").default),
        deadline=monotonic.now() + _SHARE_OF_BUDGET * plan.budget.left,
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
    """Raises `WrongSetting` if there is no such revision."""
    revision, tolerance, deadline = terms.revision, terms.tolerance, terms.deadline
    try:
        top = top_of(locator.file.parent)
        commit = commit_of(top, revision)
        notes = of_files(uncommitted(top), dependencies_differ(top, commit), revision)
        with worktree(top, commit) as made, _both_revisions(locator, made, terms) as (current, other):
            pairs, threads_notes = _timed(current, other, terms)
            notes += threads_notes
            found = pairs.found()
            outcome = decide(found, tolerance)
            grown = _grown(current, other) if outcome == "slower" else ()
            notes += _left_changed(current, other)
            notes += _dynamics(current, other, revision, deadline, median(pairs.current))
    except (CannotCompare, TooFewPairs) as why:
        return Comparison(revision, "could not compare", tolerance, str(why))
    return Comparison(
        revision, outcome, tolerance, "", found.ratio, found.low, found.high, len(pairs.current), pairs.steps_a_round,
        *pairs.typical, tuple(notes), grown, *pairs.waits,
    )  # fmt: skip


@contextmanager
def _both_revisions(locator: TestLocator, other: Worktree, terms: Terms) -> Iterator[tuple[Revision, Revision]]:
    """Starts both processes before it waits for either: most of the time goes into importing torch."""
    top = other.top
    if not locator.file.resolve().is_relative_to(top):
        raise CannotCompare(f"{locator.file.name} is not in the repository {top}")
    with ExitStack() as ended:
        revisions: list[Revision] = []
        for name, root in (("here", top), (f"at {terms.revision}", other.folder)):
            folders = Folders(top, root)
            path = folders.import_path(sys.path, sys.modules)
            order = locator.order(folders, other.around / f"cache-{len(revisions)}")
            order |= {**terms.build, "top": str(top), "root": str(root), "worktree": other.to_json(), "path": path}
            revisions.append(ended.enter_context(Revision(name, order, terms.deadline)))
        for each in revisions:
            each.ready()
        yield revisions[0], revisions[1]


def _timed(current: Revision, other: Revision, terms: Terms) -> tuple[Pairs, list[str]]:
    """The timed pairs, and a note if they ran with another number of threads than the user's."""
    notes = thread_counts.settle((current, other), terms.threads)
    return paired(current, other, terms.tolerance, terms.deadline), notes


def _grown(current: Revision, other: Revision) -> tuple[OperatorTime, ...]:
    try:
        looks = [[each.ask("profile", _PROFILED)["operators"] for each in (current, other)] for _ in range(_LOOKS)]
        return grown_operators([look[0] for look in looks], [look[1] for look in looks])
    except CannotCompare:  # the times are valid without the operators too
        return ()


def _left_changed(*revisions: Revision) -> list[str]:
    """What kept timed steps from starting over at the start; the same at both revisions is told once."""
    try:
        found = {each.name: each.ask("left")["names"] for each in revisions}
    except CannotCompare:  # the times are valid without it
        return []
    where: dict[str, list[str]] = {}
    for revision, names in found.items():
        for name in names:
            where.setdefault(name, []).append(revision)
    return [
        f"timed steps did not start over where they had begun {' and '.join(at)}: {name}" for name, at in where.items()
    ]


def _dynamics(current: Revision, other: Revision, revision: str, deadline: float, step: float) -> list[str]:
    """Notes on whether the training itself differs: in its first losses, and in how soon it memorises one batch."""
    try:
        answers = [each.ask("losses", _FIRST_LOSSES) for each in (current, current, other)]
        if reasons := [answer["why_not"] for answer in answers if "why_not" in answer]:
            return [f"losses not compared: {reasons[0]}"]
        losses = [answer["losses"] for answer in answers]
        notes = of_losses(losses[0], losses[1], losses[2], revision)
        affordable = int(_SHARE * (deadline - monotonic.now()) / (2 * max(step, 1e-6)))
        if affordable >= _MEMORISING:
            taken = [each.ask("memorise", _MEMORISING)["steps"] for each in (current, other)]
            notes += of_memorising(taken[0], taken[1], revision)
        return notes
    except CannotCompare as why:
        return [f"losses not compared: {why}"]
