"""On the controller of xdist: shows how far the checks have come that its workers run.

Each worker keeps a note in a folder that it was told of (`WorkerNote`). The controller waits for its workers' reports
all the time, so a thread reads the notes. Whatever pytest writes when a report arrives is kept apart from what the
thread writes by a lock; the line under the dots is cleared before.
"""

from __future__ import annotations

import secrets
import shutil
import tempfile
import threading
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from ..progress.standing import Standing, line
from .progress_line import IN_A_LOG, LogLines, TerminalLine

#: Seconds between two looks at the notes. By judgement: as often as a worker writes them.
_LOOK = 1.0


class WorkersProgress:
    """A plugin object, registered where xdist distributes and something can be shown."""

    def __init__(self, display: TerminalLine | LogLines) -> None:
        self._display = display
        self.folder = Path(tempfile.gettempdir(), f"trainhealth-{secrets.token_hex(8)}")
        self._lock, self._stop = threading.RLock(), threading.Event()
        #: For a log: what each worker was at when it was told, and after how many seconds.
        self._written: dict[str, tuple[str, float]] = {}
        self._thread = threading.Thread(target=self._watch, name="trainhealth-progress", daemon=True)

    def start(self) -> None:
        if not self._thread.is_alive():
            self._thread.start()

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        node.workerinput["trainhealth_progress"] = str(self.folder)
        self.start()

    @pytest.hookimpl(optionalhook=True, wrapper=True)
    def pytest_testnodedown(self, node: Any) -> Generator[None, object, object]:
        (self.folder / node.gateway.id).unlink(missing_ok=True)
        with self._nothing_else():
            return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_logreport(self) -> Generator[None, object, object]:
        with self._nothing_else():
            return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_logstart(self) -> Generator[None, object, object]:
        with self._nothing_else():
            return (yield)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()
        self._display.over()
        shutil.rmtree(self.folder, ignore_errors=True)

    @contextmanager
    def _nothing_else(self) -> Iterator[None]:
        """For whoever writes to the terminal: the line under the current one is gone, and stays so meanwhile."""
        with self._lock:
            self._display.over()
            yield

    def _watch(self) -> None:
        while not self._stop.wait(_LOOK):
            try:
                with self._lock:
                    self._look()
            except Exception:
                return  # whatever it is, the run matters more

    def _look(self) -> None:
        notes = self._notes()
        if isinstance(self._display, LogLines):
            for worker, standing in notes.items():
                if self._is_due(worker, standing):
                    self._display.write(standing)
        elif notes and not self._stop.is_set():
            longest = max(notes.values(), key=lambda standing: standing.seconds)
            others = f" (and {len(notes) - 1} more)" if len(notes) > 1 else ""
            self._display.write(line(longest, self._display.width - len(others)) + others)
        else:
            self._display.over()

    def _notes(self) -> dict[str, Standing]:
        found = {}
        for file in sorted(self.folder.glob("[!.]*")):
            try:
                found[file.name] = Standing.from_json(file.read_text())
            except (OSError, TypeError, ValueError):
                continue  # the check is over meanwhile
        return found

    def _is_due(self, worker: str, standing: Standing) -> bool:
        what = f"{standing.check} {standing.training}"
        known, when = self._written.get(worker, ("", 0.0))
        if standing.seconds - (when if known == what and when <= standing.seconds else 0.0) < IN_A_LOG:
            return False
        self._written[worker] = (what, standing.seconds)
        return True
