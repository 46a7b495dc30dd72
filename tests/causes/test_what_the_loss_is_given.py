"""Causes that read the calls of loss functions, on made-up traces."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_trainhealth.analysis import loss_calls
from pytest_trainhealth.causes import Suspicion, cause
from pytest_trainhealth.records.losses import LossCall, TensorSummary
from pytest_trainhealth.records.symptoms import CRASH, INSTABILITY, PLATEAU
from pytest_trainhealth.records.trace import Trace
from pytest_trainhealth.records.verdict import Symptom
from pytest_trainhealth.records.wiring import OptimizerRecord

SCORES = TensorSummary((16, 5), low=-2.0, high=2.0)
CLASSES = TensorSummary((16,), "int64", 0, 4, whole=True, distinct=5)


def trace(call: LossCall, **optimizer: Any) -> Trace:
    made = Trace.of([2.0] * 50)
    made.loss.calls = [call]
    made.wiring.optimizers["SGD"] = OptimizerRecord("SGD", "SGD", {0: 0.1}, steps=50, **optimizer)
    return made


def look(name: str, made: Trace, category: str = PLATEAU) -> Suspicion | None:
    return cause(name).look(made, Symptom("", category, 1.0, 0.1))


def cross_entropy(**more: Any) -> LossCall:
    facts = {"input": SCORES, "target": CLASSES, "classes": 5, "terms": 16, "samples": 16, "value": 1.6, **more}
    return LossCall("cross_entropy", **facts)


def test_double_softmax_is_seen_and_log_softmax_is_none() -> None:
    assert look("double-softmax", trace(cross_entropy(activation="softmax", over=5))) is not None
    assert look("double-softmax", trace(cross_entropy(activation="log_softmax", over=5))) is None
    assert look("double-softmax", trace(cross_entropy())) is None


def test_a_softmax_over_the_batch_is_another_fault() -> None:
    assert look("double-softmax", trace(cross_entropy(activation="softmax", over=16, over_batch=True))) is None


@pytest.mark.parametrize(("weight", "sole", "found"), [(-1.0, True, True), (1.0, True, False), (-1.0, False, False)])
def test_a_turned_sign_needs_the_whole_loss(weight: float, sole: bool, found: bool) -> None:
    made = trace(cross_entropy(weight=weight, sole=sole))
    assert (look("wrong-loss-sign", made) is not None) is found


def test_a_reward_times_a_loss_is_no_turned_sign() -> None:
    assert look("wrong-loss-sign", trace(cross_entropy(weight=-4.2, sole=True))) is None


def test_to_unlearn_is_to_climb_from_far_below_chance() -> None:
    assert look("wrong-loss-sign", trace(cross_entropy(weight=-1.0, sole=True, value=0.05))) is None


def test_several_backward_passes_have_their_own_reasons() -> None:
    made = trace(cross_entropy(weight=-1.0, sole=True))
    made.backwards = [2] * 50
    assert look("wrong-loss-sign", made) is None


def test_maximize_is_a_turned_sign_beside_a_loss_only() -> None:
    found = look("wrong-loss-sign", trace(cross_entropy(weight=1.0, sole=True), maximize=True), INSTABILITY)
    assert found is not None
    assert "maximize=True" in found.statement
    assert look("wrong-loss-sign", trace(cross_entropy(weight=-1.0, sole=True), maximize=True)) is None


@pytest.mark.parametrize(
    ("output", "target", "crossed"),
    [
        ((16, 1), (16,), True),
        ((16,), (16, 1), True),
        ((16, 1), (16, 1), False),
        ((16, 3), (16, 1), False),
        ((1, 1), (1,), False),
        ((16, 1, 1), (16, 1), True),
    ],
)
def test_shapes_that_broadcast(output: tuple[int, ...], target: tuple[int, ...], crossed: bool) -> None:
    terms = 256 if crossed else 16
    call = LossCall("mse_loss", input=TensorSummary(output), target=TensorSummary(target), terms=terms)
    assert loss_calls.broadcasts(call) is crossed
    assert (look("target-shape-mismatch", trace(call)) is not None) is crossed


def test_labels_that_begin_at_one() -> None:
    call = cross_entropy(target=TensorSummary((16,), "int64", 1, 5), invalid=3, error="IndexError", value=None)
    found = look("invalid-labels", trace(call), CRASH)
    assert found is not None
    assert found.statement == "labels are 1 to 5, but cross_entropy takes 0 to 4"
    assert found.fix is not None
    assert found.fix.code == ("labels = labels - 1",)


def test_an_error_elsewhere_is_not_explained_by_labels() -> None:
    call = LossCall("soft_margin_loss", target=TensorSummary((16,), low=0, high=1), invalid=8)
    assert look("invalid-labels", trace(call), CRASH) is None
    assert look("invalid-labels", trace(call)) is not None


def test_one_class_is_another_fault_than_a_wrong_label() -> None:
    call = cross_entropy(input=TensorSummary((16, 1)), classes=1, invalid=7, error="IndexError", value=None)
    assert look("invalid-labels", trace(call), CRASH) is None
    assert look("wrong-loss-for-task", trace(call), CRASH) is not None


def test_no_log_probabilities() -> None:
    logits = LossCall("nll_loss", input=SCORES, target=CLASSES, classes=5, value=-0.2)
    found = look("missing-activation-for-loss", trace(logits))
    assert found is not None
    assert found.cures[0].options["apply"] == "log_softmax"
    right = LossCall("nll_loss", input=TensorSummary((16, 5), low=-4, high=-0.1), target=CLASSES, classes=5, value=1.6)
    assert look("missing-activation-for-loss", trace(right)) is None


def test_targets_out_of_reach() -> None:
    facts: dict[str, Any] = {
        "input": TensorSummary((16,)),
        "target": TensorSummary((16,), low=-2, high=2),
        "activation": "relu",
    }
    assert look("wrong-output-activation", trace(LossCall("mse_loss", unreachable=0.5, **facts))) is not None
    assert look("wrong-output-activation", trace(LossCall("mse_loss", unreachable=0.0, **facts))) is None


def test_a_softmax_over_one_value() -> None:
    call = LossCall(
        "binary_cross_entropy", input=TensorSummary((16,)), target=TensorSummary((16,)), activation="softmax", over=1
    )
    found = look("wrong-output-activation", trace(call))
    assert found is not None
    assert found.cures[0].options["apply"] == "sigmoid"


def test_a_sum_counts_beside_an_optimizer_that_follows_its_size() -> None:
    summed = cross_entropy(weight=1.0, sole=True, reduction="sum")
    found = look("loss-reduction", trace(summed), INSTABILITY)
    assert found is not None
    assert found.cures[0].options["factor"] == 1 / 16
    made = trace(summed)
    made.wiring.optimizers["SGD"].kind = "Adam"
    assert look("loss-reduction", made, INSTABILITY) is None


def test_a_mean_taken_twice() -> None:
    found = look("loss-reduction", trace(cross_entropy(weight=1 / 16, sole=True)))
    assert found is not None
    assert found.cures[0].options["factor"] == 16
    assert look("loss-reduction", trace(cross_entropy(weight=0.25, sole=True))) is None


def elbo(of_kl: float, of_error: float) -> Trace:
    """The weights of each term of a KL of 16 x 6, and of a reconstruction error of 16 x 36."""
    error = LossCall("mse_loss", reduction="none", terms=16 * 36, samples=16, weight=of_error * 16 * 36, complete=True)
    made = trace(error)
    kl = LossCall("KL divergence", input=TensorSummary((16, 6)), reduction="none", terms=96, samples=16, complete=True)
    kl.weight = of_kl * 96
    made.loss.calls.append(kl)
    made.wiring.optimizers["SGD"].kind = "Adam"
    return made


@pytest.mark.parametrize(
    ("of_kl", "of_error", "found"),
    [(1, 1 / 16, True), (1, 1 / 576, True), (1, 1, False), (1 / 16, 1 / 16, False), (0.25, 1 / 16, False)],
)
def test_a_kl_term_summed_beside_an_averaged_error(of_kl: float, of_error: float, found: bool) -> None:
    suspicion = look("loss-reduction", elbo(of_kl, of_error))
    assert (suspicion is not None) is found
    if suspicion is not None:
        assert suspicion.cures[0].options["factor"] == 1 / 16


def test_a_kl_term_with_the_wrong_sign() -> None:
    suspicion = look("wrong-loss-sign", elbo(-1 / 16, 1 / 16))
    assert suspicion is not None
    assert suspicion.statement == "the KL term has the wrong sign"
    assert look("wrong-loss-sign", elbo(1 / 16, 1 / 16)) is None


def test_terms_that_are_not_known_may_explain_any_sign() -> None:
    made = elbo(-1 / 16, 1 / 16)
    for call in made.loss.calls:
        call.complete = False
    assert look("wrong-loss-sign", made) is None


def test_a_softmax_over_labels_that_may_be_true_together() -> None:
    labels = TensorSummary((16, 5), "float32", 0, 1, whole=True, distinct=2)
    call = LossCall("binary_cross_entropy", input=TensorSummary((16, 5), low=0.1, high=0.4), target=labels, over=5)
    assert look("wrong-output-activation", trace(call)) is None
    call.activation = "softmax"
    found = look("wrong-output-activation", trace(call))
    assert found is not None
    assert found.cures[0].options["apply"] == "sigmoid"
    labels.probabilities = True  # one true label in each row, which a softmax can give
    assert look("wrong-output-activation", trace(call)) is None


@pytest.mark.parametrize(
    ("sums", "found"), [((0.0, 3.0), True), ((1.0, 3.0), False), ((0.0, 1.0), False), (None, False)]
)
def test_rows_of_several_labels_beside_rows_of_none(sums: tuple[float, float] | None, found: bool) -> None:
    tags = TensorSummary((16, 5), "float32", 0, 1, whole=True, distinct=2, row_sums=sums)
    made = trace(cross_entropy(target=tags))
    assert (loss_calls.any_number_of_labels(made) is not None) is found
    assert look("wrong-loss-for-task", made) is not None


def test_a_sum_over_samples_of_their_means() -> None:
    """`criterion(output, target).mean(1).sum()`: each sample counts once, whatever the number of its values."""
    each = LossCall("mse_loss", weight=16.0, sole=True, reduction="none", terms=16 * 32, samples=16)
    found = look("loss-reduction", trace(each), INSTABILITY)
    assert found is not None
    assert "a sum over 16 samples" in found.statement
    assert found.cures[0].options["factor"] == 1 / 16
