"""Faults that loops have, each next to its healthy twin: found and named, returned as well as watched."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

import pytest

from pytest_trainhealth.engine.request import Request
from pytest_trainhealth.examine import examine
from pytest_trainhealth.records.verdict import Verdict

from .loops import Loop
from .pairs import chance, clearing, clipping, neighbours, order, parts, samples

FLOW, INPUT, MEMORY, DATA = "gradients_flow", "uses_its_input", "overfits_one_batch", "learns_from_data"
CLIPPING, ZERO_GRAD, GRAPH, MODE = "bad-gradient-clipping", "missing-zero-grad", "disconnected-graph", "wrong-mode"
ENDS, LEAK, LOST, INIT = "wrong-end-of-sequence", "target-leakage", "updates-lost", "lost-initialization"

#: The loop, its fault, the check that finds it, the cause that is named first, and how certain it is.
FAULTS: list[tuple[Callable[[str], Loop], str, str, str, str]] = [
    (clipping.at_the_wrong_time, "before backward", FLOW, CLIPPING, "confirmed"),
    (clipping.at_the_wrong_time, "after the step", FLOW, CLIPPING, "confirmed"),
    (clipping.at_the_wrong_time, "values after the step", FLOW, CLIPPING, "possible"),
    (clipping.while_scaled, "scaled", FLOW, CLIPPING, "confirmed"),
    (clipping.other_parameters, "another model", FLOW, CLIPPING, "confirmed"),
    (clipping.other_parameters, "replaced", FLOW, CLIPPING, "confirmed"),
    (clearing.twelve_passes, "not cleared", FLOW, ZERO_GRAD, "confirmed"),
    (clearing.forty_passes, "not cleared", FLOW, ZERO_GRAD, "confirmed"),
    (clearing.over_twelve_calls, "not cleared", FLOW, ZERO_GRAD, "confirmed"),
    (clearing.over_forty_calls, "not cleared", FLOW, ZERO_GRAD, "confirmed"),
    (clearing.lbfgs, "not cleared", FLOW, ZERO_GRAD, "confirmed"),
    (clearing.lbfgs, "cleared outside", FLOW, ZERO_GRAD, "confirmed"),
    (clearing.by_hand, "not cleared", FLOW, ZERO_GRAD, "confirmed"),
    (clearing.by_hand_under_no_grad, "not cleared", FLOW, ZERO_GRAD, "confirmed"),
    (clearing.own_adam, "not cleared", FLOW, ZERO_GRAD, "confirmed"),
    (clearing.own_adam, "not held", FLOW, "parameters-not-in-optimizer", "likely"),
    (chance.functional_dropout, "always on", INPUT, MODE, "likely"),
    (chance.functional_dropout, "upside down", INPUT, MODE, "likely"),
    (chance.evaluation, "on in validation", FLOW, MODE, "confirmed"),
    (chance.vae, "torch.normal", FLOW, GRAPH, "confirmed"),
    (chance.vae, "sample", FLOW, GRAPH, "confirmed"),
    (chance.noisy_latent, "torch.normal", FLOW, GRAPH, "confirmed"),
    (chance.noisy_latent, "sample", FLOW, GRAPH, "likely"),
    (order.decoder, "missing", INPUT, LEAK, "likely"),
    (order.decoder, "transposed", INPUT, LEAK, "likely"),
    (order.own_decoder, "missing", INPUT, LEAK, "likely"),
    (order.own_decoder, "transposed", INPUT, LEAK, "likely"),
    (order.translator, "missing", INPUT, LEAK, "likely"),
    (order.translator, "transposed", INPUT, LEAK, "likely"),
    (order.both_ways, "last", FLOW, ENDS, "confirmed"),
    (order.both_ways, "first", FLOW, ENDS, "confirmed"),
    (order.both_ways, "last state", FLOW, ENDS, "likely"),
    (order.both_ways_time_first, "last", FLOW, ENDS, "confirmed"),
    (parts.weight_normed, "hook", FLOW, INIT, "likely"),
    (parts.weight_normed, "data", FLOW, INIT, "likely"),
    (parts.weight_normed, "parametrized", FLOW, INIT, "likely"),
    (parts.ignored_class, "a class", DATA, "ignored-class", "confirmed"),
    (parts.ignored_picture_class, "a class", DATA, "ignored-class", "confirmed"),
    (parts.ignored_picture_class, "a class", MEMORY, "ignored-class", "confirmed"),
    (parts.never_moves, "skipped", FLOW, LOST, "likely"),
    (parts.never_moves, "no rate", FLOW, "lr-too-low", "confirmed"),
    (parts.never_moves, "restored", FLOW, LOST, "likely"),
    (parts.never_moves, "reloaded", FLOW, LOST, "likely"),
    (parts.never_thawed, "typo", DATA, "frozen-parameters", "confirmed"),
    (parts.never_thawed, "other names", DATA, "frozen-parameters", "confirmed"),
    (parts.empty_steps, "scattered", FLOW, "empty-optimizer-steps", "likely"),
    (samples.merged_samples, "viewed", INPUT, "batch-mixing", "likely"),
]

#: Nothing in the program says whether it is meant, or not yet seen.
NOT_JUDGED = {
    (chance.functional_dropout, "always off"),
    (samples.fewer_samples, "believed"),
    (samples.augmented, "seeded"),
    (samples.augmented_in_the_step, "seeded"),
    (samples.constant_labels, "constant"),
}

_MODULES: tuple[ModuleType, ...] = (clipping, clearing, chance, order, parts, samples)
_FAULTY = {(loop, fault) for loop, fault, *_ in FAULTS} | NOT_JUDGED
TWINS = [
    (loop, name)
    for module in _MODULES
    for loop, names in module.PAIRS.items()
    for name in names
    if (loop, name) not in _FAULTY
]


def _of(loop: Callable[[str], Loop], name: str, how: str, check: str) -> Verdict:
    def body() -> object:
        made = loop(name)
        return made.training() if how == "returned" else made.run()

    return examine(body, Request(check, "loop", 0, {}))


def _named(each: object) -> str:
    return str(getattr(each, "__name__", each))


@pytest.mark.parametrize("how", ["returned", "watched"])
@pytest.mark.parametrize(("loop", "fault", "check", "cause", "certainty"), FAULTS, ids=_named)
def test_a_fault_is_found_and_named(
    loop: Callable[[str], Loop], fault: str, check: str, cause: str, certainty: str, how: str
) -> None:
    verdict = _of(loop, fault, how, check)
    assert verdict.failed, verdict
    assert [(f.cause, f.certainty) for f in verdict.findings] == [(cause, certainty)]


@pytest.mark.parametrize("how", ["returned", "watched"])
@pytest.mark.parametrize("check", [FLOW, INPUT])
@pytest.mark.parametrize(("loop", "name"), TWINS, ids=_named)
def test_its_twin_is_healthy(loop: Callable[[str], Loop], name: str, check: str, how: str) -> None:
    verdict = _of(loop, name, how, check)
    if loop is clearing.by_hand_under_no_grad and check == INPUT:  # a list of weights, and nothing that is called
        assert verdict.reason == "no call of the model was seen that could be repeated"
    else:
        assert verdict.passed, verdict


NEIGHBOURS = [(loop, name) for loop, names in neighbours.PAIRS.items() for name in names]


@pytest.mark.parametrize("how", ["returned", "watched"])
@pytest.mark.parametrize(("loop", "name"), NEIGHBOURS, ids=_named)
def test_what_comes_closest_to_a_fault_is_healthy(loop: Callable[[str], Loop], name: str, how: str) -> None:
    verdict = _of(loop, name, how, FLOW)
    assert verdict.passed, verdict


@pytest.mark.parametrize("how", ["returned", "watched"])
@pytest.mark.parametrize(("loop", "name"), sorted(NOT_JUDGED, key=str), ids=_named)
def test_what_may_be_meant_is_no_alarm(loop: Callable[[str], Loop], name: str, how: str) -> None:
    assert not _of(loop, name, how, FLOW).failed
