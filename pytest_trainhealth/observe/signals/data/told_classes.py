"""Of two classes, how many labels of each the model tells while it trains: a loss may fall without ever finding one."""

from __future__ import annotations

import torch
from torch import Tensor

from ....records.data import ToldClass
from ....records.loss_functions import BINARY
from ...calls.torch_calls import Call, CallSignal
from ...run.signal import Cost
from .field_roles import given_target

#: Outputs for two classes: one for each, 2, or one for both.
_TWO = 2
#: The probability at which both classes are as likely: one half, 0.5.
_EVEN = 0.5


class ToldClasses(CallSignal):
    NAME, COST = "told_classes", Cost.CLOSE

    def wanted(self) -> bool:
        return True

    def called(self, call: Call) -> None:
        given = given_target(call)
        if given is None or not given.about_classes or not isinstance(call.args[0], Tensor):
            return
        with torch.no_grad(), torch._C.DisableTorchFunction():
            answers = _answers(call.name, call.args[0].detach(), given.classes)
            target = given.target.detach()
            if answers is None or answers.shape != target.shape:
                return
            right = answers == target
            for label in (0, 1):
                came = target == label
                found = ToldClass(self._run.step, label, int(came.sum()), int((right & came).sum()))
                self._run.trace.data.told_classes.append(found)


def _answers(function: str, output: Tensor, classes: int | None) -> Tensor | None:
    if classes == _TWO:
        return output.argmax(1 if output.ndim > 1 else 0)
    if function in BINARY:
        return (output > (0.0 if "logits" in function else _EVEN)).to(output.dtype)
    return None
