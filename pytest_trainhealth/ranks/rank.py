"""A rank as seen from outside: a process that is started, listened to and, whatever happens in between, ended."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import pytest_trainhealth

from ..revisions.child_process import ChildProcess
from ..revisions.error_lines import last_line
from ..revisions.protocol import Ended, Message, Silence
from .stacks import Whereabouts, whereabouts

#: What runs in the process. Given by name, because it belongs to the plugin, which this room may not import.
PROCESS = f"{pytest_trainhealth.__name__}.plugin.rank_process"
#: Seconds until a process that was told to quit is killed. By judgement: ending a DataLoader's workers takes up to 3.
_GRACE = 3.0
#: Seconds that a process gets to write down where it is. By judgement: 2 on a busy machine.
_WRITING = 2.0
#: Seconds between two looks at what it writes. By judgement: 0.02, as writing a stack takes less.
_PAUSE = 0.02


class RankProcess:
    def __init__(self, order: Message, environment: Mapping[str, str], folder: Path, name: str) -> None:
        self.name = name
        self._stack, self._log = folder / f"{name}.stack", (folder / f"{name}.log").open("w+", errors="replace")
        self._child = ChildProcess(PROCESS, self._log, environment)
        self._client, self._process = self._child.client, self._child.process
        #: Its end of the line is closed, because it is gone.
        self.gone = False
        self.send(**order, stack=str(self._stack))

    def send(self, **message: object) -> None:
        with suppress(Ended):  # `receive` finds out
            self._client.send(**message)

    def receive(self) -> list[Message]:
        """What it has sent since; does not wait."""
        found: list[Message] = []
        try:
            while not self.gone:
                found.append(self._client.answer(0.0))
        except Silence:
            pass
        except Ended:
            self.gone = True
        return found

    def last_words(self) -> str:
        """Why a process is gone that did not say so."""
        try:
            code = self._process.wait(_GRACE)
        except subprocess.TimeoutExpired:
            return "it closed its end of the line"
        if code < 0:
            return f"killed by {signal.Signals(-code).name}"
        return f"ended by itself with exit code {code}"

    def printed(self) -> str:
        self._log.flush()
        return Path(self._log.name).read_text(encoding="utf-8", errors="replace")

    @property
    def last_line(self) -> str:
        return last_line(self.printed())

    def processor_seconds(self) -> float | None:
        """That it has used so far. None where the system does not tell."""
        try:
            fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
            return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        except (OSError, ValueError, IndexError, AttributeError):
            return None

    def whereabouts(self) -> Whereabouts:
        if self.gone or not hasattr(signal, "SIGUSR1") or not self._stack.exists():
            return Whereabouts()
        with suppress(ProcessLookupError):
            os.kill(self._process.pid, signal.SIGUSR1)
        written = ""
        for _ in range(int(_WRITING / _PAUSE)):
            time.sleep(_PAUSE)
            now = self._stack.read_text(errors="replace")
            if now and now == written:
                break
            written = now
        return whereabouts(written)

    def end(self, *, gently: bool) -> None:
        self._child.end(_GRACE if gently else 0.0)
