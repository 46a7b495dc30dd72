"""`complete` in the JSON report: every selected test has its outcome, whatever ended the run."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

from .conftest import Project, ReadJson

THREE = """
    import os, signal, time
    import pytest
    from pytest_trainhealth import Training

    pytestmark = pytest.mark.gradients_flow

    def test_first():
        return Training()

    def test_second():
        {second}

    def test_third():
        return Training()
"""
JSON = ("--trainhealth", "--trainhealth-json=out.json")


def outcomes(document: dict) -> dict[str, str]:
    return {
        e["nodeid"].partition("::")[2].partition("[")[0]: e["outcome"]
        for e in (*document["verdicts"], *document["errors"])
    }


@pytest.mark.parametrize("where", ["setup", "body", "teardown"])
@pytest.mark.parametrize("options", [(), ("-n2",)], ids=["plain", "workers"])
def test_a_test_that_raises_is_in_the_file(
    project: Project, read_json: ReadJson, where: str, options: tuple[str, ...]
) -> None:
    fixtures = {
        "setup": "@pytest.fixture\ndef fixture(): raise ValueError('mine')",
        "body": "@pytest.fixture\ndef fixture(): pass",
        "teardown": "@pytest.fixture\ndef fixture():\n    yield\n    raise ValueError('mine')",
    }
    body = "raise ValueError('mine')" if where == "body" else "return Training()"
    start = "import pytest\nfrom pytest_trainhealth import Training\n"
    test = f"\n@pytest.mark.gradients_flow\ndef test_it(fixture):\n    {body}\n"
    (project.path / "test_it.py").write_text(start + fixtures[where] + test)
    project.runpytest(*JSON, *options)
    document = read_json()
    nodeid = "test_it.py::test_it[gradients_flow]"
    assert document["errors"] == [{"nodeid": nodeid, "outcome": "raised", "message": "ValueError: mine"}]
    assert document["complete"] is True


def test_skips_and_expected_failures_are_no_errors(project: Project, read_json: ReadJson) -> None:
    project.makepyfile(THREE.format(second="pytest.xfail('known')"))
    project.runpytest(*JSON)
    assert (read_json()["errors"], read_json()["complete"]) == ([], True)


def test_a_second_attempt_replaces_the_first(project: Project) -> None:
    from pytest_trainhealth.plugin.session_results import SessionResults

    def report(when: str, raised: str = "") -> pytest.TestReport:
        outcome = "failed" if raised else "passed"
        made = pytest.TestReport("a.py::b", ("a.py", 1, "b"), {}, outcome, None, when)  # type: ignore[arg-type]
        made.trainhealth = {"test": "b", "verdicts": [], "unenforced": 0, "raised": raised}  # type: ignore[attr-defined]
        return made

    results = SessionResults(enforced=True)
    for each in (report("setup"), report("call", "ValueError: once"), report("setup"), report("call")):
        results.pytest_runtest_logreport(each)
    assert list(results._results(results.checked, complete=True).errors) == []


def test_a_worker_that_dies(project: Project, read_json: ReadJson) -> None:
    project.makepyfile(THREE.format(second="os._exit(3)"))
    project.runpytest(*JSON, "-n2")
    assert outcomes(read_json()) == {"test_first": "passed", "test_second": "worker died", "test_third": "passed"}
    assert read_json()["complete"] is True


def test_a_worker_that_dies_and_is_not_replaced(project: Project, read_json: ReadJson) -> None:
    project.makepyfile(THREE.format(second="os._exit(3)"))
    project.runpytest(*JSON, "-n1", "--max-worker-restart=0")
    assert outcomes(read_json()) == {"test_first": "passed", "test_second": "worker died"}
    assert read_json()["complete"] is False


@pytest.mark.parametrize("options", [("-x",), ("-x", "-n1"), ("--maxfail=1",)], ids=" ".join)
def test_stopped_at_the_first_failure(project: Project, read_json: ReadJson, options: tuple[str, ...]) -> None:
    project.makepyfile(THREE.format(second="assert False"))
    project.runpytest(*JSON, *options)
    assert outcomes(read_json()) == {"test_first": "passed", "test_second": "raised"}
    assert read_json()["complete"] is False


def test_stopped_at_the_last_test_nothing_is_missing(project: Project, read_json: ReadJson) -> None:
    project.makepyfile(THREE.format(second="assert False"))
    project.runpytest(*JSON, "-x", "-k", "first or second")
    assert read_json()["complete"] is True


def test_a_file_that_cannot_be_collected(project: Project, read_json: ReadJson) -> None:
    project.makepyfile(test_a=THREE.format(second="return Training()"), test_b="import nothing_of_this_name")
    project.runpytest(*JSON, "--continue-on-collection-errors")
    assert len(read_json()["verdicts"]) == 3
    assert read_json()["complete"] is False


def test_pytest_exit_with_a_code_of_its_own(project: Project, read_json: ReadJson) -> None:
    project.makepyfile(THREE.format(second="pytest.exit('enough', returncode=0)"))
    assert project.runpytest(*JSON).ret == 0
    assert (read_json()["complete"], read_json()["interrupted"]) == (False, True)


TWICE = """
import os, signal, time

def pytest_keyboard_interrupt():
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(10)
"""


@pytest.mark.parametrize("options", [(), ("-n1",)], ids=["plain", "workers"])
def test_twice_ctrl_c(project: Project, read_json: ReadJson, options: tuple[str, ...]) -> None:
    """The second one while pytest deals with the first, and before it has noted that."""
    ready = "open('ready', 'w').close(); time.sleep(60)"
    project.makepyfile(test_it=THREE.format(second=ready), twice=TWICE)
    process = subprocess.Popen(
        [sys.executable, "-m", "pytest", "-p", "twice", *JSON, *options],
        cwd=project.path,
        env={**os.environ, "PYTHONPATH": f"{os.environ.get('PYTHONPATH', '')}{os.pathsep}{project.path}"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        # a job in the background of a shell ignores Ctrl-C, and so would its children
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    deadline = time.monotonic() + 60
    while not (project.path / "ready").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    process.wait(60)
    assert outcomes(read_json()) == {"test_first": "passed"}
    assert (read_json()["complete"], read_json()["interrupted"]) == (False, True)


def test_collecting_only_misses_no_outcome(project: Project) -> None:
    project.makepyfile(
        test_it="""
        import pytest
        from pytest_trainhealth import Training

        @pytest.mark.gradients_flow
        def test_it():
            return Training()
    """
    )
    result = project.runpytest("--trainhealth", "--collect-only")
    result.stdout.no_fnmatch_line("*without an outcome*")
    assert result.ret == pytest.ExitCode.OK
