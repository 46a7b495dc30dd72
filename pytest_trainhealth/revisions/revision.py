"""A revision as seen from outside: a process that is started, asked and, whatever happens in between, ended."""

from __future__ import annotations

import os
import signal
import tempfile
from contextlib import suppress
from typing import Any

import pytest_trainhealth

from ..budget import monotonic
from .child_process import ChildProcess
from .error_lines import last_line, with_hint
from .git import CannotCompare, OutOfTime
from .protocol import Ended, Message, Silence
from .step_sync import Pace, Taken

#: What runs in the process of a revision. Given by name, because it belongs to the plugin, which this room may not
#: import.
PROCESS = f"{pytest_trainhealth.__name__}.plugin.revision_process"
#: Seconds until a revision has imported the test and built its training. By judgement: 4 minutes are enough to import
#: torch and build a large model on a busy machine.
_UNTIL_READY = 240.0
#: Seconds until a process that was told to quit is killed. After a whole comparison on a busy machine 3 s were not
#: enough, and the temporary folder of its workers was left behind; but a user who has pressed Ctrl-C does not want to
#: wait.
_GRACE, _SHORT_GRACE = 10.0, 3.0


class Revision:
    """`name` is how messages refer to it: 'here', or 'at origin/main'."""

    def __init__(self, name: str, order: Message, deadline: float) -> None:
        self.name, self._deadline = name, deadline
        #: It computes on the CPU; known once it is ready.
        self.computes_itself = False
        self._late = False
        self._is_other = order.get("root") != order.get("top")
        self._log = tempfile.TemporaryFile("w+", errors="replace")  # noqa: SIM115
        # all options for pytest are in the order
        environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "PYTEST_ADDOPTS": ""}
        self._child = ChildProcess(PROCESS, self._log, environment)
        self._client, self._process = self._child.client, self._child.process
        with suppress(Ended):  # then there is no answer either, and `ready` says so
            self._client.send(**order)

    def ready(self) -> None:
        answer = self._answer(_UNTIL_READY, "did not build its training")
        if answer.get("missing"):
            raise CannotCompare(f"the test does not exist {self.name}")
        if "unfit" in answer:
            raise CannotCompare(answer["unfit"])
        if answer["foreign_modules"]:
            first, more = answer["foreign_modules"][0], len(answer["foreign_modules"]) - 1
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
        if self._late:  # its next answer would belong to an earlier request
            raise OutOfTime(f"the process {self.name} {complaint}: the time budget was used up")
        with suppress(Ended):
            self._client.send(ask=what, count=count, **more)
        return self._answer(self._deadline - monotonic.now(), complaint)

    def _answer(self, seconds: float, complaint: str) -> Message:
        try:
            answer = self._client.answer(min(seconds, self._deadline - monotonic.now()))
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
        """Reads to the end, because the process goes on writing at the position where this leaves the file."""
        self._log.seek(0)
        return self._log.read()

    def _hinted(self, message: str) -> str:
        return with_hint(message) if self._is_other else message

    def end(self, grace: float = _SHORT_GRACE) -> None:
        self._child.end(grace)

    def __enter__(self) -> Revision:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: Any) -> None:
        self.end(_GRACE if kind is None else _SHORT_GRACE)
