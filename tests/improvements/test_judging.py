"""Which of two trainings is better: judged on made-up runs."""

from __future__ import annotations

import json

import pytest

from pytest_trainhealth.analysis.improvement import compared
from pytest_trainhealth.checks.improves_on import judge
from pytest_trainhealth.records.improvement import SeedRun, Validation
from pytest_trainhealth.records.judgement import CouldNotJudge, Passed
from pytest_trainhealth.records.symptoms import WORSE
from pytest_trainhealth.records.trace import Trace
from pytest_trainhealth.records.verdict import Symptom
from pytest_trainhealth.reports.curves import plot


def run(end: float, train: float | None = None, *, first: float = 2.0, finite: bool = True, **validation) -> SeedRun:
    """Twenty steps, a look after each; the last quarter is at the end."""
    values = [first + (end - first) * min(1.0, step / 10) for step in range(21)]
    train = end if train is None else train
    losses = tuple(first + (train - first) * min(1.0, step / 10) for step in range(20))
    points = list(enumerate(values))
    return SeedRun(losses, Validation("validation loss", points, **validation), finite, batch_size=16)


def sides(before, after):
    return compared([run(end) for end in before], [run(end) for end in after], steps=20)


def test_better_beyond_noise():
    found = sides((1.0, 1.1, 0.9, 1.0, 1.05), (0.7, 0.75, 0.65, 0.7, 0.72))
    assert found.better
    assert found.fixed
    assert found.summary == (
        "better: validation loss 1.010 -> 0.704, 30 % smaller (95 %: -26 % to -35 %, 5 seeds, 20 steps)"
    )
    assert isinstance(judge(Trace(), {"improvement": found}), Passed)


def test_worse_beyond_noise():
    found = sides((0.7, 0.75, 0.65), (1.0, 1.1, 0.9))
    assert found.worse
    failed = judge(Trace(), {"improvement": found})
    assert isinstance(failed, Symptom)
    assert failed.category == WORSE
    assert failed.headline == "worse than before: validation loss 0.700 -> 1.000, 43 % larger"


@pytest.mark.parametrize(
    ("before", "after", "outcome"),
    [
        ((1.0, 1.1, 0.9), (1.1, 0.9, 1.0), "no difference beyond noise"),
        ((1.0, 1.6, 0.9), (0.6, 1.7, 0.5), "no difference beyond noise"),
        ((1.0, 1.1, 0.9), (0.95, 1.05, 0.86), "less than 10 % apart"),
        ((1.0, 1.1, 0.9), (1.05, 1.15, 0.94), "less than 10 % apart"),
    ],
)
def test_what_is_neither(before, after, outcome):
    found = sides(before, after)
    assert found.outcome == outcome
    assert isinstance(judge(Trace(), {"improvement": found}), CouldNotJudge)


def test_nan_is_worse_than_any_loss_and_its_end_is_a_fix():
    good, bad = [run(1.0), run(1.1), run(0.9)], [run(1.0, finite=False)] * 3
    assert compared(good, bad, steps=20).worse
    fixed = compared(bad, good, steps=20)
    assert fixed.fixed
    assert fixed.summary == "better: 3 of 3 seeds end in NaN or Inf before, 0 after"
    assert compared(good, [*good[:2], bad[0]], steps=20).outcome == "no difference beyond noise"


def test_more_overfitting_is_no_fix():
    before = [run(end, end - 0.6) for end in (2.0, 2.1, 1.9)]
    after = [run(end, end - 1.2) for end in (1.5, 1.6, 1.45)]
    found = compared(before, after, steps=20)
    assert found.better
    assert not found.fixed
    assert dict(found.demands)["less overfitting"] is False
    reason = judge(Trace(), {"improvement": found}).reason
    assert reason.endswith("not shown: less overfitting")


def test_another_loss_is_not_compared():
    """The same weights and batches, and another value: one of the two was scaled."""
    before = [run(1.0, start="w", batches="b")] * 3
    after = [run(0.1, first=0.2, start="w", batches="b")] * 3
    found = compared(before, after, steps=20)
    assert found.outcome == "could not compare"
    assert "2.000 before and 0.200 after: the two are not the same loss. Hand in measure=" in found.reason
    other_batches = [run(0.1, first=0.2, start="w", batches="standardised")] * 3
    assert compared(before, other_batches, steps=20).outcome != "could not compare"


def test_without_validation_the_training_loss_is_judged_and_that_is_said():
    none = [SeedRun(r.losses, Validation(why_not="there is no val_data")) for r in (run(1.0), run(1.1))]
    found = compared(none, none, steps=20)
    assert found.judged_by == "training loss"
    assert found.notes[0].endswith("says nothing about overfitting: there is no val_data")


def test_losses_below_zero_are_compared_by_what_was_gained():
    found = compared(
        [run(-1.0, first=1.0), run(-1.1, first=1.0)], [run(-2.0, first=1.0), run(-2.1, first=1.0)], steps=20
    )
    assert found.better
    assert found.change == pytest.approx(1 / 2.05, rel=1e-3)


def test_one_start_says_that_chance_is_not_known():
    found = sides((1.0, 1.0, 1.0), (0.5, 0.5, 0.5))
    assert found.seeds == 1
    assert found.low is None
    assert "chance is not known" in found.notes[-1]


def test_a_run_that_was_cut_short_and_batches_of_other_sizes():
    short = SeedRun((1.0,), Validation(), stopped="budget of 1 s used up")
    assert compared([short], [run(1.0)], steps=20).summary == "could not compare: budget of 1 s used up"
    other = [SeedRun(r.losses, r.validation, batch_size=32) for r in (run(1.0), run(1.1))]
    found = compared([run(1.0), run(1.1)], other, steps=20)
    assert "batches of 16 before and of 32 after" in found.notes[0]


def test_it_reads_well_and_is_json():
    found = sides((1.0, 1.1, 0.9), (0.5, 0.6, 0.4))
    text = str(found)
    assert text.isascii()
    assert max(map(len, text.splitlines())) <= 100
    assert "  before   validation loss 1.000 (0.900 to 1.100)   training loss 1.000   gap 0.000" in text
    assert text.splitlines()[-1].strip() == "o before   * after   # both"
    data = json.loads(json.dumps(found.to_json()))
    assert data["outcome"] == "better"
    assert data["demands"]["no NaN or Inf"] is True


def test_a_plot_has_both_ends_and_bears_anything():
    lines = plot({"before": [4.0, 2.0, 1.0], "after": [4.0, 1.0]}, 30, columns=9, rows=4)
    assert lines[0].startswith("4.000 |#")
    assert lines[3].startswith("1.000 |")
    assert lines[3].endswith("#")
    assert lines[4:] == ["      +---------", "       0 step 30", "       o before   * after   # both"]
    assert plot({}, 1) == plot({"before": [float("nan")]}, 1) == []
    assert len(plot({"before": [1.0]}, 1)) == 11
