"""Whether torch only traces code now: what is called has no values, and whatever is done becomes part of a graph."""

from __future__ import annotations

import sys

import torch

_FAKE = torch._C._TorchDispatchModeKey.FAKE
_FUNCTIONAL = torch._C._TorchDispatchModeKey.FUNCTIONAL
_PROXY = torch._C._TorchDispatchModeKey.PROXY


def is_traced() -> bool:
    """By torch.compile, torch.export, torch.jit.trace, torch.fx, or in a mode in which tensors are only shapes.

    None of it is a training, and nobody may look: a value that is read while a graph is made ends the tracing, and an
    operation of ours would be compiled into the user's program.
    """
    if torch.compiler.is_compiling() or torch._C._get_tracing_state() is not None:
        return True
    if torch._C._len_torch_dispatch_stack() and any(
        torch._C._get_dispatch_mode(key) is not None for key in (_FAKE, _FUNCTIONAL, _PROXY)
    ):
        return True
    tracer = sys.modules.get("torch.fx._symbolic_trace")
    return bool(getattr(tracer, "_is_fx_tracing_flag", False))
