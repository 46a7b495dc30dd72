"""A wrong marker is a collection error in one line, whether or not markers are enforced."""

from __future__ import annotations

import pytest

from .conftest import Project


def run(project: Project, marker: str, *options: str) -> pytest.RunResult:
    project.makepyfile(
        test_it=f"""
        import pytest

        @pytest.mark.{marker}
        def test_it():
            pass
    """
    )
    return project.runpytest(*options)


@pytest.mark.parametrize("options", [(), ("--trainhealth",)])
@pytest.mark.parametrize(
    ("marker", "said"),
    [
        (
            "overfits_one_batch(stps=3)",
            "test_it.py::test_it: overfits_one_batch takes no 'stps'. Did you mean steps?",
        ),
        (
            "gradients_flow(ratio=3)",
            "test_it.py::test_it: gradients_flow takes no 'ratio'. Possible: ignore, frozen, budget, steps",
        ),
        (
            "overfits_one_batch(50)",
            "test_it.py::test_it: overfits_one_batch takes keywords only, not overfits_one_batch(50)",
        ),
        (
            "overfits_one_batch(steps='many')",
            "test_it.py::test_it: overfits_one_batch(steps=): 'many' is not a whole number",
        ),
        (
            "trainhealth(checks=['throughput'])",
            "test_it.py::test_it: there is no check 'throughput'. Did you mean keeps_throughput?",
        ),
        (
            "trainhealth(checks=[])",
            "test_it.py::test_it: names no check. Possible: overfits_one_batch, gradients_flow, trains_without_nan, "
            "uses_its_input, learns_from_data, data_is_healthy, generalizes, keeps_throughput, is_reproducible, "
            "resumes_exactly, keeps_precision, accumulates_exactly, evaluates_cleanly, ranks_agree, "
            "history_is_healthy, matches_baseline, improves_on",
        ),
    ],
)
def test_on_a_function(project: Project, marker: str, said: str, options: tuple[str, ...]) -> None:
    result = run(project, marker, *options)
    result.assert_outcomes(errors=1)
    assert said in result.outlines
    result.stdout.no_fnmatch_line("*Traceback*")


def test_only_its_own_file_is_lost(project: Project) -> None:
    project.makepyfile(test_fine="def test_fine(): pass")
    result = run(project, "gradients_flow(50)", "--continue-on-collection-errors")
    result.assert_outcomes(errors=1, passed=1)


def test_on_a_parameter_it_fails_that_item(project: Project) -> None:
    project.makepyfile("""
        import pytest

        @pytest.mark.gradients_flow
        @pytest.mark.parametrize("n", [1, pytest.param(2, marks=pytest.mark.gradients_flow(stps=3))])
        def test_it(n):
            pass
    """)
    result = project.runpytest("--trainhealth")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*gradients_flow takes no 'stps'. Did you mean steps?"])


def test_a_marker_on_parameters_alone_is_refused(project: Project) -> None:
    project.makepyfile("""
        import pytest

        @pytest.mark.parametrize("n", [1, pytest.param(2, marks=pytest.mark.gradients_flow)])
        def test_it(n):
            pass
    """)
    result = project.runpytest("--trainhealth")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["training health markers work on *not on single parameters*"])


def test_unittest_is_refused(project: Project) -> None:
    project.makepyfile("""
        import unittest
        import pytest

        class TestModel(unittest.TestCase):
            @pytest.mark.gradients_flow
            def test_it(self):
                pass
    """)
    result = project.runpytest("--trainhealth")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["training health markers work on *unittest.TestCase*"])
    result = project.runpytest()
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["1 marker not enforced: run pytest --trainhealth"])
