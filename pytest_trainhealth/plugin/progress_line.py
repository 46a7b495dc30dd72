"""How far a long check has come, while pytest runs it: one line under the dots of a terminal, a line now and then in a
log, a note for the controller in a worker of xdist, and nothing with -q.

Standard output belongs to the test while it runs, and what it writes is captured. The terminal's line goes around that,
to a descriptor of the terminal that was kept before any capturing began; lines of a log are written like those of
pytest's own live log, with capturing suspended for as long as it takes.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from ..progress.standing import Standing, line
from .stash import SHOW, WIDTH

#: Seconds. By judgement: what takes less is over before it is read, and more often than twice a second nobody looks.
_AFTER, _EVERY = 2.0, 0.5
#: Seconds between two lines of a log. By judgement: services stop a job that is silent for ten minutes, and a line in
#: half a minute is not yet noise.
IN_A_LOG = 30.0
#: Moves down a line in the same column (the screen scrolls if need be), notes the place, and clears the line; then back
#: to the place, and up again. So the line under the current one changes, wherever the cursor is.
_BELOW, _BACK = "\x1bD\x1b7\r\x1b[2K", "\x1b8\x1bM"


class TerminalLine:
    """The line under the one that pytest is writing. Each change is one write, so that nothing comes between."""

    after, every = _AFTER, _EVERY

    def __init__(self, descriptor: int) -> None:
        self._descriptor, self._shown = descriptor, False

    def tell(self, standing: Standing) -> None:
        self.write(line(standing, self.width))

    @property
    def width(self) -> int:
        """Asked of the terminal itself: while a test is captured, pytest's writer does not know it."""
        return os.get_terminal_size(self._descriptor).columns - 1

    def write(self, text: str) -> None:
        os.write(self._descriptor, f"{_BELOW}{text}{_BACK}".encode("ascii", "replace"))
        self._shown = True

    def over(self) -> None:
        if self._shown:
            self._shown = False
            os.write(self._descriptor, f"{_BELOW}{_BACK}".encode())

    def close(self) -> None:
        os.close(self._descriptor)


class LogLines:
    after = every = IN_A_LOG

    def __init__(self, config: pytest.Config, reporter: pytest.TerminalReporter) -> None:
        self._capture: Any = config.pluginmanager.get_plugin("capturemanager")
        self._reporter = reporter

    def tell(self, standing: Standing) -> None:
        if self._capture is None:
            self.write(standing)
            return
        with self._capture.global_and_fixture_disabled():
            self.write(standing)

    def write(self, standing: Standing) -> None:
        self._reporter.ensure_newline()  # after the dots, if there are any
        self._reporter.write_line(f"trainhealth: {line(standing)}")
        self._reporter.flush()

    def over(self) -> None:
        """A log keeps its lines."""

    def close(self) -> None:
        """It has opened nothing."""


class WorkerNote:
    """For a worker of xdist, which has no terminal: a file that the controller reads.

    The folder is there only while a note is: whoever is killed leaves as little as possible.
    """

    after, every = _AFTER, 1.0

    def __init__(self, folder: Path, worker: str) -> None:
        self._folder, self._file, self._new = folder, folder / worker, folder / f".{worker}"

    def tell(self, standing: Standing) -> None:
        self._folder.mkdir(mode=0o700, exist_ok=True)
        self._new.write_text(standing.to_json())
        os.replace(self._new, self._file)

    def over(self) -> None:
        self._file.unlink(missing_ok=True)
        with suppress(OSError):  # there is none, or another worker has a note in it
            self._folder.rmdir()

    def close(self) -> None:
        """Nothing is left open."""


def prepare(config: pytest.Config) -> None:
    """Finds out where this process shows how far its checks have come, if anywhere."""
    shown: TerminalLine | LogLines | WorkerNote | None
    if sys.stdout is not None and sys.stdout.isatty():
        config.stash[WIDTH] = config.get_terminal_writer().fullwidth
    workerinput = getattr(config, "workerinput", None)
    if workerinput is not None:
        folder = Path(workerinput.get("trainhealth_progress", ""))
        # of a controller on another machine, there may be no such folder here
        known = folder.is_absolute() and folder.parent.is_dir()
        shown = WorkerNote(folder, workerinput["workerid"]) if known else None
    else:
        shown = display(config)
        if shown is not None and config.pluginmanager.has_plugin("dsession"):
            from .progress_of_workers import WorkersProgress

            config.pluginmanager.register(WorkersProgress(shown), "trainhealth-workers-progress")
    if shown is not None:
        config.stash[SHOW] = shown


def display(config: pytest.Config) -> TerminalLine | LogLines | None:
    """What fits the terminal or log of this process. Called before any test, while nothing is captured."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if config.get_verbosity() < 0 or type(reporter) is not pytest.TerminalReporter:
        return None  # one that is not pytest's own (pytest-sugar, say) draws lines itself
    assert isinstance(reporter, pytest.TerminalReporter)
    alone = config.getoption("capture") != "no" and not config.getini("log_cli")  # nobody else writes meanwhile
    moves = reporter.isatty and sys.platform != "win32" and os.environ.get("TERM", "dumb") != "dumb"
    if reporter.isatty and not (moves and alone):
        return None  # what the tests write there shows already that they are at work
    if not reporter.isatty:
        return LogLines(config, reporter)
    try:
        return TerminalLine(os.dup(sys.__stdout__.fileno()))  # type: ignore[union-attr]
    except (AttributeError, OSError, ValueError):
        return None
