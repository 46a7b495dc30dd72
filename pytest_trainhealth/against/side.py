"""One side from outside: a process that is started, asked and ended, whatever happens in between."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from .git import CannotCompare
from .talking import Caller, Ended, Message, Silence

#: The plugin is this very one on both sides: found by its folder, whatever the import path is going to be.
_START = "import sys; sys.path.insert(0, sys.argv.pop(1)); from pytest_trainhealth.against.child import main; main()"
_PACKAGES = Path(__file__).resolve().parents[2]
_UNTIL_READY = 240.0
_GRACE = 3.0


class Side:
    """`name` as it is told: 'here', or 'at origin/main'."""

    def __init__(self, name: str, order: Message, deadline: float) -> None:
        self.name, self._deadline = name, deadline
        self._log = tempfile.TemporaryFile("w+", errors="replace")  # noqa: SIM115
        self._process = subprocess.Popen(
            [sys.executable, "-c", _START, str(_PACKAGES)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
            encoding="utf-8",
            env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
            start_new_session=True,  # Ctrl-C is for us, and we end it
        )
        assert self._process.stdin is not None and self._process.stdout is not None
        self._caller = Caller(self._process.stdin, self._process.stdout)
        with suppress(Ended):  # then there is no answer either, and that is told
            self._caller.send(**order)

    def ready(self) -> None:
        answer = self._answer(_UNTIL_READY, "did not build its training")
        if answer.get("missing"):
            raise CannotCompare(f"the test does not exist {self.name}")
        if "unfit" in answer:
            raise CannotCompare(answer["unfit"])
        if answer["strangers"]:
            first, more = answer["strangers"][0], len(answer["strangers"]) - 1
            rest = f" and {more} more" if more else ""
            raise CannotCompare(f"{first}{rest} of the project did not come from its own folder {self.name}")

    def steps(self, count: int) -> Sequence[float]:
        seconds: list[float] = self.ask("steps", count)["seconds"]
        return seconds

    def ask(self, what: str, count: int) -> Message:
        with suppress(Ended):
            self._caller.send(ask=what, count=count)
        return self._answer(self._deadline - time.monotonic(), f"did not answer in time ({what})")

    def _answer(self, seconds: float, complaint: str) -> Message:
        try:
            answer = self._caller.answer(min(seconds, self._deadline - time.monotonic()))
        except Silence:
            raise CannotCompare(f"the process {self.name} {complaint}: the time budget was used up") from None
        except Ended:
            raise CannotCompare(f"the process {self.name} ended by itself: {self._last_words()}") from None
        if "raised" in answer:
            raise CannotCompare(f"the test raises {self.name}: {answer['raised']}")
        return answer

    def _last_words(self) -> str:
        code = self._process.wait(_GRACE)
        if code < 0:
            return f"killed by {signal.Signals(-code).name}"
        self._log.seek(0)
        said = [line.strip() for line in self._log if line.strip()]
        return said[-1] if said else f"exit code {code}"

    def end(self) -> None:
        """Gently, then not: the whole group, for a DataLoader's workers are in it."""
        try:
            if self._process.poll() is None:
                with suppress(Ended):
                    self._caller.send(ask="quit")
                with suppress(subprocess.TimeoutExpired):
                    self._process.wait(_GRACE)
        finally:
            self._kill()
            self._process.wait()
            self._caller.close()
            self._log.close()

    def _kill(self) -> None:
        if hasattr(os, "killpg"):
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
        elif self._process.poll() is None:
            self._process.kill()

    def __enter__(self) -> Side:
        return self

    def __exit__(self, *_: Any) -> None:
        self.end()
