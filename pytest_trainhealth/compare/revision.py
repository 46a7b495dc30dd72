"""One side from outside: a process that is started, asked and ended, whatever happens in between."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest_trainhealth

from .error_lines import last_line, with_hint
from .git import CannotCompare, OutOfTime
from .protocol import Client, Ended, Message, Silence
from .step_sync import Pace, Taken

#: What runs in the process of a side. By name: it is on pytest's side, which nothing here may import.
PROCESS = f"{pytest_trainhealth.__name__}.plugin.revision_process"
#: The plugin is this very one on both sides: found by its folder, whatever the import path is going to be.
_START = f"import sys; sys.path.insert(0, sys.argv.pop(1)); from {PROCESS} import main; main()"
_PACKAGES = Path(pytest_trainhealth.__file__).resolve().parent.parent
#: Seconds until a side has imported the test and built its training. By judgement: four minutes are enough to import
#: torch and build a large model beside other work.
_UNTIL_READY = 240.0
#: Until a process that is told to quit is killed. After a whole comparison on a busy machine 3 s were not enough, and
#: the temporary folder of its workers was left; but whoever has pressed Ctrl-C does not want to wait.
_GRACE, _SHORT_GRACE = 10.0, 3.0


class Revision:
    """`name` as it is told: 'here', or 'at origin/main'."""

    def __init__(self, name: str, order: Message, deadline: float) -> None:
        self.name, self._deadline = name, deadline
        #: On the CPU, that is; known once it is ready.
        self.computes_itself = False
        self._late = False
        self._far = order.get("side") != order.get("top")
        self._log = tempfile.TemporaryFile("w+", errors="replace")  # noqa: SIM115
        self._process = subprocess.Popen(
            [sys.executable, "-c", _START, str(_PACKAGES)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
            encoding="utf-8",
            # the options that a run is to have are in its order
            env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "PYTEST_ADDOPTS": ""},
            start_new_session=True,  # Ctrl-C is for us, and we end it
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._caller = Client(self._process.stdin, self._process.stdout)
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
        self.computes_itself = answer["device"] == "cpu"

    def begin(self, pace: Pace) -> Pace:
        return Pace(**self.ask("begin", ahead=pace.ahead, max_steps=pace.max_steps))

    def steps(self, untimed: int, count: int) -> Taken:
        return Taken(**self.ask("steps", count, untimed=untimed))

    def use_threads(self, count: int) -> None:
        self.ask("threads", count)

    def ask(self, what: str, count: int = 0, **more: int) -> Message:
        complaint = f"did not answer in time ({what})"
        if self._late:  # its next answer is one to an earlier question
            raise OutOfTime(f"the process {self.name} {complaint}: the time budget was used up")
        with suppress(Ended):
            self._caller.send(ask=what, count=count, **more)
        return self._answer(self._deadline - time.monotonic(), complaint)

    def _answer(self, seconds: float, complaint: str) -> Message:
        try:
            answer = self._caller.answer(min(seconds, self._deadline - time.monotonic()))
        except Silence:
            self._late = True
            raise OutOfTime(f"the process {self.name} {complaint}: the time budget was used up") from None
        except Ended:
            raise CannotCompare(f"the process {self.name} ended by itself: {self._last_words()}") from None
        if "ended" in answer:
            message = f"pytest ended {self.name} before it looked for tests, with exit code {answer['ended']}"
            raise CannotCompare(self._hinted(": ".join(filter(None, (message, last_line(self._printed()))))))
        if "raised" in answer:
            raise CannotCompare(self._hinted(f"the test raises {self.name}: {answer['raised']}"))
        if "skipped" in answer:
            reason = f": {answer['skipped']}" if answer["skipped"] else ""
            raise CannotCompare(f"the test is skipped {self.name}{reason}")
        return answer

    def _last_words(self) -> str:
        code = self._process.wait(_SHORT_GRACE)
        if code < 0:
            return f"killed by {signal.Signals(-code).name}"
        return last_line(self._printed()) or f"exit code {code}"

    def _printed(self) -> str:
        """To its end, for the process writes on from where this leaves off."""
        self._log.seek(0)
        return self._log.read()

    def _hinted(self, message: str) -> str:
        return with_hint(message) if self._far else message

    def end(self, grace: float = _SHORT_GRACE) -> None:
        """Gently, then not: the whole group, for a DataLoader's workers are in it."""
        try:
            if self._process.poll() is None:
                with suppress(Ended):
                    self._caller.send(ask="quit")
                with suppress(subprocess.TimeoutExpired):
                    self._process.wait(grace)
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

    def __enter__(self) -> Revision:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: Any) -> None:
        self.end(_GRACE if kind is None else _SHORT_GRACE)
