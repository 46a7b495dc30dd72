"""What the calls of loss functions show, on made-up calls: each fault once, and each single thing that excuses it."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

from pytest_trainhealth.analysis import loss_calls
from pytest_trainhealth.records.losses import GeneratorRange, LossCall, Similarity, TensorSummary
from pytest_trainhealth.records.trace import Trace
from pytest_trainhealth.records.verdict import Place
from pytest_trainhealth.records.wiring import ModuleRecord, OptimizerRecord


def trace(*calls: LossCall, optimizers: int = 1, backwards: int = 1, maximize: bool = False) -> Trace:
    made = Trace.of([1.0] * 4)
    made.backwards = [backwards] * 4
    made.loss.calls = list(calls)
    for number in range(optimizers):
        made.wiring.optimizers[str(number)] = OptimizerRecord(str(number), "SGD", steps=4, maximize=maximize)
    return made


def changed(call: LossCall, **facts: Any) -> LossCall:
    """With `input_...` and `target_...` for what the tensors are like."""
    sides = {side: {k.removeprefix(f"{side}_"): v for k, v in facts.items() if k.startswith(f"{side}_")}
             for side in ("input", "target")}  # fmt: skip
    rest = {k: v for k, v in facts.items() if not k.startswith(("input_", "target_"))}
    call = replace(call, **rest)
    return replace(call, input=replace(call.input, **sides["input"]), target=replace(call.target, **sides["target"]))


# -- values that cannot be ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "found"),
    [
        (LossCall("cross_entropy", value=-0.1), True),
        (LossCall("binary_cross_entropy", value=-2e-5), True),
        (LossCall("cross_entropy", value=-0.9e-5), False),
        (LossCall("cross_entropy", value=0.1), False),
        (LossCall("cross_entropy", value=None), False),
        (LossCall("cross_entropy", value=-math.inf), False),
        (LossCall("mse_loss", value=-0.1, input=TensorSummary(high=2.0)), False),
        (LossCall("kl_div", value=-0.1, input=TensorSummary(high=0.002)), True),
        (LossCall("kl_div", value=-0.1, input=TensorSummary(high=0.0009)), False),
    ],
)
def test_a_loss_below_zero_is_impossible_only_where_the_function_says_so(call: LossCall, found: bool) -> None:
    assert (loss_calls.impossible(trace(LossCall("mse_loss", value=1.0), call)) is call) is found


# -- rows with any number of labels -------------------------------------------------------------------------------

ZEROS_AND_ONES = TensorSummary((8, 4), "float32", 0, 1, whole=True, row_sums=(0.0, 3.0))
SEVERAL = LossCall("cross_entropy", input=TensorSummary((8, 4)), target=ZEROS_AND_ONES)
SHARED = LossCall(
    "binary_cross_entropy", activation="softmax", over=4, input=TensorSummary((8, 4)), target=ZEROS_AND_ONES
)


def test_zeros_and_ones_of_the_shape_of_the_scores_are_several_labels() -> None:
    assert loss_calls.several_labels(SEVERAL)
    assert loss_calls.several_labels(changed(SEVERAL, target_dtype="bfloat16"))
    assert loss_calls.any_number_of_labels(trace(SEVERAL)) == 3


@pytest.mark.parametrize(
    "facts",
    [
        {"function": "nll_loss"},
        {"target_shape": (8,)},
        {"target_dtype": "int64"},
        {"target_whole": False},
        {"target_low": 0.5},
        {"target_high": 2},
        {"target_probabilities": True},
    ],
)
def test_what_else_a_target_may_be(facts: dict[str, Any]) -> None:
    assert not loss_calls.several_labels(changed(SEVERAL, **facts))
    assert loss_calls.any_number_of_labels(trace(changed(SEVERAL, **facts))) is None


@pytest.mark.parametrize(
    ("sums", "most"), [((0.0, 2.0), 2), ((0.0, 1.0), None), ((1.0, 3.0), None), (None, None), ((0.0, 1.9), None)]
)
def test_rows_without_a_label_beside_rows_with_several(sums: tuple[float, float] | None, most: int | None) -> None:
    assert loss_calls.any_number_of_labels(trace(changed(SEVERAL, target_row_sums=sums))) == most


def test_the_most_and_the_fewest_labels_may_come_from_different_batches() -> None:
    calls = (changed(SEVERAL, target_row_sums=(1.0, 2.0)), changed(SEVERAL, target_row_sums=(0.0, 1.0)))
    assert loss_calls.any_number_of_labels(trace(*calls)) == 2


def test_a_softmax_shares_one_among_labels() -> None:
    assert loss_calls.shares_one(SHARED)
    assert loss_calls.shares_one(replace(SHARED, over=2))
    assert loss_calls.bounded(trace(SHARED))


@pytest.mark.parametrize(
    "facts",
    [
        {"function": "cross_entropy"},
        {"activation": "sigmoid"},
        {"over": 1},
        {"over": None},
        {"over_batch": True},
        {"target_low": -1},
        {"target_whole": False},
        {"target_shape": (8, 1)},
        {"target_probabilities": True},
    ],
)
def test_a_softmax_that_shares_nothing(facts: dict[str, Any]) -> None:
    assert not loss_calls.shares_one(changed(SHARED, **facts))


@pytest.mark.parametrize(
    ("call", "bounded"),
    [
        (LossCall("mse_loss", unreachable=0.03), True),
        (LossCall("mse_loss", unreachable=0.01), False),
        (LossCall("cross_entropy", unreachable=0.03), False),
        (LossCall("cross_entropy", activation="tanh"), True),
        (LossCall("cross_entropy", activation="softplus"), False),
        (LossCall("mse_loss", activation="tanh"), False),
        (LossCall("mse_loss", invalid=1), True),
        (LossCall("cross_entropy", invalid=1), False),
        (LossCall("mse_loss"), False),
    ],
)
def test_inputs_that_keep_a_loss_up(call: LossCall, bounded: bool) -> None:
    assert loss_calls.bounded(trace(call)) is bounded


@pytest.mark.parametrize(
    ("function", "classes", "found"),
    [("cross_entropy", 1, True), ("log_softmax", 1, True), ("cross_entropy", 2, False), ("nll_loss", 1, False)],
)
def test_a_choice_among_one_class(function: str, classes: int, found: bool) -> None:
    assert (loss_calls.one_column(trace(LossCall(function, classes=classes))) is not None) is found


# -- all with all -------------------------------------------------------------------------------------------------

ALL_WITH_ALL = LossCall("mse_loss", input=TensorSummary((8, 1)), target=TensorSummary((8,)), terms=64)


@pytest.mark.parametrize(
    ("facts", "found"),
    [
        ({}, True),
        ({"function": "difference"}, True),
        ({"function": "product"}, True),
        ({"terms": 0, "result_shape": (8, 8)}, True),
        ({"terms": 9}, True),
        ({"terms": 8}, False),
        ({"terms": 0, "result_shape": (8, 1)}, False),
        ({"function": "cross_entropy"}, False),
        ({"target_shape": (8, 1)}, False),
        ({"target_shape": (4,)}, False),
        ({"input_shape": (1, 1), "target_shape": (1,)}, False),
    ],
)
def test_a_column_against_a_row_compares_all_with_all(facts: dict[str, Any], found: bool) -> None:
    assert loss_calls.broadcasts(changed(ALL_WITH_ALL, **facts)) is found


# -- signs --------------------------------------------------------------------------------------------------------

NEGATED = LossCall("cross_entropy", weight=-1.0, sole=True, value=2.3, classes=10, terms=16)


def test_a_loss_with_the_opposite_sign_is_found() -> None:
    assert loss_calls.flipped(trace(NEGATED)) is NEGATED
    by_terms = replace(NEGATED, weight=-16.0)
    assert loss_calls.flipped(trace(by_terms)) is by_terms
    assert loss_calls.oddities(trace(NEGATED)) == "backward() follows the negative of a loss"


@pytest.mark.parametrize(
    "facts",
    [
        {"weight": 1.0},
        {"weight": -0.5},
        {"weight": -1.002},
        {"weight": None},
        {"sole": False},
        {"function": "gaussian_nll_loss"},
        {"value": 1.1},  # far below chance: to be forgotten
    ],
)
def test_a_sign_that_may_be_meant(facts: dict[str, Any]) -> None:
    assert loss_calls.flipped(trace(replace(NEGATED, **facts))) is None


@pytest.mark.parametrize(
    ("optimizers", "backwards", "maximize"), [(2, 1, False), (1, 2, False), (1, 0, False), (1, 1, True)]
)
def test_a_negative_loss_beside_others_or_of_one_that_climbs_is_no_fault(
    optimizers: int, backwards: int, maximize: bool
) -> None:
    made = trace(NEGATED, optimizers=optimizers, backwards=backwards, maximize=maximize)
    assert loss_calls.flipped(made) is None


def test_an_optimizer_that_does_not_step_counts_for_nothing() -> None:
    made = trace(NEGATED, optimizers=2)
    made.wiring.optimizers["1"].steps = 0
    assert loss_calls.flipped(made) is NEGATED
    made.wiring.optimizers["1"].maximize = True
    assert not loss_calls.climbs(made)
    made.wiring.optimizers["0"].maximize = True
    assert loss_calls.climbs(made)
    assert not loss_calls.climbs(Trace.of([1.0]))


@pytest.mark.parametrize(
    ("value", "classes", "found"), [(1.2, 10, True), (1.1, 10, False), (0.4, 1, True), (0.3, 1, False)]
)
def test_what_was_learnt_before_may_be_unlearnt(value: float, classes: int, found: bool) -> None:
    """Half of the loss of a guess takes knowledge: log(10) is 2.3, and with one class it is taken as log(2)."""
    assert (loss_calls.flipped(trace(replace(NEGATED, value=value, classes=classes))) is not None) is found


FALLING_LIKELIHOOD = LossCall("log-likelihood", weight=-1.0, complete=True, part=-1.0)


@pytest.mark.parametrize(("part", "found"), [(-0.36, True), (-0.34, False), (None, True)])
def test_a_likelihood_that_is_made_smaller_is_found_unless_it_was_learnt(part: float | None, found: bool) -> None:
    assert (loss_calls.flipped(trace(replace(FALLING_LIKELIHOOD, part=part))) is not None) is found
    if part is not None:
        tenfold = replace(FALLING_LIKELIHOOD, weight=-10.0, part=10 * part)
        assert (loss_calls.flipped(trace(tenfold)) is not None) is found


@pytest.mark.parametrize(
    ("others", "found"),
    [
        ((), True),
        ((replace(FALLING_LIKELIHOOD, weight=None, rises=True),), True),
        ((replace(FALLING_LIKELIHOOD, weight=0.5),), False),
        ((replace(FALLING_LIKELIHOOD, weight=None),), False),
        ((replace(FALLING_LIKELIHOOD, complete=False),), False),
        ((LossCall("mse_loss", weight=-1.0, complete=True),), False),
        ((LossCall("mse_loss", weight=1.0, complete=True, step=1),), True),
    ],
)
def test_all_likelihoods_of_a_step_have_the_wrong_sign_or_none(others: tuple[LossCall, ...], found: bool) -> None:
    assert (loss_calls.flipped(trace(FALLING_LIKELIHOOD, *others)) is not None) is found


@pytest.mark.parametrize(
    ("facts", "maximize", "found"),
    [
        ({}, True, True),
        ({}, False, False),
        ({"weight": -1.0}, True, False),
        ({"weight": None}, True, False),
        ({"sole": False}, True, False),
    ],
)
def test_an_optimizer_that_climbs_a_loss(facts: dict[str, Any], maximize: bool, found: bool) -> None:
    call = replace(LossCall("mse_loss", weight=1.0, sole=True), **facts)
    assert (loss_calls.climbed(trace(call, maximize=maximize)) is not None) is found
    assert (loss_calls.oddities(trace(call, maximize=maximize)) == "the optimizer maximises what should fall") is found


@pytest.mark.parametrize(
    ("found", "wrong"),
    [
        ([Similarity("cosine_similarity", rises=True)], True),
        ([Similarity("cosine_similarity", rises=True, level=0.49)], True),
        ([Similarity("cosine_similarity", rises=True, level=0.51)], False),
        ([Similarity("overlap", rises=True, level=0.9)], True),
        ([Similarity("overlap")], False),
        ([Similarity("overlap", rises=True), Similarity("overlap")], False),
        ([], False),
    ],
)
def test_likeness_that_is_made_small(found: list[Similarity], wrong: bool) -> None:
    for maximize, optimizers in ((False, 1), (True, 1), (False, 2)):
        made = trace(optimizers=optimizers, maximize=maximize)
        made.loss.similarities = found
        assert (loss_calls.made_unlike(made) is not None) is (wrong and not maximize and optimizers == 1)


REPELLED = LossCall("cross_entropy", weight=1.0, sole=True, distances=True)


@pytest.mark.parametrize(
    ("calls", "found"),
    [
        ([REPELLED], True),
        ([replace(REPELLED, distances=False)], False),
        ([replace(REPELLED, sole=False)], False),
        ([replace(REPELLED, weight=-1.0)], False),
        ([replace(REPELLED, weight=None)], False),
        ([REPELLED, replace(REPELLED, distances=False)], False),
        ([REPELLED, replace(REPELLED, weight=None, distances=False)], True),
        ([REPELLED, LossCall("mse_loss", weight=1.0)], True),
        ([], False),
    ],
)
def test_distances_as_scores_push_the_right_class_away(calls: list[LossCall], found: bool) -> None:
    assert (loss_calls.repelled(trace(*calls)) is not None) is found
    assert loss_calls.repelled(trace(*calls, maximize=True)) is None
    assert loss_calls.repelled(trace(*calls, backwards=2)) is None


@pytest.mark.parametrize(
    ("weights", "maximize", "found"),
    [
        ([1.0], False, True),
        ([1.0, None], False, True),
        ([-1.0], False, False),
        ([1.0, -1.0], False, False),
        ([None], False, False),
        ([1.0], True, False),
    ],
)
def test_rewards_that_are_added(weights: list[float | None], maximize: bool, found: bool) -> None:
    made = trace(*(LossCall("reward", weight=weight) for weight in weights), maximize=maximize)
    assert (loss_calls.punished(made) is not None) is found
    assert loss_calls.punished(trace(LossCall("mse_loss", weight=1.0))) is None


# -- without bound ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("losses", "found"),
    [
        ([-0.5 * step**2 for step in range(40)], True),
        ([-0.5 * step**2 for step in range(20)], True),
        ([-0.5 * step**2 for step in range(19)], False),  # too short
        ([-10.0 * step for step in range(40)], False),  # a straight line
        ([-90.0 * step**2 / 39**2 for step in range(40)], False),  # above -100
        ([-2.0 - 0.1 * step**2 for step in range(40)], False),  # above a hundred times the first loss
        ([0.5 * step**2 for step in range(40)], False),
        ([*(-0.5 * step**2 for step in range(40)), math.nan], True),
    ],
)
def test_faster_and_faster_and_far_below_zero_is_without_bound(losses: list[float], found: bool) -> None:
    for maximize, optimizers in ((False, 1), (True, 1), (False, 2)):
        made = trace(optimizers=optimizers, maximize=maximize)
        made.losses = losses
        assert loss_calls.unbounded(made) is (found and not maximize and optimizers == 1)


def test_raw_scores_explain_a_loss_without_bound() -> None:
    made = trace()
    made.losses = [-0.5 * step**2 for step in range(40)]
    made.loss.calls = [LossCall("nll_loss", input=TensorSummary((4, 3), low=-1.0, high=9.0))]
    assert not loss_calls.unbounded(made)
    made.loss.calls = [LossCall("nll_loss", input=TensorSummary((4, 3), low=-9.0, high=-0.1))]
    assert loss_calls.unbounded(made)


# -- what is odd, in words ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (LossCall("nll_loss", classes=3, input=TensorSummary(high=4.0)), "nll_loss is given values up to 4, which are"),
        (LossCall("nll_loss", classes=3, input=TensorSummary(high=-4.0)), ""),
        (LossCall("cross_entropy", classes=3, input=TensorSummary(high=4.0)), ""),
        (ALL_WITH_ALL, "mse_loss compares (8, 1) with (8,)"),
        (
            LossCall("binary_cross_entropy", target=TensorSummary(high=1.2)),
            "binary_cross_entropy is given targets outside",
        ),
        (
            LossCall("binary_cross_entropy", target=TensorSummary(low=-0.2)),
            "binary_cross_entropy is given targets outside",
        ),
        (LossCall("binary_cross_entropy", target=TensorSummary(low=-0.09, high=1.09)), ""),
        (LossCall("binary_cross_entropy", classes=3, target=TensorSummary(high=1.2)), ""),
        (LossCall("mse_loss", target=TensorSummary(high=1.2)), ""),
        (replace(REPELLED), "it gets lower as the right class gets further away"),
        (LossCall("reward", weight=1.0), "it gets lower as rewarded actions become less likely"),
    ],
)
def test_what_is_odd_about_a_call(call: LossCall, said: str) -> None:
    made = trace(LossCall("mse_loss"), call)
    assert loss_calls.oddities(made).startswith(said)
    assert bool(loss_calls.oddities(made)) is bool(said)
    made.applied.to_the_loss = "a cure"
    assert loss_calls.oddities(made) == ""


def test_what_is_odd_about_all_calls() -> None:
    made = trace()
    made.loss.similarities = [Similarity("overlap", rises=True)]
    assert loss_calls.oddities(made) == "it is the overlap of outputs and targets, which should become large"
    made = trace()
    made.losses = [-0.5 * step**2 for step in range(40)]
    assert loss_calls.oddities(made) == "it falls without bound"
    assert loss_calls.oddities(trace(*elbo(weight=-1.0))) == "it gets lower as the KL divergence grows"


# -- an ELBO ------------------------------------------------------------------------------------------------------


def elbo(weight: float = 1.0, terms: int = 1, samples: int = 16, **facts: Any) -> tuple[LossCall, LossCall]:
    """A divergence summed over `samples`, and a mean over 160 values of as many."""
    kl = LossCall(loss_calls.DIVERGENCE, weight=weight, complete=True, terms=terms, samples=samples)
    return kl, replace(LossCall("mse_loss", weight=1.0, complete=True, terms=160, samples=16), **facts)


def test_a_divergence_with_the_wrong_sign_is_rewarded() -> None:
    kl, other = elbo(weight=-1.0)
    assert loss_calls.rewarded_divergence(trace(kl, other)) is kl
    assert loss_calls.rewarded_divergence(trace(*elbo())) is None
    assert loss_calls.rewarded_divergence(trace(kl, other, maximize=True)) is None
    assert loss_calls.rewarded_divergence(trace(replace(kl, step=1), replace(other, step=1))) is not None
    assert loss_calls.rewarded_divergence(trace(replace(kl, step=2), replace(other, step=2))) is None


@pytest.mark.parametrize(
    "facts",
    [{"weight": -1.0}, {"weight": None}, {"terms": 0}, {"complete": False}, {"function": "reward"}, {"step": 1}],
)
def test_a_divergence_beside_something_else_is_no_elbo(facts: dict[str, Any]) -> None:
    kl, other = elbo()
    assert list(loss_calls.elbo(trace(kl, other))) == [(kl, other)]
    assert not list(loss_calls.elbo(trace(kl, replace(other, **facts))))


def test_a_third_term_or_a_second_optimizer_makes_it_no_elbo() -> None:
    assert not list(loss_calls.elbo(trace(*elbo(), LossCall("l1_loss", weight=1.0, complete=True, terms=1))))
    assert not list(loss_calls.elbo(trace(*elbo(), optimizers=2)))


@pytest.mark.parametrize(
    ("kl", "facts", "found"),
    [
        ({}, {}, True),
        ({"terms": 64, "weight": 64.0}, {}, True),
        ({"terms": 64, "weight": 1.0}, {}, False),  # a mean, too
        ({"weight": 1.002}, {}, False),
        ({"weight": 1.0005}, {}, True),
        ({"samples": 8}, {}, False),
        ({"samples": 8}, {"samples": 8}, True),
        ({"samples": 7}, {"samples": 7}, False),
        ({}, {"reduction": "sum"}, False),
        ({}, {"reduction": "sum", "weight": 1 / 160}, True),
        ({}, {"reduction": "sum", "weight": 1 / 16}, True),
        ({}, {"weight": 2.0}, False),
    ],
)
def test_a_divergence_summed_over_the_samples_beside_a_mean(kl: dict, facts: dict, found: bool) -> None:
    both = elbo(**kl)[0], replace(elbo()[1], **facts)
    assert (loss_calls.summed_divergence(trace(*both)) is not None) is found


# -- the rest -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "times"),
    [
        (LossCall("mse_loss", weight=2.0, terms=16), 2.0),
        (LossCall("mse_loss", weight=2.0, terms=16, reduction="sum"), 32.0),
        (LossCall("mse_loss"), None),
    ],
)
def test_the_multiple_of_a_mean(call: LossCall, times: float | None) -> None:
    assert loss_calls.scale(call) == times


@pytest.mark.parametrize(
    ("facts", "twice"),
    [
        ({}, True),
        ({"function": "binary_cross_entropy_with_logits"}, True),
        ({"function": "binary_cross_entropy_with_logits", "activation": "sigmoid"}, True),
        ({"activation": "sigmoid"}, False),
        ({"activation": "tanh"}, False),
        ({"function": "binary_cross_entropy_with_logits", "activation": "tanh"}, False),
        ({"function": "nll_loss"}, False),
        ({"over_batch": True}, False),
        ({"over": 1}, False),
    ],
)
def test_scores_that_are_squashed_twice(facts: dict[str, Any], twice: bool) -> None:
    call = LossCall("cross_entropy", activation="softmax", over=5)
    assert loss_calls.squashed_twice(replace(call, **facts)) is twice


@pytest.mark.parametrize(
    ("looks", "found"),
    [
        ([(0, "critic", 0.4), (1, "critic", 0.4)], True),
        ([(0, "critic", 0.4)], False),
        ([(0, "critic", 0.4), (0, "critic", 0.4)], False),
        ([(0, "critic", 0.4), (1, "other", 0.4)], False),
        ([(0, "critic", 0.11), (1, "critic", 0.11)], True),
        ([(0, "critic", 0.4), (1, "critic", 0.09)], False),
    ],
)
def test_a_generator_that_cannot_reach_the_data_at_two_steps(looks: list[tuple[int, str, float]], found: bool) -> None:
    made = trace()
    made.loss.generator_ranges = [GeneratorRange(step, layer, "sigmoid", outside=share) for step, layer, share in looks]
    assert (loss_calls.cannot_imitate(made) is not None) is found


def test_where_an_activation_was_made() -> None:
    made = trace()
    made.wiring.modules["act"] = ModuleRecord("act", "Softmax", place=Place("model.py", 3))
    assert loss_calls.made_at(LossCall("mse_loss", activation_module="act"), made) == Place("model.py", 3)
    called = LossCall("mse_loss", activation_module="act", activation_place=Place("model.py", 9))
    assert loss_calls.made_at(called, made) == Place("model.py", 9)
    assert loss_calls.made_at(LossCall("mse_loss", activation_module="other"), made) is None
    assert loss_calls.places(Place("a", 1), None, Place("a", 1), Place("b", 2)) == (Place("a", 1), Place("b", 2))
    assert loss_calls.between(-1.0, 2.0) == "between -1 and 2"
