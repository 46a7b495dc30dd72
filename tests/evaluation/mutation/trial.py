"""One changed program against the tests that reach the change, in a process of its own.

The child is forked after torch, numpy and Hypothesis were imported and before the package was, so that a trial costs
its tests and little more, and meets the changed module as the only one there ever was.
"""

from __future__ import annotations

import importlib.machinery
import os
import signal
import time
from pathlib import Path
from types import CodeType

from tests.evaluation.mutation.mutants import Mutant, code_of

# By judgement: a change may make a loop endless; ten times the tests' own time and a start are enough to know.
_PATIENCE = 10
_START_SECONDS = 30.0


def survives(mutant: Mutant, tests: list[str], seconds: float) -> bool:
    """Whether every one of ``tests`` passes on the changed program."""
    child = os.fork()
    if child == 0:
        os.setsid()
        os._exit(_run(mutant, tests))
    return _wait(child, _START_SECONDS + _PATIENCE * seconds) == 0


def _wait(child: int, seconds: float) -> int:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        finished, status = os.waitpid(child, os.WNOHANG)
        if finished:
            return status
        time.sleep(0.02)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return 1


def _run(mutant: Mutant, tests: list[str]) -> int:
    import pytest

    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    try:
        _serve(Path(mutant.path).resolve(), code_of(mutant))
        # pytest rewrites what a plugin asserts, and would read the file itself.
        return int(pytest.main([*tests, "-x", "-q", "-n", "0", "-p", "no:cacheprovider", "--assert=plain"]))
    except BaseException:  # a changed program may raise anything, and was noticed then
        return 1


def _serve(path: Path, code: CodeType) -> None:
    """Let the import system find ``code`` where the file is."""
    plain = importlib.machinery.SourceFileLoader.get_code

    def get_code(loader: importlib.machinery.SourceFileLoader, name: str) -> CodeType | None:
        return code if Path(loader.path) == path else plain(loader, name)

    importlib.machinery.SourceFileLoader.get_code = get_code  # type: ignore[method-assign]
