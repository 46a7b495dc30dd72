"""Whatever happens to a run: each verdict that was there is in each outlet that is written at all, `complete` tells the
truth, nothing keeps running and nothing is left behind.

A process that is gone at once writes no more summary and no more JUnit file, which pytest writes when it ends; its
verdicts are in the JSON report. What each platform can do to a process decides which faults there are.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from .injected_runs import FAKE_ENGINE, Ended, Run, run

PLAIN_AND_WORKERS = pytest.mark.parametrize("options", [(), ("-n2",)], ids=["plain", "workers"])
#: Three trainings, judged without torch. The second waits until the others are judged, as far as they come before it.
THREE = """
import ctypes, os, signal, sys, time
import pytest
from pytest_trainhealth import Training

pytestmark = pytest.mark.gradients_flow

def others_are_judged():
    wanted = 2 if "PYTEST_XDIST_WORKER" in os.environ else 1
    while open("out.json").read().count('"nodeid"') < wanted:
        time.sleep(0.02)
    time.sleep(0.2)  # their teardowns

def test_first():
    return Training()

def test_second():
    others_are_judged()
    DEED
    return Training()

def test_third():
    return Training()
"""
AT_ONCE = THREE.replace("others_are_judged()\n    DEED", "pass")
#: What a test can do that ends its process at once.
ENDS = {
    "_exit": "os._exit(3)",
    "abort": "os.abort()",
    "segfault": "ctypes.string_at(0)",
    **({"SIGKILL": "os.kill(os.getpid(), signal.SIGKILL)"} if hasattr(signal, "SIGKILL") else {}),
}
WAITS = "open('ready', 'w').close(); time.sleep(60)"
#: What is sent from outside, and whether to the whole group.
SIGNALS = {
    "SIGINT": [(signal.SIGINT, False)],
    "SIGINT as from a terminal": [(signal.SIGINT, True)],
    "SIGINT twice": [(signal.SIGINT, False), (signal.SIGINT, False)],
    "SIGTERM": [(signal.SIGTERM, False)],
    "SIGTERM to all": [(signal.SIGTERM, True)],
}

Project = Callable[[str], Path]


@pytest.fixture
def project(tmp_path: Path) -> Project:
    def make(deed: str) -> Path:
        (tmp_path / "conftest.py").write_text(FAKE_ENGINE.read_text())
        (tmp_path / "test_it.py").write_text(THREE.replace("DEED", deed))
        return tmp_path

    return make


def judged(options: tuple[str, ...]) -> set[str]:
    """The tests that have their verdict when the second one meets its fault."""
    return {"test_first", "test_third"} if options else {"test_first"}


def agree(ended: Ended, tests: set[str]) -> None:
    """Summary, JSON and JUnit hold the verdicts of these tests."""
    assert {test for test, outcome in ended.in_json.items() if outcome == "passed"} == tests
    assert ended.in_summary == tests
    assert {test for test, outcome in (ended.in_junit or {}).items() if outcome == "passed"} == tests


# -- the process that runs the test is gone ------------------------------------------------------------------


@pytest.mark.parametrize("deed", ENDS.values(), ids=ENDS)
def test_the_only_process_ends(project: Project, deed: str) -> None:
    ended = run(project(deed))
    assert ended.code != 0
    assert ended.in_json == {"test_first": "passed"}
    assert ended.document["complete"] is False
    assert (ended.in_summary, ended.in_junit) == (None, None)
    assert ended.left == []


@pytest.mark.parametrize("deed", ENDS.values(), ids=ENDS)
def test_a_worker_ends(project: Project, deed: str) -> None:
    ended = run(project(deed), "-n2")
    agree(ended, {"test_first", "test_third"})
    assert ended.in_json["test_second"] == "worker died"
    assert (ended.in_junit or {})["test_second"] == "failed"
    assert ended.document["complete"] is True
    assert ended.left == []


@pytest.mark.parametrize("number", [signal.SIGKILL] if hasattr(signal, "SIGKILL") else [])
def test_the_controller_is_killed(project: Project, number: int) -> None:
    """Its workers see that nobody listens any more."""
    ended = Run(project(WAITS.replace("60", "3")), "-n2").until("ready").send(number).wait()
    assert ended.in_json == dict.fromkeys(("test_first", "test_third"), "passed")
    assert ended.document["complete"] is False
    assert ended.left == []


# -- it is told to end ---------------------------------------------------------------------------------------


#: Workers that were not told are given 10 s by xdist: `tox -e faults`.
TOLD = [
    pytest.param(sent, options, id=f"{name}-{how}", marks=[pytest.mark.faults] if options and not sent[0][1] else [])
    for name, sent in SIGNALS.items()
    for options, how in (((), "plain"), (("-n2",), "workers"))
]


@pytest.mark.parametrize(("sent", "options"), TOLD)
def test_it_is_told_to_end(project: Project, options: tuple[str, ...], sent: list[tuple[int, bool]]) -> None:
    running = Run(project(WAITS), *options).until("ready")
    for number, to_group in sent:
        running.send(number, to_group=to_group)
    ended = running.wait()
    assert ended.code != 0
    assert {test for test, outcome in ended.in_json.items() if outcome == "passed"} == judged(options)
    assert ended.document["complete"] is False
    if len(sent) == 1:  # the second one may come while pytest shows what there is, and says that it was enough
        agree(ended, judged(options))
        assert ended.document["interrupted"] is True
    assert ended.left == []


SIGTERM_OF_SOMEBODY = """
import signal
import pytest

seen = []

@pytest.fixture(autouse=True, scope="session")
def own_handler():
    before = signal.signal(signal.SIGTERM, lambda number, frame: seen.append(number))
    yield
    signal.signal(signal.SIGTERM, before)
    assert seen == [signal.SIGTERM]
"""


def test_a_handler_of_the_user_is_left_alone(project: Project) -> None:
    folder = project("signal.raise_signal(signal.SIGTERM)")
    (folder / "own_plugin.py").write_text(SIGTERM_OF_SOMEBODY)
    ended = run(folder, "-p", "own_plugin")
    assert ended.code == 0
    agree(ended, {"test_first", "test_second", "test_third"})


FORKS = """child = os.fork()
    if not child:
        time.sleep(60)
        os._exit(0)
    os.kill(child, signal.SIGTERM)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGTERM"""


@pytest.mark.parametrize("deed", [FORKS] if hasattr(os, "fork") else [])
def test_a_forked_process_ends_on_sigterm_as_ever(project: Project, deed: str) -> None:
    ended = run(project(deed))
    assert ended.code == 0
    assert ended.left == []


# -- the disk is full ----------------------------------------------------------------------------------------

LIMITED = """
import resource, signal
import pytest

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)

@pytest.hookimpl(tryfirst=True)
def pytest_runtest_logreport(report):
    if "test_second" in report.nodeid:
        resource.setrlimit(resource.RLIMIT_FSIZE, (BYTES, resource.RLIM_INFINITY))
"""


@PLAIN_AND_WORKERS
@pytest.mark.parametrize("room", [0, 200] if hasattr(signal, "SIGXFSZ") else [])
def test_no_room_for_any_report(project: Project, options: tuple[str, ...], room: int) -> None:
    """Neither for ours nor for pytest's JUnit file: summary and failures are shown, and the run is not green."""
    folder = project("")
    (folder / "test_it.py").write_text(AT_ONCE)
    (folder / "full_plugin.py").write_text(LIMITED.replace("BYTES", str(room)))
    ended = run(folder, "-p", "full_plugin", "-p", "no:cacheprovider", *options)
    assert ended.code == pytest.ExitCode.TESTS_FAILED
    assert ended.in_summary == {"test_first", "test_second", "test_third"}
    assert "3 passed" in ended.output
    assert "--trainhealth-json: cannot write " in ended.output
    assert "_pytest.junitxml did not finish: OSError: [Errno 27] File too large" in ended.output
    assert "Traceback" not in ended.output
    assert ended.document["complete"] is False
    assert set(ended.in_json.values()) <= {"passed"}
    assert ended.left == []


# -- two runs at once ----------------------------------------------------------------------------------------


@PLAIN_AND_WORKERS
def test_two_runs_in_one_folder(project: Project, options: tuple[str, ...]) -> None:
    """Each writes the whole file when it ends, so the file is that of one of them."""
    folder = project("")
    (folder / "test_it.py").write_text(AT_ONCE)
    both = [Run(folder, *options), Run(folder, *options)]
    for ended in [each.wait() for each in both]:
        assert ended.code == 0
        assert ended.in_summary == {"test_first", "test_second", "test_third"}
        agree(ended, {"test_first", "test_second", "test_third"})
        assert ended.document["complete"] is True
        assert ended.left == []
