"""The `trainhealth` fixture: checks as methods."""

from __future__ import annotations

import pytest

from .conftest import Project, ReadJson


def test_a_passed_check_returns_its_verdict(project: Project, read_json: ReadJson) -> None:
    project.makepyfile("""
        from pytest_trainhealth import TrainHealth, Training

        def test_it(trainhealth: TrainHealth):
            assert trainhealth.overfits_one_batch(Training(), steps=7, ratio=0.5).passed
            assert trainhealth.trains_without_nan(lambda: Training()).training == "test_it"
    """)
    project.runpytest("--trainhealth", "--trainhealth-json=out.json").assert_outcomes(passed=1)
    first, second = read_json()["verdicts"]
    assert (first["figures"]["steps"], first["figures"]["ratio"]) == (7, 0.5)
    assert second["check"] == "trains_without_nan"


def test_a_failed_check_raises_the_chart(project: Project) -> None:
    project.makepyfile(
        test_it="""
        from pytest_trainhealth import Training

        def test_it(trainhealth):
            trainhealth.gradients_flow(Training(gradients_flow="failed"))
            raise AssertionError("not reached")
    """
    )
    result = project.runpytest("--trainhealth")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "  cause     confirmed: head was replaced after the optimizer was made",
            "test_it   gradients_flow  failed   parameters-not-in-optimizer (confirmed)   0.4 s",
        ]
    )


def test_the_crash_is_at_the_call(project: Project) -> None:
    project.makepyfile(
        test_it="""
        from pytest_trainhealth import Training

        def test_it(trainhealth):
            trainhealth.gradients_flow(Training(gradients_flow="failed"))
    """
    )
    result = project.runpytest("--trainhealth", "--tb=line")
    result.stdout.fnmatch_lines(["*test_it.py:4: parameters-not-in-optimizer: *"])


def test_unhealthy_can_be_expected(project: Project) -> None:
    project.makepyfile("""
        import pytest
        from pytest_trainhealth import Training
        from pytest_trainhealth.plugin.outcomes import Unhealthy

        def test_it(trainhealth):
            with pytest.raises(Unhealthy) as caught:
                trainhealth.gradients_flow(Training(gradients_flow="failed"))
            assert caught.value.verdict.findings[0].cause == "parameters-not-in-optimizer"
    """)
    project.runpytest("--trainhealth").assert_outcomes(passed=1)


def test_could_not_judge_skips(project: Project) -> None:
    project.makepyfile(
        test_it="""
        from pytest_trainhealth import Training

        def test_it(trainhealth):
            trainhealth.gradients_flow(Training(gradients_flow="could not judge"))
    """
    )
    result = project.runpytest("--trainhealth", "-rs")
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(["SKIPPED [[]1[]] test_it.py:4: gradients_flow could not judge: the data is too small"])


def test_wrong_keywords_are_errors_at_the_call(project: Project) -> None:
    project.makepyfile("""
        from pytest_trainhealth import Training

        def test_name(trainhealth):
            trainhealth.gradients_flow(Training(), stps=3)

        def test_value(trainhealth):
            trainhealth.gradients_flow(Training(), steps="many")
    """)
    result = project.runpytest("--trainhealth")
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(
        [
            "E*TypeError: *gradients_flow() got an unexpected keyword argument 'stps'*",
            "E*trainhealth.gradients_flow: gradients_flow(steps=): 'many' is not a whole number",
        ]
    )


def test_diagnose_raises_nothing(project: Project) -> None:
    project.makepyfile("""
        from pytest_trainhealth import Training

        def test_it(trainhealth):
            report = trainhealth.diagnose(Training(gradients_flow="failed"))
            assert not report.healthy and report.findings[0].confirmed
    """)
    project.runpytest("--trainhealth").assert_outcomes(passed=1)


def test_diagnose_takes_the_options_of_the_run_and_its_verdicts_are_reported(
    project: Project, read_json: ReadJson
) -> None:
    """The same way into the engine as the markers' and the other methods': one that forgot an option, or a file, would
    pass where they fail."""
    project.makepyfile("""
        from pytest_trainhealth import Training

        def test_it(trainhealth):
            report = trainhealth.diagnose(Training(gradients_flow="failed"), ["gradients_flow", "overfits_one_batch"],
                                          budget=7)
            assert [verdict.check for verdict in report.verdicts] == ["gradients_flow", "overfits_one_batch"]
    """)
    options = (
        "--trainhealth-json=out.json",
        "--trainhealth-steps=12",
        "--trainhealth-budget=5",
        "--trainhealth-threads=3",
    )
    result = project.runpytest("--trainhealth", *options)
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["test_it *overfits_one_batch *passed*", "*gradients_flow *failed *(confirmed)*"])
    written = {verdict["check"]: verdict for verdict in read_json()["verdicts"]}
    assert {name: verdict["outcome"] for name, verdict in written.items()} == {
        "gradients_flow": "failed",
        "overfits_one_batch": "passed",
    }
    for verdict in written.values():  # the fake engine tells what it was asked for
        given = {name: verdict["figures"][name] for name in ("steps", "budget", "threads")}
        assert given == {"steps": 12, "budget": 7, "threads": 3}


def test_diagnose_fails_where_a_method_would(pytester: pytest.Pytester) -> None:
    """With the real engine: there is no such device, whoever asks."""
    pytester.makepyfile("""
        import pytest, torch
        from pytest_trainhealth import Training

        @pytest.mark.parametrize("way", ["diagnose", "gradients_flow"])
        def test_it(trainhealth, way):
            model = torch.nn.Linear(4, 1)
            optimizer = torch.optim.SGD(model.parameters(), 0.1)
            getattr(trainhealth, way)(Training(model, optimizer, lambda m, b: m(b).square().mean(), torch.randn(8, 4)))
    """)
    result = pytester.runpytest_subprocess("--trainhealth", "--trainhealth-device=abacus")
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(["*there is no 'abacus' on this machine. Here: cpu*"])


def test_inside_a_marked_test(project: Project, read_json: ReadJson) -> None:
    project.makepyfile("""
        import pytest
        from pytest_trainhealth import Training

        @pytest.mark.gradients_flow
        def test_it(trainhealth):
            trainhealth.overfits_one_batch(Training())
            return Training()
    """)
    project.runpytest("--trainhealth", "--trainhealth-json=out.json").assert_outcomes(passed=1)
    assert [verdict["check"] for verdict in read_json()["verdicts"]] == ["overfits_one_batch", "gradients_flow"]
