"""Whatever a test does on a side, whoever asked gets an answer, and the right one."""

from __future__ import annotations

import io
import sys
import time
from contextlib import nullcontext, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pytest_trainhealth.engine.request import Request
from pytest_trainhealth.plugin import revision_process
from pytest_trainhealth.plugin.revision_process import Service
from pytest_trainhealth.plugin.serve_plugin import ServePlugin as InPytest
from pytest_trainhealth.programs.plan import RunPlan
from pytest_trainhealth.revisions import compare
from pytest_trainhealth.revisions.git import CannotCompare, OutOfTime
from pytest_trainhealth.revisions.protocol import Client, Ended, Message, Server, Silence
from pytest_trainhealth.revisions.revision import Revision
from pytest_trainhealth.settings import WrongSetting


class Heard:
    """An answerer that keeps what is said."""

    def __init__(self) -> None:
        self.said: list[Message] = []

    def send(self, **answer: Any) -> None:
        self.said.append(answer)


@pytest.mark.parametrize(
    ("raised", "said"),
    [
        (pytest.skip.Exception("no data"), {"skipped": "no data"}),
        (pytest.fail.Exception("bad data"), {"raised": "Failed: bad data"}),
        (SystemExit(3), {"raised": "SystemExit: 3"}),
        (ValueError("odd data\nvery odd"), {"raised": "ValueError: odd data"}),
    ],
)
def test_a_test_that_does_not_get_to_its_training(raised: BaseException, said: Message) -> None:
    def subject() -> None:
        raise raised

    heard = Heard()
    service = Service(heard, {"seed": 0, "threads": 1, "device": None, "promised": 45})  # type: ignore[arg-type]
    passed_on = not isinstance(raised, Exception)  # pytest's, or the system's
    with pytest.raises(type(raised)) if passed_on else nullcontext() as caught:
        service.give(subject)
    assert caught is None or caught.value is raised
    assert heard.said == [said]


def test_a_process_that_ends_before_it_has_answered(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A conftest.py that calls sys.exit(), for one: whoever waits is told, before the process waits for its own end."""
    heard = Heard()
    order = {"path": sys.path[:], "folder": str(tmp_path), "worktree": None}

    def deserted() -> bool:
        assert heard.said == [{"raised": "SystemExit: set DATA_DIR first"}]
        return False

    def serve(service: Service) -> None:
        sys.exit("set DATA_DIR first")

    heard.requests = lambda: iter([order])  # type: ignore[attr-defined]
    heard.owes, heard.deserted = True, deserted  # type: ignore[attr-defined]
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(revision_process, "Server", lambda: heard)
    monkeypatch.setattr(revision_process, "serve", serve)
    with pytest.raises(SystemExit):
        revision_process.main()
    assert len(heard.said) == 1


def test_whether_somebody_waits() -> None:
    server = object.__new__(Server)
    server.dismissed, server.owes = False, False
    server._requests, server._answers = io.StringIO('{"ask": "steps"}\n{"ask": "quit"}\n'), io.StringIO()  # type: ignore[assignment]
    for _ in server.requests():
        assert server.owes
        server.send(seconds=[])
        assert not server.owes
    assert server.dismissed
    assert not server.owes


@pytest.mark.parametrize(("error", "grace"), [(None, 10.0), (CannotCompare("it raises there"), 3.0)])
def test_how_long_a_process_is_waited_for(error: Exception | None, grace: float) -> None:
    """After a whole comparison it has its workers' files to remove; else somebody wants to go on."""
    side, waited = side_that_says()[0], list[float]()
    side.end = waited.append  # type: ignore[method-assign, assignment]
    with suppress(CannotCompare), side:
        if error is not None:
            raise error
    assert waited == [grace]


def test_a_test_that_is_skipped_before_it_begins() -> None:
    side = InPytest(Service(Heard(), {"check": "keeps_throughput"}))  # type: ignore[arg-type]
    side.pytest_runtest_logreport(SimpleNamespace(passed=False, longrepr=("a.py", 3, "Skipped: later")))  # type: ignore[arg-type]
    assert side.complaint == {"skipped": "later"}


class Told:
    """A caller that hears these answers, one after the other, and then nothing any more."""

    def __init__(self, *answers: Message) -> None:
        self.answers, self.asked = list(answers), 0

    def send(self, **request: Any) -> None:
        self.asked += 1

    def answer(self, seconds: float) -> Message:
        if not self.answers:
            raise Silence
        return self.answers.pop(0)


def side_that_says(*answers: Message, printed: str = "") -> tuple[Revision, Told]:
    side, told = object.__new__(Revision), Told(*answers)
    side.name, side._deadline, side._late, side._client = "at main", time.monotonic() + 60, False, told  # type: ignore[assignment]
    side._is_other, side._log = True, io.StringIO(printed)  # type: ignore[assignment]
    return side, told


HINT = "what git does not hold at that revision (ignored files, submodules) is not there"
CONFTEST = """
ImportError while loading conftest '/tmp/somewhere/conftest.py'.
conftest.py:1: in <module>
    import nope
E   ModuleNotFoundError: No module named 'nope'
"""


def test_files_that_are_missing_here_too_are_not_gits_matter() -> None:
    side = side_that_says({"raised": "ImportError: no cuda"})[0]
    side._is_other = False
    with pytest.raises(CannotCompare, match=r"ImportError: no cuda$"):
        side.ready()


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ({"skipped": "no data"}, "the test is skipped at main: no data"),
        ({"skipped": ""}, "the test is skipped at main"),
        ({"raised": "Failed: bad data"}, "the test raises at main: Failed: bad data"),
        (
            {"raised": "FileNotFoundError: [Errno 2] No such file or directory: 'data.pt'"},
            "the test raises at main: FileNotFoundError: [Errno 2] No such file or directory: 'data.pt': " + HINT,
        ),
        (
            {"ended": 4},
            "pytest ended at main before it looked for tests, with exit code 4: "
            "ModuleNotFoundError: No module named 'nope': " + HINT,
        ),
    ],
)
def test_why_there_is_nothing_to_compare(answer: Message, reason: str) -> None:
    with pytest.raises(CannotCompare) as caught:
        side_that_says(answer, printed=CONFTEST)[0].ready()
    assert str(caught.value) == reason


def test_who_was_late_once_is_not_asked_again() -> None:
    """The answer that comes next would be the one to an earlier question."""
    side, told = side_that_says()
    with pytest.raises(OutOfTime, match=r"did not answer in time \(steps\): the time budget was used up"):
        side.steps(1, 3)
    told.answers.append({"seconds": [1.0]})
    with pytest.raises(OutOfTime, match=r"did not answer in time \(losses\)"):
        side.ask("losses", 20)
    assert told.asked == 1


def test_what_others_print_is_no_answer() -> None:
    """Into the stream of answers, before the process could take it for itself."""
    requests, answers = io.StringIO(), io.StringIO('site is customised\n{"ready": true}\n')
    client = Client(requests, answers)
    assert client.answer(5) == {"ready": True}
    with pytest.raises(Ended):
        client.answer(5)


def test_an_empty_revision_is_a_mistake() -> None:
    """As of a variable of a CI that is not set."""
    for empty in ("", " "):
        request = Request("keeps_throughput", "it", 0, {"against": empty})
        with pytest.raises(WrongSetting, match=r"against: the revision is empty: is a variable not set\?"):
            compare.with_revision(None, request, RunPlan(max_steps=1))
