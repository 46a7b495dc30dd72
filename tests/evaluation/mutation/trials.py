"""Each changed program against the tests that reach the change, in a process of its own.

pytest collects once; the child is forked from there, changes the module in place and runs the tests, the quickest
first, until one fails. So a trial costs its tests and little more. Of each file the first trial is one without any
change, whose tests have to pass: otherwise every change of it would seem to be noticed.
"""

from __future__ import annotations

import gc
import os
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import CodeType

import pytest

from tests.evaluation.mutation.mutants import Mutant, code_of, unchanged
from tests.evaluation.mutation.patch import put_in

# By judgement: a change may make a loop endless; ten times the tests' own time and a start are enough to know.
_PATIENCE = 10
_START_SECONDS = 10.0


class Trials:
    """A plugin that runs, instead of the collected tests, one trial after the other."""

    def __init__(
        self, mutants: Sequence[Mutant], tests_for: Callable[[Mutant], dict[str, float]], tell: Callable[..., None]
    ) -> None:
        self.mutants, self.tests_for, self.tell = mutants, tests_for, tell
        self.child = False

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        gc.collect()
        gc.freeze()  # what a child does not touch it need not copy
        items = {item.nodeid: item for item in session.items}
        sound: dict[str, bool] = {}
        for mutant in self.mutants:
            seconds = {test: known for test, known in self.tests_for(mutant).items() if test in items}
            chosen = [items[test] for test in seconds]
            limit = _START_SECONDS + _PATIENCE * sum(seconds.values())
            if not chosen:
                self.tell(mutant, "not reached", 0)
                continue
            path = Path(mutant.path)
            if mutant.path not in sound:
                sound[mutant.path] = not self._fails(path, unchanged(path), chosen, limit)
            if not sound[mutant.path]:
                self.tell(mutant, "fails without any change", len(chosen))
                continue
            failed = self._fails(path, code_of(mutant), chosen, limit)
            self.tell(mutant, "killed" if failed else "survived", len(chosen))
        return True

    def _fails(self, path: Path, code: CodeType, chosen: list[pytest.Item], limit: float) -> bool:
        child = os.fork()
        if child == 0:
            os.setsid()
            self.child = True
            os._exit(_run(path, code, chosen))
        return _wait(child, limit) != 0

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if self.child and report.failed:
            os._exit(1)


def _run(path: Path, code: CodeType, chosen: list[pytest.Item]) -> int:
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    try:
        put_in(path.resolve(), code)
        for item, following in zip(chosen, [*chosen[1:], None], strict=True):
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
    except BaseException:  # a changed program may raise anything, and was noticed then
        return 1
    return 0


def _wait(child: int, seconds: float) -> int:
    end = time.monotonic() + seconds
    for pause in _pauses():
        finished, status = os.waitpid(child, os.WNOHANG)
        if finished:
            return status
        if time.monotonic() > end:
            break
        time.sleep(pause)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return 1


def _pauses() -> Iterator[float]:
    pause = 0.001
    while True:
        yield pause
        pause = min(2 * pause, 0.05)
