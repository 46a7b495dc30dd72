"""The same run once more, as it would be on another day and in another process."""

from __future__ import annotations

import functools
from contextlib import ExitStack
from typing import Any

from ...observe.run.events import Listener
from ...observe.run.run import Run
from ...observe.source.places import user_place
from ...records.state import EntropyRecord
from ...state.live_generators import drawn_from, going_on, put_generators_back
from . import _entropy
from ._entropy import Replacement, called_by_user, exchange, is_salted
from ._task_order import put_in_order

#: What is drawn and read while the training is built belongs to the run.
EARLY = True
#: Seconds between the two runs, as far as the training can tell. By judgement: twelve days and a bit, so that day,
#: hour, minute and second all differ.
_LATER = 1_052_471.3
#: Added to the number of the process. By judgement: any number would do.
_OTHER_PROCESS = 7
#: Most calls that are kept. By judgement: a report shows 3 of them.
_MOST = 16


class OnceMore(Listener):
    """`same_process`: generators in modules go on, as they do for a second training of one script."""

    def __init__(self, run: Run, stack: ExitStack, *, same_process: bool = False) -> None:
        self._run = run
        run.trace.state.drawn_from = tuple(drawn_from())
        if same_process:
            stack.enter_context(going_on())
        put_generators_back()
        for holder, name in _entropy.CLOCK:
            exchange(holder, name, stack, functools.partial(self._later, name=name))
        for source, name in _entropy.SYSTEM:
            exchange(source, name, stack, functools.partial(self._noted, name=name))
        for module, name in _entropy.HASH:
            exchange(module, name, stack, self._salted)
        put_in_order(stack, functools.partial(self._note, "threads"), backwards=True, held=False)

    def _later(self, original: Replacement, name: str) -> Replacement:
        added: float = _OTHER_PROCESS if name == "getpid" else _LATER
        if name.endswith("_ns"):
            added = int(1e9 * _LATER)

        def later() -> Any:
            if not called_by_user():
                return original()
            self._note("clock", "os.getpid()" if name == "getpid" else f"time.{name}()")
            return original() + added

        return later

    def _noted(self, original: Replacement, name: str) -> Replacement:
        def noted(*given: Any, **named: Any) -> Any:
            if name == "urandom" or not any(each is not None for each in (*given[-1:], *named.values())):
                self._note("system", f"{getattr(original, '__name__', name)}()")
            return original(*given, **named)

        return noted

    def _salted(self, original: Replacement) -> Replacement:
        def salted(value: Any) -> int:
            if not called_by_user() or not is_salted(value):
                return original(value)  # type: ignore[no-any-return]
            self._note("hash", "hash() of text")
            return original((_LATER, value))  # type: ignore[no-any-return]

        return salted

    def _note(self, source: str, call: str) -> None:
        found = self._run.trace.state.entropy
        if len(found) < _MOST:
            record = EntropyRecord(source, call, user_place())
            if record.place is not None and record not in found:
                found.append(record)
