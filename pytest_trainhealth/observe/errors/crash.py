"""An exception of the user's code as a record: its words, its lines, and what was seen when it was raised."""

from __future__ import annotations

import os
import re
import traceback
from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING

import torch.utils.data

from ...records.error_words import words_of
from ...records.errors import ErrorContext
from ...records.numbers import Crash
from ...records.trace import Trace
from ...records.verdict import Place
from ..source.authorship import is_library_file
from ..source.places import place_of, raised_at

if TYPE_CHECKING:
    from ..run.run import Run

#: A worker of a DataLoader passes its error on as text, the whole traceback included; its last line is the error.
_FROM_A_WORKER = re.compile(r"Caught (?P<kind>\w+) in DataLoader worker process")
_LOADERS = os.path.dirname(torch.utils.data.__file__)
#: Errors behind one another. By judgement: a chain that is longer goes in circles.
_LONGEST_CHAIN = 10


def is_without_a_graph(error: Exception, trace: Trace) -> bool:
    """Whether it is backward() saying that the loss reaches no parameter, which the trace says better."""
    return not trace.loss_connected and "does not require grad" in words_of(error)


def crash_of(error: Exception, run: Run, step: int, *, reading_data: bool = False) -> Crash:
    """`reading_data`: it was raised while a batch was read, and not by the step."""
    first = first_of_chain(error)
    kind, message = type(first).__name__, words_of(first)
    worker = _FROM_A_WORKER.match(message)
    if worker is not None:
        kind, message = worker["kind"], message.rstrip().rpartition("\n")[2].removeprefix(f"{worker['kind']}: ")
    differs = first is not error or worker is not None
    reading_data = reading_data or _came_from_a_loader(first.__traceback__)
    watch, lines = run.error_watch, user_lines(error)
    seen = ErrorContext(lines, reading_data=reading_data)
    if watch is not None:
        with suppress(Exception):  # what goes wrong in looking must not take the place of the error
            seen = watch.context(first, lines, reading_data)
    return Crash(
        type(error).__name__,
        _one_line(words_of(error)),
        step,
        raised_at(first.__traceback__) or raised_at(error.__traceback__),
        kind if differs else "",
        _one_line(message) if differs else "",
        seen,
    )


def first_of_chain(error: BaseException) -> BaseException:
    """What it was raised from (`raise ... from`). One that was merely being handled may have nothing to do with it."""
    for _ in range(_LONGEST_CHAIN):
        if error.__cause__ is None:
            break
        error = error.__cause__
    return error


def user_lines(error: BaseException) -> tuple[Place, ...]:
    """The user's own lines that it came through, outermost first; those of what it was raised from come last."""
    found: list[Place] = []
    chain: BaseException | None = error
    for _ in range(_LONGEST_CHAIN):
        if chain is None:
            break
        found += _own(chain.__traceback__)
        chain = chain.__cause__
    return tuple(dict.fromkeys(found))


def _came_from_a_loader(trace: TracebackType | None) -> bool:
    return any(step.filename.startswith(_LOADERS) for step in traceback.extract_tb(trace))


def _own(trace: TracebackType | None) -> list[Place]:
    steps = traceback.extract_tb(trace)
    return [
        place_of(step.filename, step.lineno) for step in steps if step.lineno and not is_library_file(step.filename)
    ]


def _one_line(message: str) -> str:
    return message.strip().partition("\n")[0].removesuffix(":").removesuffix(", but found invalid values")
