"""The functions that answer differently each time, whatever the seeds are: they are exchanged for the time of a run.

Only calls by the user's code are answered differently: a library that measures time or names a process means just that.
"""

from __future__ import annotations

import builtins
import os
import random
import sys
import time
import zlib
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import numpy as np
import torch

from ...observe.source.authorship import is_library_file

Replacement = Callable[..., Any]
#: Of each source: where a function lies, and its name there.
CLOCK = (
    *((time, name) for name in ("time", "time_ns", "perf_counter", "perf_counter_ns", "monotonic", "monotonic_ns")),
    (os, "getpid"),
)
SYSTEM = (
    (os, "urandom"),
    (random, "_urandom"),
    (random, "seed"),
    (random.Random, "seed"),
    (np.random, "default_rng"),
    (np.random, "seed"),
    (torch, "seed"),
    (torch.random, "seed"),
)
HASH = ((builtins, "hash"),)
#: Seeds, where one is held still. By judgement: any number would do.
SEED = 20_011


def exchange(holder: Any, name: str, stack: ExitStack, make: Callable[[Replacement], Replacement]) -> None:
    """Puts `make(original)` in the place of a function until the stack closes. What is held still stays so."""
    original = getattr(holder, name)
    if getattr(original, "held_still", False):
        return
    stack.callback(setattr, holder, name, original)
    setattr(holder, name, make(original))


def called_by_user() -> bool:
    """Whether the function that calls this one was called by the user's own code."""
    return not is_library_file(sys._getframe(2).f_code.co_filename)


def is_salted(value: Any) -> bool:
    """Python's hash of text differs from process to process, unless PYTHONHASHSEED says otherwise."""
    if isinstance(value, (tuple, frozenset)):
        return any(is_salted(each) for each in value)
    return isinstance(value, (str, bytes)) and os.environ.get("PYTHONHASHSEED", "random") == "random"


def same_hash(value: Any) -> int:
    """One that depends on the value alone."""
    return zlib.crc32(repr(value).encode())
