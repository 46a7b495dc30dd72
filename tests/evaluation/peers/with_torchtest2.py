"""torchtest2: a battery of checks on one batch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .subject import Alarm, subject_of

NAME = "torchtest2"
HOW = (
    "`check_model(model, inputs, targets, loss_fn=, optimizer=)` on the first batch, defaults otherwise; a loss of the "
    "program's own goes in through `forward_fn`. It has no place for a step of one's own, so such a program is checked "
    "with its model, optimizer and inputs, without a loss. FAIL is an error, WARN a warning"
)
_NO_GRADIENT = {"disconnected-graph", "unused-parameters", "dead-activations", "vanishing-gradients"}
MEANS: dict[str, set[str]] = {
    "forward": {"invalid-labels", "target-shape-mismatch"},
    "output_finite": {"unstable-operation", "nan-in-data", "low-precision-overflow"},
    "output_varies": {"ignores-input", "dead-activations", "bad-initialization", "saturated-activations"},
    "eval_determinism": {"wrong-mode", "nondeterministic"},
    "loss": {"disconnected-graph", "unstable-operation", "nan-in-data", "loss-reduction", "invalid-labels"},
    "initial_loss": {"bad-initialization", "unnormalized-inputs", "data-leakage", "double-softmax"},
    "optimizer_coverage": {"parameters-not-in-optimizer", "duplicate-parameters"},
    "gradient_flow": {*_NO_GRADIENT, "bad-initialization"},
    "gradient_magnitude": {"unstable-operation", "exploding-gradients", "bad-initialization", "low-precision-overflow"},
    "params_change": {*_NO_GRADIENT, "parameters-not-in-optimizer", "lr-too-low", "frozen-parameters"},
    "frozen_params": {"frozen-parameters-change"},
    "input_dependency": {"ignores-input", "dead-activations"},
    "batch_independence": {"batch-mixing", "wrong-mode"},
    "overfit_batch": {
        *("lr-too-low", "lr-too-high", "target-shape-mismatch", "wrong-loss-for-task", "insufficient-capacity"),
        *("unstable-operation", "too-much-regularization", "wrong-output-activation", "exploding-gradients"),
    },
}


def ask(factory: Callable[[], Any], seed: int) -> list[Alarm]:
    import torchtest2

    subject = subject_of(factory, seed)
    inputs, targets, loss_fn = subject.call()
    more: dict[str, Any] = {}
    if subject.training.loss is not None:
        batch = subject.batch
        own = subject.training.loss
        more = {"forward_fn": lambda model, inputs, targets: own(model, batch), "loss_fn": lambda loss, *_: loss}
    elif loss_fn is not None:
        more = {"loss_fn": loss_fn}
    report = torchtest2.check_model(subject.model, inputs, targets, optimizer=subject.optimizer, seed=seed, **more)
    results = [*((result, True) for result in report.failures), *((result, False) for result in report.warnings)]
    return [Alarm(result.name, sure, result.message) for result, sure in results]
