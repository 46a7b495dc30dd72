"""Before the first steps, the gradient of a batch is compared with those of its parts, as if they were accumulated.

In eval mode, so that dropout is off and BatchNorm does not look at the batch; modes and random numbers are put back.
"""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

import torch
from torch import Tensor

from ...observe.calls.term_gradients import TermGradient, term_gradients
from ...observe.run.events import Listener
from ...observe.run.run import Run
from ...records.state import CutRecord, TermRecord
from ...state.process import remember_random_numbers, seed_everything
from ...tensors.batches import batch_size, tensors
from ...tensors.parts_of_batches import is_ragged, rows_of
from ._mixed_fields import mixed_in_the_data

#: The step before which it is tried. By judgement: after a few updates, what was initialised with zeros has gradients.
_AT = 3
#: Of the gradient, beyond any weighted sum of those of the parts: the limit of accumulates_exactly. Of 37 healthy
#: programs none has more than 3e-7.
_NOT_THE_WHOLE = 1e-3
#: Of the gradient of one term: the same limit.
_SAME = _NOT_THE_WHOLE


class CutBatches(Listener):
    def __init__(self, run: Run, stack: ExitStack, count: int) -> None:
        self._run, self._count = run, count

    def step_begins(self, batch: Any) -> None:
        if self._run.step != _AT or self._run.training is None:
            return
        modules = [each for model in self._run.models.values() for each in model.modules()]
        modes = [each.training for each in modules]
        put_back = remember_random_numbers()
        try:
            for model in self._run.models.values():
                model.eval()
            self._run.trace.state.cut = self._compared(batch)
        except Exception as error:  # a part of a batch may be too small, or a model may not compute a loss in eval mode
            reason = f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"
            self._run.trace.state.cut = CutRecord(
                self._count, why_not=f"with a part of the batch, the loss raises {reason}"
            )
        finally:
            for each, mode in zip(modules, modes, strict=True):
                each.training = mode
            put_back()

    def _compared(self, batch: Any) -> CutRecord:
        samples = batch_size(batch) or 0
        size = samples // self._count
        if not size:
            return CutRecord(self._count, why_not=f"a batch of {samples} has no {self._count} parts")
        if not any(t.ndim and t.shape[0] == samples for _, t in tensors(batch)) or is_ragged(batch, samples):
            return CutRecord(self._count, why_not="the batch does not say which rows belong to which sample")
        cut = [rows_of(batch, samples, slice(size * n, size * (n + 1))) for n in range(self._count)]
        whole = rows_of(batch, samples, slice(0, size * self._count))
        seed_everything(1)
        full = self._gradient(whole)
        seed_everything(2)
        again = self._gradient(whole)
        parts = []
        for each in cut:
            seed_everything(1)
            parts.append(self._gradient(each))
        norm = float(full.norm())
        if not norm:
            return CutRecord(self._count, why_not="the gradient is 0")
        weights = _weights(full, parts)
        closest = torch.stack(parts).T @ weights
        mixed = float((full - closest).norm()) > _NOT_THE_WHOLE * norm
        return CutRecord(
            self._count,
            from_mean=float((full - torch.stack(parts).mean(0)).norm()) / norm,
            from_sum=float((full - torch.stack(parts).sum(0)).norm()) / norm,
            from_any=float((full - closest).norm()) / norm,
            by_chance=float((full - again).norm()) / norm,
            weights=tuple(float(each) for each in weights),
            mixed_by=self._mixed_by(whole, size * self._count) if mixed else (),
            terms=self._terms(whole, cut) if mixed else {},
            samples=size * self._count,
        )

    def _terms(self, whole: Any, cut: list[Any]) -> dict[int, TermRecord]:
        """Empty where the loss is not the same sum of a few terms for the batch and its parts."""
        full, *parts = (self._of_terms(each) for each in (whole, *cut))
        names = [each.name for each in full]
        if not full or any([each.name for each in part] != names for part in parts):
            return {}
        least = _NOT_THE_WHOLE * max(float(each.gradient.norm()) for each in full)
        found = {}
        for index, term in enumerate(full):
            size, theirs = float(term.gradient.norm()), torch.stack([part[index].gradient for part in parts])
            if size > least:
                apart = {"mean": theirs.mean(0), "sum": theirs.sum(0)}
                kinds = [k for k, other in apart.items() if float((term.gradient - other).norm()) <= _SAME * size]
                found[index] = TermRecord(term.name, kinds[0] if kinds else "other", term.factor)
        return found

    def _of_terms(self, batch: Any) -> list[TermGradient]:
        seed_everything(1)
        stepper: Any = self._run.stepper  # type: ignore[attr-defined]
        return term_gradients(stepper._loss(batch)[0], lambda loss: self._derivatives(loss, kept=True))

    def _mixed_by(self, batch: Any, samples: int) -> tuple[str, ...]:
        def gradient(changed: Any) -> Tensor:
            seed_everything(1)
            return self._gradient(changed)

        try:
            return mixed_in_the_data(batch, samples, gradient, self._run.models.values())
        except Exception:  # the loss may not take what belongs to other samples
            return ()

    def _gradient(self, batch: Any) -> Tensor:
        stepper: Any = self._run.stepper  # type: ignore[attr-defined]
        return self._derivatives(stepper._loss(batch)[0])

    def _derivatives(self, loss: Tensor, *, kept: bool = False) -> Tensor:
        wanted = [p for p in self._run.parameters.values() if p.requires_grad]
        found = torch.autograd.grad(loss, wanted, allow_unused=True, retain_graph=kept)
        flat = [
            (torch.zeros(p.numel(), device="cpu") if g is None else g.to_dense().detach().cpu()).double().flatten()
            for g, p in zip(found, wanted, strict=True)
        ]
        return torch.cat(flat)


def _weights(full: Tensor, parts: list[Tensor]) -> Tensor:
    stacked = torch.stack(parts).T
    solution: Tensor = torch.linalg.lstsq(stacked, full.unsqueeze(1)).solution
    return solution.flatten()
