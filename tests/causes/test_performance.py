"""Causes of slow steps and growing memory: on made-up traces, and on trainings that nap or hoard."""

from __future__ import annotations

import os
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset, TensorDataset

from pytest_trainhealth import Training, diagnose
from pytest_trainhealth.analysis.timing import LEAST_WARM_UP
from pytest_trainhealth.causes import Suspicion, cause
from pytest_trainhealth.observe.signals.speed.slow_calls import STEPS
from pytest_trainhealth.programs.plan import Look, RunPlan, Treatment
from pytest_trainhealth.programs.start import Start
from pytest_trainhealth.programs.training_program import TrainingProgram
from pytest_trainhealth.programs.watched_program import WatchedProgram
from pytest_trainhealth.records.intervention import Cure
from pytest_trainhealth.records.speed import (
    CallRecord,
    JoinedRecord,
    KeptGraph,
    LineRecord,
    LoadingRecord,
    Phases,
    SpeedRecord,
    SyncRecord,
)
from pytest_trainhealth.records.symptoms import MEMORY, PERFORMANCE
from pytest_trainhealth.records.trace import Trace
from pytest_trainhealth.records.verdict import Finding, Place, Symptom

SLOW = Symptom("20 ms a step", PERFORMANCE, 20.0, 10.0)
FEW = Symptom("800 samples/s", PERFORMANCE, 800.0, 5000.0)
GROWS = Symptom("memory grows by 4 MB", MEMORY, 4.0, 0.5)
LINE = Place("train.py", 31, "losses.append(loss)")


def made_up(wait: float = 0.0001, compute: float = 0.02, **facts: Any) -> Trace:
    steps = LEAST_WARM_UP + 20
    trace = Trace.of([1.0] * steps)
    trace.speed = SpeedRecord(**facts)
    trace.speed.waits, trace.speed.computes = [wait] * steps, [compute] * steps
    return trace


def look(name: str, trace: Trace, symptom: Symptom = SLOW) -> Suspicion | None:
    return cause(name).look(trace, symptom)


def found(name: str, trace: Trace, symptom: Symptom = SLOW) -> Suspicion:
    suspicion = look(name, trace, symptom)
    assert suspicion is not None
    assert suspicion.evidence
    assert suspicion.fix
    assert suspicion.not_this
    assert suspicion.why
    return suspicion


def told(suspicion: Suspicion) -> list[str]:
    return [evidence.text for evidence in suspicion.evidence]


# -- data-loading-bottleneck ---------------------------------------------------------------------------


def test_waiting_says_where_a_batch_is_made() -> None:
    loading = LoadingRecord("Clips", 0, 16, item=0.002, collate=0.001, item_place=LINE)
    suspicion = found("data-loading-bottleneck", made_up(wait=0.033, compute=0.01, loading=loading, cores=16))
    assert told(suspicion) == [
        "waiting 33 ms, computing 10 ms a step (20 steps)",
        "making a batch: Clips.__getitem__ 32 ms for 16 samples, collate 1 ms",
        "there are no workers; keeping up with the steps takes 4",
    ]
    assert suspicion.places == (LINE,)
    assert suspicion.fix is not None
    assert suspicion.fix.code == ("DataLoader(dataset, num_workers=4, persistent_workers=True)",)
    assert suspicion.fix.instruction == "load in parallel, and do the fixed part of __getitem__ once:"


def test_no_more_workers_are_advised_than_there_are_processors() -> None:
    loading = LoadingRecord("Clips", 0, 16, item=0.0001, collate=0.05, item_place=LINE)
    suspicion = found("data-loading-bottleneck", made_up(wait=0.05, compute=0.01, loading=loading, cores=2))
    assert suspicion.fix is not None
    assert "num_workers=2," in suspicion.fix.code[0]
    assert (
        suspicion.fix.instruction
        == "do less in the collate function; 2 workers, on 2 processors, only shorten the wait:"
    )


def test_a_collate_function_is_blamed_where_it_takes_longer() -> None:
    own = Place("data.py", 9, "padded = pad(samples)")
    loading = LoadingRecord("Clips", 2, 16, item=0.0001, collate=0.05, item_place=LINE, collate_place=own)
    suspicion = found("data-loading-bottleneck", made_up(wait=0.02, compute=0.01, loading=loading))
    assert suspicion.why.startswith("putting the samples of a batch together")
    assert suspicion.places == (own,)
    assert told(suspicion)[-1] == "2 workers for that; keeping up with the steps takes 6"


def test_nothing_is_blamed_that_is_fast_enough() -> None:
    """A batch takes less than a step computes, and is late all the same: prefetching, or who knows what."""
    loading = LoadingRecord("Clips", 4, 16, item=0.0001, collate=0.004, item_place=LINE, collate_place=LINE)
    suspicion = found("data-loading-bottleneck", made_up(wait=0.03, compute=0.02, loading=loading))
    assert suspicion.why == "the next batch is not ready when a step is done"


def test_moving_a_batch_is_told_from_making_it() -> None:
    trace = made_up(wait=0.001, compute=0.03)
    trace.speed.phases = {i: Phases(0.02, 0.004, 0.005, 0.001) for i in range(len(trace.speed.waits))}
    suspicion = found("data-loading-bottleneck", trace)
    assert suspicion.why == "moving a batch to the device takes longer than learning from it"
    assert suspicion.fix is not None
    assert "pin_memory=True" in suspicion.fix.code[0]


def test_a_step_that_computes_does_not_wait() -> None:
    assert look("data-loading-bottleneck", made_up(wait=0.004, compute=0.01)) is None


# -- memory-growth -------------------------------------------------------------------------------------


def kept(before: int = 3, after: int = 6, nodes: int = 48, nodes_after: int = 96, place: Place = LINE) -> KeptGraph:
    return KeptGraph("the list", "losses", before, after, nodes, nodes_after, 4, place)


def test_a_list_that_grows_is_named_with_its_line() -> None:
    suspicion = found("memory-growth", made_up(kept_graphs=[kept()]), GROWS)
    assert suspicion.statement == "the list losses keeps the graph of every step"
    assert told(suspicion)[0] == "the list losses holds 3 tensors with a grad_fn, 6 after 3 more steps"
    assert suspicion.fix is not None
    assert suspicion.fix.code == ("losses.append(loss.item())",)


def test_a_running_total_has_a_graph_that_grows() -> None:
    total = kept(1, 1, 30, 75, Place("train.py", 8, "total += loss"))
    suspicion = found("memory-growth", made_up(kept_graphs=[total]), GROWS)
    assert "has 30 operations, 75 after 3 more steps" in told(suspicion)[0]
    assert suspicion.fix is not None
    assert suspicion.fix.code == ("total += loss.item()",)


def test_what_is_carried_and_stays_as_large_is_no_leak() -> None:
    assert look("memory-growth", made_up(kept_graphs=[kept(1, 1, 40, 40)]), GROWS) is None


# -- small-batch-overhead, slow-operation, device-sync, thread-oversubscription, recompilation -----------


def test_a_step_that_takes_as_long_for_many_samples() -> None:
    trace = made_up(joined=JoinedRecord(16, 0.02, 0.025))
    suspicion = found("small-batch-overhead", trace, FEW)
    assert suspicion.statement == "a step takes 20 ms for 16 samples, and 25 ms for 256"
    assert look("small-batch-overhead", trace, SLOW) is None  # a shorter step is not to be had from a larger batch
    assert look("small-batch-overhead", made_up(joined=JoinedRecord(16, 0.02, 0.2)), FEW) is None
    assert look("small-batch-overhead", made_up(), FEW) is None


def test_one_line_that_takes_most_of_the_step() -> None:
    place = Place("model.py", 12, "torch.linalg.svd(weight)")
    slow = CallRecord("linalg_svd", 1, 0.018, 0.9, place, torch=True)
    trace = made_up(calls=[slow], operators=[("aten::_linalg_svd", 0.8), ("aten::mm", 0.1)])
    trace.speed.joined = JoinedRecord(16, 0.02, 0.02)
    suspicion = found("slow-operation", trace)
    assert suspicion.statement == "linalg_svd() takes 90 % of a step"
    assert suspicion.places == (place,)
    assert told(suspicion)[1].endswith("backward pass included: aten::_linalg_svd 80 %")
    assert suspicion.cures[0].options == {"file": "model.py", "line": 12}
    assert look("small-batch-overhead", trace, FEW) is None  # the line is what does not depend on the batch


@pytest.mark.parametrize(
    "call",
    [
        CallRecord("linear", 6, 0.006, 0.3, LINE, torch=True),
        CallRecord("run_backward", 1, 0.012, 0.6, LINE, torch=True),
        CallRecord("_foreach_add", 1, 0.012, 0.6, None, torch=True),
    ],
    ids=["a third", "the whole backward pass", "an optimizer"],
)
def test_no_line_is_named_where_none_stands_out(call: CallRecord) -> None:
    assert look("slow-operation", made_up(calls=[call])) is None


def test_a_loop_that_takes_most_of_the_forward_pass() -> None:
    place = Place("model.py", 20, "for t in range(x.shape[1]):")
    trace = made_up(loop=LineRecord(96, 0.004, 0.71, place), line=LineRecord(96, 0.003, 0.65, LINE))
    suspicion = found("slow-operation", trace)
    assert suspicion.statement == "a loop of 96 rounds takes 71 % of the forward pass"
    assert suspicion.places == (place,)
    assert suspicion.cures == ()


LINEARS, SVD = CallRecord("linear", 7, 0.006, 0.2, LINE), CallRecord("linalg_svd", 1, 0.008, 0.3, LINE)


@pytest.mark.parametrize(
    ("facts", "named"),
    [
        ({"loop": LineRecord(4, 0.004, 0.9, LINE)}, False),
        ({"loop": LineRecord(96, 0.004, 0.5, LINE)}, False),
        ({"line": LineRecord(1, 0.01, 0.9, LINE)}, True),  # operators, which are no calls
        ({"line": LineRecord(1, 0.01, 0.5, LINE)}, False),
        ({"line": LineRecord(1, 0.01, 0.9, LINE, modules=13), "calls": [LINEARS]}, False),
        ({"line": LineRecord(1, 0.01, 0.9, LINE, modules=3), "calls": [SVD]}, True),
        ({"line": LineRecord(1, 0.01, 0.9, LINE, modules=3), "calls": [SVD, LINEARS]}, False),
    ],
    ids=["few rounds", "half", "operators", "half a line", "a whole model", "one function", "two of them"],
)
def test_lines_and_loops_that_are_named(facts: dict[str, Any], named: bool) -> None:
    suspicion = look("slow-operation", made_up(**facts))
    assert (suspicion is not None) is named
    if suspicion is not None:
        assert suspicion.statement == "one line takes 90 % of the forward pass"
        assert suspicion.cures


def test_what_is_not_torch_cannot_be_remembered() -> None:
    assert found("slow-operation", made_up(calls=[CallRecord("sleep", 1, 0.018, 0.9, LINE)])).cures == ()


def test_threads_beside_other_work() -> None:
    assert look("thread-oversubscription", made_up(threads=2, cores=2, load=1.9)) is None
    assert look("thread-oversubscription", made_up(threads=1, cores=2, load=9.0)) is None
    suspicion = found("thread-oversubscription", made_up(threads=2, cores=2, load=4.2))
    assert suspicion.statement == "torch uses 2 threads alongside other work on 2 processors"
    assert suspicion.fix is not None
    assert suspicion.fix.code == ("torch.set_num_threads(1)",)
    assert told(suspicion)[1] == "load average 4.2: that many processes wanted a processor in the last minute"
    assert suspicion.certainty == "possible"
    assert suspicion.cures


@pytest.mark.parametrize(
    ("code", "mended"),
    [
        ("losses.append(loss)", "losses.append(loss.item())"),
        (
            "self.history.append(F.cross_entropy(model(x), y))",
            "self.history.append(F.cross_entropy(model(x), y).item())",
        ),
        ("metrics.append(out)", "metrics.append(out.detach())"),
        ("total += 0.5 * loss", "total += (0.5 * loss).item()"),
        ('state["reg"] = state["reg"] + penalty', "state['reg'] = state['reg'] + penalty.detach()"),
        ("self.total = self.total + loss", "self.total = self.total + loss.item()"),
        ("total = loss + total", "loss.item()  # a number"),
        ("losses += [loss]", "losses += [loss.item()]"),
        ("losses.append((epoch, loss))", "loss.item()  # a number"),
        ('history.append({"loss": loss})', "loss.item()  # a number"),
        ("queue.append(loss, 3)", "loss.item()  # a number"),
        ("for loss in losses:", "loss.item()  # a number"),
    ],
)
def test_the_line_that_keeps_a_graph_mended(code: str, mended: str) -> None:
    graph = kept(place=Place("train.py", 3, code))
    suspicion = found("memory-growth", made_up(kept_graphs=[graph]), GROWS)
    assert suspicion.fix is not None
    assert suspicion.fix.code[0] == mended


def test_waiting_for_the_device() -> None:
    syncs = [SyncRecord("__float__", 1.0, "cuda", LINE), SyncRecord("item", 40.0, "cuda", Place("train.py", 40))]
    suspicion = found("device-sync", made_up(syncs=syncs))
    assert suspicion.statement == "Python waits for the cuda device 41 times in every step"
    assert told(suspicion) == ["item(): 40 calls in a step", "float(): 1 call in a step"]
    assert suspicion.places[-1].line == 40
    assert suspicion.certainty == "likely"
    assert not cause("device-sync").curable


@pytest.mark.parametrize("sync", [SyncRecord("item", 2.0, "cuda", LINE), SyncRecord("item", 900.0, "cpu", LINE)])
def test_a_loss_that_is_read_and_a_tensor_on_the_cpu_do_no_harm(sync: SyncRecord) -> None:
    assert look("device-sync", made_up(syncs=[sync])) is None


def test_more_threads_than_processors() -> None:
    suspicion = found("thread-oversubscription", made_up(threads=16, cores=4))
    assert suspicion.statement == "torch uses 16 threads on 4 processors"
    beside = found("thread-oversubscription", made_up(threads=4, cores=4, workers=3))
    assert beside.certainty == "possible"
    assert beside.fix is not None
    assert beside.fix.code == ("torch.set_num_threads(1)",)
    assert look("thread-oversubscription", made_up(threads=4, cores=4)) is None
    assert look("thread-oversubscription", made_up(threads=1, cores=1, workers=8)) is None


def test_a_compiler_that_starts_again_and_again() -> None:
    trace = made_up(compiled={step: 1 for step in range(0, 25, 2)}, compiled_because="size mismatch at index 1")
    suspicion = found("recompilation", trace)
    assert suspicion.statement == "torch.compile makes a new graph at 10 of 20 steps"
    assert told(suspicion)[1] == "the compiler's reason: size mismatch at index 1"
    assert look("recompilation", made_up(compiled={0: 1, 1: 1, 7: 1})) is None


# -- trainings that nap or hoard -----------------------------------------------------------------------

#: So long that no other work on the machine is taken for it.
_NAP = 0.005


class Slow(Dataset[tuple[Tensor, int]]):
    def __len__(self) -> int:
        return 16

    def __getitem__(self, index: int) -> tuple[Tensor, int]:
        time.sleep(_NAP)
        return torch.randn(8), index % 2


def classifier(data: object) -> Training:
    model = nn.Linear(8, 2)
    return Training(model, torch.optim.SGD(model.parameters(), 0.1), criterion=nn.CrossEntropyLoss(), data=data)


def first_finding(make: Callable[[], Training | None], **gates: float) -> Finding:
    report = diagnose(make, "keeps_throughput", steps=8, **gates)
    assert report.findings, str(report)
    return report.findings[0]


def test_a_slow_dataset_is_confirmed_with_its_factor() -> None:
    finding = first_finding(lambda: classifier(DataLoader(Slow(), batch_size=4)))
    assert (finding.cause, finding.certainty) == ("data-loading-bottleneck", "confirmed")
    assert finding.location is not None
    assert finding.location.code == "time.sleep(_NAP)"
    assert finding.reruns[0].result.endswith("x faster")
    assert "Slow.__getitem__" in finding.evidence[1].text


@pytest.fixture(params=["one thread", "every core's"])
def torch_threads(request: pytest.FixtureRequest) -> Iterator[None]:
    """As many threads as the tests have, and as torch has where nobody sets a number."""
    before = torch.get_num_threads()
    torch.set_num_threads(1 if request.param == "one thread" else max(os.cpu_count() or 1, 2))
    yield
    torch.set_num_threads(before)


@pytest.mark.usefixtures("torch_threads")
def test_a_slow_dataset_of_a_watched_test() -> None:
    def watched() -> None:
        model = nn.Linear(8, 2)
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        for _ in range(4):
            for inputs, labels in DataLoader(Slow(), batch_size=4):
                optimizer.zero_grad()
                nn.functional.cross_entropy(model(inputs), labels).backward()
                optimizer.step()

    finding = first_finding(watched)
    assert (finding.cause, finding.certainty) == ("data-loading-bottleneck", "confirmed")
    assert finding.location is not None
    assert finding.location.code == "time.sleep(_NAP)"


@pytest.mark.usefixtures("torch_threads")
def test_a_step_that_computes_for_longer_than_it_waits_is_left_alone() -> None:
    def busy(model: nn.Module, batch: tuple[Tensor, Tensor]) -> Tensor:
        time.sleep(12 * _NAP)
        return nn.functional.cross_entropy(model(batch[0]), batch[1])

    def make() -> Training:
        model = nn.Linear(8, 2)
        return Training(model, torch.optim.SGD(model.parameters(), 0.1), busy, DataLoader(Slow(), batch_size=4))

    report = diagnose(make, "keeps_throughput", steps=8)
    assert report.healthy, str(report)


def test_a_gate_that_stays_closed_may_still_be_explained() -> None:
    finding = first_finding(lambda: classifier(DataLoader(Slow(), batch_size=4)), min_samples_per_second=1e9)
    assert finding.confirmed
    assert not finding.reruns[0].healthy
    assert finding.reruns[0].confirms


def test_a_fast_training_is_left_alone() -> None:
    data = TensorDataset(torch.randn(64, 8), torch.randint(2, (64,)))
    report = diagnose(
        lambda: classifier(DataLoader(data, batch_size=4)),
        "keeps_throughput",
        steps=8,
        max_data_wait=0.95,
        min_samples_per_second=1.0,
        max_step_ms=1e4,
    )
    assert report.healthy, str(report)


@dataclass
class Recorder:
    kept: Any


HISTORY: list[Tensor] = []


def hoarding(how: str) -> Training:
    """A metric that is kept with its graph."""
    model = nn.Sequential(nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 2))
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    losses: list[Any] = []
    logs: dict[str, list[Tensor]] = {"loss": []}
    recent: deque[Tensor] = deque()
    recorder, total = Recorder(None), torch.zeros(())
    HISTORY.clear()

    def step(batch: Tensor) -> Tensor:
        nonlocal total
        optimizer.zero_grad()
        loss = model(batch).pow(2).mean()
        loss.backward()
        optimizer.step()
        metric = model(batch).abs().mean()
        if how == "a list":
            losses.append(metric)
        elif how == "a tuple in a list":
            losses.append((metric, 1))
        elif how == "a dict in a list":
            losses.append({"metric": metric, "epoch": 1})
        elif how == "dicts in a tuple":
            losses.append(({"metric": metric}, {"again": metric * 2}))
        elif how == "a list in a dict":
            logs["loss"].append(metric)
        elif how == "a deque":
            recent.append(metric)
        elif how == "a module's list":
            HISTORY.append(metric)
        elif how == "an attribute":
            recorder.kept = metric if recorder.kept is None else recorder.kept + metric
        elif how == "an attribute, in place":
            recorder.kept = 0.0 if recorder.kept is None else recorder.kept
            recorder.kept += metric
        elif how == "a total":
            total = total + metric
        elif how == "the last one":
            recorder.kept = metric
        elif how == "numbers":
            losses.append(metric.item())
        return loss

    return Training(model, optimizer, step=step, data=torch.randn(16, 8))


def closely(training: Training) -> SpeedRecord:
    program = TrainingProgram(Start(training, seed=0))
    return program.record(
        RunPlan(max_steps=STEPS, look=Look(signals=("kept_graphs", "slow_calls")), one_batch=False)
    ).speed


@pytest.mark.parametrize(
    ("how", "named", "code"),
    [
        ("a list", "the list losses", "losses.append(metric)"),
        ("a tuple in a list", "the list losses", "losses.append((metric, 1))"),
        ("a dict in a list", "the list losses", 'losses.append({"metric": metric, "epoch": 1})'),
        ("dicts in a tuple", "the list losses", 'losses.append(({"metric": metric}, {"again": metric * 2}))'),
        ("a list in a dict", "the list logs['loss']", 'logs["loss"].append(metric)'),
        ("a deque", "the deque recent", "recent.append(metric)"),
        ("a module's list", "the list HISTORY", "HISTORY.append(metric)"),
        ("an attribute", "the attribute Recorder.kept", "recorder.kept = metric if recorder.kept is None else"),
        ("an attribute, in place", "the attribute Recorder.kept", "recorder.kept += metric"),
        ("a total", "the variable total", "total = total + metric"),
    ],
)
def test_who_keeps_graphs_and_where(how: str, named: str, code: str) -> None:
    growing = [record for record in closely(hoarding(how)).kept_graphs if record.grows]
    assert [f"{record.kind} {record.name}" for record in growing] == [named]
    assert growing[0].place is not None
    assert growing[0].place.code.startswith(code)


def test_a_local_list_of_a_watched_test() -> None:
    def watched() -> None:
        model = nn.Linear(8, 2)
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        seen = []
        for _ in range(STEPS):
            optimizer.zero_grad()
            loss = model(torch.ones(4, 8)).sum()
            loss.backward()
            optimizer.step()
            seen.append(loss)

    before = sys.gettrace(), sys.getprofile()
    trace = WatchedProgram(watched, 0).record(RunPlan(max_steps=0, look=Look(signals=("kept_graphs",))))
    growing = [record for record in trace.speed.kept_graphs if record.grows]
    assert [f"{record.kind} {record.name}" for record in growing] == ["the list seen"]
    assert growing[0].place is not None
    assert growing[0].place.code == "seen.append(loss)"
    assert (sys.gettrace(), sys.getprofile()) == before


@pytest.mark.parametrize("how", ["the last one", "numbers", "nothing"])
def test_who_keeps_none(how: str) -> None:
    assert not [record for record in closely(hoarding(how)).kept_graphs if record.grows]


def test_the_dearest_line_is_found_whatever_it_calls() -> None:
    def loss(model: Any, batch: Tensor) -> Tensor:
        time.sleep(_NAP)
        return model(batch).sum()  # type: ignore[no-any-return]

    model = nn.Linear(8, 2)
    calls = closely(Training(model, torch.optim.SGD(model.parameters(), 0.1), loss=loss, data=torch.ones(4, 8))).calls
    assert (calls[0].name, calls[0].calls, calls[0].torch) == ("sleep", 1, False)
    assert calls[0].place is not None
    assert calls[0].place.code == "time.sleep(_NAP)"
    assert calls[0].share > 0.5


def test_a_remembered_result_still_lets_gradients_through() -> None:
    """So that only the one function is missing from the step, not everything before it."""

    def loss(model: Any, batch: Tensor) -> Tensor:
        outputs = model(batch)
        return torch.linalg.matrix_norm(outputs, 2)  # the slow one

    model = nn.Linear(64, 64)
    program = TrainingProgram(
        Start(Training(model, torch.optim.SGD(model.parameters(), 0.1), loss=loss, data=torch.randn(64, 64)), seed=0)
    )
    line = loss.__code__.co_firstlineno + 2
    cure = Cure("cached_result", "", {"file": __file__, "line": line})
    cured = program.record(RunPlan(max_steps=6, look=Look(signals=("gradients",)), treatment=Treatment(cures=(cure,))))
    assert len(set(cured.losses[3:])) == 1
    assert len(set(cured.losses[:3])) == 3
    assert program.record(RunPlan(max_steps=6)).losses[:3] == cured.losses[:3]


@pytest.mark.parametrize("at", ["before the forward pass", "after it", "before the update", "after it all"])
def test_validation_losses_of_a_watched_test(at: str) -> None:
    """Wherever the line stands: steps of a watched test may end in the middle of it, and of the loss of the next."""

    def body() -> None:
        model = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 4))
        optimizer = torch.optim.SGD(model.parameters(), 0.01)
        history = []
        for _ in range(60):
            if at == "before the forward pass":
                history.append(model(torch.ones(1024, 64)).mean())
            loss = model(torch.ones(8, 64)).mean()
            if at == "after it":
                history.append(model(torch.ones(1024, 64)).mean())
            optimizer.zero_grad()
            loss.backward()
            if at == "before the update":
                history.append(model(torch.ones(1024, 64)).mean())
            optimizer.step()
            if at == "after it all":
                history.append(model(torch.ones(1024, 64)).mean())

    (verdict,) = diagnose(body, checks=["keeps_throughput"]).verdicts
    assert verdict.failed, verdict.reason
    finding = verdict.findings[0]
    assert (finding.cause, finding.certainty) == ("memory-growth", "confirmed")
    assert [place.code for place in finding.places] == ["history.append(model(torch.ones(1024, 64)).mean())"]


@pytest.mark.parametrize("steps", [11, 15, 16, 17, 18, 20])
def test_a_watched_test_that_is_over_soon_has_the_same_shares(steps: int, monkeypatch: pytest.MonkeyPatch) -> None:
    ticks: list[None] = []
    monkeypatch.setattr(time, "perf_counter", ticks.__len__)  # no other work on the machine counts

    def body() -> None:
        model = nn.Linear(4, 1)
        optimizer = torch.optim.SGD(model.parameters(), 0.01)
        for _ in range(steps):
            optimizer.zero_grad()
            loss = model(torch.ones(2, 4)).mean()
            ticks.extend([None] * 5)
            ticks.extend([None] * 15)
            loss.backward()
            optimizer.step()

    plan = RunPlan(max_steps=STEPS, look=Look(signals=("slow_calls",), from_forward=True), one_batch=False)
    seen = WatchedProgram(body, 0).record(plan).speed
    calls = [call for call in seen.calls if call.name == "extend"]
    assert [(call.calls, call.seconds, call.share) for call in calls] == [(1, 15, 0.75), (1, 5, 0.25)]
    assert seen.line is None  # those of functions that are running already are not told
