"""Changes what models are called with, by the names of forward()'s parameters: labels and masks beside tokens."""

from __future__ import annotations

import inspect
from typing import Any

from torch import nn

from ._at_the_calls import AtTheCalls


class AtTheArguments(AtTheCalls):
    """Base of such cures: `changed` gets the arguments of each outermost call by name, and may put others in."""

    def changed(self, module: nn.Module, given: dict[str, Any]) -> None:
        raise NotImplementedError

    def given(self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any]:
        signature = inspect.signature(module.forward)
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError:  # the call itself will say what is wrong with it
            return args, kwargs
        named = dict(bound.arguments)
        self.changed(module, named)
        ordered = {name: named[name] for name in signature.parameters if name in named}
        bound = inspect.BoundArguments(signature, ordered)
        return bound.args, bound.kwargs
