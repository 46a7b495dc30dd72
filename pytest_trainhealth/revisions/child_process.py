"""A process of this package as seen from outside: started, spoken to and, whatever happens in between, ended."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO

import pytest_trainhealth

from .protocol import Client, Ended

#: It uses this very package, which is found by its folder, whatever its import path is going to be.
_PACKAGES = Path(pytest_trainhealth.__file__).resolve().parent.parent


class ChildProcess:
    """`module`: what runs in it, by name and with a `main()`. `log`: gets what it writes to stderr."""

    def __init__(self, module: str, log: IO[str], environment: Mapping[str, str]) -> None:
        self._log = log
        start = f"import sys; sys.path.insert(0, sys.argv.pop(1)); from {module} import main; main()"
        self.process = subprocess.Popen(
            [sys.executable, "-c", start, str(_PACKAGES)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            encoding="utf-8",
            env=dict(environment),
            # a group of its own, which is killed as a whole; and Ctrl-C reaches only the parent, which then ends it
            start_new_session=True,
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.client = Client(self.process.stdin, self.process.stdout)

    def end(self, grace: float) -> None:
        """Asks the process to quit, then kills its whole group: a DataLoader's workers are in it. 0: at once."""
        try:
            if grace and self.process.poll() is None:
                with suppress(Ended):
                    self.client.send(ask="quit")
                with suppress(subprocess.TimeoutExpired):
                    self.process.wait(grace)
        finally:
            self._kill()
            self.process.wait()
            self.client.close()
            self._log.close()

    def _kill(self) -> None:
        if hasattr(os, "killpg"):
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.process.pid, signal.SIGKILL)
        elif self.process.poll() is None:
            self.process.kill()
