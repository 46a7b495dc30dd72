"""What ranks have in common and what not, read off the sketches of their tensors."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ..records.ranks import RanksRecord, TensorSketch, UpdateRecord

Sketches = Mapping[str, TensorSketch]

#: The difference of two tensors as a share of their size, up to which they are the same. By judgement: copies and means
#: over ranks should be exact, float32 resolves 1e-7, and models from different seeds have nothing in common.
SAME = 1e-5
#: The same for gradients, which another order of summation changes. By judgement: bfloat16 resolves 0.004, and a factor
#: of two between ranks, or other samples, are far beyond.
SAME_GRADIENT = 0.02


@dataclass(frozen=True)
class Difference:
    """A tensor that is not on one rank what it is on the first: at which update, and by what share of its size."""

    name: str
    rank: int
    update: int
    share: float


@dataclass(frozen=True)
class Likeness:
    """One gradient as a multiple of another: the factor, and the share of it that no factor explains."""

    factor: float
    rest: float

    @property
    def parallel(self) -> bool:
        return self.rest <= SAME_GRADIENT

    def is_times(self, factor: float) -> bool:
        return self.parallel and abs(self.factor - factor) <= SAME_GRADIENT * factor


#: The difference as a share of the whole model, below which it is noise in a tensor that is about 0. By judgement: a
#: tenth of what float32 resolves.
_NOISE = 1e-8


def first_difference(record: RanksRecord, kind: str) -> list[Difference]:
    """Of the earliest update that has any: parameters, used gradients or buffers that differ, the largest first."""
    shards = {name for rank in record.ranks for name in rank.shards}
    for update in range(updates_in_common(record)):
        first: Sketches = getattr(record.ranks[0].updates[update], kind)
        found: dict[str, Difference] = {}
        whole = math.hypot(*(sketch.norm for sketch in first.values())) if first else 0.0
        for other in record.ranks[1:]:
            theirs: Sketches = getattr(other.updates[update], kind)
            for name in first.keys() & theirs.keys() - shards:
                share = distance(first[name], theirs[name])
                apart = math.dist(first[name].values, theirs[name].values)
                if (
                    share > SAME
                    and not apart <= _NOISE * whole
                    and share > (found[name].share if name in found else 0.0)
                ):
                    found[name] = Difference(name, other.rank, update, share)
        if found:
            return sorted(found.values(), key=lambda each: -each.share)
    return []


def distance(one: TensorSketch, other: TensorSketch) -> float:
    apart = math.dist(one.values, other.values)
    size = max(math.hypot(*one.values), math.hypot(*other.values))
    return 0.0 if apart == 0 else (apart / size if size and math.isfinite(apart) else math.inf)


def updates_in_common(record: RanksRecord) -> int:
    return min((len(rank.updates) for rank in record.ranks), default=0)


def likeness(one: Sketches, other: Sketches) -> Likeness | None:
    """None if one of them is zero, not finite, or known for other parameters than the other one."""
    names = sorted(one.keys() & other.keys())
    a = [value for name in names for value in one[name].values]
    b = [value for name in names for value in other[name].values]
    size, inner = _product(b, b), _product(a, b)
    if one.keys() != other.keys() or not size or not math.isfinite(size + inner) or not any(a):
        return None
    factor = inner / size
    rest = math.dist(a, [factor * value for value in b]) / math.hypot(*a)
    return Likeness(factor, rest)


def _product(a: Iterable[float], b: Iterable[float]) -> float:
    return sum(x * y for x, y in zip(a, b, strict=True))


def mean_local(record: RanksRecord, update: int) -> Sketches:
    """What backward() computed on all ranks, averaged; nothing where one of them has not told."""
    each = [rank.updates[update].local for rank in record.ranks]
    names = set.intersection(*(set(local) for local in each)) if each else set()
    if any(names != set(local) for local in each):
        return {}
    return {name: _combined((local[name] for local in each), 1 / record.world) for name in names}


def used(record: RanksRecord, update: int = 0) -> Sketches:
    """What the optimizer of the first rank got; parts that lie on several ranks are put together."""
    each = [rank.updates[update] for rank in record.ranks]
    shards = {name for rank in record.ranks for name in rank.shards}
    return {name: _whole(name, each, name in shards) for name in each[0].used}


def _whole(name: str, each: list[UpdateRecord], in_parts: bool) -> TensorSketch:
    if not in_parts:
        return each[0].used[name]
    return _combined((update.used[name] for update in each if name in update.used), 1.0)


def _combined(sketches: Iterable[TensorSketch], factor: float) -> TensorSketch:
    sums = [factor * sum(values) for values in zip(*(each.values for each in sketches), strict=True)]
    return TensorSketch(math.hypot(*sums), tuple(sums))


def used_its_own(record: RanksRecord, update: int) -> bool:
    """Every rank gave its optimizer what its own samples had given, and that was not the same on all of them."""
    for rank in record.ranks:
        alike = likeness(rank.updates[update].used, rank.updates[update].local)
        if alike is None or not alike.parallel:
            return False
    return bool(first_difference_at(record, update))


def first_difference_at(record: RanksRecord, update: int) -> list[str]:
    """Names of gradients that differ between ranks at this update."""
    first = record.ranks[0].updates[update].used
    return [
        name
        for name, sketch in first.items()
        for other in record.ranks[1:]
        if name in other.updates[update].used and distance(sketch, other.updates[update].used[name]) > SAME_GRADIENT
    ]


def same_samples(record: RanksRecord) -> bool | None:
    """Whether all ranks saw the same at every update. None if that cannot be told: the inputs never change, say."""
    seen = [[update.inputs for update in rank.updates] for rank in record.ranks]
    common = updates_in_common(record)
    # a step may give its model a part of the batch, so that only batches that differ say something
    batches = [[update.batch for update in rank.updates] for rank in record.ranks]
    if any(all(each[at] for each in batches) and len({each[at] for each in batches}) > 1 for at in range(common)):
        return False
    known = [at for at in range(common) if all(each[at] for each in seen)]
    if not known:
        return None
    if any(each[at] != seen[0][at] for each in seen[1:] for at in known):
        return False
    return True if len({seen[0][at] for at in known}) > 1 else None
