"""keeps_precision: judged on made-up traces, and on small trainings that 16 bits are too few for."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from pytest_trainhealth import Training, diagnose
from pytest_trainhealth.analysis.half_precision import direction, first_to_leave, lost_moves, progress
from pytest_trainhealth.checks.keeps_precision import FLOAT32, judge
from pytest_trainhealth.records.judgement import CouldNotJudge, NeedsControl, Passed
from pytest_trainhealth.records.state import LayerSketch, PrecisionRecord, Sketch, StateRecord
from pytest_trainhealth.records.trace import Trace
from pytest_trainhealth.records.verdict import Symptom

FALLING = [2.0, 1.5, 1.2, 1.0, 0.9, 0.8, 0.7, 0.6]
GRADIENT = {"w": Sketch(1.0, (1.0, 0.0))}
TURNED = {"w": Sketch(1.0, (0.6, 0.8))}


def run(losses=tuple(FALLING), **facts) -> Trace:
    record = PrecisionRecord(**{"gradients": GRADIENT, **facts})
    return replace(Trace.of(losses), state=StateRecord(precision=record))


def judged(low: Trace, whole: Trace | None = None):
    return judge(low, {}, {FLOAT32.label: whole or run()})


def test_float32_is_not_judged_unless_asked():
    assert isinstance(judge(run(), {}), CouldNotJudge)
    asked = judge(run(), {"precisions": ("bfloat16",)})
    assert isinstance(asked, NeedsControl)
    assert (asked.control.kind, asked.control.options) == ("autocast", {"dtype": "bfloat16"})
    assert isinstance(judge(run(), {"precisions": ("bfloat16",)}, {"in bfloat16": run(own="bfloat16")}), Passed)


def test_the_precision_of_its_own_is_compared_with_float32():
    assert judge(run(own="bfloat16"), {}) == NeedsControl(FLOAT32)
    assert isinstance(judged(run(own="bfloat16")), Passed)


@pytest.mark.parametrize(
    ("low", "said"),
    [
        (run(own="bfloat16", gradients=TURNED), "a cosine of 0.6 to that in float32 (at least 0.9 wanted)"),
        (run([2.0] * 8, own="bfloat16"), "ends at 0.600 in float32 and at 2.000 in bfloat16: 0 % of the way"),
        (run(half_weights=["w"], moves={"w": (9, 1)}), "90 % of the updates leave a weight of 16 bits where it was"),
    ],
)
def test_what_differs_is_told(low, said):
    found = judged(low)
    assert isinstance(found, Symptom)
    assert said in found.summary


def test_nothing_to_compare_is_not_judged():
    flat = run([1.0, 1.1] * 4, own="bfloat16", gradients={})
    assert isinstance(judged(flat, run([1.0, 1.1] * 4, gradients={})), CouldNotJudge)


def test_the_first_layer_that_leaves():
    def layer(name, *values):
        return LayerSketch(name, "Linear", "bfloat16", values)

    whole = [layer("a", 1.0, 2.0), layer("b", 3.0, 4.0), layer("c", 5.0, 6.0)]
    small = [layer("a", 1.001, 2.0), layer("b", 3.01, 4.0), layer("c", 5.02, 6.0)]
    assert first_to_leave(whole, small) is None
    found = first_to_leave(whole, [small[0], layer("b", 4.0, 4.0), layer("c", 9.0, 6.0)])
    assert found is not None
    assert found[0].name == "b"


def test_figures():
    assert direction(GRADIENT, GRADIENT) == 1.0
    assert direction({}, GRADIENT) is None
    assert direction(GRADIENT, {"w": Sketch(0.0, (0.0, 0.0))}) == 0.0
    assert progress(run(), run()) == 1.0
    assert lost_moves(run(moves={"a": (1, 9), "b": (9, 1)})) == (["b"], 0.5)


# -- real trainings --------------------------------------------------------------------------------


def verdict(subject, **settings):
    (found,) = diagnose(subject, ["keeps_precision"], **settings).verdicts
    return found


def factory(*, offset=0.0, half=False, lr=1e-2, **rest):
    def training() -> Training:
        model = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 3))
        with torch.no_grad():
            model[0].bias -= offset * model[0].weight.sum(1)
        if half:
            model.bfloat16()
        data = []
        for _ in range(4):
            inputs = torch.randn(16, 6)
            data.append((inputs + offset, inputs[:, :3].argmax(1)))

        def loss(model, batch):
            return F.cross_entropy(model(batch[0].to(model[0].weight.dtype)).float(), batch[1])

        held = model[2].parameters() if offset else model.parameters()
        return Training(model, torch.optim.Adam(held, lr), loss, data, **rest)

    return training


def test_a_training_that_keeps_its_precision_passes():
    assert verdict(factory(precision="bfloat16")).passed
    assert verdict(factory(precision="float16")).passed
    assert verdict(factory(), precisions=["bfloat16", "float16"]).passed
    assert verdict(factory(half=True, lr=3e-2)).passed
    assert verdict(factory()).outcome == "could not judge"


@pytest.mark.parametrize("settings", [{}, {"precisions": "bfloat16"}])
def test_the_layer_that_loses_its_inputs_is_named_and_confirmed(settings):
    own = {} if settings else {"precision": "bfloat16"}
    found = verdict(factory(offset=3000.0, **own), **settings)
    assert found.failed
    assert found.findings[0].headline == "precision-mismatch: 0 (Linear) does not keep its precision in bfloat16"
    assert found.findings[0].confirmed


def test_updates_that_are_rounded_away_are_named_and_confirmed():
    found = verdict(factory(half=True, lr=1e-5))
    assert found.failed
    assert (found.findings[0].cause, found.findings[0].certainty) == ("updates-lost", "confirmed")


def test_a_watched_script_with_autocast_is_judged():
    def main() -> None:
        model = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 3))
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        inputs = torch.randn(32, 6)
        labels = inputs[:, :3].argmax(1)
        for _ in range(12):
            optimizer.zero_grad()
            with torch.autocast("cpu", torch.bfloat16):
                loss = F.cross_entropy(model(inputs), labels)
            loss.backward()
            optimizer.step()

    assert verdict(main).passed
