"""Logs in pytest: the marker, the fixture and the option, and what each of them shows."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

GOOD = {"loss": [2.3 * 0.8**i + 0.1 for i in range(12)], "val_loss": [2.3 * 0.8**i + 0.2 for i in range(12)]}
OVERFITTED = {"loss": [0.7 * 0.8**i for i in range(20)], "val_loss": [0.6 + 0.1 * abs(i - 4) for i in range(20)]}


@pytest.fixture
def logs(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    monkeypatch.setenv("COLUMNS", "100")
    pytester.mkdir("runs")
    folder = pytester.path / "runs"
    (folder / "good").mkdir()
    (folder / "good" / "history.json").write_text(json.dumps(GOOD))
    (folder / "sick").mkdir()
    rows = "".join(f"{e},{2.0 - e / 10 if e < 9 else 'nan'}\n" for e in range(15))
    (folder / "sick" / "metrics.csv").write_text(f"epoch,train_loss\n{rows}")
    return pytester


def run(pytester: pytest.Pytester, *arguments: str) -> pytest.RunResult:
    return pytester.runpytest_subprocess(
        "-p", "no:cacheprovider", "-p", "no:hypothesispytest", "-p", "no:benchmark", *arguments
    )


def test_a_marked_test_returns_a_history_a_path_or_columns(logs: pytest.Pytester) -> None:
    logs.makepyfile(
        f"""
        import pytest
        from pathlib import Path
        from pytest_trainhealth import history

        pytestmark = pytest.mark.history_is_healthy

        def test_record():
            return history("runs/good/history.json")

        def test_path():
            return Path("runs/sick/metrics.csv")

        def test_columns():
            return {OVERFITTED!r}
        """
    )
    result = run(logs, "--trainhealth")
    result.assert_outcomes(passed=1, failed=2)
    result.stdout.fnmatch_lines(
        [
            "exploding-gradients: train_loss is nan from epoch 9 on, and the data were the same before",
            "  symptom   train_loss is nan from epoch 9, line 11 to the end (expected finite values)",
            "*read from runs/sick/metrics.csv",
            "*not logged, so that it cannot be told: validation loss (overfitting), *",
            "  evidence  it comes in epoch 9: all samples were seen before*",
            "overfitting: val_loss rises from epoch 5 on while loss falls",
            "  cause     likely: *",
        ]
    )


def test_every_run_that_is_found_is_a_test(logs: pytest.Pytester) -> None:
    result = run(logs, "--trainhealth-history", "runs", "-v", "--trainhealth-json=out.json", "--junitxml=out.xml")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(
        ["runs/good/history.json?history_is_healthy? PASSED*", "runs/sick/metrics.csv?history_is_healthy? FAILED*"]
    )
    verdicts = json.loads((logs.path / "out.json").read_text())["verdicts"]
    assert [(each["check"], each["outcome"]) for each in verdicts] == [
        ("history_is_healthy", "passed"),
        ("history_is_healthy", "failed"),
    ]
    assert "train_loss is nan from epoch 9 on" in (logs.path / "out.xml").read_text()


def test_a_finding_has_the_line_of_the_log(logs: pytest.Pytester) -> None:
    columns = [f"{e},{a},{b}" for e, (a, b) in enumerate(zip(*OVERFITTED.values(), strict=True))]
    (logs.path / "log.csv").write_text("\n".join(["epoch,loss,val_loss", *columns, ""]))
    result = run(logs, "--trainhealth-history=log.csv", "--trainhealth-json=out.json")
    result.stdout.fnmatch_lines(["overfitting: val_loss rises from epoch 4 on while loss falls", "*log.csv:6*"])
    (finding,) = json.loads((logs.path / "out.json").read_text())["verdicts"][0]["findings"]
    assert finding["places"] == [{"file": "log.csv", "line": 6, "code": ""}]
    assert finding["certainty"] == "likely"


def test_a_log_that_cannot_be_read_fails_in_one_line(logs: pytest.Pytester) -> None:
    (logs.path / "broken.csv").write_text("epoch,loss\n0,1\n1,abc\n2,3\n")
    result = run(logs, "--trainhealth-history", "broken.csv")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["broken.csv:3: 'abc' under loss is no number"])


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("nowhere", "ERROR: --trainhealth-history: there is no nowhere"),
        ("empty", "ERROR: --trainhealth-history: there is no log of a run in empty. *"),
    ],
)
def test_a_path_without_a_run_is_a_wrong_setting(logs: pytest.Pytester, path: str, message: str) -> None:
    logs.mkdir("empty")
    result = run(logs, "--trainhealth-history", path)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([message])


def test_what_cannot_be_judged_is_skipped_with_the_reason(logs: pytest.Pytester) -> None:
    (logs.path / "gan.csv").write_text("step,g_loss,d_loss\n" + "".join(f"{i},{i % 3},1\n" for i in range(20)))
    result = run(logs, "--trainhealth-history=gan.csv", "-rs")
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(["*gan.csv: g_loss and d_loss are losses of adversaries*"])


def test_the_fixture_reads_and_judges(logs: pytest.Pytester) -> None:
    logs.makepyfile(
        """
        def test_it(trainhealth):
            log = trainhealth.history("runs/good/history.json")
            assert log["loss"].values[-1] < 0.4
            assert log["loss"].when(0) == "epoch 1"
            assert trainhealth.history_is_healthy(log).passed

        def test_sick(trainhealth):
            trainhealth.history_is_healthy("runs/sick/metrics.csv")
        """
    )
    run(logs, "--trainhealth").assert_outcomes(passed=1, failed=1)


def test_nothing_is_passed_that_was_not_judged(logs: pytest.Pytester) -> None:
    logs.makepyfile(
        """
        import pytest
        from pytest_trainhealth import history

        @pytest.mark.history_is_healthy
        def test_marked():
            return "runs/sick/metrics.csv"

        def test_without_a_marker():
            return history("runs/good/history.json")
        """
    )
    result = run(logs)
    result.assert_outcomes(skipped=1, failed=1)
    result.stdout.fnmatch_lines(["*the test returns a History, but no marker says what to check*"])


def test_a_marked_test_that_returns_no_log_says_what_to_return(logs: pytest.Pytester) -> None:
    logs.makepyfile("import pytest\n@pytest.mark.history_is_healthy\ndef test_it(): pass")
    result = run(logs, "--trainhealth")
    result.stdout.fnmatch_lines(["history_is_healthy reads a log: return a History or the path of one, not nothing"])


def test_torch_is_not_imported_for_a_log(logs: pytest.Pytester) -> None:
    logs.makeconftest(
        "import atexit, sys\n"
        "heavy = {'torch', 'numpy', 'pandas', 'tensorboard'}\n"
        "atexit.register(lambda: print('HEAVY', sorted(heavy & set(sys.modules))))"
    )
    result = run(logs, "--trainhealth-history", "runs")
    result.stdout.fnmatch_lines(["HEAVY []"])


def test_settings_beside_a_log_from_elsewhere_are_refused(
    logs: pytest.Pytester, tmp_path_factory: pytest.TempPathFactory
) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (elsewhere / "pytest.ini").write_text("[pytest]\n")
    (elsewhere / "history.json").write_text(json.dumps(GOOD))
    result = run(logs, "--trainhealth-history", str(elsewhere / "history.json"))
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*pytest took it for the settings of this run. Write --trainhealth-history=*"])
    run(logs, f"--trainhealth-history={elsewhere / 'history.json'}").assert_outcomes(passed=1)


def test_outside_of_pytest(tmp_path: Path) -> None:
    from pytest_trainhealth import diagnose

    (tmp_path / "history.json").write_text(json.dumps(OVERFITTED))
    report = diagnose(tmp_path / "history.json")
    assert [finding.cause for finding in report.findings] == ["overfitting"]
    assert not report.healthy
