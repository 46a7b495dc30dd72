"""torch-audit: rules over a running training loop."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from typing import Any

from .subject import Alarm, subject_of

NAME = "torch-audit"
HOW = (
    "`autopatch(model, optimizer=, every_n_steps=1)` around 20 steps of the program's own loop, then "
    "`finish()`. Findings of the severity ERROR, its own level of failure, are errors, those of WARN warnings"
)
MEANS: dict[str, set[str]] = {
    "TA100": {"unstable-operation", "nan-in-data", "exploding-gradients", "lr-too-high", "low-precision-overflow"},
    "TA102": {"exploding-gradients", "lr-too-high", "loss-reduction", "missing-zero-grad", "unnormalized-inputs"},
    "TA104": {"disconnected-graph", "frozen-parameters", "gradients-cleared-before-step"},
    "TA105": {"dead-activations", "bad-initialization"},
    "TA301": {"unnormalized-inputs"},
    "TA302": {"constant-features", "ignores-input", "nan-in-data"},
    "TA304": {"batch-too-small"},
    "TA305": {"invalid-labels"},
    "TA402": {"too-much-regularization"},
    "TA405": {"dead-activations", "bad-initialization"},
    "TA500": {"unused-parameters"},
    "TA501": {"tied-weights-broken", "wrong-mode"},
}
STEPS = 20


def ask(factory: Callable[[], Any], seed: int) -> list[Alarm]:
    from torch_audit import autopatch

    subject = subject_of(factory, seed)
    auditor = autopatch(subject.model, optimizer=subject.optimizer, every_n_steps=1, reporters=[])
    try:
        for batch in islice(subject.batches, STEPS):
            subject.step(batch)
        result = auditor.finish(report=False)
    finally:
        auditor.unpatch()
    found = {finding.rule_id: finding for finding in result.findings if finding.severity.value != "INFO"}
    return [Alarm(rule, finding.severity.value != "WARN", finding.message) for rule, finding in found.items()]
