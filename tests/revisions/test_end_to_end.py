"""As users have it: a repository, a marked test, `--trainhealth-against`.

What runs with every other test is what no other work on the machine can change: a step of several times the work, and
answers that come before anything is timed.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

from pytest_trainhealth.revisions.revision import PROCESS

from .conftest import processes, running
from .repository import TEST, Repository


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Repository:
    for outer in ("CI", "PYTEST_XDIST_WORKER", "PYTEST_ADDOPTS"):
        monkeypatch.delenv(outer, raising=False)
    monkeypatch.setenv("COLUMNS", "100")
    repository = Repository(pytester.path)
    repository.write(".gitignore", "*.pyc\n__pycache__\n.pytest_cache\n.benchmarks\n")
    return repository


def against(pytester: pytest.Pytester, *options: str) -> pytest.RunResult:
    """Another process, because an import of the project's modules into this one would outlive the test."""
    return pytester.runpytest_subprocess("--trainhealth", "--trainhealth-against=HEAD", "-rs", "-vv", *options)


def test_a_slower_one_fails(pytester: pytest.Pytester, project: Repository) -> None:
    project.train(work=20, test=TEST.replace("@pytest.mark.keeps_throughput", "@pytest.mark.gradients_flow"))
    project.commit()
    project.train(work=120, test=TEST.replace("throughput", "throughput(tolerance=0.5)"))
    result = against(pytester)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([
        "throughput-regression: a step takes * x the time of HEAD [[]*, *]",
        "  symptom * x the time of HEAD *at most 1.50 x allowed*",
        "*compared with uncommitted changes in * files*",
        "  cause     likely: what changed since then costs time in every step",
        "*operators that grew, own time in a step: aten::mm * -> * ms*",
        "  more      pytest --trainhealth-explain throughput-regression",
    ])  # fmt: skip
    assert len(project.worktrees) == 1


FIXTURE = """
    import torch
    from model import Slow
    from pytest_trainhealth import Training
    from torch import nn

    class TestSpeed:
        def test_it(self, trainhealth):
            for work in (1, 2):
                model = Slow()
                optimizer = torch.optim.SGD(model.parameters(), 0.1)
                data = [(torch.randn(8, 64), torch.randint(4, (8,))) for _ in range(4)]
                training = Training(model, optimizer, criterion=nn.CrossEntropyLoss(), data=data)
                trainhealth.gradients_flow(training)
            trainhealth.keeps_throughput(training, tolerance=3.0)
"""


@pytest.mark.timing
def test_through_the_fixture_from_a_src_layout(pytester: pytest.Pytester, project: Repository) -> None:
    """The checkout's src/ is on the path, as with an editable install; the other revision's comes first there."""
    project.train(work=100, test=FIXTURE)
    (project.folder / "src").mkdir()
    (project.folder / "model.py").rename(project.folder / "src" / "model.py")
    project.write("pytest.ini", "[pytest]\npythonpath = src\ntrainhealth_against = HEAD\n")
    project.commit()
    file = project.folder / "src" / "model.py"
    file.write_text(file.read_text().replace("WORK = 100", "WORK = 10"))
    result = pytester.runpytest_subprocess("--trainhealth", "--trainhealth-json=out.json")
    result.assert_outcomes(passed=1)
    told = (project.folder / "out.json").read_text()
    assert '"outcome": "passed"' in told
    assert '"against_high": 0.' in told


@pytest.mark.faults
@pytest.mark.parametrize(
    ("before", "reason"),
    [
        (None, "the test does not exist at HEAD"),
        ("import no_such_thing", "the test raises at HEAD: ModuleNotFoundError: No module named 'no_such_thing': *"),
        ("def (:", "the test raises at HEAD: SyntaxError: * (test_speed.py, line 1)"),
        (
            TEST.replace("test_speed()", "test_speed(broken)") + "\n    @pytest.fixture\n    def broken(): 1 / 0\n",
            "the test raises at HEAD: *ZeroDivisionError: division by zero",
        ),
        (TEST.replace("model = Slow()", "pytest.skip('no data')"), "the test is skipped at HEAD: no data"),
        (TEST.replace("    def test_", "    @pytest.mark.skip\n    def test_"), "the test is skipped at HEAD: *skip"),
    ],
    ids=["missing", "cannot be imported", "cannot be read", "fixture raises", "skips itself", "is skipped"],
)
def test_the_test_is_not_to_be_had_there(
    pytester: pytest.Pytester, project: Repository, before: str | None, reason: str
) -> None:
    project.train(work=1, test="" if before is None else before)
    project.commit()
    project.train(work=1)
    result = against(pytester)
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines([f"SKIPPED * keeps_throughput could not judge: not compared with HEAD: {reason}"])
    assert len(project.worktrees) == 1


@pytest.mark.faults
@pytest.mark.parametrize(
    ("conftest", "reason"),
    [
        ("import sys; sys.exit('set DATA_DIR first')", "the test raises at HEAD: SystemExit: set DATA_DIR first"),
        ("import nope", "*with exit code 4: ModuleNotFoundError: No module named 'nope': what git does not hold *"),
        ("def (:", "*with exit code 4: SyntaxError: * (conftest.py, line 1)"),
    ],
)
def test_a_conftest_that_does_not_go_well_there(
    pytester: pytest.Pytester, project: Repository, conftest: str, reason: str
) -> None:
    project.write("conftest.py", conftest)
    project.train(work=1)
    project.commit()
    project.write("conftest.py", "")
    began, result = time.monotonic(), against(pytester)
    assert time.monotonic() - began < 100  # at once, and not at the end of the budget: 180 s
    result.stdout.fnmatch_lines([f"SKIPPED * keeps_throughput could not judge: not compared with HEAD: {reason}"])


@pytest.mark.timing
def test_a_script_that_is_called_like_a_module_of_python(
    pytester: pytest.Pytester, project: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.write("profile.py", "raise SystemExit('a script, and none of yours')")
    project.train(work=100)
    (project.folder / "tests").mkdir()
    for name in ("model.py", "test_speed.py"):
        (project.folder / name).rename(project.folder / "tests" / name)
    project.commit()
    model = project.folder / "tests" / "model.py"
    model.write_text("import cProfile\n" + model.read_text().replace("WORK = 100", "WORK = 1"))
    monkeypatch.chdir(project.folder / "tests")  # in the path of `python -m pytest`; the top is not
    against(pytester).assert_outcomes(passed=1)


@pytest.mark.timing
def test_a_run_of_what_is_left_out_by_default(pytester: pytest.Pytester, project: Repository) -> None:
    """`addopts` says which tests are not for every run, and `-m` that this one is."""
    project.write("pytest.ini", "[pytest]\naddopts = -m 'not slow'\nmarkers = slow\n")
    project.train(work=100, test=TEST.replace("@pytest", "@pytest.mark.slow\n    @pytest", 1))
    project.commit()
    project.train(work=1, test=TEST.replace("@pytest", "@pytest.mark.slow\n    @pytest", 1))
    against(pytester, "-m", "slow").assert_outcomes(passed=1)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("mian", "there is no revision 'mian' in the repository *"),
        ("", "the revision is empty: is a variable not set[?]"),
    ],
)
def test_no_such_revision(pytester: pytest.Pytester, project: Repository, given: str, said: str) -> None:
    project.train(work=1, test=TEST.replace("@pytest", "@pytest.mark.gradients_flow\n    @pytest", 1))
    project.commit()
    result = pytester.runpytest_subprocess("--trainhealth", f"--trainhealth-against={given}")
    result.assert_outcomes(failed=1, passed=1)  # the other check has nothing to do with it
    result.stdout.fnmatch_lines([f"against: {said}"])


#: Who is started in the background of a script, as these tests may be, does not.
_HEARS_CTRL_C = "import signal, pytest; signal.signal(2, signal.default_int_handler); raise SystemExit(pytest.main())"


@pytest.mark.faults
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_run_that_is_stopped(pytester: pytest.Pytester, project: Repository, how: signal.Signals) -> None:
    """By Ctrl-C, by a CI that ends its job, or by force: then the sides clear up before they go."""
    project.train(work=20)
    project.commit()
    command = [sys.executable, "-c", _HEARS_CTRL_C, "--trainhealth", "--trainhealth-against=HEAD"]
    run = subprocess.Popen(command, cwd=project.folder, stdout=subprocess.PIPE, text=True, start_new_session=True)
    try:
        _until(lambda: len(project.worktrees) == 2 and len(_children(run.pid)) == 2)
        children = _children(run.pid)
        os.kill(run.pid, how)
        told = run.communicate(timeout=60)[0]
    finally:
        run.kill()
        run.wait()
    assert ("KeyboardInterrupt" in told) is (how is not signal.SIGKILL)
    if how is signal.SIGKILL:
        _until(lambda: not any(running(child) for child in children))
    assert len(project.worktrees) == 1
    assert not [left for child in children for left in running(child)]


def _children(parent: int) -> list[int]:
    return [int(row[0]) for row in processes() if row[1] == str(parent) and PROCESS in row[-1]]


def _until(condition) -> None:
    end = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < end, "it never came to that"
        time.sleep(0.05)
