"""Leaves the settings of the process as they were found: environment, folders, warnings, limits, signal handlers.

`state.process` does the same for torch and for random numbers.
"""

from __future__ import annotations

import gc
import logging
import os
import signal
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np
import torch

from .undoing import undo_all
from .values import Undo


@contextmanager
def process_settings_kept() -> Iterator[list[str]]:
    """What a step sets and leaves set is no business of the next run, nor of the next test.

    The list has the names of what could not be put back once all is over; an error that passes through has notes.
    """
    undos = [
        ("environment", _environment()),
        ("working directory", _working_directory()),
        ("sys.path", _search_path()),
        ("recursion limit", _recursion_limit()),
        ("garbage collection", _garbage_collection()),
        ("signal handlers", _signal_handlers()),
        ("logging", _logging()),
        ("errors of numpy", _numpy_errors()),
        ("cudnn", _cudnn()),
    ]
    left: list[str] = []
    with warnings.catch_warnings():
        try:
            yield left
        except BaseException as error:
            for name in undo_all(undos):
                error.add_note(f"left changed: {name}")
            raise
        left.extend(undo_all(undos))


def _environment() -> Undo:
    before = dict(os.environ)

    def undo() -> None:
        if dict(os.environ) != before:
            for name in [name for name in os.environ if name not in before]:
                del os.environ[name]
            os.environ.update(before)

    return undo


def _working_directory() -> Undo:
    try:
        before = os.getcwd()
    except FileNotFoundError:  # it was deleted: there is nothing to go back to
        return lambda: None

    def undo() -> None:
        with suppress(FileNotFoundError):
            if os.getcwd() == before:
                return
        os.chdir(before)

    return undo


def _search_path() -> Undo:
    path, before = sys.path, list(sys.path)

    def undo() -> None:
        sys.path = path
        if sys.path != before:
            sys.path[:] = before

    return undo


def _recursion_limit() -> Undo:
    before = sys.getrecursionlimit()
    return lambda: sys.setrecursionlimit(before) if sys.getrecursionlimit() != before else None


def _garbage_collection() -> Undo:
    enabled, thresholds = gc.isenabled(), gc.get_threshold()

    def undo() -> None:
        gc.enable() if enabled else gc.disable()
        if gc.get_threshold() != thresholds:
            gc.set_threshold(*thresholds)

    return undo


def _signal_handlers() -> Undo:
    """Only the main thread may set them, and only those that Python knows can be set again."""
    if threading.current_thread() is not threading.main_thread():
        return lambda: None
    numbers = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGALRM", "SIGUSR1", "SIGUSR2")
               if hasattr(signal, name)]  # fmt: skip
    before = {number: signal.getsignal(number) for number in numbers}

    def undo() -> None:
        for number, handler in before.items():
            if handler is not None and signal.getsignal(number) is not handler:
                signal.signal(number, handler)

    return undo


def _logging() -> Undo:
    root = logging.getLogger()
    level, disabled = root.level, root.manager.disable

    def undo() -> None:
        if root.level != level:
            root.setLevel(level)
        if root.manager.disable != disabled:
            logging.disable(disabled)

    return undo


def _numpy_errors() -> Undo:
    before: Any = np.geterr()

    def undo() -> None:
        if np.geterr() != before:
            np.seterr(**before)

    return undo


def _cudnn() -> Undo:
    cudnn: Any = torch.backends.cudnn
    before = {name: getattr(cudnn, name) for name in ("enabled", "benchmark", "deterministic")}

    def undo() -> None:
        for name, value in before.items():
            if getattr(cudnn, name) != value:
                setattr(cudnn, name, value)

    return undo
