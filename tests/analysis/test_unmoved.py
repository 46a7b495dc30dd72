"""Parameters that get gradients and do not move, or no gradients: what is a fault, and each single excuse."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_trainhealth.analysis import unmoved, unreached
from pytest_trainhealth.records.trace import Trace
from pytest_trainhealth.records.wiring import (
    EmptyUpdates,
    GraphEnd,
    LostUpdates,
    ModuleRecord,
    OptimizerRecord,
    ParameterRecord,
)

NONE: dict[int, float | None] = {0: None, 1: None}
ZERO: dict[int, float | None] = {0: 0.0, 1: 0.0}


def parameter(name: str, **facts: Any) -> ParameterRecord:
    known = {"module": name.rpartition(".")[0], "held_by": ("SGD",), "moved": True, "gradients": {0: 1.0}, **facts}
    return ParameterRecord(name, **{"shape": (4, 4), "size": 16, **known})


def trace(*parameters: ParameterRecord, **modules: dict[str, Any]) -> Trace:
    made = Trace.of([1.0] * 8, parameters)
    made.wiring.optimizers["SGD"] = OptimizerRecord("SGD", "SGD", steps=8)
    for each in parameters:
        made.wiring.modules[each.module] = ModuleRecord(each.module, "Linear", calls=8)
    for path, facts in modules.items():
        made.wiring.modules[path.replace("__", ".")] = ModuleRecord(path.replace("__", "."), "Linear", **facts)
    return made


HEAD = parameter("head.weight")


# -- in no optimizer ----------------------------------------------------------------------------------------------


def body(**facts: Any) -> ParameterRecord:
    return parameter("body.weight", **{"held_by": (), "moved": False, "behind_trained": False, **facts})


def found_in(made: Trace) -> str:
    assert not (unmoved.orphaned(made) and unmoved.spared(made))
    return "orphaned" if unmoved.orphaned(made) else "spared" if unmoved.spared(made) else ""


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        ({}, "spared"),
        ({"behind_trained": True}, "orphaned"),
        ({"behind_trained": None}, "orphaned"),
        ({"kept_in": "layers"}, "orphaned"),
        ({"outside_model": True}, "orphaned"),
        ({"appeared": 0}, "orphaned"),
        ({"model": "other"}, "orphaned"),
        ({"moved": True}, ""),
        ({"held_by": ("SGD",)}, ""),
        ({"gradients": ZERO}, ""),
        ({"plain_tensor": True}, "spared"),
    ],
)
def test_what_no_optimizer_holds(facts: dict[str, Any], said: str) -> None:
    assert found_in(trace(body(**facts), HEAD)) == said


def test_a_tensor_that_derivatives_are_taken_of_is_an_input() -> None:
    made = trace(body(plain_tensor=True, behind_trained=True), HEAD)
    assert found_in(made) == "orphaned"
    made.wiring.through_derivatives = True
    assert found_in(made) == ""
    made = trace(body(behind_trained=True), HEAD)
    made.wiring.through_derivatives = True
    assert found_in(made) == "orphaned"


def test_what_was_made_for_something_else_spares_nothing() -> None:
    made = trace(body(), HEAD)
    made.wiring.optimizers["SGD"].foreign_tensors = 1
    assert found_in(made) == "orphaned"
    assert found_in(trace(body(), parameter("head.weight", held_by=("SGD", "Adam")))) == "orphaned"
    assert found_in(trace(body(), parameter("head.weight", held_by=("SGD", "SGD")))) == "spared"
    assert found_in(trace(body(), parameter("head.weight", gradients=ZERO))) == "orphaned"
    assert found_in(trace(body(), HEAD, body={"after_optimizer": True})) == "orphaned"
    assert found_in(trace(body(), HEAD, head={"after_optimizer": True})) == "spared"
    deep = parameter("body.0.conv.weight", held_by=(), moved=False, behind_trained=False)
    assert found_in(trace(deep, HEAD, body={"after_optimizer": True})) == "orphaned"
    assert found_in(trace(deep, HEAD, body={})) == "spared"


def test_without_any_optimizer_nothing_is_left_out() -> None:
    made = trace(body(), HEAD)
    made.wiring.optimizers.clear()
    assert found_in(made) == ""


# -- held, and still ----------------------------------------------------------------------------------------------


def still(moved: bool = False, held: bool = True, gradient: float = 1.0, **facts: Any) -> Trace:
    lost = LostUpdates(**{"count": 5, "rate": 0.1, **facts})
    return trace(
        HEAD,
        parameter(
            "w", held_by=("SGD",) if held else (), moved=moved, lost=lost, gradients={0: gradient}, behind_trained=True
        ),
    )


@pytest.mark.parametrize(
    ("facts", "found"),
    [
        ({}, unmoved.held_still),
        ({"count": 4}, None),
        ({"moved": True}, None),
        ({"held": False}, None),
        ({"gradient": 0.0}, None),
        ({"too_small": True}, unmoved.too_small_to_move),
        ({"rate": 0.0}, unmoved.at_rate_zero),
        ({"rate": 0.0, "too_small": True}, unmoved.at_rate_zero),
        ({"constant": True}, unmoved.held_still),
        ({"constant": True, "changed": True}, None),
        ({"constant": True, "written": True}, None),
        ({"changed": True, "written": True}, unmoved.held_still),
    ],
)
def test_held_with_gradients_and_still(facts: dict[str, Any], found: Any) -> None:
    made = still(**facts)
    for kind in (unmoved.held_still, unmoved.too_small_to_move, unmoved.at_rate_zero):
        assert [p.name for p in kind(made)] == (["w"] if kind is found else [])


@pytest.mark.parametrize(
    ("initial", "behind", "left"),
    [(None, True, True), (0.1, True, False), (0.0, True, True), (None, False, False), (None, None, True)],
)
def test_a_rate_of_zero_may_wait_for_its_turn(initial: float | None, behind: bool | None, left: bool) -> None:
    made = still(rate=0.0, initial_rate=initial)
    made.wiring.parameters["w"].behind_trained = behind
    assert bool(unmoved.left_at_rate_zero(made)) is left


@pytest.mark.parametrize(("empty", "full", "most"), [(5, 4, True), (5, 5, False), (4, 0, False)])
def test_most_steps_are_empty(empty: int, full: int, most: bool) -> None:
    made = trace(HEAD)
    made.wiring.empty_updates = EmptyUpdates(full=full, cleared=empty)
    assert unmoved.mostly_empty(made) is most


def test_nothing_moves_only_where_something_could() -> None:
    assert unmoved.nothing_moves(trace(parameter("w", moved=False)))
    assert not unmoved.nothing_moves(trace(parameter("w", moved=False), HEAD))
    assert not unmoved.nothing_moves(trace())


@pytest.mark.parametrize(
    ("facts", "idle"),
    [({}, True), ({"moved": True}, False), ({"gradients": ZERO}, False), ({"held_by": ("SGD", "Adam")}, False)],
)
def test_an_optimizer_that_never_steps(facts: dict[str, Any], idle: bool) -> None:
    made = trace(HEAD, parameter("w", **{"held_by": ("Adam",), "moved": False, **facts}))
    made.wiring.optimizers["Adam"] = OptimizerRecord("Adam", "Adam")
    assert [o.label for o in unmoved.idle_optimizers(made)] == (["Adam"] if idle else [])
    made.wiring.optimizers["Adam"].steps = 1
    assert not unmoved.idle_optimizers(made)
    made.wiring.optimizers["Adam"].steps, made.updates = 0, [0] * 8
    assert not unmoved.idle_optimizers(made)


# -- without a gradient -------------------------------------------------------------------------------------------


def silent(made: Trace) -> list[str]:
    return [p.name for p in unreached.without_gradient(made)]


def cut(name: str = "cut.weight", **facts: Any) -> ParameterRecord:
    return parameter(name, **{"gradients": NONE, "moved": False, **facts})


@pytest.mark.parametrize(
    ("facts", "found"),
    [
        ({}, True),
        ({"gradients": ZERO}, True),
        ({"gradients": ZERO, "moved": True}, True),  # by weight decay
        ({"gradients": {}}, False),  # not looked at
        ({"gradients": {0: None, 1: 1.0}}, False),
        ({"moved": True}, False),  # by hand
        ({"gradients": ZERO, "shape": (4,)}, False),
        ({"plain_tensor": True}, True),
        ({"plain_tensor": True, "held_by": ()}, False),
        ({"made_by": "timm"}, False),
        ({"inert": True}, True),
        ({"inert": True, "gradients": ZERO}, False),
        ({"held_by": ()}, True),
    ],
)
def test_what_no_gradient_reaches(facts: dict[str, Any], found: bool) -> None:
    assert silent(trace(cut(**facts), HEAD)) == (["cut.weight"] if found else [])


def test_where_all_gradients_are_zero_the_loss_may_be_at_its_minimum() -> None:
    assert silent(trace(cut("a.weight", gradients=ZERO), cut("b.weight", gradients=ZERO))) == []
    assert silent(trace(cut("a.weight"), cut("b.weight", gradients=ZERO))) == ["a.weight"]


@pytest.mark.parametrize(("calls", "grad", "found"), [(8, True, True), (8, False, False), (0, True, False)])
def test_what_no_optimizer_holds_may_be_a_target_network(calls: int, grad: bool, found: bool) -> None:
    made = trace(cut(held_by=()), HEAD, cut={"calls": calls, "grad_enabled": grad})
    assert bool(silent(made)) is found
    del made.wiring.modules["cut"]
    assert silent(made) == []
    assert silent(trace(cut(), HEAD, cut={"calls": calls, "grad_enabled": grad})) == ["cut.weight"]


def test_a_branch_of_features_is_meant_to_stay_as_it_is() -> None:
    assert silent(trace(cut(), HEAD, cut={"calls": 8, "branch": True})) == []


@pytest.mark.parametrize(
    ("facts", "calls", "found"),
    [
        ({"class_by": "torch"}, 8, False),  # only derivatives of the layer are used
        ({"class_by": "user"}, 8, True),
        ({"class_by": "torch"}, 0, True),
        ({"class_by": "torch", "shape": (4, 4)}, 8, True),
        ({"class_by": "torch", "gradients": ZERO}, 8, False),
    ],
)
def test_an_offset_of_a_layer_that_is_used_through_its_derivative(
    facts: dict[str, Any], calls: int, found: bool
) -> None:
    bias = cut("net.bias", **{"shape": (4,), "size": 4, **facts})
    assert bool(silent(trace(parameter("net.weight"), bias, net={"calls": calls}))) is found
    assert silent(trace(HEAD, cut("net.bias", shape=(4,), size=4, class_by="torch"))) == ["net.bias"]


def test_where_derivatives_make_the_loss_offsets_do_not_matter() -> None:
    made = trace(HEAD, cut("net.bias", shape=(4,), size=4), cut("cut.weight"))
    made.wiring.through_derivatives = True
    assert silent(made) == ["cut.weight"]


def blocks(*learns: bool, name: str = "blocks.{}.mix.weight", rest: bool = True) -> Trace:
    """A stack; `learns`: whether that part of each block gets a gradient, and `rest` whether others of it do."""
    made = [parameter(name.format(n)) if each else cut(name.format(n)) for n, each in enumerate(learns)]
    others = [parameter(name.format(n).replace("mix", "own")) for n in range(len(learns))] if rest else []
    return trace(*made, *others, HEAD)


@pytest.mark.parametrize(
    ("made", "found"),
    [
        (blocks(True, True, False), []),
        (blocks(False, True, True), []),
        (blocks(True, False, True), ["blocks.1.mix.weight"]),
        (blocks(False, True, False), ["blocks.0.mix.weight", "blocks.2.mix.weight"]),
        (blocks(True, True, False, rest=False), ["blocks.2.mix.weight"]),
        (blocks(True, True, False, name="block{}.mix.weight"), []),
        (blocks(True, False, name="mix.weight{}"), ["mix.weight1"]),
        (blocks(False), ["blocks.0.mix.weight"]),
    ],
)
def test_what_the_last_block_of_a_stack_hands_on(made: Trace, found: list[str]) -> None:
    assert silent(made) == found


def test_a_layer_is_no_part_of_a_block() -> None:
    stack = (parameter("stack.0.weight"), parameter("stack.1.weight"), cut("stack.2.weight"), parameter("stack.2.bias"))
    assert silent(trace(*stack, HEAD)) == ["stack.2.weight"]


def test_a_gradient_of_zero_is_no_last_link() -> None:
    made = blocks(True, True, False)
    made.wiring.parameters["blocks.2.mix.weight"].gradients = ZERO
    assert silent(made) == ["blocks.2.mix.weight"]


def experts(*calls: int, each: int = 1) -> Trace:
    made = [parameter(f"experts.{n}.weight") if ran else cut(f"experts.{n}.weight") for n, ran in enumerate(calls)]
    every = trace(*made, HEAD)
    every.wiring.modules["head"].calls = each
    for number, ran in enumerate(calls):
        every.wiring.modules[f"experts.{number}"].calls = ran
    return every


@pytest.mark.parametrize(
    ("made", "found"),
    [
        (experts(1, 0, 1), []),
        (experts(1, 0), []),
        (experts(3, 0, 0), ["experts.1.weight", "experts.2.weight"]),  # one in the place of all
        (experts(2, 0, 0), []),
        (experts(2, 0), []),
        (experts(6, 0, 0, each=2), ["experts.1.weight", "experts.2.weight"]),
        (experts(0, 0), ["experts.0.weight", "experts.1.weight"]),
    ],
)
def test_an_expert_that_did_not_run_beside_others_that_did(made: Trace, found: list[str]) -> None:
    assert silent(made) == found


def test_one_that_ran_without_a_gradient_is_no_spare_expert() -> None:
    made = trace(parameter("experts.0.weight"), cut("experts.1.weight"), HEAD)
    assert silent(made) == ["experts.1.weight"]


def test_a_number_of_another_kind_is_no_expert() -> None:
    for name in ("heads.1.weight", "experts.1.up.weight", "experts.x.weight", "experts.1.bias"):
        made = trace(parameter("experts.0.weight"), cut(name), HEAD)
        made.wiring.modules[name.rpartition(".")[0]].calls = 0
        assert silent(made) == [name]


@pytest.mark.parametrize(
    ("path", "calls", "gradient", "found"),
    [("pool", 0, False, True), ("", 0, False, False), ("pool", 1, False, False), ("pool", 0, True, False)],
)
def test_a_package_module_that_was_put_in_and_never_ran(path: str, calls: int, gradient: bool, found: bool) -> None:
    spare = cut("pool.fc.weight", made_by="timm", put_in=path)
    other = parameter("pool.norm.weight", gradients={0: 1.0} if gradient else NONE, made_by="timm")
    made = trace(spare, other, parameter("poolless.weight"), HEAD, pool__fc={"calls": calls}, pool__norm={"calls": 0})
    assert ("pool.fc.weight" in silent(made)) is found


# -- why ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("facts", "module", "found"),
    [
        ({}, {}, True),
        ({"in_graph": None}, {}, False),
        ({"in_graph": True}, {}, False),
        ({"outside_model": True}, {}, False),
        ({}, {"calls": 0}, False),
        ({}, {"grad_enabled": False}, False),
    ],
)
def test_what_was_computed_and_thrown_away(facts: dict[str, Any], module: dict[str, Any], found: bool) -> None:
    lost = cut(**{"in_graph": False, **facts})
    made = trace(lost, HEAD, cut={"calls": 8, **module})
    assert unreached.thrown_away(lost, made) is found
    made.wiring.graph_ends = [GraphEnd("detach()", "cut", parameters=frozenset(("cut.weight",)))]
    assert not unreached.thrown_away(lost, made)
    made.wiring.graph_ends = [GraphEnd("detach()", "cut", parameters=frozenset(("other",)))]
    assert unreached.thrown_away(lost, made) is found
    assert not unreached.thrown_away(lost, trace(lost, parameter("cut.bias"), HEAD))
    del made.wiring.modules["cut"]
    assert not unreached.thrown_away(lost, made)


@pytest.mark.parametrize(
    ("facts", "calls", "used"),
    [({}, 8, True), ({"outside_model": True}, 8, False), ({}, 0, False), ({"model": "other"}, 8, False)],
)
def test_other_parts_of_its_module_learn(facts: dict[str, Any], calls: int, used: bool) -> None:
    lost = cut("net.scale", **facts)
    made = trace(lost, parameter("net.fc.weight"), parameter("network.weight"), net={"calls": calls})
    assert unreached.holder_is_used(lost, made) is used
    assert not unreached.holder_is_used(lost, trace(lost, parameter("network.weight")))
    assert unreached.did_not_run(lost, made) is (calls == 0)
    del made.wiring.modules["net"]
    assert not unreached.holder_is_used(lost, made)
    assert not unreached.did_not_run(lost, made)


def test_a_parameter_of_the_model_itself_is_used_with_the_model() -> None:
    lost = cut("scale")
    made = trace(lost, parameter("fc.weight"))
    assert unreached.holder_is_used(lost, made)
