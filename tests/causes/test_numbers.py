"""Causes about the size of numbers, on made-up traces: each has evidence of its own, and is silent without it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pytest_trainhealth.causes import Suspicion, cause
from pytest_trainhealth.records.data import FieldRecord, ScaleRecord
from pytest_trainhealth.records.losses import LossCall, TensorSummary
from pytest_trainhealth.records.numbers import (
    ActivationRecord,
    DropoutRecord,
    FirstBadOperation,
    HalfRecord,
    NonFinite,
    Range,
)
from pytest_trainhealth.records.symptoms import EXPLOSION, INSTABILITY, NOT_LEARNING, SILENT
from pytest_trainhealth.records.trace import Trace
from pytest_trainhealth.records.verdict import Place, Symptom
from pytest_trainhealth.records.wiring import OptimizerRecord, ParameterRecord

STUCK = Symptom("loss 2.303 -> 2.290", NOT_LEARNING, 2.29, 0.23)
JUMPS = Symptom("loss oscillates", INSTABILITY, 5.0, 0.2)
BROKEN = Symptom("the loss is nan", EXPLOSION, float("nan"), 0.0)


def look(name: str, trace: Trace, symptom: Symptom = STUCK) -> Suspicion | None:
    return cause(name).look(trace, symptom)


def found(name: str, trace: Trace, symptom: Symptom = STUCK) -> Suspicion:
    suspicion = look(name, trace, symptom)
    assert suspicion is not None
    assert suspicion.evidence
    assert suspicion.fix
    assert suspicion.not_this
    assert suspicion.why
    return suspicion


def weight(name: str, std: float = 0.07, fan_in: int = 64, units: int = 64, **facts: object) -> ParameterRecord:
    record = ParameterRecord(
        name,
        (units, fan_in),
        units * fan_in,
        module=name.rpartition(".")[0],
        module_class="Linear",
        std=std,
        norm=std * (units * fan_in) ** 0.5,
        fan_in=fan_in,
        moved=True,
        gradients={0: 1.0, 1: 1.0},
        updates={0: 0.01, 1: 0.01},
        unit_spread={0: 1.0, 4: 1.0},
    )
    for key, value in facts.items():
        setattr(record, key, value)
    return record


def flat(*parameters: ParameterRecord) -> Trace:
    trace = Trace.of([2.303] * 64, parameters or (weight("0.weight"), weight("2.weight", units=10)))
    trace.wiring.optimizers["Adam"] = OptimizerRecord("Adam", "Adam", lr={0: 1e-3}, steps=64)
    return trace


NAMES = (
    "unnormalized-inputs",
    "bad-initialization",
    "saturated-activations",
    "outliers",
    "exploding-gradients",
    "too-much-regularization",
    "low-precision-overflow",
    "insufficient-capacity",
)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("symptom", [STUCK, JUMPS, BROKEN], ids=lambda s: s.category)
def test_nothing_is_said_of_numbers_that_are_in_order(name: str, symptom: Symptom) -> None:
    trace = flat()
    trace.data.scales.append(ScaleRecord("batch[0]", (32, 8), 0.4, 1.2, -3.0, 4.0, 1.5, outlier=2, outlier_ratio=3.0))
    trace.numbers.activations["1:tanh"] = ActivationRecord("tanh", "1", 64, saturated={0: 0.06, 8: 0.9})
    trace.numbers.dropouts.append(DropoutRecord(0.5, "2"))
    trace.numbers.operations |= {"linear", "relu"}
    assert look(name, trace, symptom) is None


# -- unnormalized-inputs ---------------------------------------------------------------------------------------------


def pixels(**facts: object) -> ScaleRecord:
    record = ScaleRecord("batch[0]", (32, 64), 127.0, 74.0, 0.0, 255.0, 140.0, outlier_ratio=1.1)
    for key, value in facts.items():
        setattr(record, key, value)
    return record


def prices() -> ScaleRecord:
    return pixels(name="batch[1]", mean=2e5, std=5e4, low=9e4, high=4e5, largest=2e5, target=True)


def test_pixels() -> None:
    trace = flat()
    trace.data.scales.append(pixels())
    suspicion = found("unnormalized-inputs", trace)
    assert suspicion.statement == "values of batch[0] lie between 0 and 255"
    assert [c.options for c in suspicion.cures] == [{"inputs": 3.0}]
    # what is unstable may also have been given a tiny learning rate against it
    assert [c.options.get("rate") for c in found("unnormalized-inputs", trace, JUMPS).cures] == [None, 10.0]


def test_targets_are_said_to_be_targets() -> None:
    trace = flat()
    trace.data.scales.append(prices())
    suspicion = found("unnormalized-inputs", trace)
    assert suspicion.statement.startswith("targets: values of batch[1]")
    assert [c.options for c in suspicion.cures] == [{"targets": 3.0}]
    assert suspicion.cures[0].fix is not None
    assert "targets" in suspicion.cures[0].fix.code[0]


def test_each_alone_before_both() -> None:
    trace = flat()
    trace.data.scales += [pixels(), prices()]
    labels = [c.label for c in found("unnormalized-inputs", trace).cures]
    assert labels == ["inputs standardised", "targets standardised", "inputs and targets standardised"]


def test_one_feature_among_many() -> None:
    trace = flat()
    trace.data.scales.append(pixels(mean=0.5, std=1.1, largest=900.0))
    assert look("unnormalized-inputs", trace) is not None


def test_targets_around_fifty_are_usual() -> None:
    trace = flat()
    trace.data.scales.append(pixels(mean=50.0, std=5.0, target=True))
    assert look("unnormalized-inputs", trace) is None


# -- bad-initialization ----------------------------------------------------------------------------------------------


def test_units_that_stay_equal() -> None:
    equal = weight("0.weight", std=0.0, norm=6.4, unit_spread={0: 0.0, 1: 0.0, 4: 1e-7})
    suspicion = found("bad-initialization", flat(equal, weight("2.weight", std=0.0, unit_spread={0: 0.0, 4: 1e-7})))
    assert suspicion.statement == "all 64 units of 0.weight start equal and stay equal"
    assert suspicion.cures[0].options == {"names": ["0.weight", "2.weight"]}


def test_zeros_that_stay() -> None:
    zero = weight("0.weight", std=0.0, norm=0.0, unit_spread={0: 0.0, 4: 0.0}, gradients={0: 0.0})
    assert "start 0 and stay equal" in found("bad-initialization", flat(zero, weight("2.weight"))).statement


def test_a_branch_that_starts_at_zero_is_healthy() -> None:
    zero = weight("2.weight", std=0.0, norm=0.0, unit_spread={0: 0.0, 1: 0.9, 4: 0.95})
    assert look("bad-initialization", flat(weight("0.weight"), zero, weight("4.weight"))) is None


@pytest.mark.parametrize(("std", "said"), [(1.0, "far too large"), (1e-4, "far too small"), (0.18, ""), (0.01, "")])
def test_scale(std: float, said: str) -> None:
    """64 inputs: 0.125 would be usual, torch's own is 0.07."""
    suspicion = look("bad-initialization", flat(weight("0.weight", std=std), weight("2.weight")))
    assert (suspicion is None) == (not said)
    assert suspicion is None or said in suspicion.statement


def test_a_small_last_layer_is_healthy() -> None:
    assert look("bad-initialization", flat(weight("0.weight"), weight("2.weight", std=1e-5))) is None


def test_first_loss_beside_chance() -> None:
    trace = flat(weight("0.weight", std=1.0), weight("2.weight"))
    trace.losses[0] = 47.0
    trace.loss.calls.append(LossCall("cross_entropy", classes=10))
    assert any("guessing among 10 classes gives 2.303" in e.text for e in found("bad-initialization", trace).evidence)


# -- saturated-activations, exploding-gradients, outliers ------------------------------------------------------------


def test_saturated_from_the_start() -> None:
    trace = flat()
    trace.numbers.activations["1:tanh"] = ActivationRecord(
        "tanh", "1", 64, saturated={0: 0.97}, place=Place("net.py", 7)
    )
    assert found("saturated-activations", trace).places == (Place("net.py", 7),)
    trace.data.scales.append(pixels())  # then that comes first
    assert look("saturated-activations", trace) is None


def test_a_long_gradient_is_enough_beside_an_explosion_at_a_usual_rate() -> None:
    trace = flat(weight("0.weight", gradients={0: 36.0}))
    trace.wiring.optimizers = {"SGD": OptimizerRecord("SGD", "SGD", lr={0: 0.03}, steps=3)}
    assert "36" in found("exploding-gradients", trace, BROKEN).statement
    assert look("exploding-gradients", trace, JUMPS) is None
    trace.wiring.optimizers["SGD"].lr = {0: 1.0}  # then the rate may be to blame
    assert look("exploding-gradients", trace, BROKEN) is None


def test_frozen_beside_weights_that_cannot_begin() -> None:
    zero = weight("a", std=0.0, unit_spread={0: 0.0, 8: 0.0}, gradients={0: 0.0}, norm=0.0)
    trace = flat(weight("base", trainable=False, moved=False), zero)
    assert look("frozen-parameters", trace) is None
    assert found("bad-initialization", trace).statement == "all 64 units of a start 0 and stay equal"
    trace.wiring.parameters["a"] = weight("a")
    assert "base is frozen" in found("frozen-parameters", trace).statement


def test_frozen_by_the_step_itself() -> None:
    never = weight("critic.0.weight", frozen_since=0, gradients={0: None, 1: None}, moved=False, held_by=("Adam",))
    suspicion = found("frozen-parameters", flat(weight("0.weight"), never))
    assert suspicion.statement == "critic.0.weight is frozen by the step itself"
    assert suspicion.cures[0].kind == "unfrozen"


def test_nan_in_a_batch_after_the_fact() -> None:
    trace = flat()
    trace.data.fields[9] = [FieldRecord("batch", (4, 2), "float32", 0.0, 1.0, nonfinite=8)]
    assert found("nan-in-data", trace, BROKEN).cures
    trace.nonfinite = NonFinite(6, "the loss", "nan")  # by then everything is
    assert look("nan-in-data", trace, BROKEN) is None


def test_large_before_the_first_step() -> None:
    trace = flat(*(weight(f"{i}.weight", gradients={0: g}) for i, g in enumerate((5e4, 900.0, 20.0))))
    suspicion = found("exploding-gradients", trace, JUMPS)
    assert suspicion.statement == "the gradient's norm is 50,000 before the first step"
    assert "grows 2,500 times" in suspicion.evidence[1].text
    trace.data.scales.append(prices())  # the gradient is as large as the data
    assert look("exploding-gradients", trace, JUMPS) is None


@pytest.mark.parametrize(("update", "said"), [(1e-3, True), (0.4, False)])
def test_grown_out_of_small_steps_only(update: float, said: bool) -> None:
    """After large updates it is the learning rate that did it."""
    trace = flat(weight("0.weight", gradients={0: 1.0, 8: 5e3}, updates={0: update, 4: update}))
    assert (look("exploding-gradients", trace, JUMPS) is not None) is said


def test_outlier() -> None:
    trace = flat()
    trace.data.scales.append(pixels(mean=0.1, std=1.0, largest=1.0, high=9999.0, outlier=16, outlier_ratio=5000.0))
    assert found("outliers", trace, JUMPS).statement == "sample 16 of batch[0] is 5,000 times as large as most"


# -- too-much-regularization, low-precision-overflow, insufficient-capacity ------------------------------------------


def test_dropout() -> None:
    trace = flat()
    trace.numbers.dropouts += [
        DropoutRecord(0.88, "2", Place("net.py", 3)),
        DropoutRecord(0.91, "5", Place("net.py", 4)),
    ]
    assert found("too-much-regularization", trace).statement == "dropout in 5 sets 91 % of its values to 0"


def test_the_dropout_of_graph_attention_is_usual() -> None:
    trace = flat()
    trace.numbers.dropouts += [DropoutRecord(0.62, "attention", Place("net.py", 3))]
    assert look("too-much-regularization", trace) is None


@pytest.mark.parametrize(
    ("watched", "last", "tried"),
    [(True, 1.5, False), (False, 1.5, False), (True, 2.25, True), (False, 2.25, True)],
    ids=str,
)
def test_a_usual_dropout_is_no_fault_of_a_loop_that_learns(watched: bool, last: float, tried: bool) -> None:
    """Without it the loss of any training is lower: that of skorch's README, with half of ten units dropped."""
    falling = [2.3 - (2.3 - last) * step / 39 for step in range(40)]
    losses = falling if last < 2 else [2.3, *[last] * 39]
    trace = replace(Trace.of(losses), watched=watched)
    trace.numbers.dropouts += [DropoutRecord(0.5, "drop", Place("net.py", 3))]
    swap = cause("too-much-regularization").swap
    assert swap is not None
    assert (swap(trace, STUCK) is not None) is tried


def test_decay_is_tried_where_dropout_is_not() -> None:
    trace = Trace.of([2.3 - 0.02 * step for step in range(40)])
    trace.numbers.dropouts += [DropoutRecord(0.5, "drop", Place("net.py", 3))]
    trace.wiring.optimizers["SGD"] = OptimizerRecord("SGD", "SGD", lr={0: 0.1}, steps=40, weight_decay=0.02)
    swap = cause("too-much-regularization").swap
    assert swap is not None
    suspicion = swap(trace, STUCK)
    assert suspicion is not None
    assert "weight decay of 0.02" in suspicion.statement


@pytest.mark.parametrize(
    ("kind", "lr", "decay", "said"),
    [
        ("Adam", 1e-3, 1.0, True),
        ("SGD", 0.1, 0.1, True),
        ("AdamW", 1e-3, 10.0, True),
        ("AdamW", 3e-3, 0.1, False),
        ("Muon", 0.02, 0.1, False),
        ("SGD", 0.1, 5e-4, False),
        ("Adam", 1e-3, 1e-2, False),
    ],
)
def test_weight_decay(kind: str, lr: float, decay: float, said: bool) -> None:
    trace = flat()
    trace.wiring.optimizers = {kind: OptimizerRecord(kind, kind, lr={0: lr}, steps=64, weight_decay=decay)}
    assert (look("too-much-regularization", trace) is not None) is said


@pytest.mark.parametrize(
    ("rate", "decay", "advised"), [(0.1, 1.0, "0.01"), (1.0, 0.0051, "0.00051"), (0.1, 0.05, "0.005")]
)
def test_a_lower_weight_decay_is_lower(rate: float, decay: float, advised: str) -> None:
    trace = flat()
    trace.wiring.optimizers = {"SGD": OptimizerRecord("SGD", "SGD", lr={0: rate}, steps=64, weight_decay=decay)}
    assert found("too-much-regularization", trace).fix.code == (f"SGD(..., weight_decay={advised})",)


def test_a_rate_of_zero_is_raised_to_a_usual_one() -> None:
    trace = flat(weight("0.weight", updates={0: 0.0}))
    trace.wiring.optimizers = {"SGD": OptimizerRecord("SGD", "SGD", lr={0: 0.0}, steps=64)}
    assert found("lr-too-low", trace).fix.code == ("SGD(model.parameters(), lr=0.001)",)


def test_a_penalty_counts_where_the_loss_hardly_falls() -> None:
    trace = flat()
    trace.numbers.penalties.append(Place("train.py", 9))
    assert found("too-much-regularization", trace).places == (Place("train.py", 9),)
    trace.losses[-40:] = [0.5] * 40  # it has a floor, as penalties are meant to give
    assert look("too-much-regularization", trace) is None


def test_a_penalty_that_drowns_the_loss() -> None:
    trace = flat()
    trace.losses[:] = [25.0, *[1.0] * 63]
    trace.numbers.penalties.append(Place("train.py", 9))
    trace.loss.calls.append(LossCall("mse_loss", value=1.0, weight=1.0))
    suspicion = found("too-much-regularization", trace)
    assert "1.000 of 25.000 remains without it" in suspicion.evidence[0].text
    assert suspicion.cures[0].label == "without the penalty"
    trace.losses[0] = 2.0
    assert look("too-much-regularization", trace) is None


def test_float16() -> None:
    trace = flat()
    trace.numbers.halves["float16"] = HalfRecord("float16", "linear", "encode", 12, 4e4)
    trace.numbers.culprit = FirstBadOperation(
        "sum", "forward", "inf", "Net", inputs=(Range(0.0, 4e4, 1.0, 0.0, "float16"),)
    )
    suspicion = found("low-precision-overflow", trace, BROKEN)
    assert suspicion.statement == "sum in Net makes inf in float16"
    assert suspicion.cures[0].kind == "float32"


def test_bfloat16_under_autocast_is_no_reason_for_a_flat_loss() -> None:
    trace = flat()
    trace.numbers.halves["bfloat16"] = HalfRecord("bfloat16", "linear", "0", 12, 3.0)
    assert look("low-precision-overflow", trace) is None
    trace.wiring.parameters["0.weight"].dtype = "bfloat16"
    assert found("low-precision-overflow", trace).statement.endswith("computed in bfloat16")


def test_linear_model() -> None:
    trace = flat()
    trace.numbers.operations |= {"linear", "flatten", "dropout"}
    assert found("insufficient-capacity", trace).statement == "no activation function between 2 layers"
    trace.numbers.operations.add("softmax")
    assert look("insufficient-capacity", trace) is None


def test_linear_layers_get_rectifiers_unless_a_low_rank_is_meant() -> None:
    trace = flat(weight("0.weight", fan_in=8), weight("1.weight", units=8))
    trace.numbers.operations |= {"linear"}
    assert [c.options for c in found("insufficient-capacity", trace).cures] == [{"layers": 2}]
    trace = flat(weight("0.weight", units=8), weight("1.weight", fan_in=8))  # a linear autoencoder
    trace.numbers.operations |= {"linear"}
    assert not found("insufficient-capacity", trace).cures


def test_few_steps_show_no_floor() -> None:
    trace = flat()
    trace.numbers.operations |= {"linear"}
    del trace.losses[20:]
    assert look("insufficient-capacity", trace) is None


def test_bottleneck() -> None:
    trace = flat(weight("0.weight", units=1), weight("2.weight", fan_in=1), weight("4.weight", units=10))
    trace.numbers.operations |= {"linear", "relu"}
    assert "goes through 1 unit" in found("insufficient-capacity", trace).statement


def test_a_narrow_output_is_no_bottleneck() -> None:
    trace = flat(weight("0.weight"), weight("2.weight", units=1))
    trace.numbers.operations |= {"linear", "relu"}
    assert look("insufficient-capacity", trace) is None


def test_fewer_values_than_targets() -> None:
    trace = flat(weight("0.weight", fan_in=4, units=2), weight("2.weight", fan_in=2, units=2))
    trace.numbers.operations |= {"linear", "relu"}
    trace.loss.calls.append(LossCall("mse_loss", terms=4096))
    assert found("insufficient-capacity", trace).statement == "12 trainable values for 4,096 targets"


def test_weights_around_one_are_told_and_those_around_zero_are_not() -> None:
    trace = flat(weight("0.weight", std=0.02, mean=1.0), weight("2.weight", units=10))
    suspicion = found("bad-initialization", trace, BROKEN)
    assert "start around 1, not around 0" in suspicion.statement
    assert suspicion.cures[0].options == {"names": ["0.weight"]}
    assert look("bad-initialization", flat(weight("0.weight", mean=0.01)), BROKEN) is None


def exploded(operation: str, value: str = "inf", high: float = 90.0, step: int = 2, **more: object) -> Trace:
    trace = flat()
    given = (Range(-5.0, high, 0.1, 0.0, "float32", (16, 4), **more),)  # type: ignore[arg-type]
    trace.numbers.culprit = FirstBadOperation(operation, "forward", value, inputs=given, step=step, sample=3)
    return trace


@pytest.mark.parametrize(("high", "step", "certainty"), [(90, 2, "likely"), (800, 2, "possible"), (800, 0, "likely")])
def test_an_exponent_that_leapt_leaves_room_for_the_rate(high: float, step: int, certainty: str) -> None:
    assert found("unstable-operation", exploded("exp", high=high, step=step), BROKEN).certainty == certainty


def test_a_product_is_to_blame_for_nan_and_not_for_an_overflow() -> None:
    assert look("unstable-operation", exploded("mul"), BROKEN) is None
    suspicion = found("unstable-operation", exploded("mul", "nan", infinite=0.25), BROKEN)
    assert "made nan out of infinite values at step 2, for sample 3" in suspicion.evidence[0].text
    assert "25 % infinite" in suspicion.evidence[1].text


def test_a_transcript_that_is_too_long() -> None:
    suspicion = found("invalid-labels", exploded("_ctc_loss"), BROKEN)
    assert "longer than its input" in suspicion.statement
    assert look("invalid-labels", exploded("log"), BROKEN) is None
    assert look("invalid-labels", exploded("_ctc_loss", infinite=0.1), BROKEN) is None


# -- layers that cannot learn ----------------------------------------------------------------------------------------


def test_units_of_a_recurrent_layer_are_those_of_a_gate() -> None:
    """Rows part, because each gate gets a gradient of its own, and its units stay equal."""
    lstm = weight("lstm.weight_ih_l0", units=128, module_class="LSTM", unit_spread={0: 0.0, 4: 1e-7})
    lstm.fan_in, lstm.units = None, 32
    statement = found("bad-initialization", flat(lstm, weight("head.weight"))).statement
    assert statement == "all 32 units of lstm.weight_ih_l0 start equal and stay equal"


def test_a_table_that_this_run_does_not_use_accuses_nobody() -> None:
    table = weight("embed.weight", module_class="Embedding", unit_spread={0: 0.0, 4: 0.0}, gradients={0: None, 1: None})
    table.fan_in, table.units = None, 64
    assert look("bad-initialization", flat(table, weight("head.weight"))) is None


def factor(**facts: object) -> ParameterRecord:
    record = ParameterRecord("norm.weight", (16,), 16, module="norm", module_class="BatchNorm2d", norm=0.0)
    record.gradients = {0: 0.0, 1: 0.0}
    for key, value in facts.items():
        setattr(record, key, value)
    return record


def test_a_normalisation_that_multiplies_by_zero() -> None:
    suspicion = found("bad-initialization", flat(factor(), weight("2.weight")))
    assert suspicion.statement.startswith("BatchNorm2d multiplies by 0: norm.weight starts at 0")
    assert suspicion.cures[0].options == {"names": ["norm.weight"]}


def test_the_last_one_of_a_residual_branch_gets_a_gradient_at_once() -> None:
    assert look("bad-initialization", flat(factor(gradients={0: 0.2, 1: 0.3}), weight("2.weight"))) is None


def test_gradients_vanish_within_a_step_and_not_against_a_later_one() -> None:
    depth = [weight(f"{at}.weight", gradients={0: 10.0 ** (at - 5), 8: 10.0 ** (at - 5)}) for at in range(6)]
    assert "almost vanishes before it reaches 0.weight" in found("vanishing-gradients", flat(*depth)).statement
    grown = [weight(f"{at}.weight", gradients={0: 1.0, 8: 10.0**at, 16: 1e9 * at}) for at in range(3)]
    assert look("vanishing-gradients", flat(*grown)) is None


def test_next_to_an_infinite_gradient_none_vanishes() -> None:
    grown = [weight(f"{at}.weight", gradients={0: 1.0, 2: 1e15 if at < 1 else float("inf")}) for at in range(3)]
    assert look("vanishing-gradients", flat(*grown)) is None


def test_a_state_that_faded_leaves_no_weight_a_gradient_at_first() -> None:
    """Only the last bias gets one; the weights are all alike, and the last ones part from the first much later."""
    bias = ParameterRecord("out.bias", (4,), 4, gradients={0: 0.2, 1: 0.2})
    recurrent = weight("rnn.weight_ih_l0", gradients={0: 1e-13, 32: 1e-8})
    last = weight("out.weight", gradients={0: 1e-13, 32: 0.1})
    assert "rnn.weight_ih_l0" in found("vanishing-gradients", flat(recurrent, last, bias)).statement


def test_a_softmax_counts_where_it_feeds_a_layer() -> None:
    trace = flat()
    trace.numbers.activations["net:softmax:1"] = ActivationRecord("softmax", "net", 64, feeds="net.2")
    suspicion = found("saturated-activations", trace)
    assert suspicion.cures[0].options == {"calls": ["net:softmax:1"]}
    trace.numbers.activations["net:softmax:1"].feeds = ""
    assert look("saturated-activations", trace) is None


def test_what_is_silent_at_every_look_is_silently_wrong() -> None:
    """`relu(-x)` after x was rectified in place."""
    trace, wrong = flat(), Symptom("weights without influence", SILENT, 1.0, 0.0)
    trace.numbers.activations["act:relu:2"] = ActivationRecord("relu", "act", 12, dead=dict.fromkeys((0, 1, 2, 4), 1.0))
    assert "is 0 for every sample" in found("dead-activations", trace, wrong).statement
    trace.numbers.activations["act:relu:2"].dead[4] = 0.9
    assert look("dead-activations", trace, wrong) is None


# -- a singularity of its own against gradients and rates ------------------------------------------------------------


def log_of_zero(trace: Trace) -> Trace:
    given = (Range(0.0, 1.0, 1e-3, 0.1, "float32", (16, 4)),)
    trace.numbers.culprit = FirstBadOperation("log", "forward", "inf", inputs=given, step=2, sample=3)
    return trace


def test_a_log_of_zero_is_no_matter_of_clipping() -> None:
    trace = flat(weight("0.weight", gradients={0: 300.0}), weight("2.weight", gradients={0: 280.0}, units=10))
    assert look("exploding-gradients", trace, BROKEN) is not None
    assert look("exploding-gradients", log_of_zero(trace), BROKEN) is None
    assert found("unstable-operation", trace, BROKEN).certainty == "likely"


def test_gradients_that_grow_from_layer_to_layer_are_one() -> None:
    layers = [weight(f"{at}.weight", gradients={0: 10.0 ** (4 - at)}) for at in range(4)]
    grows = found("exploding-gradients", log_of_zero(flat(*layers)), BROKEN).evidence[1].text
    assert grows == "on its way from 3.weight back to 0.weight it grows 1,000 times per value"


def test_a_loss_that_falls_until_it_breaks_accuses_no_rate() -> None:
    trace = flat(*(weight(f"{at}.weight", updates={0: 0.2, 1: 0.2}) for at in range(2)))
    trace.losses[:] = [2.0 - 0.1 * step for step in range(12)] + [float("nan")]
    assert look("lr-too-high", trace, BROKEN) is None
    trace.losses[:] = [2.0, 9.0, 700.0, float("nan")]
    assert look("lr-too-high", trace, BROKEN) is not None
    trace.losses[:] = [2.0, float("nan")]  # too short to show anything but the size of its steps
    assert look("lr-too-high", trace, BROKEN) is not None


def test_where_an_operation_outside_of_the_model_is() -> None:
    trace = log_of_zero(flat())
    assert trace.numbers.culprit is not None
    trace.numbers.culprit.place = Place("src/train.py", 12, "loss = -torch.log(p)")
    assert found("unstable-operation", trace, BROKEN).statement == "log in your loss (train.py:12) makes inf"
    trace.numbers.culprit.module = "head"
    assert found("unstable-operation", trace, BROKEN).statement == "log in head makes inf"


def test_a_log_of_zero_is_no_matter_of_large_weights() -> None:
    trace = flat(weight("embed.weight", std=1.0), weight("2.weight"))
    assert look("bad-initialization", trace, BROKEN) is not None
    assert look("bad-initialization", log_of_zero(trace), BROKEN) is None


def test_outputs_that_are_sure_before_anything_was_learnt() -> None:
    """No weight is odd by itself; it is a factor after the last layer, say."""
    trace = Trace.of([54.0 - step for step in range(52)] + [1.0] * 40)
    trace.loss.calls = [
        LossCall(
            "cross_entropy",
            weight=1.0,
            sole=True,
            classes=50,
            input=TensorSummary((16, 50), std=9.0),
            target=TensorSummary((16,), "int64"),
        )
    ]
    said = found("bad-initialization", trace)
    assert [cure.kind for cure in said.cures] == ["calmed_output"]
    assert "spread by 9" in said.evidence[0].text
    never = Trace.of([54.0] * 90)
    never.loss.calls = trace.loss.calls
    assert look("bad-initialization", never) is None  # what never gets down to a guess has another fault


@pytest.mark.parametrize(("std", "said"), [(0.0, True), (0.2, False)])
def test_an_input_that_is_the_same_for_every_sample(std: float, said: bool) -> None:
    trace = flat()
    trace.batch_size = 32
    trace.data.scales = [pixels(mean=0.0, std=std, low=0.0, high=0.0, largest=0.0), prices()]
    assert (look("ignores-input", trace) is not None) == said
    trace.batch_size = 1  # one sample is like all others
    assert look("ignores-input", trace) is None


@pytest.mark.parametrize(("after", "said"), [(7465.0, True), (40.0, False)])
def test_a_long_gradient_counts_where_one_step_makes_the_loss_burst(after: float, said: bool) -> None:
    """At a usual rate, and whatever the loss comes down to afterwards."""
    trace = Trace.of([2.4, after, 13.0, 5.0, 0.6])
    trace.wiring.parameters["rnn.weight"] = weight("rnn.weight", gradients={0: 88.0, 1: 9.0})
    trace.wiring.optimizers["SGD"] = OptimizerRecord("SGD", "SGD", lr={0: 0.02}, steps=5)
    assert (look("exploding-gradients", trace) is not None) == said
