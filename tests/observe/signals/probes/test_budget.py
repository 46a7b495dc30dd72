"""Probes end with the time budget, say so, and prove nothing by halves."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from pytest_trainhealth import Training, diagnose
from pytest_trainhealth.observe.signals.probes.repeat_call import Repeater

from ....budget.slow_machine import Clock

BUDGET = 5.0
#: Seconds that a call with other inputs takes; the steps take none.
CALL = 3.0


def test_no_probe_begins_after_the_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, repeat = Clock(monkeypatch), Repeater.run
    began = clock.seconds

    def slow(repeater: Repeater, *args: Any, **kwargs: Any) -> Any:
        answer = repeat(repeater, *args, **kwargs)
        clock.passes(CALL)
        return answer

    monkeypatch.setattr(Repeater, "run", slow)
    model = nn.Linear(4, 2)
    training = Training(
        model,
        torch.optim.SGD(model.parameters(), 0.1),
        criterion=F.cross_entropy,
        data=(torch.randn(8, 4), torch.randint(0, 2, (8,))),
    )
    (verdict,) = diagnose(training, checks=["uses_its_input"], budget=BUDGET).verdicts
    assert verdict.outcome == "could not judge"
    assert verdict.reason.startswith("budget of 5 s used up: ")
    assert clock.seconds - began <= BUDGET + 2 * CALL
