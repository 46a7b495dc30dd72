"""All ranks of one run: starts them, listens to them, and ends them, also if one is gone or waits in vain."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .. import wording
from ..budget import monotonic
from ..records.ranks import RankRecord, RanksRecord, update_of
from ..revisions.protocol import Message
from . import environment
from .rank import RankProcess

#: Between two looks at the ranks, in seconds. By judgement: 0.02 is less than a step takes with its messages.
_PAUSE = 0.02
#: Seconds that the others get to say how they end, once one rank has failed. By judgement: 3, as an error that follows
#: from another one comes at once.
_AFTERMATH = 3.0
#: Share of a processor below which a process is waiting. By judgement: one that computes gets more than 0.02 even on a
#: machine with many more processes than cores; one that waits for a disk may come close.
_WAITING = 0.02
_JOINT = "joint"


class NoTraining(Exception):
    """The test gives nothing that ranks could train; the message says why."""


@dataclass(frozen=True)
class Terms:
    """What a run of several ranks needs to know, besides how the test is found."""

    world: int
    patience: float
    deadline: float
    #: Stop a watched test here, once all updates that count were seen.
    long_enough: float
    threads: int
    joint: bool


class Gang:
    """`order(folder, index)`: what a process has to know; `index` is `world` for the one with the joint batch."""

    def __init__(self, terms: Terms, order: Callable[[Path, int], Message], steps: int) -> None:
        self._terms, self._order, self._steps = terms, order, steps
        self.record = RanksRecord([RankRecord(rank) for rank in range(terms.world)], patience=terms.patience)
        #: Why the run did not come to its end, if it did not.
        self.cut_short = ""
        self._ready: set[int] = set()
        self._progress = monotonic.now()
        self._used: list[float | None] = []
        self._failed_at: float | None = None
        self._joint_asked = False

    def run(self) -> None:
        terms = self._terms
        with tempfile.TemporaryDirectory(prefix="trainhealth-ranks-", ignore_cleanup_errors=True) as made:
            folder, port = Path(made), environment.free_port()
            members: list[RankProcess] = []
            gently = False
            try:
                for rank in range(terms.world):
                    own = environment.of_rank(rank, terms.world, port, terms.threads)
                    members.append(RankProcess(self._order(folder, rank), own, folder, f"rank{rank}"))
                if terms.joint:
                    own = environment.of_rank(0, 1, environment.free_port(), terms.threads)
                    members.append(RankProcess(self._order(folder, terms.world), own, folder, _JOINT))
                self._members = members
                gently = self._listen()
            finally:
                for member in members:  # all at once: they may wait for one another
                    member.send(ask="quit")
                for member in members:
                    member.end(gently=gently)

    @property
    def _ranks(self) -> list[RankProcess]:
        return self._members[: self._terms.world]

    def _listen(self) -> bool:
        """Until all are done. False if they have to be killed."""
        while True:
            for index, member in enumerate(self._members):
                for message in member.receive():
                    self._progress = monotonic.now()
                    if index < self._terms.world:
                        self._note(self.record.ranks[index], message)
                    else:
                        self._note_joint(message)
            if self._over():
                return self._failed_at is None and not self.cut_short
            time.sleep(_PAUSE)

    # -- what they say -------------------------------------------------------------------------------

    def _note(self, record: RankRecord, message: Message) -> None:
        if "update" in message:
            record.updates.append(update_of(message))
            record.taken = len(record.updates)
        elif "at" in message:
            record.taken = message["at"] + 1
        elif "model" in message:
            model = message["model"]
            record.shapes, record.unfit = model["shapes"], model["unfit"]
            for name in ("shards", "batch_norms", "random_layers"):
                setattr(record, name, tuple(model[name]))
        elif "ready" in message:
            record.batches = message["batches"]
            self._ready.add(record.rank)
            if len(self._ready) == self._terms.world:
                self._begin()
        elif "done" in message:
            record.end, record.watched, record.taken = "done", message["watched"], message["taken"]
            record.distributed = message["distributed"]
        elif "raised" in message:
            self._raised(record, message)
        elif any(word in message for word in ("skipped", "unfit", "missing", "ended")):
            raise NoTraining(_reason(message))

    def _raised(self, record: RankRecord, message: Message) -> None:
        record.end, record.error, record.place = "raised", message["raised"], _place(message.get("place"))
        record.traceback = tuple(message.get("traceback", ()))
        record.without_gradient = tuple(message.get("without_gradient", ()))
        self._fail()

    def _note_joint(self, message: Message) -> None:
        if "update" in message and self.record.joint is None:
            self.record.joint = update_of(message)
        elif "raised" in message:
            self.record.why_no_joint = message["raised"]
        elif "done" in message and self.record.joint is None:
            self.record.why_no_joint = "no update was seen"

    def _begin(self) -> None:
        lengths = {record.batches for record in self.record.ranks}
        known = [length for length in lengths if length is not None]
        shortest = min(known) if len(lengths) > 1 and len(known) == len(lengths) else None
        for member in self._ranks:
            member.send(go=True, shortest=shortest)

    def _fail(self) -> None:
        self._failed_at = self._failed_at or monotonic.now()

    # -- when it is over -----------------------------------------------------------------------------

    def _over(self) -> bool:
        records, now = self.record.ranks, monotonic.now()
        self._ask_for_joint()
        for record, member in zip(records, self._ranks, strict=True):
            if member.gone and record.end == "stopped":
                record.end, record.error = "gone", member.last_words()
                record.traceback = tuple(f"  {line}" for line in member.printed().splitlines()[-4:])
                self._fail()
        running = [record for record in records if record.end == "stopped"]
        if self._failed_at is not None:
            return not running or now - self._failed_at > _AFTERMATH
        if not running:
            return self._joint_over()
        if self._waits_in_vain(running):
            return True
        if monotonic.now() > self._terms.long_enough and all(len(r.updates) >= self._steps for r in records):
            for record in running:
                record.watched = True
            return True
        if monotonic.now() > self._terms.deadline:
            where = [f"rank {record.rank} {self._where(record)}" for record in running]
            self.cut_short = f"the time budget was used up: {'; '.join(where)}"
            return True
        return False

    def _ask_for_joint(self) -> None:
        """Once there are batches to join. A watched test has none that could be handed out."""
        if self._terms.joint and not self._joint_asked and all(record.updates for record in self.record.ranks):
            self._joint_asked = True
            if len(self._ready) == self._terms.world:
                self._members[-1].send(go=True)
            else:
                self.record.why_no_joint = "the test is watched, so that no batch can be handed out"

    def _joint_over(self) -> bool:
        record, late = self.record, monotonic.now() - self._progress > self._terms.patience
        if not self._terms.joint or record.joint is not None or record.why_no_joint:
            return True
        if self._members[-1].gone:
            record.why_no_joint = self._members[-1].last_words()
        elif late or monotonic.now() > self._terms.deadline:
            record.why_no_joint = "its process did not answer in time"
        return bool(record.why_no_joint) or not self._joint_asked

    def _waits_in_vain(self, running: list[RankRecord]) -> bool:
        """No progress, and nobody computes. Before the first update others may wait while one fetches data, say."""
        if not any(record.taken for record in self.record.ranks):
            return False
        quiet = monotonic.now() - self._progress
        if quiet < self._terms.patience / 2:
            self._used = []
            return False
        seconds = [self._members[record.rank].processor_seconds() for record in running]
        if not self._used:
            self._used = seconds
            return False
        if quiet < self._terms.patience:
            return False
        share = [
            (now - before) / (self._terms.patience / 2)
            for now, before in zip(seconds, self._used, strict=True)
            if now is not None and before is not None
        ]
        if any(each > _WAITING for each in share):
            self._progress, self._used = monotonic.now(), []  # look again later
            return False
        for record in running:
            record.end = "waits"
            self._where(record)
        self._fail()
        return True

    def _where(self, record: RankRecord) -> str:
        found = self._members[record.rank].whereabouts()
        record.place, record.waits_in, record.traceback = found.place, found.inside, found.lines
        at = f" ({found.place})" if found.place is not None else ""
        return f"was in {found.inside}{at}" if found.inside else f"was after {wording.plural(record.taken, 'update')}"


def _reason(message: Message) -> str:
    if "skipped" in message:
        return f"the test is skipped in a rank: {message['skipped']}".rstrip(": ")
    if "ended" in message:
        return f"pytest ended in a rank before it looked for tests, with exit code {message['ended']}"
    return str(message.get("unfit") or "the test was not found in a process of its own")


def _place(given: Any) -> Any:
    from ..records.verdict import Place

    return None if given is None else Place(*given)
