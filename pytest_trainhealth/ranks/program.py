"""A test that is run in several processes at once, as something that a check can judge."""

from __future__ import annotations

import os
import sys
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from ..budget import monotonic
from ..engine.request import Request
from ..programs.plan import RunPlan
from ..records.ranks import RanksRecord
from ..records.trace import Trace
from ..revisions.git import CannotCompare
from ..revisions.import_paths import Folders
from ..revisions.protocol import Message
from ..revisions.test_locator import TestLocator, of_function
from ..settings import setting
from . import environment
from .gang import Gang, Terms

#: Share of the time that a watched test may train before it is ended, once all updates that count were seen. By
#: judgement: half, so that a re-run fits in.
_LONG_ENOUGH = 0.5
#: Share of the time after which ranks are ended that still run. By judgement: 0.9 leave time to ask where they are.
_IN_TIME = 0.9
#: A port that was free may be taken by the time a rank uses it. By judgement: twice in a row is no accident.
_TRIES = 2
_TAKEN = ("EADDRINUSE", "address already in use")


class RanksProgram:
    """What can be run again: each run starts its processes anew."""

    start = None
    repeatable = True
    why_not = ""
    siblings: tuple[RanksProgram, ...] = ()

    def __init__(self, subject: Any, request: Request) -> None:
        self._request, self._values = request, request.values
        self._locator = _locator(subject, request)
        self.first_run: Trace | None = None
        self.remarks: tuple[str, ...] = ()

    def begin(self, plan: RunPlan) -> None:
        """The run that decides. Raises `NoTraining` if there is nothing to run."""
        if environment.is_rank():
            self.first_run = Trace(cut_short="this process is a rank itself, and starts none of its own")
            return
        if self._locator is None:
            why = "only a test, or a function at the top of a file, can be started in processes of its own"
            self.first_run = Trace(cut_short=why)
            return
        self.first_run = self.record(plan)
        self.remarks = _tracebacks(self.first_run.ranks)

    def record(self, plan: RunPlan) -> Trace:
        """Raises `NoTraining` if the test gives nothing to train."""
        for _ in range(_TRIES):
            gang = self._gang(plan)
            gang.run()
            if not any(word in record.error for record in gang.record.ranks for word in _TAKEN):
                break
        return _trace(gang)

    def count_flops(self, plan: RunPlan) -> None:  # noqa: ARG002 - as other programs
        return None

    def _gang(self, plan: RunPlan) -> Gang:
        values, budget = self._values, plan.budget
        world = values.get("ranks", setting("ranks").default)
        cures = [asdict(cure) for cure in plan.treatment.cures]
        terms = Terms(
            world=world,
            patience=values.get("timeout", setting("timeout").default),
            deadline=monotonic.now() + _IN_TIME * budget.left,
            long_enough=monotonic.now() + _LONG_ENOUGH * budget.left,
            threads=max(1, values.get("threads", 1)),
            joint=True,
        )
        seed = self._request.seed + plan.seed_offset

        def order(folder: Path, index: int) -> Message:
            everywhere = Folders(Path("/"), Path("/"))
            assert self._locator is not None
            found = self._locator.order(everywhere, folder / f"cache-{index}")
            return {
                **found,
                "check": self._request.check,
                "path": [entry or os.getcwd() for entry in sys.path],
                "meeting": str(folder),
                "seed": seed,
                "threads": terms.threads,
                "steps": plan.max_steps,
                "world": world,
                "rank": 0 if index == world else index,
                "joint": index == world,
                "keeps": terms.joint,
                "cures": [] if index == world else cures,
            }

        return Gang(terms, order, plan.max_steps)


def _locator(subject: Any, request: Request) -> TestLocator | None:
    """None for what other processes cannot find: a training that was made already, a function inside of another."""
    if request.locator is not None:
        return replace(request.locator, call=request.call)
    try:
        return of_function(subject)
    except CannotCompare:
        return None


def _trace(gang: Gang) -> Trace:
    ranks, updates = gang.record.ranks, gang.record.ranks[0].updates
    losses = [
        sum(each.updates[at].loss for each in ranks if at < len(each.updates)) / gang.record.world
        for at in range(len(updates))
    ]
    ones = [1] * len(losses)
    return Trace(losses=losses, backwards=ones, updates=ones, cut_short=gang.cut_short, ranks=gang.record)


def _tracebacks(record: RanksRecord | None) -> tuple[str, ...]:
    """Of the ranks that raised or wait; the same one only once."""
    found: dict[tuple[str, ...], list[str]] = {}
    for rank in record.ranks if record is not None else ():
        if rank.traceback:
            found.setdefault(rank.traceback, []).append(f"rank {rank.rank}")
    return tuple(line for lines, who in found.items() for line in (f"{' and '.join(who)}:", *lines))
