"""What a trace says about the wiring: each habit at the fewest steps that show it, and one step below."""

from __future__ import annotations

import math
from typing import Any

import pytest

from pytest_trainhealth.analysis import wiring
from pytest_trainhealth.records.trace import Trace
from pytest_trainhealth.records.verdict import Place
from pytest_trainhealth.records.wiring import (
    ClipCalls,
    DetachedSample,
    DoubleUpdate,
    FrozenChange,
    FrozenRows,
    GradientPath,
    HelpedCritic,
    ModeRecord,
    NoisyTeacher,
    OptimizerRecord,
    ParameterRecord,
    TiedPair,
    UnusedPasses,
    WronglyScaled,
)


def trace(*parameters: ParameterRecord, steps: int = 4, optimizers: int = 1) -> Trace:
    made = Trace.of([1.0] * steps, parameters)
    for number in range(optimizers):
        made.wiring.optimizers[str(number)] = OptimizerRecord(str(number), "SGD", steps=steps)
    return made


@pytest.mark.parametrize("count", [1, 2, 3])
def test_what_happens_at_two_steps_is_a_habit(count: int) -> None:
    made, steps = trace(ParameterRecord("w", gradients={0: 0.0})), list(range(count))
    made.wiring.stale_gradients["SGD"] = steps
    made.wiring.leaked_gradients["SGD"] = dict.fromkeys(steps, "Adam")
    made.wiring.double_updates["w"] = DoubleUpdate("w", ("a", "b"), steps)
    made.wiring.modes["m"] = ModeRecord("m", validated=steps)
    made.wiring.noisy_teachers["t"] = NoisyTeacher("t", steps=steps)
    made.wiring.wrongly_scaled = [WronglyScaled(step, "SGD", 2.0, 1.0) for step in steps]
    made.wiring.frozen_changes["f"] = FrozenChange("f", "SGD", steps)
    made.wiring.zeroed_changes["w"] = FrozenChange("w", "SGD", steps)
    made.wiring.zeroed_rows["r"] = FrozenRows("r", "SGD", steps)
    for found in (
        wiring.piling_up, wiring.leaking, wiring.updated_twice, wiring.validated_in_training_mode, wiring.noisy_teacher,
        wiring.wrongly_scaled, wiring.frozen_moved, wiring.zeroed_moved, wiring.zeroed_rows_moved,
    ):  # fmt: skip
        assert bool(found(made)) is (count >= 2), found.__name__


@pytest.mark.parametrize("count", [2, 3])
def test_what_needs_a_close_look_is_seen_three_times(count: int) -> None:
    made, steps = trace(), list(range(count))
    made.wiring.detached_samples["a:1"] = DetachedSample(steps=steps)
    made.wiring.helped_critics["c"] = HelpedCritic("c", "g", steps=steps)
    assert (wiring.drawn_without_gradient(made) is not None) is (count == 3)
    assert (wiring.alliance(made) is not None) is (count == 3)


@pytest.mark.parametrize(
    ("facts", "found"),
    [({}, True), ({"trainable": False}, False), ({"gradients": {0: 0.0, 1: 0.1}}, False), ({"name": "other"}, False)],
)
def test_only_what_gets_no_other_gradient_counts_as_set_to_zero_by_hand(facts: dict[str, Any], found: bool) -> None:
    made = trace(ParameterRecord(**{"name": "w", "gradients": {0: 0.0}, **facts}))
    made.wiring.zeroed_changes["w"] = FrozenChange("w", "SGD", [0, 1])
    assert bool(wiring.zeroed_moved(made)) is found


@pytest.mark.parametrize(
    ("after", "at", "early"), [(1.0, 0.0, True), (1.0, 0.5, False), (0.0, 0.0, False), (1.0, None, False)]
)
def test_gradients_that_are_gone_before_the_update(after: float, at: float | None, early: bool) -> None:
    made = trace()
    made.wiring.after_backward = {3: after}
    made.wiring.at_update = {} if at is None else {3: at}
    assert wiring.cleared_early(made) == ([3] if early else [])


@pytest.mark.parametrize(
    ("cleared", "used", "elsewhere", "optimizers", "found"),
    [
        ([9, 3, 3], [9, 1, 1], [], 1, True),
        ([9, 3, 3], [9, 1, 1], [], 2, False),  # one of several may skip turns
        ([9, 3, 3], [9, 0, 0], [], 2, True),  # one that steps with nothing never does
        ([9, 3], [9, 1], [], 1, False),  # one update is no habit
        ([9, 3], [9, 0], [], 1, False),
        ([9, 3, 0], [9, 1, 1], [], 1, False),
        ([9, 3, 2], [9, 1, 1], [], 1, False),
        ([9, 3, 3], [9, 1, 2], [], 1, False),
        ([9, 3, 3], [9, 2, 2], [], 1, False),
        ([0, 0, 0], [1, 1, 1], [9, 1, 1], 1, True),
        ([0, 0, 0], [1, 1, 1], [9, 1, 1], 2, False),
        ([0, 0, 0], [1, 1, 1], [9, 1], 1, False),
        ([0, 0, 0], [1, 1, 1], [9, 1, 0], 1, False),
        ([0, 0, 0], [1, 1, 1], [9, 1, 2], 1, False),
        ([0, 3, 3], [0, 1, 1], [], 1, True),  # the first update is not counted
    ],
)
def test_passes_that_are_cleared_before_each_update(
    cleared: list[int], used: list[int], elsewhere: list[int], optimizers: int, found: bool
) -> None:
    made = trace(optimizers=optimizers)
    made.wiring.unused_passes["SGD"] = UnusedPasses("SGD", cleared, used, elsewhere)
    assert (wiring.thrown_away(made) is not None) is found


@pytest.mark.parametrize(
    ("trained", "evaluated", "layers", "found"),
    [
        ([], [0, 1], {"d": "Dropout"}, True),
        ([], [0], {"d": "Dropout"}, False),
        ([], [0, 1], {"bn": "BatchNorm1d"}, False),  # with its own statistics
        ([0, 1], [2, 3, 4], {"bn": "BatchNorm1d"}, True),
        ([0, 1], [2, 3], {"d": "Dropout"}, False),  # an evaluation in between
        ([0, 5], [2, 3, 4], {"d": "Dropout"}, False),  # not for good
        ([0, 1], [], {"d": "Dropout"}, False),
    ],
)
def test_trained_in_eval_mode(trained: list[int], evaluated: list[int], layers: dict[str, str], found: bool) -> None:
    made = trace()
    made.wiring.modes["m"] = ModeRecord("m", trained, evaluated, layers, {"bn"})
    assert (wiring.left_in_eval(made) is not None) is found


@pytest.mark.parametrize(
    ("facts", "found"),
    [({}, True), ({"made_by": "timm"}, False), ({"gradients": {0: 0.0}}, False), ({"name": "c"}, False)],
)
def test_a_tie_is_broken_where_both_learn_and_are_the_users(facts: dict[str, Any], found: bool) -> None:
    both = ParameterRecord("a", gradients={0: 1.0}), ParameterRecord(**{"name": "b", "gradients": {0: 1.0}, **facts})
    made = trace(*both)
    made.wiring.tied_pairs = [TiedPair("a", "b", "values")]
    assert bool(wiring.broken_ties(made)) is found


# -- clipping -----------------------------------------------------------------------------------------------------

CLIPS = Place("train.py", 9, "clip_grad_norm_(model.parameters(), 1.0)")


@pytest.mark.parametrize(("left", "late"), [(0.5, True), (0.51, False), (0.0, False), (None, False)])
def test_gradients_cut_down_after_their_use(left: float | None, late: bool) -> None:
    made = trace()
    made.wiring.gradient_paths = [GradientPath(0, "SGD", 1.0, 1.0, left=left)]
    assert bool(wiring.clipped_too_late(made)) is late


@pytest.mark.parametrize(
    ("calls", "found"),
    [
        ([(1.0, 3, 2)], True),
        ([(1.0, 2, 2)], True),
        ([(1.0, 4, 2)], False),  # in time at two steps
        ([(1.0, 2, 1)], False),
        ([(1000.0, 3, 3)], False),  # to read the norm
        ([(999.0, 3, 3)], True),
        ([(1.0, 3, 3), (1.0, 3, 0)], False),  # another line clips in time
        ([], False),
    ],
)
def test_a_line_that_clips_only_what_was_used(calls: list[tuple[float, int, int]], found: bool) -> None:
    made = trace()
    made.wiring.clip_calls = {
        str(line): ClipCalls(CLIPS, limit, looks=looks + 2, found=looks, late=late)
        for line, (limit, looks, late) in enumerate(calls)
    }
    assert (wiring.clipped_after_use(made) is not None) is found


@pytest.mark.parametrize(
    ("calls", "found"),
    [([(2, 0)], True), ([(1, 0)], False), ([(2, 1)], False), ([(2, 0), (2, 1)], False), ([(1, 0), (2, 0)], True)],
)
def test_a_line_that_clips_nothing(calls: list[tuple[int, int]], found: bool) -> None:
    made = trace()
    made.wiring.clip_calls = {
        str(line): ClipCalls(CLIPS, 1.0, looks=looks, found=each) for line, (looks, each) in enumerate(calls)
    }
    assert (wiring.clipped_in_vain(made) is not None) is found


def test_a_line_that_clips_what_was_cleared_is_not_to_blame() -> None:
    made = trace()
    made.wiring.clip_calls = {"1": ClipCalls(CLIPS, 1.0, looks=2)}
    made.wiring.after_backward, made.wiring.at_update = {0: 1.0}, {0: 0.5}
    assert wiring.clipped_in_vain(made) is not None
    made.wiring.at_update = {0: 0.0}
    assert wiring.clipped_in_vain(made) is None
    made.wiring.at_update, made.applied.restored_gradients = {0: 1.0}, True
    assert wiring.clipped_in_vain(made) is None


@pytest.mark.parametrize(("limit", "found"), [(None, True), (1.0, False), (1e4, True)])
def test_a_line_that_clips_too_early_or_late_does_no_harm_where_the_loop_clips(
    limit: float | None, found: bool
) -> None:
    made = trace()
    made.wiring.clipped_by_loop = limit
    made.wiring.clip_calls = {"late": ClipCalls(CLIPS, 1.0, looks=3, found=3, late=3)}
    assert (wiring.clipped_after_use(made) is not None) is found
    made.wiring.clip_calls = {"early": ClipCalls(CLIPS, 1.0, looks=3)}
    assert (wiring.clipped_in_vain(made) is not None) is found


@pytest.mark.parametrize(
    ("calls", "found"),
    [
        ([(1.0, 2, 0)], True),
        ([(1.0, 1, 0)], False),
        ([(1.0, 4, 1)], False),  # used once: it is about that optimizer, which waits at times
        ([(1000.0, 4, 0)], False),  # to read the norm
        ([(1.0, 0, 4), (1.0, 2, 0)], True),
    ],
)
def test_a_line_that_clips_what_another_optimizer_holds(calls: list[tuple[float, int, int]], found: bool) -> None:
    made = trace()
    made.wiring.clip_calls = {
        str(line): ClipCalls(CLIPS, limit, looks=4, found=4, used=used, aside=aside)
        for line, (limit, aside, used) in enumerate(calls)
    }
    assert (wiring.clipped_aside(made) is not None) is found


def scaled(at_update: float = 0.1, **facts: Any) -> GradientPath:
    return GradientPath(**{
        "step": 0, "optimizer": "SGD", "after_backward": 1.0, "at_update": at_update,
        "changed_at": CLIPS, "unscaled_later": True, **facts,
    })  # fmt: skip


@pytest.mark.parametrize(
    ("paths", "found"),
    [
        ([scaled(), scaled()], True),
        ([scaled()], False),
        ([scaled(0.11), scaled(0.11)], False),
        ([scaled(unscaled_later=False)] * 2, False),
        ([scaled(changed_at=None)] * 2, False),
        ([scaled(changed_at=Place("train.py", 9, "p.grad.mul_(0.1)"))] * 2, False),
        ([scaled(after_backward=0.0, at_update=0.0)] * 2, False),
        ([scaled(), scaled(), scaled(1.0)], True),
        ([scaled(), scaled(), scaled(1.0), scaled(1.0)], False),
        ([scaled(), scaled(), scaled(1.0), scaled(1.0, after_backward=0.0)], True),
    ],
)
def test_clipped_while_a_scalers_factor_was_in_them(paths: list[GradientPath], found: bool) -> None:
    made = trace()
    made.wiring.gradient_paths = paths
    assert bool(wiring.clipped_while_scaled(made)) is found


# -- updates ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("updates", "found"),
    [
        ([1] + [0] * 9, True),
        ([1] * 5 + [0] * 5, False),
        ([0] * 10, False),
        ([1] * 4 + [0] * 6, True),
        ([1] + [0] * 8, False),
    ],
)
def test_calls_that_ran_out_before_their_updates(updates: list[int], found: bool) -> None:
    made = trace(steps=len(updates))
    made.updates = updates
    said = wiring.too_few_updates(made, 5, 10)
    assert (said is not None) is found
    if said:
        assert f"{sum(updates)} updates in 10 calls" in said


def test_the_largest_modules_of_a_list_of_parameters() -> None:
    names = ("body.0.weight", "body.0.bias", "body.1.weight", "head.weight", "head.bias", "headless.weight")
    every = [ParameterRecord(name) for name in names]
    made = trace(*every)
    assert wiring.whole_modules(every[:3], made) == ["body"]
    assert wiring.whole_modules(every[:2], made) == ["body.0"]
    assert wiring.whole_modules([every[0], every[2]], made) == ["body.0.weight", "body.1"]
    assert wiring.whole_modules(every[3:5], made) == ["head"]


def linear(*shapes: tuple[int, int], kind: str = "Linear") -> Trace:
    return trace(*(ParameterRecord(f"{n}", shape, 9, module_class=kind) for n, shape in enumerate(shapes)))


@pytest.mark.parametrize(
    ("shapes", "found"),
    [
        (((8, 4), (1, 8), (3, 1)), True),
        (((8, 4), (1, 8), (2, 1)), False),
        (((8, 4), (2, 8), (3, 2)), False),
        (((8, 4), (1, 8), (3, 8)), False),
        (((8, 3), (1, 8), (3, 1)), False),  # an autoencoder
        (((1, 8), (3, 1)), False),
    ],
)
def test_a_single_unit_before_three_outputs(shapes: tuple[tuple[int, int], ...], found: bool) -> None:
    narrow = wiring.one_unit_bottleneck(linear(*shapes))
    assert (narrow is not None) is found
    assert narrow is None or narrow.name == str(len(shapes) - 2)
    assert wiring.one_unit_bottleneck(linear(*shapes, kind="Conv1d")) is None


def test_sizes_of_gradients_and_updates() -> None:
    weight = ParameterRecord("w", (2, 2), 4, gradients={0: 3.0, 1: 2.0, 2: None}, updates={0: 0.1, 1: 0.2})
    bias = ParameterRecord("b", (2,), 2, gradients={0: 4.0}, updates={0: 9.0})
    made = trace(weight, bias)
    assert wiring.gradient_norm(made, 0) == 5.0
    assert wiring.gradient_norm(made, 2) == 0.0
    assert wiring.strength(made) == 1.5
    assert wiring.update_ratios(made) == [0.1, 0.2]
    assert math.isclose(wiring.gradient_norm(made, 1), 2.0)


@pytest.mark.parametrize(
    ("values", "size", "starved"),
    [
        ([2, 2], 2, True),
        ([2, 3, 3], 2, False),
        ([2, 2, 9], 2, True),
        ([2], 3, False),
        ([], 2, False),
        ([3], 2, False),
        ([2], None, True),
    ],
)
def test_norms_of_two_values(values: list[int], size: int | None, starved: bool) -> None:
    made = trace()
    made.numbers.values_per_channel, made.batch_size = {str(n): value for n, value in enumerate(values)}, size
    assert wiring.batch_norms_starved(made) is starved


@pytest.mark.parametrize(
    ("most", "size", "cut"),
    [([2, 2], 8, True), ([2, 3], 8, False), ([2], 7, False), ([], 8, False), ([2], None, False)],
)
def test_norms_of_a_batch_in_pieces(most: list[int], size: int | None, cut: bool) -> None:
    made = trace()
    made.numbers.most_values_per_channel, made.batch_size = {str(n): value for n, value in enumerate(most)}, size
    assert wiring.batch_norms_in_pieces(made) is cut


# -- adversaries --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("steps", "backwards", "adversaries"),
    [
        ((40, 40), 2, True),
        ((40, 40), 1, False),
        ((40, 0), 2, False),
        ((40,), 2, False),
        ((20, 20), 1, True),  # each in its turn
        ((29, 11), 1, True),
        ((30, 10), 1, False),
    ],
)
def test_several_optimizers_with_losses_of_their_own(steps: tuple[int, ...], backwards: int, adversaries: bool) -> None:
    made = trace(steps=40, optimizers=len(steps))
    made.backwards = [backwards] * 40
    for number, each in enumerate(steps):
        made.wiring.optimizers[str(number)].steps = each
    assert wiring.adversarial(made) is adversaries
    assert "several optimizers" in wiring.why_it_need_not_fall(made)


def test_a_gradient_that_is_turned_round_makes_adversaries_of_one_optimizer() -> None:
    made = trace()
    assert not wiring.adversarial(made)
    made.wiring.reversed_gradients = 1
    assert wiring.adversarial(made)
    assert "turned round" in wiring.why_it_need_not_fall(made)
