"""`--trainhealth-report`: written whenever the JSON is, by the same rules, with plots or without."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from pytest_trainhealth.reports import RunResults, html_file

from ..report.made_up import Page
from .conftest import Project

TESTS = """
    import os
    import pytest
    from pytest_trainhealth import Training

    pytestmark = pytest.mark.gradients_flow

    def test_sick():
        return Training(gradients_flow="failed")

    def test_fine():
        return Training()

    def test_last():
        {last}
"""
WITHOUT_PLOTS = (
    "--trainhealth-report: written without plots, because vl_convert is not installed: "
    'pip install "pytest-trainhealth[report]"'
)


def run(project: Project, last: str, *options: str) -> tuple[pytest.RunResult, Page]:
    project.makepyfile(test_it=TESTS.format(last=last), without="import sys\nsys.modules['vl_convert'] = None")
    project.syspathinsert()
    made = project.runpytest_subprocess("-p", "without", "--trainhealth", "--trainhealth-report=out.html", *options)
    return made, Page((project.path / "out.html").read_text(encoding="utf-8"))


def trainings(page: Page) -> dict[str | None, str | None]:
    return {row["data-for"]: row["data-outcome"] for row in page.named("tr") if row.get("data-for")}


def test_without_the_package_one_line_says_so_and_the_rest_is_as_ever(project: Project) -> None:
    made, page = run(project, "return Training(gradients_flow='could not judge')", "-k", "fine or last")
    assert made.ret == pytest.ExitCode.OK
    assert made.outlines.count(WITHOUT_PLOTS) == 1
    assert trainings(page) == {"test_fine": "passed", "test_last": "could not judge"}
    assert "Incomplete." not in page.text
    assert page.unbalanced == []


def test_workers_send_theirs_and_one_that_dies_is_told(project: Project) -> None:
    made, page = run(project, "os._exit(1)", "-n2", "--max-worker-restart=0")
    assert made.ret != pytest.ExitCode.OK
    assert trainings(page) == {"test_sick": "failed", "test_fine": "passed"}
    assert "test_it.py::test_last[gradients_flow] (worker died)" in page.text
    assert page.unbalanced == []


def test_a_run_that_is_interrupted_is_incomplete(project: Project) -> None:
    _, page = run(project, "raise KeyboardInterrupt")
    assert "Incomplete. The run was interrupted" in page.text
    assert trainings(page) == {"test_sick": "failed", "test_fine": "passed"}


def test_a_run_that_is_killed_leaves_a_whole_page(project: Project) -> None:
    _, page = run(project, "os._exit(9)", "-n0")
    assert "Incomplete. This run is not over yet, or was killed." in page.text
    assert page.unbalanced == []
    assert [each["id"] for each in page.named("article")] == ["test_sick--gradients_flow", "test_fine--gradients_flow"]


@pytest.mark.skipif(os.name != "posix", reason="limits of file sizes are of POSIX")
def test_a_full_disk_is_one_line_and_not_green(project: Project) -> None:
    room = len(html_file.text(RunResults(complete=False, interrupted=False))) + 500  # for a page without verdicts
    limit = f"import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, ({room}, resource.RLIM_INFINITY))\n"
    project.makepyfile(test_it=TESTS.format(last="return Training()"))
    (project.path / "full_disk.py").write_text(limit)
    options = ("--trainhealth", "--trainhealth-report=out.html", "-k", "fine or last")
    command = [sys.executable, "-m", "pytest", "-p", "full_disk", *options]
    done = subprocess.run(command, cwd=project.path, capture_output=True, text=True, check=False)
    assert done.returncode == pytest.ExitCode.TESTS_FAILED
    said = [line for line in done.stdout.splitlines() if line.startswith("--trainhealth-report: cannot write")]
    assert len(said) == 1
    assert "2 passed" in done.stdout


def test_it_needs_the_flag(project: Project) -> None:
    project.makepyfile(TESTS.format(last="return Training()"))
    made = project.runpytest("--trainhealth-report=out.html")
    said = "ERROR: --trainhealth-report: nothing is judged without --trainhealth, so there is nothing to write"
    assert said in made.errlines
