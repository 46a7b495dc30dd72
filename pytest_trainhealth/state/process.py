"""Leaves the process around a training as it was found: random numbers, threads, modes."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
import torch

from .undoing import undo_all
from .values import Undo


def seed_everything(seed: int) -> None:
    """Seeds Python, numpy, and torch on every device."""
    random.seed(seed)
    np.random.seed(seed % 2**32)
    if torch.accelerator.is_available():
        torch.manual_seed(seed)
    else:  # `torch.manual_seed` keeps a formatted stack for each device that is not there, which takes milliseconds
        torch.default_generator.manual_seed(seed)


def remember_random_numbers() -> Undo:
    """Remembers the state of Python's, numpy's and torch's random numbers; call the result to restore it."""
    undos = _random_numbers()

    def put_back() -> None:
        failed = undo_all(undos)
        if failed:
            raise RuntimeError(f"not put back: {', '.join(failed)}")

    return put_back


def _random_numbers() -> list[tuple[str, Undo]]:
    undos: list[tuple[str, Undo]] = [
        ("random numbers of Python", partial(random.setstate, random.getstate())),
        ("random numbers of numpy", partial(np.random.set_state, np.random.get_state())),
        ("random numbers of torch", partial(torch.set_rng_state, torch.get_rng_state())),
    ]
    if torch.accelerator.is_available():
        accelerator = torch.get_device_module()
        undos.append(("random numbers of the device", partial(accelerator.set_rng_state, accelerator.get_rng_state())))
    return undos


def _device_context() -> Any:
    """Stands for the default device; None if nobody has set one. `torch.get_default_device` tells less: it also answers
    for a `with torch.device(...)` around us, which is no default, and calls no default a CPU."""
    return getattr(getattr(torch, "_GLOBAL_DEVICE_CONTEXT", None), "device_context", None)


def remember_default_device() -> Undo:
    context = _device_context()

    def put_back() -> None:
        if _device_context() is not context:
            torch.set_default_device(None if context is None else context.device)

    return put_back


def remember_autocast() -> Undo:
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


def _settings_of_torch() -> list[tuple[str, Undo]]:
    anomaly = torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled()
    warn_only = torch.is_deterministic_algorithms_warn_only_enabled()
    deterministic = torch.are_deterministic_algorithms_enabled()
    return [
        ("default device", remember_default_device()),
        ("autocast", remember_autocast()),
        ("torch.set_num_threads", partial(torch.set_num_threads, torch.get_num_threads())),
        ("torch.set_grad_enabled", partial(_set_grad_enabled, torch.is_grad_enabled())),
        ("torch.autograd.set_detect_anomaly", partial(_set_detect_anomaly, *anomaly)),
        (
            "torch.use_deterministic_algorithms",
            partial(torch.use_deterministic_algorithms, deterministic, warn_only=warn_only),
        ),
        ("torch.set_default_dtype", partial(torch.set_default_dtype, torch.get_default_dtype())),
        (
            "torch.set_float32_matmul_precision",
            partial(torch.set_float32_matmul_precision, torch.get_float32_matmul_precision()),
        ),
    ]


def _set_grad_enabled(enabled: bool) -> None:
    torch.set_grad_enabled(enabled)


def _set_detect_anomaly(enabled: bool, check_nan: bool) -> None:
    torch.autograd.set_detect_anomaly(enabled, check_nan)


@contextmanager
def undisturbed(threads: int = 0) -> Iterator[list[str]]:
    """Whatever happens inside, even exceptions and Ctrl-C, changes nothing outside. 0 threads: torch's own number.

    The list has the names of what could not be put back once all is over; an error that passes through has notes.
    """
    undos = [*_settings_of_torch(), *_random_numbers()]
    left: list[str] = []
    try:
        if threads:
            torch.set_num_threads(threads)
        yield left
    except BaseException as error:
        for name in undo_all(undos):
            error.add_note(f"left changed: {name}")
        raise
    left.extend(undo_all(undos))
