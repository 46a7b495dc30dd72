"""`keeps_throughput`: which steps count, what they are split into, and which gate fails."""

from __future__ import annotations

import time
from types import SimpleNamespace

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from pytest_trainhealth import Training
from pytest_trainhealth.analysis import timing
from pytest_trainhealth.analysis.timing import LEAST_WARM_UP, MOST_WARM_UP, measured, warm_up
from pytest_trainhealth.causes import cause
from pytest_trainhealth.checks.keeps_throughput import SIGNALS, clearly_better, judge, result, stop_when
from pytest_trainhealth.observe.run.run import Run
from pytest_trainhealth.observe.signals.speed.phases import StepPhases
from pytest_trainhealth.programs.flops import count_flops
from pytest_trainhealth.programs.plan import Look, RunPlan
from pytest_trainhealth.programs.start import Start
from pytest_trainhealth.programs.training_program import TrainingProgram
from pytest_trainhealth.records.judgement import CouldNotJudge, FailedRun, FailIfConfirmed, Passed
from pytest_trainhealth.records.speed import Phases
from pytest_trainhealth.records.symptoms import MEMORY, PERFORMANCE
from pytest_trainhealth.records.trace import Trace
from pytest_trainhealth.records.verdict import Symptom

# -- which steps count ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("seconds", "count"),
    [
        ([1.0] * 20, 5),
        ([9.0, 4.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0], 6),
        ([5.0, 1.0, 1.02, 0.98, 1.0, 1.0], 5),
        ([1.0, 1.0, 7.0, 9.0, 8.0, 1.0], 5),
        ([1.0, 1.0, 1.0, 1.0], None),
        ([2.0**-i for i in range(30)], MOST_WARM_UP),
    ],
    ids=["steady", "compiled first", "noise", "other work", "too short", "never settles"],
)
def test_warm_up_ends_when_steps_stop_getting_faster(seconds: list[float], count: int | None) -> None:
    assert warm_up(seconds) == count


def test_what_is_known_of_the_warm_up_does_not_change_as_steps_follow() -> None:
    seconds = [9.0, 4.0, 2.0, 1.5, 1.0, 1.0, 1.1, 0.9, 1.0, 0.5, 0.4]
    known = [warm_up(seconds[:n]) for n in range(len(seconds) + 1)]
    settled = [each for each in known if each is not None]
    assert len(set(settled)) == 1
    assert known.index(settled[0]) == settled[0]


def made_up(step: float = 0.01, wait: float = 0.001, steps: int = 30, growth: float = 0.0, slow: float = 5.0) -> Trace:
    """A warm-up that begins slowly, then as many steps as asked for."""
    trace = Trace.of([1.0] * (LEAST_WARM_UP + steps))
    trace.speed.waits = [wait * slow] + [wait] * (LEAST_WARM_UP - 1 + steps)
    trace.speed.computes = [(step - wait) * slow] + [step - wait] * (LEAST_WARM_UP - 1 + steps)
    trace.speed.memory = [int(5e8 + 1e6 * growth * i) for i in range(LEAST_WARM_UP + steps)]
    trace.speed.peak_memory = max(trace.speed.memory)
    part = (step - wait) / 10
    phases = Phases(forward=3 * part, backward=5 * part, optimizer=part)
    trace.speed.phases = {i: phases for i in range(len(trace.speed.waits))}
    return trace


def test_the_split_adds_up_to_the_step() -> None:
    known = measured(made_up(step=0.011, wait=0.001))
    assert known["step_seconds"] == pytest.approx(0.011)
    parts = [known[f"{name}_ms"] for name in ("wait", "transfer", "forward", "backward", "optimizer", "rest")]
    assert parts == pytest.approx([1.0, 0.0, 3.0, 5.0, 1.0, 1.0])
    assert known["data_wait"] == pytest.approx(1 / 11)
    assert known["samples_per_second"] == pytest.approx(16 / 0.011)
    assert known["tokens_per_second"] is None
    assert known["flops_per_second"] is None


def test_tokens_and_operations_per_second() -> None:
    trace = made_up(step=0.01)
    trace.speed.tokens, trace.speed.flops = [512] * 20, 2e9
    known = measured(trace)
    assert known["tokens_per_second"] == pytest.approx(51_200)
    assert known["flops_per_second"] == pytest.approx(2e11)


def test_tokens_of_all_batches_of_a_step_count() -> None:
    """A watched test accumulates: of four batches the first is seen."""
    trace = made_up(step=0.01)
    trace.speed.tokens, trace.speed.loader_batches = [512] * 20, [4] * 20
    assert measured(trace)["tokens_per_second"] == pytest.approx(204_800)


def test_waiting_is_not_told_where_nobody_knows_it() -> None:
    """A watched test that makes its batches by itself."""
    trace = made_up()
    trace.speed.loader_batches = [0] * 20
    judgement = judge(trace, {"max_data_wait": 0.9})
    assert isinstance(judgement, CouldNotJudge)
    assert judgement.reason.startswith("max_data_wait=0.9: every step begins")
    assert isinstance(judge(trace, {}), Passed)


def test_thousands_of_readings_are_judged_by_some(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[int] = []
    pairs = timing.combinations
    monkeypatch.setattr(timing, "combinations", lambda some, two: looked.append(len(some)) or pairs(some, two))
    assert measured(made_up(growth=0.3, steps=8000))["memory_growth_mb"] == pytest.approx(0.3)
    assert len(looked) == 2
    assert all(150 < count <= 200 for count in looked)


def test_one_large_allocation_is_no_growth() -> None:
    trace = made_up()
    trace.speed.memory = [*trace.speed.memory[:20], *(m + 400_000_000 for m in trace.speed.memory[20:])]
    assert isinstance(judge(trace, {"max_memory_growth": 0.01}), Passed)


def test_growth_in_pieces_is_growth() -> None:
    trace = made_up()
    trace.speed.memory = [int(5e8 + 4e6 * (i // 4)) for i in range(len(trace.speed.memory))]
    assert measured(trace)["memory_growth_mb"] == pytest.approx(1.0, rel=0.3)


def test_a_short_run_is_not_judged() -> None:
    judgement = judge(made_up(steps=0), {})
    assert isinstance(judgement, CouldNotJudge)
    assert judgement.reason == "too few steps were timed"


def test_enough_counts_from_the_end_of_the_warm_up() -> None:
    assert stop_when(made_up(steps=8), {"steps": 8})
    assert not stop_when(made_up(steps=7), {"steps": 8})


# -- gates ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "category", "summary"),
    [
        ({"max_data_wait": 0.05}, PERFORMANCE, "10 % of a step is waiting for data, at most 5 % allowed"),
        ({"min_samples_per_second": 2000.0}, PERFORMANCE, "1,600 samples/s, at least 2,000 samples/s required"),
        ({"max_step_ms": 9.0}, PERFORMANCE, "10 ms a step, at most 9 ms allowed"),
        ({"max_memory_growth": 1.5}, MEMORY, "memory grows by 2 MB with every step, at most 1.5 MB allowed"),
    ],
)
def test_a_gate_that_fails(settings: dict[str, float], category: str, summary: str) -> None:
    judgement = judge(made_up(growth=2.0), settings)
    assert isinstance(judgement, Symptom)
    assert (judgement.category, judgement.summary.partition(" (")[0]) == (category, summary)


def test_gates_that_hold() -> None:
    gates = {"max_data_wait": 0.11, "min_samples_per_second": 1500.0, "max_step_ms": 11.0, "max_memory_growth": 2.5}
    judgement = judge(made_up(growth=2.0), gates)
    assert isinstance(judgement, Passed)
    assert judgement.figures["memory_growth_mb"] == pytest.approx(2.0)


@pytest.mark.parametrize(
    ("step", "wait", "settings", "fails"),
    [
        (0.020, 0.015, {}, True),
        (0.020, 0.009, {}, False),
        (0.003, 0.0019, {}, False),  # any loader takes as long for a batch
        (0.003, 0.0019, {"max_data_wait": 0.5}, True),
        (0.004, 0.003, {}, False),  # 16 samples of 0.2 ms
        (0.004, 0.0035, {}, True),
    ],
)
def test_a_wait_that_any_loader_has_is_let_pass_unless_a_share_is_asked_for(
    step: float, wait: float, settings: dict[str, float], fails: bool
) -> None:
    judgement = judge(made_up(step=step, wait=wait), settings)
    assert isinstance(judgement, Symptom if fails else Passed)


def test_workers_that_start_with_each_short_epoch_are_no_wait() -> None:
    trace = made_up(step=0.002, wait=0.0005)
    trace.speed.waits = [0.025 if n % 4 == 0 else wait for n, wait in enumerate(trace.speed.waits)]
    assert measured(trace)["data_wait"] > 0.7
    trace.speed.worker_starts = list(range(0, len(trace.speed.waits), 4))
    assert measured(trace)["data_wait"] == pytest.approx(0.25)
    assert measured(trace)["wait_ms"] == pytest.approx(0.5)


def test_waits_that_come_in_bursts_are_told_as_they_are_judged() -> None:
    """Four workers: three batches are there, the fourth is not. The median wait would be next to nothing."""
    trace = made_up(step=0.005, wait=0.0)
    trace.speed.waits = [0.04 if n % 4 == 0 else 0.0 for n in range(len(trace.speed.waits))]
    symptom = judge(trace, {})
    assert isinstance(symptom, Symptom)
    assert "(waiting 9.33 ms, computing 5 ms)" in symptom.summary
    assert cause("data-loading-bottleneck").look(trace, symptom) is not None


def test_batches_of_different_sizes() -> None:
    trace = made_up(step=0.01, steps=8)
    trace.speed.samples = [256, *[8] * (len(trace.speed.waits) - 1)]
    trace.batch_size = 256
    assert measured(trace)["samples_per_second"] == pytest.approx(800)


def test_compiling_again_and_again_is_the_trainings_own_time() -> None:
    """A median of thirty steps would not show the five in which the compiler was at work."""
    trace = made_up(step=0.001, wait=0.0)
    late = range(LEAST_WARM_UP + 2, LEAST_WARM_UP + 12, 2)
    trace.speed.computes = [0.1 if n in late else each for n, each in enumerate(trace.speed.computes)]
    assert measured(trace)["step_seconds"] == pytest.approx(0.001)  # other work on the machine
    trace.speed.compiled = dict.fromkeys(late, 1)
    assert measured(trace)["step_seconds"] == pytest.approx((25 * 0.001 + 5 * 0.1) / 30)


@pytest.mark.parametrize(
    ("gate", "reason"),
    [
        ({"max_memory_growth": 0.5}, "max_memory_growth=0.5: too few steps were timed to tell growth from noise"),
        (
            {"max_data_wait": 0.5},
            "max_data_wait=0.5: every step begins an epoch, or there is no DataLoader to wait for",
        ),
        (
            {"min_samples_per_second": 10.0},
            "min_samples_per_second=10: the batches do not show how many samples they hold",
        ),
    ],
)
def test_a_gate_without_a_figure_is_not_passed(gate: dict[str, float], reason: str) -> None:
    trace = made_up(steps=5)
    trace.speed.worker_starts, trace.batch_size = list(range(len(trace.speed.waits))), None
    judgement = judge(trace, gate)
    assert isinstance(judgement, CouldNotJudge)
    assert judgement.reason == reason
    assert isinstance(judge(trace, {}), Passed)


def test_absolute_gates_have_no_default() -> None:
    assert isinstance(judge(made_up(step=3600.0, wait=0.0), {}), Passed)
    growing = judge(made_up(growth=500.0), {})  # of which nobody knows yet whether it is a fault
    assert isinstance(growing, FailIfConfirmed)
    assert isinstance(growing.otherwise, Passed)


def test_a_cured_run_tells_its_factor() -> None:
    slow, fast = FailedRun(made_up(step=0.034, wait=0.024), symptom(PERFORMANCE)), made_up(step=0.01)
    assert result(fast, slow) == "471 -> 1,600 samples/s, 3.4 x faster"
    assert clearly_better(fast, slow)
    assert result(made_up(step=0.03), slow) == "533 samples/s"
    assert not clearly_better(made_up(step=0.03), slow)
    assert result(made_up(growth=0.0), FailedRun(made_up(growth=8.0), symptom(MEMORY))) == "8 -> 0 MB a step"


@pytest.mark.parametrize("growth", [0.0, 0.0002, 8.0])
def test_what_is_slow_is_not_told_in_memory(growth: float) -> None:
    assert result(made_up(), FailedRun(made_up(growth=growth), symptom(PERFORMANCE))) == "1,600 samples/s"


def symptom(category: str) -> Symptom:
    return Symptom("as it is", category, 1.0, 2.0, "low", "as it is")


# -- what is measured ----------------------------------------------------------------------------------


def recorded(training: Training, steps: int = MOST_WARM_UP + 3) -> Trace:
    """So long that there are steps that count, however long the warm-up takes."""
    program = TrainingProgram(Start(training, seed=0))
    return program.record(RunPlan(max_steps=steps, look=Look(signals=SIGNALS), one_batch=False))


#: So long that no other work on the machine makes a phase look like it.
_NAP = 0.02


class Napping(nn.Module):
    def __init__(self, forward: bool = False, backward: bool = False) -> None:
        super().__init__()
        self.linear, self.naps = nn.Linear(4, 1), forward
        if backward:
            self.linear.weight.register_hook(lambda grad: time.sleep(_NAP))

    def forward(self, x: Tensor) -> Tensor:
        if self.naps:
            time.sleep(_NAP)
        return self.linear(x).pow(2).mean()


def napping(where: str) -> Training:
    model = Napping(forward=where == "forward", backward=where == "backward")
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    if where == "optimizer":
        optimizer.register_step_pre_hook(lambda *_: time.sleep(_NAP))

    def step(batch: Tensor) -> Tensor:
        optimizer.zero_grad()
        loss: Tensor = model(batch)
        loss.backward()
        if where == "before the update":
            time.sleep(_NAP)
        optimizer.step()
        if where == "rest":
            time.sleep(_NAP)
        return loss

    return Training(model, optimizer, step=step, data=torch.randn(8, 4))


@pytest.mark.parametrize("where", ["forward", "backward", "optimizer", "rest", "before the update"])
def test_a_nap_is_found_where_it_is_taken(where: str) -> None:
    known = measured(recorded(napping(where)))
    parts = {name: known[f"{name}_ms"] or 0.0 for name in ("wait", "forward", "backward", "optimizer", "rest")}
    largest = max(parts, key=parts.__getitem__)
    assert largest == ("rest" if where == "before the update" else where)
    # a share of the median step, whose nap may have been a little shorter than the others'
    assert parts[largest] >= 0.95e3 * _NAP > sum(parts.values()) - parts[largest]


def test_the_forward_passes_of_a_closure_are_told_from_the_optimizer() -> None:
    model = Napping(forward=True)
    optimizer = torch.optim.LBFGS(model.parameters(), lr=0.01, max_iter=2)
    known = measured(
        recorded(Training(model, optimizer, loss=lambda model, batch: model(batch), data=torch.randn(8, 4)))
    )
    forward, backward, update = (known[f"{name}_ms"] or 0.0 for name in ("forward", "backward", "optimizer"))
    assert forward >= 1e3 * _NAP > backward + update


def test_all_micro_batches_count_as_forward_and_backward() -> None:
    model = Napping(forward=True)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)

    def step(batch: Tensor) -> float:
        optimizer.zero_grad()
        total = 0.0
        for part in batch.chunk(3):
            loss = model(part)
            loss.backward()
            total += loss.item()
        optimizer.step()
        return total

    known = measured(recorded(Training(model, optimizer, step=step, data=torch.randn(9, 4))))
    assert (known["forward_ms"] or 0.0) >= 3e3 * _NAP > 1e3 * _NAP > (known["rest_ms"] or 0.0)


def test_on_an_accelerator_one_step_of_four_is_synchronised(monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[int] = []
    monkeypatch.setattr(torch.accelerator, "is_available", lambda: True)
    monkeypatch.setattr(torch.accelerator, "synchronize", lambda: waited.append(run.step))
    before = Tensor.to
    run = Run()
    run.feed = SimpleNamespace(moving=0.5)
    split = StepPhases(run)
    split.run_begins()
    try:
        for run.step in range(8):
            split.step_begins(torch.ones(1))
            torch.ones(1).to("meta")
            split.backward_begins([])
            split.backward_ends()
            split.step_ends()
    finally:
        split.run_ends()
    assert set(waited) == {0, 4} == set(run.trace.speed.phases)
    assert run.trace.speed.phases[4].transfer > 0.5
    assert Tensor.to is before


class Language(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed, self.head = nn.Embedding(20, 8), nn.Linear(8, 20)

    def forward(self, tokens: Tensor) -> Tensor:
        return self.head(self.embed(tokens))


def language_model(batches: list[dict[str, Tensor]]) -> Training:
    model = Language()
    return Training(
        model,
        torch.optim.SGD(model.parameters(), 0.1),
        loss=lambda m, b: F.cross_entropy(m(b["ids"][:, :-1]).flatten(0, 1), b["ids"][:, 1:].flatten()),
        data=batches,
    )


def test_tokens_are_counted_where_they_go_into_an_embedding() -> None:
    trace = recorded(language_model([{"ids": torch.randint(20, (4, n)), "page": torch.arange(4)} for n in (6, 9)]), 8)
    assert trace.speed.tokens == [36, 24, 36, 24, 36, 24, 36]


def test_whole_numbers_that_are_no_tokens_are_not_counted() -> None:
    model = nn.Linear(6, 2)
    training = Training(
        model,
        torch.optim.SGD(model.parameters(), 0.1),
        loss=lambda m, b: m(b[0].float()).sum() + 0.0 * b[1].sum(),
        data=[(torch.randint(9, (4, 6)), torch.randint(9, (4, 3)))],
    )
    assert recorded(training).speed.tokens == []


def test_operations_are_counted_in_a_run_of_their_own() -> None:
    training = language_model([{"ids": torch.randint(20, (4, 6))}])
    program = TrainingProgram(Start(training, seed=0))
    trace = program.record(RunPlan(max_steps=4, look=Look(signals=SIGNALS), one_batch=False))
    # a matrix product of (20, 8) x (8, 20): forward, and twice as much backward
    assert count_flops(program, RunPlan(max_steps=4)) == 3 * 2 * 20 * 8 * 20
    assert trace.steps == 4


def test_a_step_that_does_not_bear_being_counted_has_no_figure() -> None:
    calls: list[int] = []

    def step(batch: Tensor) -> Tensor:
        calls.append(1)
        if len(calls) == 1:
            raise RuntimeError("not under a dispatch mode")
        return batch.sum()

    model = nn.Linear(1, 1)
    training = Training(model, torch.optim.SGD(model.parameters(), 0.1), step=step, data=torch.ones(2, 1))
    assert count_flops(TrainingProgram(Start(training, seed=0)), RunPlan(max_steps=1)) is None
