"""pytest-torch: assertions for tests of models and of training loops."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from inspect import signature
from typing import Any

from .subject import Alarm, CannotTake, subject_of

NAME = "pytest-torch"
HOW = (
    "`run_training` for 20 steps with the program's own step or loss, then `assert_healthy`'s parts (coverage, finite "
    "values, no skipped updates) and `assert_loss_decreases`; where model and loss are apart also "
    "`assert_all_params_receive_grad`, `assert_overfits_one_batch` with an optimizer of the same kind and settings, "
    "and `check_inference_contract`. A failed assertion is an error; `assert_loss_decreases`, which `assert_healthy` "
    "makes on request only, a warning"
)
MEANS: dict[str, set[str]] = {
    "coverage": {"parameters-not-in-optimizer", "duplicate-parameters"},
    "finite": {"unstable-operation", "lr-too-high", "low-precision-overflow", "nan-in-data", "exploding-gradients"},
    "skipped_updates": {
        *("missing-optimizer-step", "gradients-cleared-before-step", "scheduler-misuse", "lr-too-low"),
        *("parameters-not-in-optimizer", "disconnected-graph", "lr-decayed-too-early"),
    },
    "loss_decreases": {"wrong-loss-sign", "lr-too-low", "lr-too-high", "parameters-not-in-optimizer"},
    "params_receive_grad": {"unused-parameters", "disconnected-graph", "dead-activations", "vanishing-gradients"},
    "overfits_one_batch": {
        *("labels-not-aligned", "too-much-regularization", "disconnected-graph", "lr-too-low"),
        *("insufficient-capacity", "target-shape-mismatch"),
    },
    "batch_invariance": {"batch-mixing"},
    "deterministic": {"nondeterministic", "wrong-mode"},
    "finite_outputs": {"unstable-operation", "nan-in-data"},
    "no_state_mutation": {"in-place-modification"},
}
STEPS = 20


def ask(factory: Callable[[], Any], seed: int) -> list[Alarm]:
    return [*_loop(factory, seed), *_model(factory, seed)]


def _loop(factory: Callable[[], Any], seed: int) -> list[Alarm]:
    from pytest_torch import TrainingSetup, run_training

    made: list[Any] = []

    def make_setup() -> TrainingSetup:
        subject = subject_of(factory, seed, several=True)
        if not subject.training.optimizers:
            raise CannotTake("the optimizer is known to the program's own step alone")
        made[:] = [subject, subject.batches]
        return TrainingSetup(subject.model, dict(subject.training.optimizers))

    run = run_training(
        make_setup, lambda _: next(made[1]), lambda setup, batch: made[0].step(batch), steps=STEPS, seed=seed
    )
    found = [Alarm("coverage", True, problem) for problem in run.coverage_problems[:1]]
    found += _failed("finite", run.assert_finite)
    found += _failed("skipped_updates", run.assert_no_skipped_updates)
    return found + _failed("loss_decreases", run.assert_loss_decreases, sure=False)


def _model(factory: Callable[[], Any], seed: int) -> list[Alarm]:
    """Only if the model can be called with its inputs, and its loss is a function of its output."""
    from pytest_torch import assert_all_params_receive_grad, assert_overfits_one_batch, check_inference_contract

    subject = subject_of(factory, seed, several=True)
    training = subject.training
    if training.loss is not None or training.step is not None:
        return []
    inputs, targets, loss_fn = subject.call()

    def loss(output: Any) -> Any:
        if loss_fn is not None:
            return loss_fn(output, targets)
        return output["loss"] if isinstance(output, dict) else output.loss

    again = partial(type(subject.optimizer), **_settings(subject.optimizer))
    model = subject.model
    found = _failed("params_receive_grad", lambda: assert_all_params_receive_grad(model, inputs, loss))
    found += _failed("overfits_one_batch", lambda: assert_overfits_one_batch(model, inputs, loss, optimizer=again))
    report = check_inference_contract(model.eval(), inputs, raise_on_failure=False)
    return found + [Alarm(result.name, True, result.message) for result in report.failures]


def _settings(optimizer: Any) -> dict[str, Any]:
    """The settings that its constructor takes: the defaults of AdamW hold more than these."""
    return {key: value for key, value in optimizer.defaults.items() if key in signature(type(optimizer)).parameters}


def _failed(what: str, assertion: Callable[[], object], sure: bool = True) -> list[Alarm]:
    try:
        assertion()
    except AssertionError as error:
        return [Alarm(what, sure, str(error).split("\n")[0])]
    return []
