"""What is kept of a run for reports: bounded, thinned without losing peaks, and the same after a trip through JSON."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import pytest

from pytest_trainhealth.analysis.kept_of_a_run import RUN_POINTS, curve, recorded, thinned
from pytest_trainhealth.records.data import FieldRecord
from pytest_trainhealth.records.history import History, Series
from pytest_trainhealth.records.losses import LossCall
from pytest_trainhealth.records.numbers import ActivationRecord
from pytest_trainhealth.records.recorded import Curve
from pytest_trainhealth.records.survey import ClassSurvey, SurveyRecord
from pytest_trainhealth.records.trace import Trace
from pytest_trainhealth.records.verdict import Finding, Rerun, Verdict
from pytest_trainhealth.records.wiring import OptimizerRecord, ParameterRecord


def full_trace(steps: int = 1000, layers: int = 100) -> Trace:
    trace = Trace.of(
        [2.0 / (1 + step) for step in range(steps)],
        [
            ParameterRecord(f"layer{at}.weight", (4, 4), 16, gradients={0: 4.0, 4: 2.0}, updates={0: 0.1, 4: 0.01})
            for at in range(layers)
        ],
    )
    trace.wiring.optimizers["optimizer"] = OptimizerRecord("optimizer", "AdamW", rates=[1e-3] * steps)
    trace.loss.calls.append(
        LossCall("cross_entropy", floor=0.0, chance=2.3, weight=1.0, terms=1, samples=1, sole=True, given_target=True)
    )
    trace.numbers.activations["relu"] = ActivationRecord("relu", "net.1", 64, dead={0: 0.0, 4: 0.5})
    trace.data.fields[0] = [FieldRecord("batch[0]", (16, 20), "float32", -3.0, 3.0, 0.01, 1.0)]
    trace.data.survey = SurveyRecord(samples=64, classes=[ClassSurvey("batch[1]", {0: 60, 1: 4}, 64)])
    return trace


def test_a_long_curve_keeps_its_ends_and_its_peaks() -> None:
    values = [1.0] * 10_000
    values[777], values[8123] = 50.0, -3.0
    kept = thinned(values, 120)
    assert len(kept) <= 120
    assert kept == sorted(set(kept))
    assert {0, 777, 8123, 9_999} <= set(kept)


@pytest.mark.parametrize("length", [1, 2, 3, 119, 120, 121, 122, 240])
def test_whatever_the_length_it_is_bounded(length: int) -> None:
    kept = thinned([float(at % 7) for at in range(length)], 120)
    assert kept[0] == 0
    assert kept[-1] == length - 1
    assert len(kept) == min(length, 120) or 60 < len(kept) <= 120


def test_the_first_value_that_is_not_finite_is_kept() -> None:
    values = [1.0] * 500 + [math.nan] * 500
    assert 500 in thinned(values, 120)
    assert math.isnan(curve("the run", values).values[-1])


def test_everything_is_bounded_however_large_the_model_is() -> None:
    found = recorded(full_trace(steps=100_000, layers=2_000))
    assert found.losses is not None
    assert len(found.losses.values) <= RUN_POINTS
    assert found.parameter_count == 2_000
    assert [each.name for each in found.parameters][:: len(found.parameters) - 1] == [
        "layer0.weight",
        "layer1999.weight",
    ]
    verdict = Verdict("learns_from_data", "test", "passed", recorded=found)
    assert len(json.dumps(verdict.to_json())) < 15_000


def test_what_is_kept_of_a_layer_is_per_value() -> None:
    layer = recorded(full_trace()).parameters[0]
    assert layer.gradient == (1.0, 0.5)
    assert layer.update == (0.1, 0.01)


def test_a_rate_that_never_changes_is_two_points() -> None:
    (rate,) = recorded(full_trace()).rates
    assert (rate.name, rate.steps, rate.values, rate.unit) == ("AdamW", (0.0, 999.0), (1e-3, 1e-3), "update")


def test_points_of_reference_data_and_activations_are_kept() -> None:
    found = recorded(full_trace(), {"a plain recipe, Adam at 0.01": Trace.of([2.0, 0.5, 0.5, 0.5])})
    assert (found.floor, found.chance, found.reach) == (0.0, 2.3, 0.5)
    assert (found.activations[0].dead, found.activations[0].saturated) == (0.5, None)
    assert found.fields[0].kind == "16 x 20 float32"
    assert (found.samples, found.classes) == (64, ((0, 60), (1, 4)))


def test_nothing_recorded_is_no_error() -> None:
    assert recorded(Trace()).losses is None
    assert recorded(replace(Trace.of([1.0]), loss_seen=False)).losses is None


def test_of_a_log_losses_come_first() -> None:
    def series(name: str) -> Series:
        steps = [float(10 * at) for at in range(500)]
        return Series(name, [1.0 / (1 + at) for at in steps], steps, [math.nan] * 500, range(500), [0.0] * 500)

    names = ("lr", "val_loss", "train_loss", "accuracy")
    logged = recorded(Trace(history=History("run.csv", "csv", {name: series(name) for name in names}))).logged
    assert [each.name for each in logged] == ["train_loss", "val_loss", "accuracy", "lr"]
    assert all(len(each.values) <= RUN_POINTS and each.steps[-1] == 4990.0 for each in logged)


def test_a_trip_through_json_changes_nothing() -> None:
    rerun = Rerun("learning rate / 10", "2.3 -> 0.1", True, True, Curve("the re-run", (0.0, 1.0), (2.3, math.inf)))
    verdict = Verdict(
        "learns_from_data",
        "test",
        "failed",
        findings=(Finding("lr-too-high", "too high", "confirmed", reruns=(rerun,)),),
        reruns=(rerun,),
        recorded=recorded(full_trace()),
    )
    assert Verdict.from_json(json.loads(json.dumps(verdict.to_json()))) == verdict


def test_older_files_have_none_of_it() -> None:
    data = Verdict("learns_from_data", "test", "failed", reruns=(Rerun("clip at 1", "2.3 -> 2.3", False),)).to_json()
    del data["recorded"], data["reruns"][0]["losses"]
    assert Verdict.from_json(data).recorded is None
