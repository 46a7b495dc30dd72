"""Is everything still finite? The loss is read at every step, everything else at sampled steps, in a single pass.

Gradients that are not finite are no alarm by themselves: a loss scaler detects overflow and skips the update, and the
parameters stay finite. But one that skips update after update has halved its scale each time, and no scale is small
enough for NaN.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import torch
from torch import Tensor
from torch.nn.parameter import is_lazy
from torch.optim import Optimizer

from ....records.numbers import NonFinite
from ....tensors.function_modes import unseen
from ....tensors.module_paths import full_path
from ....tensors.norms import norms
from ....tensors.readable import Unreadable, is_ordinary, values_of
from ...run.events import Listener
from ...run.run import Run

#: Updates skipped in a row. A scale that starts at 65,536 and is halved each time is then below 0.02: no longer too
#: large.
ENDLESS = 22
_STATISTICS = ("running_mean", "running_var")


class Finiteness(Listener):
    """Examines the state of a run, only as often as it costs next to nothing."""

    ONLY_LOOKS = True

    def __init__(self, run: Run) -> None:
        self._run = run
        self._skipped_in_a_row = 0
        #: Buffers that were not finite when first seen: masks of -inf, a best value so far.
        self._odd: dict[str, bool] = {}

    def run_begins(self) -> None:
        self._note_buffers()

    def update_skipped(self, optimizer: Optimizer) -> None:
        self._skipped_in_a_row += 1

    def update_ends(self, optimizer: Optimizer, has_closure: bool) -> None:
        self._skipped_in_a_row = 0

    def after_step(self, loss: float, *, closely: bool) -> NonFinite | None:
        if not math.isfinite(loss):
            return NonFinite(self._run.step, "the loss", str(loss))
        if self._skipped_in_a_row >= ENDLESS:
            return NonFinite(self._run.step, "the gradient", self._of_gradients())
        return self.of_state(moments=closely) if self._run.sampled or closely else None

    @unseen
    def of_state(self, *, moments: bool = True) -> NonFinite | None:
        """Parameters first, then values computed from them. Moments are twice as many, and can wait until the end."""
        self._note_buffers()
        for held in (list(self._parameters()), list(self._buffers()), list(self._states()) if moments else []):
            read = [(name, values) for name, tensor in held if (values := self._values(name, tensor)) is not None]
            for (name, values), size in zip(read, norms([values for _, values in read]), strict=True):
                if not math.isfinite(size) and not bool(torch.isfinite(values).all()):
                    return NonFinite(self._run.step, name, "nan" if bool(torch.isnan(values).any()) else "inf")
        return None

    def _values(self, name: str, tensor: Tensor) -> Tensor | None:
        """None for what has no values, which cannot become NaN, and for what only its own class can read."""
        if is_ordinary(tensor) and not tensor.is_quantized:
            return tensor
        values = values_of(tensor)
        if values is None and tensor.requires_grad:
            self._run.trace.unreadable.setdefault(name, str(Unreadable(tensor)))
        return values

    def _parameters(self) -> Iterator[tuple[str, Tensor]]:
        return ((name, p) for name, p in self._run.parameters.items() if not is_lazy(p))

    def _buffers(self) -> Iterator[tuple[str, Tensor]]:
        for name, buffer in self._named_buffers():
            kept = name.rpartition(".")[2] in _STATISTICS or bool(torch.isnan(buffer).any())
            if kept and not self._odd.get(name, True):
                yield name, buffer

    def _states(self) -> Iterator[tuple[str, Tensor]]:
        """Optimizer state with the same shape as its parameter: moments, not counters."""
        for label, optimizer in self._run.optimizers.items():
            for name, parameter in self._run.parameters.items():
                for key, value in optimizer.state.get(parameter, {}).items():
                    if isinstance(value, Tensor) and value.is_floating_point() and value.shape == parameter.shape:
                        yield f"{key} of {name} in {label}", value

    def _note_buffers(self) -> None:
        for name, buffer in self._named_buffers():
            if name not in self._odd:
                self._odd[name] = not bool(torch.isfinite(buffer).all())

    def _named_buffers(self) -> Iterator[tuple[str, Tensor]]:
        for prefix, model in self._run.models.items():
            for name, buffer in model.named_buffers():
                if buffer.is_floating_point() and not is_lazy(buffer) and buffer.layout == torch.strided:
                    values = values_of(buffer)
                    if values is not None:
                        yield full_path(prefix, name), values

    def _of_gradients(self) -> str:
        gradients = [p.grad for p in self._run.parameters.values() if p.grad is not None]
        return "nan" if any(bool(torch.isnan(g).any()) for g in gradients) else "inf"
