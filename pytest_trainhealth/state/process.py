"""Leaves the process around a training as it was found: random numbers, threads, modes."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import numpy as np
import torch


def seed_everything(seed: int) -> None:
    """Seeds Python, numpy, and torch on every device."""
    random.seed(seed)
    np.random.seed(seed % 2**32)
    if torch.accelerator.is_available():
        torch.manual_seed(seed)
    else:  # `torch.manual_seed` keeps a formatted stack for each device that is not there, which takes milliseconds
        torch.default_generator.manual_seed(seed)


def remember_random_numbers() -> Callable[[], None]:
    """Remembers the state of Python's, numpy's and torch's random numbers; call the result to restore it."""
    python, numpy_state, cpu = random.getstate(), np.random.get_state(), torch.get_rng_state()
    accelerator = torch.get_device_module() if torch.accelerator.is_available() else None
    accelerated = accelerator.get_rng_state() if accelerator is not None else None

    def put_back() -> None:
        random.setstate(python)
        np.random.set_state(numpy_state)
        torch.set_rng_state(cpu)
        if accelerator is not None and accelerated is not None:
            accelerator.set_rng_state(accelerated)

    return put_back


def _device_context() -> Any:
    """Stands for the default device; None if nobody has set one. `torch.get_default_device` tells less: it also answers
    for a `with torch.device(...)` around us, which is no default, and calls no default a CPU."""
    return getattr(getattr(torch, "_GLOBAL_DEVICE_CONTEXT", None), "device_context", None)


def remember_default_device() -> Callable[[], None]:
    context = _device_context()

    def put_back() -> None:
        if _device_context() is not context:
            torch.set_default_device(None if context is None else context.device)

    return put_back


def remember_autocast() -> Callable[[], None]:
    """A step may switch it on without a `with`, and leave it on."""
    kinds = ["cpu"]
    if torch.accelerator.is_available():
        kinds.append(str(torch.accelerator.current_accelerator()).partition(":")[0])
    known = [(kind, torch.is_autocast_enabled(kind), torch.get_autocast_dtype(kind)) for kind in kinds]
    cache = torch.is_autocast_cache_enabled()

    def put_back() -> None:
        for kind, enabled, dtype in known:
            torch.set_autocast_enabled(kind, enabled)
            torch.set_autocast_dtype(kind, dtype)
        torch.set_autocast_cache_enabled(cache)
        torch.clear_autocast_cache()

    return put_back


@contextmanager
def undisturbed(threads: int = 0) -> Iterator[None]:
    """Whatever happens inside, even exceptions and Ctrl-C, changes nothing outside. 0 threads: torch's own number."""
    with ExitStack() as stack:  # every callback is called, even if another raises
        for put_back in (remember_random_numbers(), remember_default_device(), remember_autocast()):
            stack.callback(put_back)
        stack.callback(torch.set_num_threads, torch.get_num_threads())
        stack.callback(torch.set_grad_enabled, torch.is_grad_enabled())
        anomaly = torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled()
        stack.callback(torch.autograd.set_detect_anomaly, *anomaly)
        warn_only = torch.is_deterministic_algorithms_warn_only_enabled()
        deterministic = torch.are_deterministic_algorithms_enabled()
        stack.callback(torch.use_deterministic_algorithms, deterministic, warn_only=warn_only)
        stack.callback(torch.set_default_dtype, torch.get_default_dtype())
        stack.callback(torch.set_float32_matmul_precision, torch.get_float32_matmul_precision())
        if threads:
            torch.set_num_threads(threads)
        yield
