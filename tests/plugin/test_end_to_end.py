"""With the real engine and real trainings: what users see."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(scope="module", autouse=True)
def torch_stays() -> None:
    """pytester forgets what an inner run imports, and torch bears only one import: so here, with its late parts."""
    import torch._dynamo

    import pytest_trainhealth.examine

    assert torch._dynamo
    assert pytest_trainhealth.examine


@pytest.fixture
def real(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    monkeypatch.setenv("PYTEST_ADDOPTS", "-p no:hypothesispytest -p no:benchmark")
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)
    source = Path(__file__).parent / "real_project" / "train.py"
    (pytester.path / "train.py").write_text(source.read_text())
    pytester.syspathinsert()
    return pytester


def write_test(project: pytest.Pytester, marker: str, body: str) -> None:
    project.makepyfile(
        test_it=f"""
        import pytest
        import train

        @pytest.mark.{marker}
        def test_it():
            {body}
    """
    )


def verdicts(project: pytest.Pytester, *options: str) -> dict[str, dict[str, Any]]:
    project.runpytest("--trainhealth", "--trainhealth-json=out.json", *options)
    document = json.loads((project.path / "out.json").read_text())
    assert document["complete"]
    return {verdict["check"]: verdict for verdict in document["verdicts"]}


def test_a_healthy_training_passes_the_battery(real: pytest.Pytester) -> None:
    write_test(real, "trainhealth", "return train.make_training()")
    result = real.runpytest("--trainhealth")
    result.assert_outcomes(passed=6)
    result.stdout.fnmatch_lines(["test_it   6 passed   overfits_one_batch, gradients_flow, trains_without_nan, *"])


def test_the_cause_is_named_shown_and_confirmed(real: pytest.Pytester) -> None:
    write_test(real, "overfits_one_batch", "return train.without_head()")
    result = real.runpytest("--trainhealth")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "parameters-not-in-optimizer: *",
            "  symptom   loss * in 200 steps on one batch of 16 samples*",
            "  cause     confirmed: *",
            "*train.py:*optimizer = torch.optim.Adam(*",
            "  evidence  *2.weight*",
            "  re-runs   *passes, which confirms the cause",
            "*still fails",
            "  fix       *",
            "  more      pytest --trainhealth-explain parameters-not-in-optimizer",
        ]
    )


def test_the_same_verdicts_in_workers_and_again(real: pytest.Pytester) -> None:
    write_test(real, "gradients_flow", "return train.without_head()")
    alone, again, worker = (verdicts(real, *options)["gradients_flow"] for options in ((), (), ("-n2",)))
    for verdict in (alone, again, worker):
        verdict.pop("seconds")
    assert alone == again == worker
    assert alone["findings"][0]["cause"] == "parameters-not-in-optimizer"


def test_a_test_that_returns_nothing_is_watched(real: pytest.Pytester) -> None:
    write_test(real, "trains_without_nan", "train.fit()")
    assert verdicts(real)["trains_without_nan"]["outcome"] == "passed"


def test_a_watched_test_fails(real: pytest.Pytester) -> None:
    write_test(real, "trains_without_nan", "train.fit(rate=1e30)")
    found = verdicts(real)["trains_without_nan"]
    assert (found["outcome"], found["symptom"]["category"]) == ("failed", "explosion")


def test_a_test_that_trains_nothing_is_no_pass(real: pytest.Pytester) -> None:
    write_test(real, "trains_without_nan", "pass")
    result = real.runpytest("--trainhealth")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["nothing to check: *"])


def test_something_else_returned(real: pytest.Pytester) -> None:
    write_test(real, "overfits_one_batch", "return 3")
    result = real.runpytest("--trainhealth")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["the test returned int 3: *"])


def test_an_error_of_the_users_own_comes_with_a_note(real: pytest.Pytester) -> None:
    write_test(real, "overfits_one_batch", "return train.breaking()")
    result = real.runpytest("--trainhealth", "--tb=short")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["E*RuntimeError: *", "E*overfits_one_batch on test_it*"])
    result.stdout.no_fnmatch_line("*pytest_trainhealth*running.py*")


def test_without_the_flag_it_is_skipped(real: pytest.Pytester) -> None:
    write_test(real, "trainhealth", "return train.without_head()")
    result = real.runpytest("-rs")
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(["SKIPPED *training health is not enforced: run pytest --trainhealth"])


def test_the_fixture(real: pytest.Pytester) -> None:
    real.makepyfile("""
        import train

        def test_checks(trainhealth):
            assert trainhealth.overfits_one_batch(train.make_training).passed
            assert trainhealth.gradients_flow(train.make_training()).passed

        def test_watch(trainhealth):
            with trainhealth.watch() as trace:
                train.fit(steps=5)
            assert trace.steps == 5

        def test_diagnose(trainhealth):
            report = trainhealth.diagnose(train.without_head, ["gradients_flow"])
            assert [finding.cause for finding in report.findings] == ["parameters-not-in-optimizer"]
    """)
    real.runpytest("--trainhealth").assert_outcomes(passed=3)


def test_a_factory_on_the_command_line(real: pytest.Pytester) -> None:
    result = real.runpytest("--trainhealth-training=train:make_training")
    result.assert_outcomes(passed=6)


def test_throughput(real: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTEST_ADDOPTS", "-p no:hypothesispytest")
    write_test(real, "keeps_throughput(max_data_wait=0.999)", "return train.make_training()")
    result = real.runpytest("--trainhealth", "-W", "error::pytest_benchmark.logger.PytestBenchmarkWarning")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["*benchmark: 1 tests*"])


def test_a_wrong_device_is_said(real: pytest.Pytester) -> None:
    write_test(real, "gradients_flow", "return train.make_training()")
    result = real.runpytest("--trainhealth", "--trainhealth-device=abacus")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["--trainhealth-device: there is no 'abacus' on this machine*"])
