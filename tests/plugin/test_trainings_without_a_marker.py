"""A `Training` that a test returns without a marker, or with a misspelt one, is never green."""

from __future__ import annotations

import pytest

from .conftest import Project, ReadJson

FLAG = pytest.mark.parametrize("flag", [(), ("--trainhealth",)], ids=["without", "trainhealth"])
STRICT = pytest.mark.parametrize("strict", [(), ("--strict-markers",)], ids=["lax", "strict"])
#: How a test may hand in its training; `MARK` stands for a line above the test.
TESTS = {
    "function": """
MARK
def test_it():
    return Training()
""",
    "imported while it runs": """
MARK
def test_it():
    from pytest_trainhealth import Training
    return Training()
""",
    "method": """
class TestIt:
    MARK
    def test_it(self):
        return Training()
""",
    "unittest": """
import unittest

class TestIt(unittest.TestCase):
    MARK
    def test_it(self):
        return Training()
""",
}
START = "import pytest\nfrom pytest_trainhealth import Training\n"
SAID = "the test returns a Training, but no marker says what to check, so nothing was judged: "


def write(project: Project, test: str, marker: str = "") -> None:
    (project.path / "test_it.py").write_text(START + test.replace("MARK", f"@pytest.mark.{marker}" if marker else ""))


@FLAG
@pytest.mark.parametrize("test", TESTS.values(), ids=TESTS)
def test_without_a_marker(project: Project, test: str, flag: tuple[str, ...]) -> None:
    write(project, test)
    result = project.runpytest(*flag)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [f"{SAID}add @pytest.mark.trainhealth, or the marker of one check (pytest --markers lists them)"]
    )


def test_with_a_marker_of_somebody_else(project: Project) -> None:
    project.makeini("[pytest]\nmarkers = slow")
    write(project, TESTS["function"], "slow")
    project.runpytest("--trainhealth", "--strict-markers").assert_outcomes(failed=1)


@FLAG
@STRICT
@pytest.mark.parametrize("test", TESTS.values(), ids=TESTS)
def test_with_a_misspelt_marker(project: Project, test: str, flag: tuple[str, ...], strict: tuple[str, ...]) -> None:
    write(project, test, "gradient_flow")
    result = project.runpytest(*flag, *strict)
    outcomes = result.parseoutcomes()
    assert outcomes.get("passed", 0) == 0
    assert outcomes.get("errors", 0) + outcomes.get("failed", 0) == 1
    if not strict:
        assert "there is no marker 'gradient_flow'. Did you mean gradients_flow?" in result.stdout.str()


def test_it_is_in_the_report(project: Project, read_json: ReadJson) -> None:
    write(project, TESTS["function"])
    project.runpytest("--trainhealth", "--trainhealth-json=out.json")
    (error,) = read_json()["errors"]
    assert (error["nodeid"], error["outcome"]) == ("test_it.py::test_it", "raised")
    assert error["message"].startswith(SAID)


def test_a_misspelt_marker_beside_a_right_one_is_not_lost(project: Project) -> None:
    """Also where the test returns nothing, and would be watched."""
    write(project, "@pytest.mark.gradients_flow\n@pytest.mark.overfit_one_batch\ndef test_it(): pass\n")
    result = project.runpytest("--trainhealth")
    result.assert_outcomes(errors=1)
    assert (
        "test_it.py::test_it: there is no marker 'overfit_one_batch'. Did you mean overfits_one_batch? "
        "(If it is a marker of your own, register it in the configuration)"
    ) in result.outlines


def test_a_registered_marker_is_left_alone_however_alike(project: Project) -> None:
    project.makeini("[pytest]\nmarkers =\n    train_health: ours\n    gradient_flow(n): ours, too")
    write(project, "@pytest.mark.train_health\n@pytest.mark.gradient_flow(3)\ndef test_it(): pass\n")
    project.runpytest("--trainhealth", "-W", "error").assert_outcomes(passed=1)


def test_other_names_are_left_alone(project: Project) -> None:
    names = ("slow", "train", "training", "health", "gradients", "nan", "overfit", "throughput", "learns", "gpu")
    write(project, "".join(f"@pytest.mark.{name}\n" for name in names) + "def test_it(): pass\n")
    project.runpytest("--trainhealth").assert_outcomes(passed=1)


def test_what_the_fixture_has_judged_may_be_returned(project: Project) -> None:
    test = "def test_it(trainhealth):\n    made = Training()\n    trainhealth.gradients_flow(made)\n    return made\n"
    write(project, test)
    project.runpytest("--trainhealth").assert_outcomes(passed=1, warnings=1)


def test_other_tests_see_themselves(project: Project) -> None:
    """The function is put back, its traceback begins in the test, and what it returns reaches pytest."""
    write(
        project,
        "def helper():\n    assert 0\n\ndef test_raises():\n    helper()\n\ndef test_returns():\n    return 3\n",
    )
    result = project.runpytest("--tb=short")
    result.assert_outcomes(failed=1, warnings=1, passed=1)
    assert "unmarked.py" not in result.stdout.str()
