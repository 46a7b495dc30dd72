"""`--trainhealth-advise`: once for each training, in the summary and in the file, and never a failure."""

from __future__ import annotations

import pytest

from .conftest import Project, ReadJson

TWO_CHECKS = """
    import pytest
    from pytest_trainhealth import Training

    @pytest.mark.gradients_flow
    @pytest.mark.trains_without_nan
    def test_it():
        return Training()
"""


@pytest.mark.parametrize("options", [(), ("-q",), ("-n1",)])
def test_advice_is_given_once_and_told(project: Project, read_json: ReadJson, options: tuple[str, ...]) -> None:
    project.makepyfile(TWO_CHECKS)
    result = project.runpytest("--trainhealth", "--trainhealth-advise", "--trainhealth-json", "out.json", *options)
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(
        [
            "*- training health -*",
            "advice for test_it",
            "  1. learning rate x 10: with gradients_flow, 100 steps, kept in advice.jsonl",
            "       lr = 1",
            "  no gain beyond noise, 1 change tried: clipping",
        ]
    )
    given = {verdict["check"]: [each["change"] for each in verdict["advice"]] for verdict in read_json()["verdicts"]}
    assert given == {"gradients_flow": ["learning rate x 10", "clipping"], "trains_without_nan": []}


def test_with_whichever_check_is_selected(project: Project) -> None:
    project.makepyfile(TWO_CHECKS)
    chosen = ("-k", "trains_without_nan", "--trainhealth-advise-steps=30", "--trainhealth-advise-cache=kept/here.txt")
    result = project.runpytest("--trainhealth", "--trainhealth-advise", "-v", *chosen)
    result.stdout.fnmatch_lines(
        ["advice: 1 of 2 changes tried", "*with trains_without_nan, 30 steps, kept in here.txt"]
    )


def test_no_advice_where_nobody_asks(project: Project) -> None:
    project.makepyfile(TWO_CHECKS)
    result = project.runpytest("--trainhealth")
    result.stdout.no_fnmatch_line("advice for*")


def test_with_the_first_check_that_a_test_asks_the_fixture_for(project: Project) -> None:
    project.makepyfile("""
        from pytest_trainhealth import Training

        def test_it(trainhealth):
            assert trainhealth.gradients_flow(Training()).advice[0].change == "learning rate x 10"
            assert not trainhealth.trains_without_nan(Training()).advice
    """)
    project.runpytest("--trainhealth", "--trainhealth-advise").assert_outcomes(passed=1)


def test_it_is_an_error_where_nothing_is_judged(project: Project) -> None:
    project.makepyfile(TWO_CHECKS)
    result = project.runpytest("--trainhealth-advise")
    result.stderr.fnmatch_lines(["ERROR: --trainhealth-advise: nothing is judged without --trainhealth*"])
