"""What is an adapter beside a frozen model, and what is only frozen."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_trainhealth.analysis import adapters
from pytest_trainhealth.causes import cause
from pytest_trainhealth.records.symptoms import NOT_LEARNING
from pytest_trainhealth.records.trace import Trace
from pytest_trainhealth.records.verdict import Symptom
from pytest_trainhealth.records.wiring import OptimizerRecord, ParameterRecord


def parameter(name: str, shape: tuple[int, ...], trainable: bool = True, **facts: Any) -> ParameterRecord:
    size = shape[0] * shape[-1]
    return ParameterRecord(
        name, shape, size, trainable=trainable, module=name.rpartition(".")[0], moved=trainable, **facts
    )


def trace(*parameters: ParameterRecord) -> Trace:
    return Trace.of([3.0] * 8, parameters)


BASE = parameter("blocks.0.query.base.weight", (32, 48), False)
DOWN, UP = parameter("blocks.0.query.down.weight", (4, 48)), parameter("blocks.0.query.up.weight", (32, 4))
HEAD = parameter("score.weight", (2, 32), False)


@pytest.mark.parametrize(
    "parameters",
    [
        (BASE, DOWN, UP),
        # written as bare parameters of the layer itself, the wrong way round
        (parameter("query.weight", (32, 48), False), parameter("query.a", (48, 4)), parameter("query.b", (4, 32))),
        # made by a package, beside what another one has made: prompts, prefixes, scales
        (
            parameter("base.0.weight", (32, 32), False, made_by="transformers"),
            parameter("prompt.weight", (8, 32), made_by="peft"),
        ),
    ],
)
def test_adapters_are_known_by_their_shape_or_their_maker(parameters: tuple[ParameterRecord, ...]) -> None:
    assert adapters.has_adapters(trace(*parameters))
    assert cause("frozen-parameters").look(trace(*parameters), Symptom("seen", NOT_LEARNING, 3.0, 0.3)) is None


@pytest.mark.parametrize(
    "parameters",
    [
        (BASE,),
        (DOWN, UP),
        (BASE, parameter("head.weight", (2, 32))),
        # as wide as the matrix itself: not a change of low rank
        (BASE, parameter("blocks.0.query.down.weight", (32, 48)), parameter("blocks.0.query.up.weight", (32, 32))),
        # one model of a package, of which a part was frozen
        (
            parameter("body.weight", (32, 32), False, made_by="transformers"),
            parameter("head.weight", (2, 32), made_by="transformers"),
        ),
    ],
)
def test_what_is_merely_frozen_has_no_adapters(parameters: tuple[ParameterRecord, ...]) -> None:
    assert not adapters.has_adapters(trace(*parameters))


def test_adapters_in_no_optimizer_are_not_badly_initialised() -> None:
    """One of the two starts at 0, and stays there because nobody moves it; the other has no gradient until then."""
    up = parameter("blocks.0.query.up.weight", (32, 4), held_by=(), gradients={0: 0.1, 1: 0.2}, std=0.0)
    down = parameter("blocks.0.query.down.weight", (4, 48), held_by=(), gradients={0: 0.0, 1: 0.0}, std=0.2)
    up.moved = down.moved = False
    up.unit_spread = dict.fromkeys(range(4), 0.0)
    made = trace(BASE, down, up)
    made.wiring.optimizers["SGD"] = OptimizerRecord("SGD", "SGD", steps=8)
    symptom = Symptom("no parameter moved", NOT_LEARNING, 0.0, 2.0)
    assert cause("bad-initialization").look(made, symptom) is None
    found = cause("parameters-not-in-optimizer").look(made, symptom)
    assert found is not None
    assert [set(cure.options["names"]) for cure in found.cures] == [{up.name, down.name}]


def test_an_output_layer_that_the_adapters_leave_out_is_named_and_nothing_else() -> None:
    words = parameter("words.weight", (50, 32), False, module_class="Embedding")
    found = cause("frozen-parameters").look(trace(words, BASE, DOWN, UP, HEAD), Symptom("seen", NOT_LEARNING, 3.0, 0.3))
    assert found is not None
    assert found.statement == "score.weight is frozen, an output layer beside adapters"
    assert [dict(cure.options) for cure in found.cures] == [{"names": ["score.weight"]}]
    vocabulary = parameter("lm_head.weight", (50, 32), False)
    assert adapters.left_out(trace(words, BASE, DOWN, UP, vocabulary)) == []
    assert adapters.left_out(trace(words, BASE, DOWN, UP, HEAD, parameter("out.weight", (2, 32)))) == []
