"""Processes that answer, and those that do not: whatever is the matter is told in one line."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from pytest_trainhealth.records.comparison import Comparison
from pytest_trainhealth.revisions import compare as comparison
from pytest_trainhealth.revisions.compare import Terms, compare
from pytest_trainhealth.revisions.git import CannotCompare
from pytest_trainhealth.revisions.import_paths import Folders
from pytest_trainhealth.revisions.revision import Revision
from pytest_trainhealth.revisions.step_sync import Pace
from pytest_trainhealth.revisions.test_locator import TestLocator, of_function
from pytest_trainhealth.revisions.timed_run import LONGEST
from pytest_trainhealth.revisions.worktree import Worktree
from pytest_trainhealth.settings import WrongSetting

from .repository import Repository, training_file

Start = Callable[..., Revision]


pytestmark = pytest.mark.timing


@pytest.fixture
def start(tmp_path: Path) -> Start:
    """A side for the function `training` of a file with this text."""

    def started(text: str, name: str = "training", seconds: float = 120) -> Revision:
        folder = tmp_path.resolve()
        (folder / "train.py").write_text(text)
        folders = Folders(folder, folder)
        order = TestLocator(folder / "train.py", folder, name).order(folders, folder / "cache")
        order |= {"seed": 0, "threads": 1, "device": None, "promised": 45, "top": str(folder), "root": str(folder)}
        order["worktree"] = Worktree(folder, folder / "nowhere", folder / "nowhere" / "worktree").to_json()
        return Revision("at main", {**order, "path": folders.import_path(sys.path, {})}, time.monotonic() + seconds)

    return started


def test_a_training_answers(start: Start) -> None:
    with start("print('hello')\n" + training_file(3, 8)) as side:
        side.ready()
        assert side.begin(Pace()) == Pace(max_steps=LONGEST)
        assert side.begin(Pace(max_steps=100)) == Pace(max_steps=100)
        taken = side.steps(1, 4)
        assert len(taken.seconds) == 4
        assert not taken.broke_off
        assert all(0 <= wait < whole for wait, whole in zip(taken.waits, taken.seconds, strict=True))
        losses = side.ask("losses", 5)["losses"]
        assert len(losses) == 5
        assert losses[0] > 0
        side.steps(1, 2)
        assert side.ask("losses", 5)["losses"] == losses  # from the start each time
        assert 3 < side.ask("memorise", 200)["steps"] < 200
        assert side.ask("memorise", 3)["steps"] is None
        assert side.ask("profile", 2)["operators"]["aten::mm"] > 0


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("1 / 0", "the test raises at main: ZeroDivisionError: division by zero"),
        ("import no_such_thing", "the test raises at main: ModuleNotFoundError: No module named 'no_such_thing'"),
        ("def other(): pass", "the test does not exist at main"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "at main ended by itself: killed by SIGKILL"),
        ("import os, sys; print('too bad', file=sys.stderr); sys.stderr.flush(); os._exit(3)", "by itself: too bad"),
        ("import os; os._exit(3)", "the process at main ended by itself: exit code 3"),
        ("def training(): return None", "only a test that returns a Training can be compared"),
        ("import pytest\ndef training(): pytest.skip('no data')", "the test is skipped at main: no data"),
        ("import pytest; pytest.skip('no data', allow_module_level=True)", "the test is skipped at main: no data"),
        ("import sys; sys.exit('set DATA_DIR first')", "the test raises at main: SystemExit: set DATA_DIR first"),
        ("def training(:", r"the test raises at main: SyntaxError: .*\(train.py, line 1\)"),
        ("def training(): raise SystemExit(3)", "the test raises at main: SystemExit: 3"),
    ],
)
def test_a_training_that_is_not_to_be_had(start: Start, text: str, said: str) -> None:
    with start(text) as side, pytest.raises(CannotCompare, match=said):
        side.ready()


def test_a_side_that_hangs(start: Start) -> None:
    hangs = "import subprocess, sys, time\nsubprocess.Popen([sys.executable, '-c', 'import time; time.sleep(300)'])\n"
    said = "the process at main did not build its training: the time budget"
    with start(hangs + "time.sleep(300)", seconds=1.5) as side, pytest.raises(CannotCompare, match=said):
        side.ready()


def test_steps_that_raise(start: Start) -> None:
    """The losses are in vain then, but whoever asks next is answered."""
    with start(training_file(1, 8).replace("return self.inner(x)", "return self.inner(x[:, :3])")) as side:
        side.ready()
        with pytest.raises(CannotCompare, match="the test raises at main: RuntimeError: mat1 and mat2 shapes"):
            side.ask("losses", 2)
        with pytest.raises(CannotCompare, match="RuntimeError"):
            side.steps(1, 1)


def compared(repository: Repository, revision: str = "HEAD", seconds: float = 120) -> Comparison:
    locator = TestLocator(repository.folder / "train.py", repository.folder, "training")
    return compare(locator, terms(revision, 0.5, seconds))


def terms(revision: str, tolerance: float, seconds: float) -> Terms:
    deadline = time.monotonic() + seconds
    return Terms(revision, tolerance, deadline, "keeps_throughput", seed=0, threads=1, device=None, promised=45)


def test_a_slower_revision(repository: Repository) -> None:
    repository.write("train.py", training_file(20, 96))
    repository.write("requirements.txt", "torch")
    repository.commit()
    repository.write("train.py", training_file(80, 96).replace("parameters(), 0.1)", "parameters(), 1.0)"))
    repository.write("requirements.txt", "torch>2")
    found = compared(repository)
    assert found.outcome == "slower"
    assert found.low > 1.25
    assert found.current > found.other
    assert found.grown[0].name == "aten::mm"
    assert found.notes[:2] == (
        "compared with uncommitted changes in 2 files",
        "requirements.txt differ from HEAD: both sides ran with what is installed now",
    )
    assert found.notes[2].startswith("losses differ from step 1 on: ")
    assert len(repository.worktrees) == 1


@pytest.mark.parametrize("where", ["paired", "_grown", "of_files"])
def test_ctrl_c_at_any_time(repository: Repository, monkeypatch: pytest.MonkeyPatch, where: str) -> None:
    repository.write("train.py", training_file(5, 8))
    repository.commit()

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(comparison, "decide", lambda *_: "slower")
    monkeypatch.setattr(comparison, where, interrupted)
    with pytest.raises(KeyboardInterrupt):
        compared(repository)
    assert len(repository.worktrees) == 1


def test_no_such_function_there(repository: Repository) -> None:
    repository.commit()
    repository.write("train.py", training_file(5, 8))
    found = compared(repository)
    assert (found.outcome, found.reason) == ("could not compare", "the test does not exist at HEAD")
    assert len(repository.worktrees) == 1


def test_modules_from_the_checkout_are_noticed(repository: Repository) -> None:
    """A module that is found by its absolute path is the same one on both sides."""
    repository.write("model.py", "")
    load = f"import sys\nsys.path.insert(0, {str(repository.folder)!r})\nimport model\n"
    repository.write("train.py", load + training_file(5, 8))
    repository.commit()
    assert compared(repository).reason == "model of the project did not come from its own folder at HEAD"


def test_a_wrong_revision(repository: Repository) -> None:
    repository.write("train.py", training_file(5, 8))
    repository.commit()
    with pytest.raises(WrongSetting, match="against: there is no revision 'mian' in the repository"):
        compared(repository, "mian")


def test_no_repository_at_all(tmp_path: Path) -> None:
    found = compare(TestLocator(tmp_path / "train.py", tmp_path, "training"), terms("HEAD", 0.1, 60))
    assert found.reason.endswith("is not in a git repository")


def test_functions_that_cannot_be_found_again() -> None:
    assert of_function(test_a_wrong_revision).function == "test_a_wrong_revision"
    for subject in (lambda: None, Revision, object()):
        with pytest.raises(CannotCompare, match="only a test, or a function at the top of a file"):
            of_function(subject)
