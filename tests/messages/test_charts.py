"""Every shape of a failure's text, pinned: `charts/<name>.txt` is what a user reads."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from pytest_trainhealth.records.verdict import Place, Verdict
from pytest_trainhealth.reports.text import headline, pointer_text, shortened, verdict_text

from .made_up import HEAD, STUCK, VERDICTS, WHOLE

CHARTS = Path(__file__).parent / "charts"
LABELS = ["symptom", "cause", "evidence", "re-runs", "fix", "not", "also", "replay", "more"]


@pytest.mark.parametrize("name", VERDICTS)
def test_pinned(name: str) -> None:
    assert verdict_text(VERDICTS[name]) + "\n" == (CHARTS / f"{name}.txt").read_text()


def test_every_chart_has_its_verdict() -> None:
    assert {path.stem for path in CHARTS.iterdir()} == {*VERDICTS, "verbose", "narrow"}


def test_verbose_leaves_nothing_out() -> None:
    assert verdict_text(VERDICTS["more_than_fits"], verbose=True) + "\n" == (CHARTS / "verbose.txt").read_text()


def test_narrow() -> None:
    text = verdict_text(WHOLE, width=60)
    assert text + "\n" == (CHARTS / "narrow.txt").read_text()


@pytest.mark.parametrize("name", [name for name, verdict in VERDICTS.items() if verdict.failed])
def test_the_grammar(name: str) -> None:
    """Labels in their order at column 2, text at column 12, `more` last, plain ASCII."""
    lines = verdict_text(VERDICTS[name]).splitlines()
    rows = lines[lines.index("") + 1 :]
    found = [line[2:12].strip() for line in rows if line[2] != " "]
    assert found == [label for label in LABELS if label in found]
    assert found[0] == "symptom"
    assert found[-1] == "more"
    assert all(line.startswith("  ") and line[11] == " " and line[12] != "" for line in rows)
    assert "\n".join(lines).isascii()
    assert not any(line != line.rstrip() for line in lines)


@pytest.mark.parametrize("verdict", VERDICTS.values(), ids=VERDICTS)
def test_headlines_are_one_whole_line(verdict: Verdict) -> None:
    line = headline(verdict)
    assert line == verdict.headline
    assert "\n" not in line
    assert not line.endswith(".")
    assert line.split(":")[0] in ("parameters-not-in-optimizer", "lr-too-low", "overfits_one_batch")


@pytest.mark.parametrize(("width", "left"), [(80, "whole"), (79, "lr-too-low"), (10, "lr-too-low"), (9, "")], ids=str)
def test_where_there_is_too_little_room_the_name_is_left_or_nothing(width: int, left: str) -> None:
    line = "lr-too-low: " + "x" * 68
    assert shortened(line, width) == (line if left == "whole" else left)


def test_another_check_of_the_same_cause_points_to_the_chart() -> None:
    assert pointer_text(WHOLE, "TestIt::test_it[gradients_flow]") == (
        "parameters-not-in-optimizer: confirmed here too, see TestIt::test_it[gradients_flow]"
    )


def test_a_headline_that_fits_is_that_of_the_verdict() -> None:
    assert headline(WHOLE) == WHOLE.headline


def test_line_breaks_of_a_statement_do_not_break_the_headline() -> None:
    assert "\n" not in headline(replace(WHOLE, findings=(replace(HEAD, statement="first\n  second"),)))


def test_a_failure_without_a_headline_of_its_own_uses_the_summary() -> None:
    bare = replace(WHOLE, findings=(), symptom=replace(STUCK, summary="loss nan at step 3", headline=""))
    assert headline(bare) == "overfits_one_batch: loss nan at step 3, and no known cause fits"


def test_a_long_line_of_code_goes_on_below_itself() -> None:
    code = "return Training(model, optimizer=torch.optim.SGD(model.parameters(), lr=0.1), criterion=loss, data=loader)"
    finding = replace(HEAD, places=(Place("src/train.py", 34, code), Place("src/made.py", 7, "short()")))
    lines = verdict_text(replace(WHOLE, findings=(finding,)), width=80).splitlines()
    at = next(number for number, line in enumerate(lines) if "src/train.py:34" in line)
    assert lines[at : at + 3] == [
        "              src/train.py:34   return Training(model,",
        "                                  optimizer=torch.optim.SGD(model.parameters(),",
        "                                  lr=0.1), criterion=loss, data=loader)",
    ]
    assert lines[at + 3] == "              src/made.py:7     short()"
