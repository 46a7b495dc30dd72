"""The models are compiled in place, and are as before afterwards.

Not with `model.compile()`: that leaves a container of torch's own, such as `nn.Sequential`, as it is.
"""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

import torch

from ...observe.run.events import Listener
from ...observe.run.run import Run

#: What is compiled is the change: the run is not to be taken back to code that is not (programs/uncompiled.py).
COMPILES = True
#: Where a module keeps what is called in its place.
_SLOT = "_compiled_call_impl"


class Compiled(Listener):
    def __init__(self, run: Run, stack: ExitStack) -> None:
        self._run, self._stack = run, stack

    def run_begins(self) -> None:
        torch.compiler.reset()  # after some models of the same shape the compiler would give up
        for model in self._run.models.values():
            before = dict(vars(model))
            self._stack.callback(_put_back, model, before)
            setattr(model, _SLOT, _compiled(model))


def _compiled(model: Any) -> Any:
    def called(*args: Any, **kwargs: Any) -> Any:
        return model._call_impl(*args, **kwargs)

    return torch.compile(called)


def _put_back(model: Any, before: dict[str, Any]) -> None:
    vars(model).pop(_SLOT, None)
    if _SLOT in before:
        setattr(model, _SLOT, before[_SLOT])
