"""What keeps the graphs of past steps alive, and the line that stores them there."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import CellType, FrameType
from typing import Any

from torch import Tensor

from ....records.speed import KeptGraph
from ....records.verdict import Place
from ...run.run import Run
from ...run.signal import Cost, Signal
from ...source.authorship import is_library_file
from ...source.places import place_of
from .live_graphs import Holder, Since, holders, name_of, nodes_of

#: The state after the first of these steps is compared with that after the last; the line is searched for in between.
#: By judgement: after 2 steps memory is allocated, and 3 more show growth.
FIRST, LAST = 2, 5
#: Most tensors that are examined: a training that keeps more has shown enough. By judgement: 400 for each of 5 steps.
_MOST_TENSORS = 2000


class KeptGraphs(Signal):
    NAME, COST = "kept_graphs", Cost.SPEED

    def __init__(self, run: Run) -> None:
        self._run = run
        self._since: Since | None = None
        self._found: list[tuple[Holder, int, int]] = []
        self._watch: _Growth | None = None
        self._place: Place | None = None

    def run_begins(self) -> None:
        self._since = Since()

    def step_ends(self) -> None:
        step = self._run.step
        if not FIRST <= step <= LAST:
            return
        if step == FIRST:
            self._found = self._holders()
            growing = next((holder for holder, *_ in self._found), None)
            if growing is not None:
                self._watch = _Growth(growing)
                self._watch.start()
        elif self._watch is not None:
            self._place = self._watch.stop()
            self._watch = None
        if step == LAST:
            self._compare(self._holders())
            self._found = []

    def run_ends(self) -> None:
        self._found = []
        if self._watch is not None:
            self._watch.stop()
            self._watch = None

    def _compare(self, now: list[tuple[Holder, int, int]]) -> None:
        for index, (holder, count, nodes) in enumerate(self._found):
            for later, count_now, nodes_now in now:
                if later[0] is holder[0] and later[2] == holder[2]:
                    place = self._place if index == 0 else None
                    kept = KeptGraph(holder[1], holder[2], count, count_now, nodes, nodes_now, LAST - FIRST + 1, place)
                    if kept.grows and not kept.name:
                        kept.name = name_of(holder[0])
                    self._run.trace.speed.kept_graphs.append(kept)

    def _holders(self) -> list[tuple[Holder, int, int]]:
        """What holds tensors with graphs, how many, and how many nodes these have; the largest first."""
        assert self._since is not None
        tensors = self._since.with_graph()
        del tensors[:-_MOST_TENSORS]  # a copy of the list would be another holder
        every = [(holder, len(held), nodes_of(held)) for holder, held in holders(tensors)]
        return sorted(every, key=_nodes, reverse=True)


def _nodes(found: tuple[Holder, int, int]) -> int:
    return found[2]


class _Growth:
    """Follows the user's lines until a holder has changed: the line before that is to blame."""

    def __init__(self, holder: Holder) -> None:
        self._state = _state_of(holder)
        self._last = self._state()
        self._line: tuple[str, int] | None = None
        self._blamed: tuple[str, int] | None = None
        self._before: Any = None
        self._frames: list[FrameType] = []

    def start(self) -> None:
        self._before = sys.gettrace()
        sys.settrace(self._on_event)
        frame: FrameType | None = sys._getframe(1)
        while frame is not None:  # functions that are already running, such as a watched test
            if not is_library_file(frame.f_code.co_filename):
                # a step may end in the middle of a line, which is then the first that can be to blame
                self._line = self._line or (frame.f_code.co_filename, frame.f_lineno)
                if frame.f_trace is None:
                    frame.f_trace = self._on_event
                    self._frames.append(frame)
            frame = frame.f_back

    def stop(self) -> Place | None:
        sys.settrace(self._before)
        for frame in self._frames:
            frame.f_trace = None
        self._look()
        return None if self._blamed is None else place_of(*self._blamed)

    def _on_event(self, frame: FrameType, event: str, value: Any) -> Any:
        if is_library_file(frame.f_code.co_filename):
            return None
        self._look()
        if event == "return":
            back = frame.f_back
            while back is not None and is_library_file(back.f_code.co_filename):
                back = back.f_back
            self._line = None if back is None else (back.f_code.co_filename, back.f_lineno)
        else:
            self._line = (frame.f_code.co_filename, frame.f_lineno)
        return self._on_event

    def _look(self) -> None:
        state = self._state()
        if state != self._last and self._blamed is None:
            self._blamed = self._line
        self._last = state


def _state_of(holder: Holder) -> Callable[[], object]:
    """A value that changes when something is stored: its length, or which tensor it is and how often it was written."""
    thing, kind, name = holder
    if isinstance(thing, CellType):
        return lambda: _which(thing.cell_contents)
    if kind == "the attribute":
        key = name.rpartition(".")[2]
        return lambda: _which(getattr(thing, key, None))
    if isinstance(thing, dict) and kind == "the variable":
        return lambda: _which(thing.get(name))
    if isinstance(thing, FrameType):
        return lambda: _which(thing.f_locals.get(name))
    return lambda: len(thing)


def _which(value: object) -> tuple[int, int]:
    return id(value), value._version if isinstance(value, Tensor) else 0
