"""Faults of the loop that are looked for beside a training that fails, on made-up traces."""

from __future__ import annotations

from pytest_trainhealth.causes import Suspicion, cause
from pytest_trainhealth.records.data import DriftingBatch, KeptTensor, SampleChange
from pytest_trainhealth.records.symptoms import INSTABILITY, NOT_LEARNING, SILENT
from pytest_trainhealth.records.trace import Trace
from pytest_trainhealth.records.verdict import Place, Symptom
from pytest_trainhealth.records.wiring import Accumulation, DoubleUpdate, GradientPath, OptimizerRecord

HERE = Place("train.py", 12, "clip_grad_norm_(model.parameters(), 1e-4)")


def look(name: str, trace: Trace, category: str = NOT_LEARNING) -> Suspicion | None:
    return cause(name).look(trace, Symptom("fails", category, 0.0, 0.0))


def stepped(kind: str = "SGD") -> Trace:
    trace = Trace.of([1.0] * 8)
    trace.wiring.optimizers["o"] = OptimizerRecord("o", kind, lr={0: 0.1}, steps=8)
    return trace


def clipped(after: float, at: float, kind: str = "SGD", **facts: object) -> Trace:
    trace = stepped(kind)
    facts = {"changed_at": HERE, **facts}
    trace.wiring.gradient_paths = [GradientPath(step, "o", after, at, **facts) for step in (0, 1, 2, 4)]  # type: ignore[arg-type]
    return trace


def test_clipped_to_nearly_nothing() -> None:
    found = look("bad-gradient-clipping", clipped(2.0, 1e-4))
    assert found is not None
    assert found.places == (HERE,)
    assert [cure.kind for cure in found.cures] == ["unclipped_gradients"]


def test_clipped_before_unscaling() -> None:
    found = look("bad-gradient-clipping", clipped(2.0, 1.5e-5, unscaled_later=True))
    assert found is not None
    assert "before unscaling" in found.statement
    assert found.fix is not None
    assert found.fix.code[0] == "scaler.unscale_(optimizer)"


def test_usual_clipping_is_not_meant() -> None:
    assert look("bad-gradient-clipping", clipped(500.0, 1.0)) is None
    assert look("bad-gradient-clipping", clipped(0.3, 0.1)) is None
    assert look("bad-gradient-clipping", clipped(2.0, 1e-3, kind="Adam")) is None
    assert look("bad-gradient-clipping", clipped(2.0, 1e-4, changed_at=None)) is None


def test_clipped_after_the_step() -> None:
    found = look("bad-gradient-clipping", clipped(80.0, 80.0, left=1.0, changed_later_at=HERE), INSTABILITY)
    assert found is not None
    assert "after" in found.statement
    assert found.cures[0].options == {"max_norm": 1.0}


def test_sum_of_several_gradients() -> None:
    trace = stepped()
    trace.wiring.accumulations = [Accumulation(step, "o", 8, 1.0, HERE) for step in range(4)]
    found = look("accumulation-not-scaled", trace, INSTABILITY)
    assert found is not None
    assert "8 gradients" in found.statement


def test_sums_that_are_in_order() -> None:
    for facts in ({"factor": 1 / 8}, {"factor": 1 / 4096}, {"one_loop": False}, {"passes": 1}):
        trace = stepped()
        trace.wiring.accumulations = [Accumulation(step, "o", **{"passes": 8, **facts}) for step in range(4)]  # type: ignore[arg-type]
        assert look("accumulation-not-scaled", trace, INSTABILITY) is None, facts
    trace = stepped("AdamW")
    trace.wiring.accumulations = [Accumulation(step, "o", 8) for step in range(4)]
    assert look("accumulation-not-scaled", trace, INSTABILITY) is None


def test_a_kept_tensor_that_grows_counts_beside_a_failure_only() -> None:
    trace = stepped()
    trace.data.kept_tensors["pe"] = KeptTensor("pe", 1.0, {0: 1.0, 1: 2.0, 2: 3.0, 4: 5.0})
    assert look("in-place-modification", trace, SILENT) is None
    found = look("in-place-modification", trace, INSTABILITY)
    assert found is not None
    assert found.cures[0].options == {"names": ["pe"]}


def test_kept_tensors_that_settle_or_stay_are_not_meant() -> None:
    for changes in (
        {0: 0.0, 1: 0.0, 2: 0.0, 4: 0.0},
        {0: 0.5, 1: 0.9, 2: 0.7, 4: 0.8},
        {0: 0.1, 1: 0.2, 2: 0.3, 4: 0.4},
    ):
        trace = stepped()
        trace.data.kept_tensors["mean"] = KeptTensor("mean", 1.0, changes)
        assert look("in-place-modification", trace, INSTABILITY) is None


def test_a_sample_that_changes_is_told_with_its_store() -> None:
    trace = stepped()
    trace.data.sample_change = SampleChange("Digits", "images", 0, (0.5, -1.5, -3.5), HERE)
    found = look("in-place-modification", trace, SILENT)
    assert found is not None
    assert found.statement == "reading a sample of Digits writes into its images"


def test_a_batch_in_a_list_that_drifts_is_told_with_its_line() -> None:
    trace = stepped()
    trace.data.drifting_batch = DriftingBatch("[0]", (0.15, 0.13), (3.0, 2.5, 2.2), HERE)
    found = look("in-place-modification", trace, SILENT)
    assert found is not None
    assert found.statement == "the step writes into batch[0], and the next epoch gets what it has left"
    assert found.evidence[0].text.startswith("15 % of the values of batch[0] were changed by a step, and 13 % again")
    assert found.places == (HERE,)
    assert found.cures[0].options == {"copies": True}


def test_who_holds_what_twice() -> None:
    trace = stepped()
    trace.wiring.double_updates["w"] = DoubleUpdate("w", ("o", "o"), [0, 1])
    found = look("duplicate-parameters", trace, SILENT)
    assert found is not None
    assert found.why == "o holds it twice"
