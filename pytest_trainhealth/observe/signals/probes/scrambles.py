"""A `view()` or `reshape()` where a transpose was meant.

It fills a new shape with the values in their old order. Where a dimension keeps its size and gets another place, rows
are torn apart: (samples, time, classes) read as (samples, classes, time) puts one step's scores into several classes.
"""

from __future__ import annotations

import sys
from math import prod
from types import FrameType

from torch import Tensor, nn

from ....records.probes import ScrambleRecord
from ....records.verdict import Place
from ...calls.torch_calls import Call
from ...source.authorship import is_library_file
from ...source.engine_frames import is_engine_frame
from ...source.places import place_of

_RESHAPES = {"view", "reshape"}
#: Smallest size of a dimension that is followed. By judgement: sizes of 1 and 2 are heads, directions and coordinates
#: as often as not.
_SMALLEST = 3
#: Fewest dimensions of both shapes. By judgement: 3, as tables are flattened and folded all the time.
_FEWEST_DIMENSIONS = 3


def scramble(call: Call) -> ScrambleRecord | None:
    """The dimension that gets another place without a transpose, if the user's own line says so."""
    given, result = call.args[0], call.result
    if call.name not in _RESHAPES or not isinstance(result, Tensor) or isinstance(given, nn.Parameter):
        return None
    if not given.is_floating_point() or not moved(tuple(given.shape), tuple(result.shape)):
        return None
    place = _own_line()
    if place is None:
        return None
    in_loss = not call.module and given.requires_grad
    return ScrambleRecord(call.name, tuple(given.shape), tuple(result.shape), in_loss, place)


def moved(given: tuple[int, ...], result: tuple[int, ...]) -> bool:
    """Whether a dimension keeps its size and gets another place, though the order of the values stays.

    It stays in its place if as many values come before it as did. Only sizes that occur once can be followed; the first
    dimension has to stay, or all have to be there in another order.
    """
    if min(len(given), len(result)) < _FEWEST_DIMENSIONS:
        return False
    first = given[0] == result[0]
    if first:
        given, result = given[1:], result[1:]
    kept = [n for n in given if given.count(n) == result.count(n) == 1 and n >= _SMALLEST]
    torn = [n for n in kept if not _stays(given, result, n)]
    same = sorted(given) == sorted(result)
    return bool(torn) and (same or (first and _accounted(given, result, kept)))


def _stays(given: tuple[int, ...], result: tuple[int, ...], size: int) -> bool:
    before = prod(given[: given.index(size)])
    return any(n == size and prod(result[:at]) == before for at, n in enumerate(result))


def _accounted(given: tuple[int, ...], result: tuple[int, ...], kept: list[int]) -> bool:
    """What is not kept was split (one dimension into several) or joined (several into one), and nothing else."""
    before, after = ([n for n in shape if n not in kept] for shape in (given, result))
    return min(len(before), len(after)) <= 1


def _own_line() -> Place | None:
    """The line that called the function, unless a library did."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and not is_engine_frame(frame):
        file = frame.f_code.co_filename
        if not _is_ours_or_torch(file):
            return None if is_library_file(file) else place_of(file, frame.f_lineno)
        frame = frame.f_back
    return None


def _is_ours_or_torch(file: str) -> bool:
    return "pytest_trainhealth" in file or "/torch/overrides" in file or file.endswith("torch/_tensor.py")
