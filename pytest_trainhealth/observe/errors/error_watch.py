"""Watches the step that is known to raise, and the one before it: every call of a torch function, every write in place.

Only in the run that is made to explain an error: each call costs as much again.
"""

from __future__ import annotations

import warnings
from contextlib import ExitStack, suppress
from typing import Any

import torch
from torch import Tensor

from ...records.error_words import words_of
from ...records.errors import BadIndex, ErrorContext, FailedCall
from ...records.verdict import Place
from ...tensors.function_modes import FunctionMode
from ..calls.torch_calls import function_name
from ..run.events import Listener
from ..run.run import Run
from .arguments import failed_call, tensors_in
from .bad_indices import bad_index
from .freed_graph import freed_part
from .held_memory import held_tensors, is_about_memory
from .known_tensors import KnownTensors
from .not_finite import what_is_not_finite
from .running_module import innermost_module, refused_by_a_layer
from .writes import Writes

#: In anomaly mode autograd warns of each error, with the forward line that it belongs to.
_WARNING = "Error detected in"


class ErrorWatch(Listener):
    def __init__(self, run: Run) -> None:
        self._run = run
        self._mode = _Mode(self)
        self._open: ExitStack | None = None
        self._inputs: object = None
        self._in_backward = False
        self._freed: tuple[tuple[Place, ...], bool] = ((), False)
        self._passes = 0
        self.writes = Writes()
        #: The calls that raised, each with its error: the code around it may have caught some of them.
        self._failed: list[tuple[BaseException, FailedCall, BadIndex | None]] = []
        run.error_watch = self

    # -- events ------------------------------------------------------------------------------------------------------

    def run_begins(self) -> None:
        self._look(0)

    def step_begins(self, batch: object) -> None:
        self._inputs = batch

    def backward_begins(self, roots: list[Tensor]) -> None:
        self._in_backward = True
        if self._open is not None:  # the pass itself frees what it goes through
            self._freed = freed_part(roots)

    def backward_ends(self) -> None:
        self._in_backward = False
        self._passes += 1

    def step_ends(self) -> None:
        self._inputs, self._passes = None, 0
        self._look(self._run.step + 1)

    def run_ends(self) -> None:
        if self._open is not None:
            self._open.close()
            self._open = None
        self._inputs = None
        self._failed.clear()
        self.writes.clear()

    def _look(self, step: int) -> None:
        """From the step before the one that raises: the graph and the writes of that may be what it fails on."""
        at = self._run.look_closely_at
        if self._open is None and at is not None and step >= at - 1:
            self._open = ExitStack()
            _ignore_the_warning(self._open)
            # each node of the graph remembers the forward line that it belongs to
            self._open.enter_context(torch.autograd.set_detect_anomaly(True, check_nan=False))
            self._open.enter_context(self._mode)

    # -- what raises -------------------------------------------------------------------------------------------------

    def failed(self, error: Exception, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if any(known is error for known, _, _ in self._failed):
            return
        name = function_name(func)
        # what goes wrong in looking must not take the place of the error that is looked at
        with torch.no_grad(), suppress(Exception):
            known = KnownTensors(self._run, self._inputs)
            call = failed_call(name, func, args, kwargs, known)
            self._failed.append((error, call, bad_index(name, func, args, kwargs, known)))

    def context(self, error: BaseException, lines: tuple[Place, ...], reading_data: bool) -> ErrorContext:
        """What is known about this error, right after it was caught."""
        found = [(call, index) for known, call, index in self._failed if known is error]
        known = KnownTensors(self._run, self._inputs)
        call, index = found[0] if found else (refused_by_a_layer(error.__traceback__, known), None)
        value = what_is_not_finite(error, call)
        freed, earlier = self._freed if self._in_backward else ((), False)
        largest, everything = held_tensors(self._run, self._inputs) if is_about_memory(error) else ((), 0)
        return ErrorContext(
            lines=lines,
            call=call,
            module=innermost_module(error.__traceback__, self._run),
            bad_index=index,
            reading_data=reading_data,
            in_backward=self._in_backward,
            passes_before=self._passes,
            writes=self.writes.that_fit(words_of(error), known),
            freed_at=freed,
            freed_earlier=earlier,
            held=largest,
            held_in_all=everything,
            not_finite=value[0],
            value=value[1],
        )


class _Mode(FunctionMode):
    def __init__(self, watch: ErrorWatch) -> None:
        super().__init__()
        self._watch = watch

    def __torch_function__(self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        with torch._C.DisableTorchFunction():
            before = self._watch.writes.versions(tensors_in((args, kwargs)))
        try:
            result = func(*args, **kwargs)
        except Exception as error:
            with torch._C.DisableTorchFunction():
                self._watch.failed(error, func, args, kwargs)
            raise
        with torch._C.DisableTorchFunction():
            self._watch.writes.note(function_name(func), before)
        return result


def _ignore_the_warning(stack: ExitStack) -> None:
    """It would be seen by whoever collects warnings, and where warnings are errors it would hide the one to explain."""
    warnings.filterwarnings("ignore", message=_WARNING)
    entry = warnings.filters[0]
    # by identity: the user's code may have put its own before it, or have put back what was there earlier
    stack.callback(lambda: _remove(entry))


def _remove(entry: Any) -> None:
    for at, each in enumerate(warnings.filters):
        if each is entry:
            del warnings.filters[at]  # type: ignore[attr-defined]
            return
