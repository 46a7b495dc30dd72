"""Baselines beside tests: written under names of all kinds, and followed by the next run."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import torch._dynamo  # noqa: F401 - optimizers import it, and an inner run would forget it, which it cannot bear

TESTS = """
    import pytest, torch
    from torch.nn import functional as F
    from pytest_trainhealth import Training

    def line(rate=0.6):
        model = torch.nn.Linear(2, 1)
        held = torch.optim.SGD(model.parameters(), rate)
        return Training(model, held, lambda m, x: F.mse_loss(m(x), x.sum(1, keepdim=True)), [torch.eye(2)])

    @pytest.mark.matches_baseline(steps=3)
    @pytest.mark.parametrize("rate", [0.6], ids=["a/b:c?"])
    def test_line(rate):
        return line(rate)
"""
OTHER = """
    from test_one import line

    class TestIt:
        def test_line(self, trainhealth):
            trainhealth.matches_baseline(line, steps=3)
            trainhealth.matches_baseline(lambda: line(0.5), steps=3)
"""


ALONE = ("-p", "no:benchmark", "-p", "no:xdist")


def _relative(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


@pytest.fixture(autouse=True)
def _as_wide_everywhere(monkeypatch: pytest.MonkeyPatch):
    """Charts are wrapped, and a worker of xdist has another width than a terminal."""
    monkeypatch.setenv("COLUMNS", "100")


def test_each_training_has_a_file_and_the_next_run_follows_it(pytester: pytest.Pytester):
    pytester.makepyfile(test_one=TESTS, test_two=OTHER)
    result = pytester.runpytest("--trainhealth-update-baseline", *ALONE)
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines_random(
        ["test_line: trainhealth_baselines/test_two/TestIt.test_line.json was written: 3 steps, 8 seeds"]
    )
    names = _relative(pytester.path / "trainhealth_baselines")
    assert len(names) == 3
    assert names[0].startswith("test_one/test_line[a_b_c_]-")
    assert names[1:] == ["test_two/TestIt.test_line.2.json", "test_two/TestIt.test_line.json"]

    pytester.makepyfile(test_one=TESTS.replace("[0.6]", "[0.4]"))
    sys.modules.pop("test_one", None)
    result = pytester.runpytest("--trainhealth", *ALONE)
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(
        [
            "matches_baseline: learning rate 0.4, recorded 0.6",
            "*recorded in trainhealth_baselines/test_one/test_line[[]a_b_c_[]]-*.json; if the",
            "*change is meant: pytest --trainhealth-update-baseline",
            "*matches_baseline * failed   learning rate 0.4, recorded 0.6 *",
        ]
    )


def test_a_missing_file_is_not_judged_and_the_line_that_makes_it_is_told(pytester: pytest.Pytester):
    pytester.makepyfile(test_one=TESTS.replace("a/b:c?", "a b"))
    result = pytester.runpytest("--trainhealth", *ALONE, "-rs", "test_one.py::test_line[a b-matches_baseline]")
    result.assert_outcomes(skipped=1)
    made = "pytest --trainhealth-update-baseline 'test_one.py::test_line[[]a b-matches_baseline[]]'"
    result.stdout.fnmatch_lines([f"SKIPPED*there is no trainhealth_baselines/test_one/*json yet. {made} records it"])
