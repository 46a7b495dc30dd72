"""torchmortem: an autopsy of a training run."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from typing import Any

from .subject import Alarm, subject_of

NAME = "torchmortem"
HOW = (
    "`Autopsy(model, optimizer=)` around 100 steps of the program's own loop with `step(loss=...)`, then its report. "
    "CRITICAL findings are errors, WARNING ones warnings"
)
#: The first words of a finding's title, and the causes it stands for.
MEANS: dict[str, set[str]] = {
    "Vanishing gradients": {"vanishing-gradients", "saturated-activations", "bad-initialization"},
    "Exploding gradients": {"exploding-gradients", "lr-too-high", "unnormalized-inputs", "bad-initialization"},
    "Gradient stalling": {"vanishing-gradients", "dead-activations", "disconnected-graph", "frozen-parameters"},
    "Dead units": {"dead-activations", "bad-initialization"},
    "Activation saturation": {"saturated-activations", "unnormalized-inputs", "bad-initialization"},
    "Update ratio too low": {"lr-too-low", "vanishing-gradients", "parameters-not-in-optimizer", "frozen-parameters"},
    "Update ratio too high": {"lr-too-high", "missing-zero-grad", "bad-momentum"},
    "Training divergence": {"lr-too-high", "exploding-gradients", "wrong-loss-sign", "missing-zero-grad"},
    "Loss plateau": {"lr-too-low", "needs-lr-decay", "lr-decayed-too-early", "insufficient-capacity"},
    "Weight norm explosion": {"lr-too-high", "exploding-gradients", "wrong-loss-sign"},
    "Stagnant weight norms": {"lr-too-low", "missing-optimizer-step", "frozen-parameters", "lr-decayed-too-early"},
    "Inter-layer weight norm imbalance": {"bad-initialization"},
    "Rank collapse": {"bad-initialization", "ignores-input"},
    "High gradient noise": {"batch-too-small", "label-noise"},
}
STEPS = 100


def ask(factory: Callable[[], Any], seed: int) -> list[Alarm]:
    from torchmortem import Autopsy

    subject = subject_of(factory, seed, several=True)
    several = len(subject.training.optimizers) > 1  # it takes one optimizer, or none
    with Autopsy(subject.model, optimizer=None if several else subject.optimizer) as autopsy:
        for batch in islice(subject.batches, STEPS):
            autopsy.step(loss=subject.step(batch))
    report = autopsy.get_report()
    assert report is not None
    alarms: dict[str, Alarm] = {}
    for finding in report.findings:
        what = next((title for title in MEANS if finding.title.startswith(title)), finding.title)
        if finding.severity.name != "INFO":
            sure = finding.severity.name == "CRITICAL"
            alarms[what] = Alarm(what, sure or (what in alarms and alarms[what].sure), finding.title)
    return list(alarms.values())
