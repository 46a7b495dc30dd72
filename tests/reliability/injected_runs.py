"""Whole runs of pytest in a process of their own, in which something goes wrong; and all that they leave behind.

Each run is the leader of a session, has a folder for its temporary files, and writes every outlet that there is.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest_trainhealth

FAKE_ENGINE = Path(__file__).parent.parent / "plugin/fake_engine.py"
_PACKAGE_FOLDER = str(Path(pytest_trainhealth.__file__).parent.parent)
#: What a project holds before the run, and what others leave whether we are there or not: pytest, torch's compiler, and
#: workers of a DataLoader that are killed (`pymp-...`, which a worker removes when it ends by itself).
_EXPECTED = re.compile(
    r"(test_\w+|conftest|\w+_plugin)\.py|__pycache__|\.pytest_cache|ready\w*|out\w*\.(json|xml)|tmp|full"
    r"|pytest-of-\w+|torchinductor_\w+|pymp-\w+"
)
#: Seconds: far more than any of these runs takes, also on a machine that is slow and busy.
_PATIENCE = 600


@dataclass(frozen=True)
class Ended:
    """A run that is over."""

    folder: Path
    code: int
    output: str
    running: list[str]
    #: Names in its folder for temporary files.
    temporary: list[str]

    @property
    def document(self) -> dict[str, Any]:
        loaded: dict[str, Any] = json.loads((self.folder / "out.json").read_text())
        return loaded

    @property
    def in_json(self) -> dict[str, str]:
        """Outcomes by the name of the test."""
        told = (*self.document["verdicts"], *self.document["errors"])
        return {_test(entry["nodeid"]): entry["outcome"] for entry in told}

    @property
    def in_junit(self) -> dict[str, str] | None:
        """None if there is no such file: pytest writes it when it ends, and was not asked to."""
        file = self.folder / "out.xml"
        if not file.exists():
            return None
        named = [case for case in ElementTree.parse(file).iter("testcase") if case.get("name")]  # not those cut short
        return {
            _test(str(case.get("name"))): ("passed" if {part.tag for part in case} <= {"properties"} else "failed")
            for case in named
        }

    @property
    def in_summary(self) -> set[str] | None:
        """Tests with a line of the section "training health"; None if there is no such section."""
        _, found, section = self.output.partition("- training health -")
        return set(re.findall(r"^(test_\w+)", section, re.MULTILINE)) if found else None

    @property
    def left(self) -> list[str]:
        """Processes and files that should not be there any more."""
        files = [path.name for path in self.folder.iterdir() if not _EXPECTED.fullmatch(path.name)]
        temporary = [name for name in self.temporary if not _EXPECTED.fullmatch(name)]
        return [*self.running, *files, *temporary]


class Run:
    """Starts at once; `wait` says how it has ended."""

    def __init__(self, folder: Path, *options: str, enforced: bool = True) -> None:
        self.folder = folder
        (folder / "tmp").mkdir(exist_ok=True)
        # Not in the folder: its path is so long under xdist that no socket can be made there (108 characters at most),
        # and then the workers of a loader hand on nothing, and torch waits for them without an end.
        self.temporary = Path(tempfile.mkdtemp(prefix="run"))
        asked = ["--trainhealth", "--trainhealth-json=out.json"] if enforced else []
        plugins = ["-p", "no:hypothesispytest", "-p", "no:benchmark"]
        paths = (_PACKAGE_FOLDER, str(folder), os.environ.get("PYTHONPATH", ""))
        self.process = subprocess.Popen(
            [sys.executable, "-m", "pytest", *asked, "--junitxml=out.xml", *plugins, *options],
            cwd=folder,
            env={
                **os.environ,
                "PYTHONPATH": os.pathsep.join(filter(None, paths)),
                "TMPDIR": str(self.temporary),
                "COLUMNS": "100",
            },
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,  # not a file, on which a limit on the size of files would bear, too
            stderr=subprocess.STDOUT,
            start_new_session=True,
            # a job in the background of a shell ignores Ctrl-C, and so would its children
            preexec_fn=_listen_to_ctrl_c if os.name == "posix" else None,
        )
        self._output: list[bytes] = []
        self._reader = threading.Thread(target=lambda: self._output.extend(self.process.stdout or ()), daemon=True)
        self._reader.start()

    def until(self, file: str) -> Run:
        """Waits until a test has made this file."""
        deadline = time.monotonic() + _PATIENCE
        while not (self.folder / file).exists():
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise AssertionError(f"{file} was never made:\n{self._read()}")
            time.sleep(0.02)
        return self

    def send(self, number: int, *, to_group: bool = False) -> Run:
        """A terminal sends Ctrl-C to the whole group, a CI server mostly to the one process that it knows."""
        if to_group:
            os.killpg(self.process.pid, number)
        else:
            self.process.send_signal(number)
        return self

    def wait(self) -> Ended:
        try:
            code = self.process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            _still_running(self.process.pid)  # they hold the other end of its output
            self._reader.join(_PATIENCE)
            raise AssertionError(f"it has not ended:\n{self._read()}") from None
        running = _still_running(self.process.pid)
        self._reader.join(_PATIENCE)  # it ends when the last process has closed its end
        temporary = [path.name for path in self.temporary.iterdir()]
        shutil.rmtree(self.temporary, ignore_errors=True)
        return Ended(self.folder, code, self._read(), running, temporary)

    def _read(self) -> str:
        return b"".join(self._output).decode(errors="replace")


def run(folder: Path, *options: str, **how: Any) -> Ended:
    return Run(folder, *options, **how).wait()


def _listen_to_ctrl_c() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def _test(nodeid: str) -> str:
    return nodeid.rpartition("::")[2].partition("[")[0]


def _still_running(session: int) -> list[str]:
    """Processes of the run, some seconds after it: workers need a moment to see that they are alone. Those that are
    found are ended, so that they do not disturb other tests."""
    deadline = time.monotonic() + 10
    while list(_of_session(session)) and time.monotonic() < deadline:
        time.sleep(0.05)
    found = list(_of_session(session))
    for process, _ in found:
        os.kill(process, signal.SIGKILL)
    return [f"process {command}" for _, command in found]


def _of_session(session: int) -> Iterator[tuple[int, str]]:
    """By /proc: elsewhere nobody says which processes are only waiting to be noticed."""
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            # the command's name stands in parentheses, and may hold any
            state, _, _, of_session, *_ = (entry / "stat").read_text().rpartition(")")[2].split()
            if int(of_session) == session and state != "Z":
                yield int(entry.name), (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except (OSError, ValueError):  # it has ended meanwhile
            continue
