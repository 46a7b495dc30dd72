"""Nobody notices us: each program of `beside_us` leaves the same, bit by bit, with and without us."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch

from pytest_trainhealth import Training
from pytest_trainhealth.checks import check
from pytest_trainhealth.observe.run import run as run_module
from pytest_trainhealth.observe.signals import close_signals
from pytest_trainhealth.programs.plan import Look, RunPlan
from pytest_trainhealth.programs.start import Start, build
from pytest_trainhealth.programs.training_program import TrainingProgram
from pytest_trainhealth.programs.watched_program import WatchedProgram
from pytest_trainhealth.records.trace import Trace
from pytest_trainhealth.state.process import seed_everything
from pytest_trainhealth.tensors.function_modes import FunctionMode

from .beside_us import PROGRAMS, Loop, Program
from .beside_us.loop import comparable

SEED = 3
#: What the checks ask for that every watched test has first, and all that a failure brings about.
LOOKS = {
    "usual": Look(tuple({*check("trains_without_nan").signals, *check("gradients_flow").signals})),
    "closer": Look(close_signals()),
    "closest": Look(close_signals(), every_step=True),
}

#: These count their model's calls, or who refers to what it has computed.
NOTE_CALLS = ("hooks_of_ones_own", "what_is_let_go_is_gone", "functions_with_a_backward_of_their_own")
KEEP_OR_CALL = ("probes", "alignment", "target_pairing", "similarities", "kl_term", "activations")
#: Their step alone is not the program.
NO_TRAININGS = ("lazy_layers_that_wait", "a_mode_around_everything")
#: These have no values at all, or a class that alone can read them.
NOT_READ = ("trained_on_meta", "parameters_in_a_wrapper", "masked_tensors")

Outcome = tuple[str, Any, Any]


def outcome(run: Callable[[], Any], loop: Loop) -> Outcome:
    """What a run returned or raised, and what it has left."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            losses = run()
    except Exception as error:
        return "raised", comparable(error), [loop.left(), modes_on()]
    return "ran", comparable(losses), [loop.left(), modes_on()]


def modes_on() -> list[str]:
    """Of others: those of ours may be on until a step ends."""
    modes = [torch._C._get_function_stack_at(at) for at in range(torch._C._len_torch_function_stack())]
    return [type(mode).__name__ for mode in modes if not isinstance(mode, FunctionMode)]


def built(program: Program) -> Loop:
    seed_everything(SEED)
    return program()


def bare(program: Program) -> Outcome:
    loop = built(program)
    try:
        seed_everything(SEED + 1)
        return outcome(loop.run, loop)
    finally:
        loop.close()


def watched(program: Program, look: Look) -> tuple[Outcome, Trace]:
    found: list[Outcome] = []

    def body() -> None:
        loop = built(program)
        try:
            seed_everything(SEED + 1)
            found.append(outcome(loop.run, loop))
        finally:
            loop.close()

    trace = WatchedProgram(body, 0).record(RunPlan(max_steps=0, look=look))
    return found[0], trace


def returned(program: Program, look: Look) -> tuple[Outcome, Trace]:
    loops: list[Loop] = []
    losses: list[Any] = []

    def factory() -> Training:
        loop = built(program)
        loops.append(loop)

        def step(batch: Any) -> Any:
            losses.append(loop.step(batch))
            return losses[-1]

        return Training(loop.model, loop.optimizer, step=step, data=loop.data)

    traces: list[Trace] = []
    training, sites = build(factory, SEED)
    loop = loops[0]
    start = Start(training, seed=SEED, factory=factory, creation_sites=sites)

    def run() -> list[Any]:
        plan = RunPlan(max_steps=loop.steps, one_batch=False, look=look)
        traces.append(TrainingProgram(start).record(plan))
        return losses

    try:
        return outcome(run, loop), traces[0] if traces else Trace()
    finally:
        start.close()
        loop.close()


@pytest.fixture(autouse=True)
def as_for_users(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever cannot read something keeps silent."""
    monkeypatch.setattr(run_module, "RAISES", False)


@pytest.fixture(scope="module")
def without_us() -> Callable[[str], Outcome]:
    known: dict[str, Outcome] = {}

    def of(name: str) -> Outcome:
        if name not in known:
            known[name] = bare(PROGRAMS[name])
        return known[name]

    return of


def looked_at(name: str, look: str) -> Look:
    """A closer look calls models once more, and keeps what a step has computed until the step ends. A program that
    counts its model's calls, or references, is looked at without that."""
    found = LOOKS[look]
    if name not in NOTE_CALLS:
        return found
    return replace(found, signals=tuple(each for each in found.signals if each not in KEEP_OR_CALL))


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("look", LOOKS)
def test_watched(name: str, look: str, without_us: Callable[[str], Outcome]) -> None:
    assert watched(PROGRAMS[name], looked_at(name, look))[0] == without_us(name)


@pytest.mark.parametrize("name", [name for name in PROGRAMS if name not in NO_TRAININGS])
@pytest.mark.parametrize("look", LOOKS)
def test_returned(name: str, look: str, without_us: Callable[[str], Outcome]) -> None:
    assert returned(PROGRAMS[name], looked_at(name, look))[0] == without_us(name)


def test_nothing_is_left_behind() -> None:
    """Of the functions of torch that are others while somebody looks."""
    before = [torch.Tensor.backward, torch.nn.Module._call_impl, torch.optim.Optimizer.zero_grad]
    watched(PROGRAMS["a_model_is_saved_whole"], LOOKS["closer"])
    assert [torch.Tensor.backward, torch.nn.Module._call_impl, torch.optim.Optimizer.zero_grad] == before
    assert not torch._C._len_torch_function_stack()


@pytest.mark.parametrize("name", [name for name in PROGRAMS if name not in NOT_READ])
def test_silence_is_no_way_out(name: str) -> None:
    """What the checks need that every watched test has first is read, whatever it is made of."""
    trace = watched(PROGRAMS[name], LOOKS["usual"])[1]
    assert (trace.not_read, trace.unreadable) == ({}, {})
