"""Gates and comparisons are judged apart: neither stands in for a second look at the other."""

from __future__ import annotations

import time
from collections.abc import Callable
from types import SimpleNamespace

import pytest

from pytest_trainhealth.checks import check as find_check
from pytest_trainhealth.checks.keeps_throughput import judge
from pytest_trainhealth.engine.conclude import conclude, confirm_with_other_seed
from pytest_trainhealth.engine.diagnosis import find_causes
from pytest_trainhealth.engine.examination import Examination
from pytest_trainhealth.engine.shared_results import KnownCause
from pytest_trainhealth.plugin.benchmark import BenchmarkTimer
from pytest_trainhealth.programs.plan import RunPlan
from pytest_trainhealth.records.comparison import Comparison
from pytest_trainhealth.records.intervention import Cure
from pytest_trainhealth.records.judgement import Passed
from pytest_trainhealth.records.trace import Trace
from pytest_trainhealth.records.verdict import Finding, Symptom

SLOWER = Comparison("main", "slower", 0.1, "", 1.3, 1.2, 1.4, 40, 7, 0.013, 0.01)


def made_up(wait: float, compute: float, growth: int = 0) -> Trace:
    trace = Trace.of([1.0] * 35)
    trace.speed.waits, trace.speed.computes = [wait] * 35, [compute] * 35
    trace.speed.memory = [10**8 + n * growth for n in range(35)]
    return trace


class Recorded:
    """A program whose runs are known."""

    repeatable, why_not, remarks, start, first_run = True, "", (), None, None

    def __init__(self, *traces: Trace) -> None:
        self._traces = list(traces)

    def record(self, plan: RunPlan) -> Trace:
        return self._traces.pop(0) if len(self._traces) > 1 else self._traces[0]


def examination(*traces: Trace, **settings: float) -> Examination:
    return Examination(Recorded(*traces), find_check("keeps_throughput"), settings, RunPlan(max_steps=45))


SLOW, FAST = (0.02, 0.01), (0.001, 0.01)


@pytest.mark.parametrize("outcome", ["too wide", "could not compare", "slower"])
def test_a_comparison_does_not_stand_in_for_asecond_look(outcome: str) -> None:
    """The first run was interrupted, the second is as it should be."""
    comparison = Comparison("main", outcome, 0.1, "busy", 1.3, 1.2, 1.4, 40)  # type: ignore[arg-type]
    verdict = conclude(examination(made_up(*SLOW), made_up(*FAST)), "it", [], comparison=comparison).verdict
    assert verdict.outcome == ("failed" if outcome == "slower" else "could not judge")
    assert "waiting for data" not in verdict.headline


def test_what_the_check_found_by_itself_comes_first() -> None:
    verdict = conclude(examination(made_up(*SLOW)), "it", [], comparison=SLOWER).verdict
    assert verdict.symptom is not None
    assert "waiting for data" in verdict.symptom.summary
    assert "throughput-regression" not in [finding.cause for finding in verdict.findings]


def test_a_cured_run_is_not_held_against_the_comparison() -> None:
    looked_at = examination(made_up(*SLOW), made_up(*FAST))
    looked_at.run_and_judge(looked_at.plan)
    assert looked_at.run_with(Cure("preloaded_batches", "preloaded", {"count": 8}))[1]


def test_what_could_not_be_seen_twice_is_no_failure() -> None:
    """The time budget was used up in the second run."""
    short = Trace.of([1.0] * 2)
    short.cut_short = "the time budget was used up at step 2"
    verdict = conclude(examination(made_up(*SLOW), short), "it", []).verdict
    assert verdict.outcome == "could not judge"
    assert verdict.reason == (
        "67 % of a step is waiting for data, at most 50 % allowed (waiting 20 ms, computing 10 ms); "
        "not confirmed by a second run: the time budget was used up at step 2"
    )


class BusyUntilCured(Recorded):
    """The machine is busy at first, and quiet from the re-run with a cure on."""

    def __init__(self, again: Trace) -> None:
        self._again, self._cured = again, False

    def record(self, plan: RunPlan) -> Trace:
        self._cured = self._cured or bool(plan.treatment.cures)
        return made_up(*FAST) if plan.treatment.cures else self._again if self._cured else made_up(*SLOW)


@pytest.mark.parametrize(("again", "outcome"), [(FAST, "could not judge"), (SLOW, "failed")])
def test_what_has_become_fast_by_itself_was_no_cure(again: tuple[float, float], outcome: str) -> None:
    looked_at = Examination(BusyUntilCured(made_up(*again)), find_check("keeps_throughput"), {}, RunPlan(max_steps=45))
    verdict = conclude(looked_at, "it", []).verdict
    assert verdict.outcome == outcome
    if outcome == "failed":
        assert verdict.findings[0].confirmed
    else:
        assert verdict.reason.startswith("the speed varies: 67 % of a step is waiting for data")


class Uneven(Recorded):
    """The runs with a cure, one after the other, and all runs without."""

    def __init__(self, uncured: Trace, *cured: Trace) -> None:
        self._uncured, self._cured = uncured, list(cured)

    def record(self, plan: RunPlan) -> Trace:
        return self._cured.pop(0) if plan.treatment.cures else self._uncured


@pytest.mark.parametrize(
    ("cured", "told"),
    [
        ((FAST, FAST), ("533 -> 1,450 samples/s, 2.7 x faster", True, True)),
        ((FAST, SLOW), ("533 samples/s", False, False)),
        (((0.011, 0.010), (0.012, 0.010)), ("762 samples/s", False, False)),  # still fails, and not much faster
        (((0.001, 0.027), (0.001, 0.027)), ("571 samples/s", False, False)),  # passes, and is as slow as before
    ],
    ids=["both times", "once", "hardly", "for another reason"],
)
def test_a_cure_has_to_work_twice(cured: list[tuple[float, float]], told: tuple[str, bool, bool]) -> None:
    program = Uneven(made_up(*SLOW), *(made_up(*each) for each in cured))
    looked_at = Examination(program, find_check("keeps_throughput"), {}, RunPlan(max_steps=45))
    symptom = looked_at.run_and_judge(looked_at.plan)[1]
    assert isinstance(symptom, Symptom)
    found = looked_at.try_cures([Cure("preloaded_batches", "preloaded", {"count": 8})], symptom)
    assert (found.result, found.healthy, found.confirms) == told


def test_growing_memory_is_looked_at_twice() -> None:
    looked_at = examination(made_up(*FAST, growth=10**6), made_up(*FAST), max_memory_growth=0.5)
    symptom = looked_at.run_and_judge(looked_at.plan)[1]
    assert isinstance(symptom, Symptom)
    assert isinstance(confirm_with_other_seed(looked_at, symptom), Passed)


def test_what_keeps_it_from_learning_does_not_make_it_slow() -> None:
    """The cure of another check's finding adds a little work, and so brings the share of waiting below the limit."""
    looked_at = examination(made_up(0.021, 0.022), max_data_wait=0.5)
    bad = looked_at.first = made_up(0.021, 0.020)
    symptom = judge(bad, looked_at.values)
    assert isinstance(symptom, Symptom)
    finding = Finding("unnormalized-inputs", "inputs are large", "confirmed", rank=5)
    found = find_causes(looked_at, symptom, bad, [KnownCause(finding, Cure("standardised_inputs", "standardised"))])
    assert "unnormalized-inputs" not in [each.cause for each in found.findings]


class Rounds:
    """What pytest-benchmark does, with a clock that goes only where `passes` lets it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now, self.data, self.extra_info = 0.0, [], {}
        self.stats = SimpleNamespace(stats=self)
        monkeypatch.setattr(time, "perf_counter", lambda: self.now)

    def pedantic(self, target: Callable[[], object], rounds: int, iterations: int) -> None:
        for _ in range(rounds):
            began = self.now
            target()
            self.data.append(self.now - began + 1e-7)

    def passes(self, step: float | None, overhead: float = 0.0) -> float | None:
        self.now += (step or 0.0) + overhead
        return step


def test_rounds_in_which_nothing_was_done_are_not_in_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    """The time budget is used up after nine steps; pytest-benchmark goes on to the thirtieth round."""
    left, benchmark = iter([0.4] * 14), Rounds(monkeypatch)
    BenchmarkTimer(benchmark, 30).drive(lambda: benchmark.passes(next(left, None)), 45)
    assert benchmark.data == pytest.approx([0.4] * 9)


def test_what_we_did_beside_the_steps_is_not_in_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    """A look for garbage takes longer than many steps."""
    left, benchmark = iter(range(100)), Rounds(monkeypatch)
    overhead = (0.5 if number % 5 == 0 else 0.001 for number in left)
    BenchmarkTimer(benchmark, 20).drive(lambda: benchmark.passes(0.01, overhead=next(overhead)), 45)
    assert benchmark.data == pytest.approx([0.01] * 20, abs=1e-6)


def test_the_steps_of_a_watched_test_are_its_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    benchmark = Rounds(monkeypatch)
    timer = BenchmarkTimer(benchmark, 30)
    timer.drive(lambda: benchmark.passes(None, overhead=3.0), 1)
    timer.finished(made_up(*FAST), watched=True)
    assert benchmark.data == pytest.approx([sum(FAST)] * 30)
    assert benchmark.extra_info["step_seconds"] == pytest.approx(sum(FAST))


def test_a_watched_test_that_was_over_too_soon_has_no_row(monkeypatch: pytest.MonkeyPatch) -> None:
    benchmark = Rounds(monkeypatch)
    benchmark.data = [3.0]
    BenchmarkTimer(benchmark, 30).finished(Trace(), watched=True)
    assert benchmark.data == []
    assert benchmark.extra_info == {}
