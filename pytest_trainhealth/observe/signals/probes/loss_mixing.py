"""Does the loss mix samples? A softmax over the batch right before the loss normalises each class over the samples.

Losses may compare samples on purpose (contrastive and ranking losses do). So two things are required: each sample has
a class of its own that is chosen from its scores, and these scores were normalised over dimension 0. The second
derivative of the loss then shows whether the gradient of one sample depends on the scores of others.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from ....records.loss_functions import SOFTMAXES, WITH_CLASSES
from ....records.probes import MixingRecord
from ....records.verdict import Place
from ...calls.activation_origin import Made, Outputs
from ...calls.torch_calls import Call
from ...source.places import user_place

#: How much the gradients of others depend on a sample's scores, as a share of how much its own does. By judgement: a
#: loss that treats samples alone is at 0 up to rounding (1e-6), a softmax over 16 samples at 0.05 and more.
_SHARE = 1e-2


@dataclass
class _Choice:
    """Classes chosen from scores that were normalised over the samples."""

    made: Made
    place: Place | None


class LossMixing:
    def __init__(self) -> None:
        self._outputs = Outputs()
        self._choices: list[_Choice] = []
        self.found: list[MixingRecord] = []

    def clear(self) -> None:
        self._outputs.clear()
        self._choices.clear()
        self.found = []

    def note(self, call: Call) -> None:
        """To be called after each torch function of the forward pass that returned a tensor with a graph."""
        first = call.args[0]
        made = self._outputs.made(first)
        if made is not None and made.dim == 0 and made.activation in SOFTMAXES and _chooses_classes(call):
            rows, *rest = made.raw.shape
            if rest and rest[0] > 1 and rest[0] != rows:  # a square may hold all pairs of samples
                self._choices.append(_Choice(made, user_place()))
        if isinstance(call.result, Tensor) and call.result.requires_grad:
            self._outputs.note(call, first, user_place() if call.name in SOFTMAXES else None)

    def before_backward(self, roots: list[Tensor]) -> None:
        choices, self._choices = self._choices, []
        if len(roots) == 1 and roots[0].numel() == 1 and roots[0].grad_fn is not None:
            self.found += list(_mixed(roots[0], choices))


def _chooses_classes(call: Call) -> bool:
    """A loss on classes, or one value of each row: `logp.gather(1, labels[:, None])`, `p[range(n), labels]`."""
    if call.name in WITH_CLASSES:
        return True
    if call.name == "gather":
        return len(call.args) > 1 and call.args[1] == 1
    index = call.args[1] if call.name == "__getitem__" and len(call.args) > 1 else None
    return isinstance(index, tuple) and len(index) == 2 and all(isinstance(i, (Tensor, list, range)) for i in index)


def _mixed(root: Tensor, choices: list[_Choice]) -> Iterator[MixingRecord]:
    for choice in choices:
        scores = choice.made.raw
        sample = len(scores) // 2
        try:
            shares = _dependence(root, scores, sample)
        except RuntimeError:  # the graph was freed, or cannot be differentiated twice
            continue
        if shares is None or float(shares.max()) <= _SHARE:
            continue
        record = MixingRecord("the loss", sample, len(scores), int((shares > _SHARE).sum()), float(shares.max()))
        record.operation, record.given, record.in_loss = choice.made.activation, tuple(scores.shape), True
        record.module, record.place = choice.made.module, choice.made.place or choice.place
        yield record


def _dependence(root: Tensor, scores: Tensor, sample: int) -> Tensor | None:
    """How much each other sample's gradient depends on this one's scores, relative to this one's own."""
    with torch.enable_grad():
        (gradient,) = torch.autograd.grad(root, scores, create_graph=True, allow_unused=True)
        if gradient is None or not gradient.requires_grad:
            return None
        direction = torch.linspace(1, 2, gradient[sample].numel(), dtype=gradient.dtype, device=gradient.device)
        turned = (gradient[sample].flatten() * direction).sum()
        (second,) = torch.autograd.grad(turned, scores, retain_graph=True, allow_unused=True)
    if second is None:
        return None
    change, slope = second.detach().flatten(1).double(), gradient.detach().flatten(1).double()
    others = torch.arange(len(change), device=change.device) != sample
    # a function of the whole loss, such as its root, scales all gradients alike: that is not mixing
    scale = (change[others] * slope[others]).sum() / slope[others].square().sum().clamp(
        min=torch.finfo(slope.dtype).tiny
    )
    rest = (change[others] - scale * slope[others]).abs().amax(1)
    own = float(change[sample].abs().max())
    return rest / own if own > 0 else None
