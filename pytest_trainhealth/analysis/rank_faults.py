"""What is wrong between ranks, and explains the rest: first a rank that is gone, then weights, then data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ..records.ranks import RankRecord, RanksRecord
from .rank_differences import (
    SAME_GRADIENT,
    Difference,
    first_difference,
    first_difference_at,
    likeness,
    mean_local,
    same_samples,
    used,
    used_its_own,
)

#: Letters of an error that are shown. By judgement: 120 fill a line.
_LONGEST = 120
#: What DDP says when a parameter of its model takes no part in the loss.
_UNUSED = "finished reduction in the prior iteration"

Kind = Literal["raised", "gone", "waits", "start", "not averaged", "drift", "buffers", "samples", "summed"]


@dataclass(frozen=True)
class RankFault:
    kind: Kind
    #: The rank to look at, where one of them is to blame.
    rank: RankRecord | None = None
    #: All tensors that differ, the one that differs most first.
    differences: tuple[Difference, ...] = ()
    #: All ranks raise, at the same line: a fault of the training, not of its ranks.
    everywhere: bool = False


def find_fault(record: RanksRecord) -> RankFault | None:
    for find in (_ended, _apart, _buffers, _samples, _summed):
        fault = find(record)
        if fault is not None:
            return fault
    return None


def brief(error: str) -> str:
    """Its first sentence: what torch adds is advice, and longer than a chart."""
    first = error.partition(". ")[0].strip()
    return first if len(first) <= _LONGEST else f"{first[:_LONGEST]}..."


def is_unused_parameter(rank: RankRecord) -> bool:
    return _UNUSED in rank.error


def uneven(record: RanksRecord) -> list[int]:
    """The lengths of their epochs, if they differ."""
    lengths = [rank.batches for rank in record.ranks]
    known = [length for length in lengths if length is not None]
    return known if len(known) == record.world and len(set(known)) > 1 else []


def _ended(record: RanksRecord) -> RankFault | None:
    gone = [rank for rank in record.ranks if rank.end == "gone"]
    raised = [rank for rank in record.ranks if rank.end == "raised"]
    waits = [rank for rank in record.ranks if rank.end == "waits"]
    if gone:
        return RankFault("gone", gone[0])
    if raised:
        same = len({(rank.error, rank.place) for rank in raised}) == 1
        return RankFault("raised", raised[0], everywhere=same and len(raised) == record.world > 1)
    return RankFault("waits", _late(waits)) if waits else None


def _late(waits: list[RankRecord]) -> RankRecord:
    """The one that the others wait for: not in an exchange, or else the one that has come least far."""
    elsewhere = [rank for rank in waits if rank.waits_in and not _exchanges(rank.waits_in)]
    return min(elsewhere or waits, key=lambda rank: rank.taken)


def _exchanges(call: str) -> bool:
    words = ("reduce", "gather", "broadcast", "barrier", "scatter", "all_to_all", "backward", "recv", "send", "sync")
    return any(word in call for word in words)


def _apart(record: RanksRecord) -> RankFault | None:
    """Parameters as each update found them: whatever the ranks exchange, and when, they have to be the same by then."""
    found = first_difference(record, "parameters")
    if not found:
        return None
    update = found[0].update
    if not update:
        return RankFault("start", differences=tuple(found))
    reduced_by_nobody = used_its_own(record, update - 1)
    return RankFault("not averaged" if reduced_by_nobody else "drift", differences=tuple(found))


def _buffers(record: RanksRecord) -> RankFault | None:
    found = first_difference(record, "buffers")
    return RankFault("buffers", differences=tuple(found)) if found else None


def _samples(record: RanksRecord) -> RankFault | None:
    return RankFault("samples") if same_samples(record) else None


def _summed(record: RanksRecord) -> RankFault | None:
    """The gradient is as many times that of one process with all samples as there are ranks.

    A loss that the user divides by the number of ranks is not divided in one process, and a loss that is a sum has the
    sum of its gradients there: so it takes that process to tell.
    """
    if record.joint is None or not all(rank.updates for rank in record.ranks):
        return None
    alike = likeness(used(record), record.joint.used)
    return RankFault("summed") if alike is not None and alike.is_times(record.world) else None


def averaged(record: RanksRecord) -> bool | None:
    """Whether the optimizers got the mean of what the ranks had computed, up to a factor. None if that is not known."""
    if not all(rank.updates for rank in record.ranks):
        return None
    alike = likeness(used(record), mean_local(record, 0))
    return None if alike is None else alike.parallel and not first_difference_at(record, 0)


def unlike_one_process(record: RanksRecord) -> tuple[float, float] | None:
    """The factor and the share by which the gradient is not that of one process with all samples; None if it is."""
    assert record.joint is not None
    alike = likeness(used(record), record.joint.used)
    if alike is None:
        return 0.0, 1.0
    return None if alike.is_times(1.0) else (alike.factor, max(alike.rest, 0.0 if alike.parallel else SAME_GRADIENT))
