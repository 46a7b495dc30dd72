"""Leaves the process around a training as it was found: random numbers, threads, modes."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager

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


@contextmanager
def undisturbed(threads: int = 0) -> Iterator[None]:
    """Whatever happens inside, even exceptions and Ctrl-C, changes nothing outside. 0 threads: torch's own number."""
    put_back_random_numbers = remember_random_numbers()
    thread_count, gradients = torch.get_num_threads(), torch.is_grad_enabled()
    anomaly, check_nan = torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled()
    deterministic, dtype = torch.are_deterministic_algorithms_enabled(), torch.get_default_dtype()
    warn_only = torch.is_deterministic_algorithms_warn_only_enabled()
    try:
        if threads:
            torch.set_num_threads(threads)
        yield
    finally:
        put_back_random_numbers()
        torch.set_num_threads(thread_count)
        torch.set_grad_enabled(gradients)
        torch.autograd.set_detect_anomaly(anomaly, check_nan)
        torch.use_deterministic_algorithms(deterministic, warn_only=warn_only)
        torch.set_default_dtype(dtype)
