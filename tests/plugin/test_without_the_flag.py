"""Without `--trainhealth` a marked test still runs, and never passes silently."""

from __future__ import annotations

from .conftest import Project


def test_a_returned_training_is_skipped_with_the_reason(project: Project) -> None:
    project.makepyfile(
        test_it="""
        import pytest
        from pytest_trainhealth import Training

        @pytest.mark.overfits_one_batch
        @pytest.mark.gradients_flow
        def test_it():
            print("the body ran")
            return Training(overfits_one_batch="failed")
    """
    )
    result = project.runpytest("-rs", "-s")
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(
        [
            "*the body ran*",
            "2 markers not enforced: run pytest --trainhealth",
            "SKIPPED [[]1[]] test_it.py:4: training health is not enforced: run pytest --trainhealth",
        ]
    )


def test_items_are_not_multiplied(project: Project) -> None:
    project.makepyfile(
        test_it="""
        import pytest

        @pytest.mark.trainhealth
        def test_it():
            pass
    """
    )
    project.runpytest("--collect-only", "-q").stdout.fnmatch_lines(["test_it.py::test_it"])


def test_a_watched_test_runs_unwatched(project: Project) -> None:
    project.makepyfile("""
        import pytest

        @pytest.mark.trains_without_nan
        def test_it():
            pass
    """)
    result = project.runpytest()
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["*- training health -*", "1 marker not enforced: run pytest --trainhealth"])


def test_a_body_that_breaks_is_noticed(project: Project) -> None:
    project.makepyfile("""
        import pytest

        @pytest.mark.trains_without_nan
        def test_it():
            raise ValueError("no such dataset")
    """)
    result = project.runpytest()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["E*ValueError: no such dataset"])


def test_the_fixture_skips_with_the_same_reason(project: Project) -> None:
    project.makepyfile(
        test_it="""
        from pytest_trainhealth import Training

        def test_it(trainhealth):
            trainhealth.gradients_flow(Training())

        def test_watch(trainhealth):
            with trainhealth.watch():
                raise AssertionError

        def test_diagnose(trainhealth):
            assert not trainhealth.diagnose(Training()).healthy
    """
    )
    result = project.runpytest("-rs")
    result.assert_outcomes(skipped=3)
    result.stdout.fnmatch_lines(
        [
            "3 markers not enforced: run pytest --trainhealth",
            "SKIPPED [[]1[]] test_it.py:4: training health is not enforced: run pytest --trainhealth",
        ]
    )


def test_runs_without_markers_say_nothing(project: Project) -> None:
    project.makepyfile("def test_it(): pass")
    result = project.runpytest()
    result.assert_outcomes(passed=1)
    result.stdout.no_fnmatch_line("*training health*")
