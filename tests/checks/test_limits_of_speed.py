"""keeps_throughput at its limits: each gate just open and just closed, and how much faster is faster."""

from __future__ import annotations

import pytest

from pytest_trainhealth.checks.keeps_throughput import clearly_better, is_faster, judge, max_steps, result, speed_up
from pytest_trainhealth.records.judgement import CouldNotJudge, FailedRun, FailIfConfirmed, Passed
from pytest_trainhealth.records.numbers import Crash
from pytest_trainhealth.records.speed import Phases
from pytest_trainhealth.records.trace import Trace
from pytest_trainhealth.records.verdict import Symptom

SLOW, GROWING = Symptom("slow", "performance", 1.0, 2.0), Symptom("grows", "growing-memory", 1.0, 0.5)


def timed(step: float = 0.01, wait: float = 0.0, growth: float = 0.0, size: int | None = 10, steps: int = 30) -> Trace:
    """Steps of that many seconds, `wait` of them waiting, and MB that stay after each."""
    trace = Trace.of([1.0] * steps)
    trace.batch_size = size
    trace.speed.waits, trace.speed.computes = [wait] * steps, [step - wait] * steps
    trace.speed.memory = [int(1e6 * growth * n) for n in range(steps)]
    trace.speed.phases = {n: Phases(0.0, (step - wait) / 2, (step - wait) / 4, 0.0) for n in range(steps)}
    return trace


@pytest.mark.parametrize(
    ("settings", "passes"),
    [
        ({"max_step_ms": 10.1}, True),
        ({"max_step_ms": 9.9}, False),
        ({"min_samples_per_second": 990}, True),
        ({"min_samples_per_second": 1010}, False),
        ({"max_data_wait": 0.31}, True),
        ({"max_data_wait": 0.29}, False),
        ({"max_memory_growth": 0.31}, True),
        ({"max_memory_growth": 0.29}, False),
        ({"max_memory_growth": 0}, False),
    ],
)
def test_a_gate_is_open_on_one_side(settings: dict[str, float], passes: bool) -> None:
    verdict = judge(timed(wait=0.003, growth=0.3), settings)
    assert isinstance(verdict, Passed) is passes
    if isinstance(verdict, Symptom):
        assert verdict.limit == next(iter(settings.values()))


@pytest.mark.parametrize(("wait", "passes"), [(0.0049, True), (0.0051, False)])
def test_more_waiting_than_computing_needs_no_setting(wait: float, passes: bool) -> None:
    assert isinstance(judge(timed(wait=wait), {}), Passed) is passes
    assert isinstance(judge(timed(wait=wait, step=2 * wait - 0.0001, size=1000), {}), Passed), "0.2 ms for each sample"


@pytest.mark.parametrize(
    ("growth", "cured", "doubt"), [(0.51, False, True), (0.49, False, False), (0.11, True, True), (0.09, True, False)]
)
def test_memory_that_grows_without_a_limit_is_doubtful_and_a_cure_leaves_little(
    growth: float, cured: bool, doubt: bool
) -> None:
    trace = timed(growth=growth)
    trace.cured = cured
    verdict = judge(trace, {})
    assert isinstance(verdict, FailIfConfirmed) is doubt
    assert isinstance(judge(trace, {"max_memory_growth": 9.0}), Passed)


@pytest.mark.parametrize(("every", "doubt"), [(1, True), (2, False)])
def test_what_is_kept_until_an_update_is_needed_there(every: int, doubt: bool) -> None:
    trace = timed(growth=1.0)
    trace.updates = [int(step % every == 0) for step in range(30)]
    assert isinstance(judge(trace, {}), FailIfConfirmed) is doubt


@pytest.mark.parametrize(
    ("settings", "trace"),
    [({"min_samples_per_second": 5}, timed(size=None)), ({"max_memory_growth": 1.0}, timed(steps=10))],
)
def test_a_gate_without_a_figure_is_not_judged(settings: dict[str, float], trace: Trace) -> None:
    verdict = judge(trace, settings)
    assert isinstance(verdict, CouldNotJudge)
    assert verdict.reason.startswith(f"{next(iter(settings))}=")


def test_too_few_steps_are_not_judged() -> None:
    assert judge(timed(steps=4), {}) == CouldNotJudge("too few steps were timed")
    cut = timed(steps=4)
    cut.cut_short = "the budget is used up"
    assert judge(cut, {}) == CouldNotJudge("the budget is used up")
    assert (max_steps({}), max_steps({"steps": 10})) == (45, 25)


@pytest.mark.parametrize(
    ("step", "faster", "clearly"),
    [(0.0066, True, True), (0.0067, True, False), (0.0090, True, False), (0.0092, False, False)],
)
def test_how_much_faster_is_faster(step: float, faster: bool, clearly: bool) -> None:
    run = FailedRun(timed(), SLOW)
    assert is_faster(timed(step), run) is faster
    assert clearly_better(timed(step), run) is clearly


def test_larger_batches_count_by_their_samples() -> None:
    assert speed_up(timed(0.01, size=40), timed(0.01, size=10)) == pytest.approx(4.0)
    assert speed_up(timed(steps=3), timed()) == 0.0
    assert speed_up(timed(), timed(steps=3)) == 0.0


def test_memory_a_crash_and_nan_are_not_cured_by_speed() -> None:
    fast = timed(0.001)
    assert clearly_better(fast, FailedRun(timed(), SLOW))
    assert not clearly_better(fast, FailedRun(timed(), GROWING))
    fast.crash = Crash("ValueError", "", 3)
    assert not clearly_better(fast, FailedRun(timed(), SLOW))
    fast.crash, fast.losses[3] = None, float("nan")
    assert not clearly_better(fast, FailedRun(timed(), SLOW))


def test_a_run_in_a_few_characters() -> None:
    assert result(timed(steps=3)) == "no step was timed"
    assert result(timed()) == "1,000 samples/s"
    assert result(timed(size=None)) == "10 ms a step"
    assert result(timed(0.005), FailedRun(timed(), SLOW)) == "1,000 -> 2,000 samples/s, 2.0 x faster"
    assert result(timed(0.005, size=None), FailedRun(timed(size=None), SLOW)) == "10 -> 5 ms a step, 2.0 x faster"
    assert result(timed(0.009), FailedRun(timed(), SLOW)) == "1,110 samples/s"
    assert result(timed(growth=0.0), FailedRun(timed(growth=2.0), GROWING)) == "2 -> 0 MB a step"
    assert result(timed(growth=-1.0), FailedRun(timed(growth=2.0), GROWING)) == "2 -> 0 MB a step"


def test_what_a_step_consists_of_is_told() -> None:
    symptom = judge(timed(wait=0.003), {"max_step_ms": 5})
    assert isinstance(symptom, Symptom)
    assert symptom.summary == "10 ms a step, at most 5 ms allowed (waiting 3 ms, computing 7 ms)"
    symptom = judge(timed(growth=2.0), {"max_memory_growth": 1.0})
    assert isinstance(symptom, Symptom)
    assert symptom.summary == "memory grows by 2 MB with every step, at most 1 MB allowed"
