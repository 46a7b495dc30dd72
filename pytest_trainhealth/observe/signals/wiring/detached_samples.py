"""Samples of a Normal that carry no gradient back to its mean, which then gets no gradient but that of a penalty.

`Normal.sample()` draws without a graph; `rsample()` keeps it. `torch.normal()` of a mean keeps a graph in which its
derivative is 0. Code that draws with `sample()` on purpose learns through
`log_prob()`. If the gradient of the mean is a multiple of the mean itself, then only a pull towards 0 reaches it (the
KL term of a variational autoencoder), and the encoder learns nothing from what is computed from the sample.
"""

from __future__ import annotations

from functools import wraps
from typing import Any

import torch
from torch import Tensor
from torch.distributions import Normal

from ....records.wiring import DetachedSample
from ...calls.torch_calls import Call, CallSignal
from ...run.run import Run
from ...run.signal import Cost
from ...source.engine_frames import stand_in
from ...source.places import user_place

#: Steps that are examined. By judgement: samples are drawn the same way at every step, and a warm-up takes one or two.
_STEPS = 4
#: Fewer values could point the same way by chance. By judgement: 16 values have a cosine of 0.25 by chance, by one
#: deviation.
_ENOUGH = 16
#: Most samples examined in one step. By judgement: the first 8 represent the others.
_MOST_DRAWN = 8
#: Cosine between the mean and its gradient: 1 but for rounding with a KL term alone; at most 0.59 in four small models
#: that draw with sample() and learn in another way.
_PARALLEL = 0.9999
#: These operations pass on the values unchanged.
_SAME_VALUES = ("ExpandBackward0", "ViewBackward0", "AliasBackward0", "ToCopyBackward0")


class DetachedSamples(CallSignal):
    NAME, COST = "detached_samples", Cost.CLOSE

    def __init__(self, run: Run) -> None:
        super().__init__(run)
        self._original: Any = None
        self._rsample: Any = None
        self._handles: list[Any] = []
        #: `rsample()` was called, too: then samples drawn without a graph serve another purpose.
        self._carried = False
        self._drawn: list[DetachedSample] = []

    def wanted(self) -> bool:
        return self._run.step < _STEPS

    def called(self, call: Call) -> None:
        if call.name == "normal" and call.error is None and torch.is_grad_enabled() and call.args[0].requires_grad:
            self._listen(call.args[0], "torch.normal()")

    def step_begins(self, batch: object) -> None:
        super().step_begins(batch)
        self._close()
        if self._run.step < _STEPS:
            self._original, self._rsample = Normal.sample, Normal.rsample
            _set(self._reporting_sample(), self._reporting_rsample())

    def step_ends(self) -> None:
        super().step_ends()
        self._close()
        for draw in self._drawn:
            if draw.penalty_only and not self._carried:
                known = self._run.trace.wiring.detached_samples.setdefault(str(draw.place), draw)
                known.steps.append(self._run.step)
        self._drawn, self._carried = [], False

    def run_ends(self) -> None:
        super().run_ends()
        self._close()

    def _close(self) -> None:
        for handle in self._handles:
            handle.remove()
        self._handles.clear()
        if self._original is not None:
            _set(self._original, self._rsample)
            self._original = self._rsample = None

    def _reporting_sample(self) -> Any:
        original = self._original

        @wraps(original)
        @stand_in
        def sample(distribution: Normal, *args: Any, **kwargs: Any) -> Any:
            if torch.is_grad_enabled():
                with self._reading():
                    self._listen(distribution.loc, "sample()")
            return original(distribution, *args, **kwargs)

        return sample

    def _reporting_rsample(self) -> Any:
        original = self._rsample

        @wraps(original)
        @stand_in
        def rsample(distribution: Normal, *args: Any, **kwargs: Any) -> Any:
            self._carried = self._carried or torch.is_grad_enabled()
            return original(distribution, *args, **kwargs)

        return rsample

    def _listen(self, mean: Tensor, function: str) -> None:
        """Hooks the operation that computed the mean: the distribution holds a tensor of its own (expanded, a view)."""
        node, index = mean.grad_fn, mean.output_nr
        while node is not None and type(node).__name__ in _SAME_VALUES:
            node, index = node.next_functions[0]
        computed = node is not None and type(node).__name__ != "AccumulateGrad"  # and not a parameter
        if node is None or not computed or mean.numel() < _ENOUGH or len(self._drawn) >= _MOST_DRAWN:
            return
        draw, values = DetachedSample(function, user_place()), mean.detach()
        self._drawn.append(draw)

        def arrived(gradients: tuple[Any, ...]) -> None:
            gradient = gradients[index] if index < len(gradients) else None
            if isinstance(gradient, Tensor) and gradient.numel() == values.numel():
                draw.penalty_only = _parallel(values.double().flatten(), gradient.detach().double().flatten())

        self._handles.append(node.register_prehook(self._looking(arrived)))


def _set(sample: Any, rsample: Any) -> None:
    setattr(Normal, "sample", sample)  # noqa: B010 - a method of torch's own
    setattr(Normal, "rsample", rsample)  # noqa: B010


def _parallel(values: Tensor, gradient: Tensor) -> bool:
    size = float(values.norm() * gradient.norm())
    return size > 0 and abs(float(values @ gradient)) > _PARALLEL * size
