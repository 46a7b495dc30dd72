"""The gradient of an update that is made of several backward passes, beside that of one batch with all their samples.

The second is put together from what each pass adds: a mean over all terms is the mean of each pass, weighted by the
number of its terms. So dropout and BatchNorm, which differ between a batch and its parts for good reasons, do not show.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from ....records.state import PassesRecord
from ....records.verdict import Place
from ....tensors.batches import tensors
from ...calls.pass_terms import PassTerms, pass_terms, weight_of
from ...run.run import Run
from ...run.signal import Cost, Signal
from ...source.module_calls import Watching
from ...source.places import user_place
from .quotients import QuotientPasses, apart_in_direction

#: Most updates that are recorded. By judgement: the first, one in the middle and the end of an epoch are among 16.
_MOST = 16
#: Gradients that are smaller by more than the number of passes were divided and clipped, and nobody can tell how much
#: of it is the one. By judgement: a thousandth for rounding.
_BOTH = 1.001


class Passes(Signal):
    NAME, COST = "passes", Cost.STATE

    def __init__(self, run: Run) -> None:
        super().__init__(run)
        self._terms: list[PassTerms] = []
        self._places: list[Place | None] = []
        self._before: dict[str, Tensor] = {}
        #: By parameter, the gradients of all passes, each as if its loss were the sum of its terms.
        self._sums: dict[str, Tensor] = {}
        self._quotients = QuotientPasses()
        #: Rows of what the models were called with since the last pass, and the models that are looked at.
        self._rows = 0
        self._hooks: dict[int, Watching] = {}
        self._clean = True
        run.trace.state.splittable = run.training is not None and run.training.step is None

    def step_begins(self, batch: object) -> None:
        for model in self._run.models.values():
            if id(model) not in self._hooks:
                self._hooks[id(model)] = self._before_call(self._called, model, with_kwargs=True)

    def _called(self, model: nn.Module, args: Any, kwargs: Any) -> None:
        given = next((t for _, t in tensors((args, kwargs)) if t.ndim), None)
        self._rows = max(self._rows, 0 if given is None else len(given))

    def run_ends(self) -> None:
        for hook in self._hooks.values():
            hook.remove()
        self._hooks = {}

    def backward_begins(self, roots: list[Tensor]) -> None:
        if len(self._run.trace.state.passes) >= _MOST:
            return
        self._notice_changes()
        if not self._terms:  # the first of an update finds no gradients, or those that were not cleared
            self._clean = all(p.grad is None or not p.grad.any() for p in self._run.parameters.values())
        self._terms.append(pass_terms(roots[0]) if len(roots) == 1 else PassTerms("unknown"))
        self._places.append(user_place())
        single = roots[0] if len(roots) == 1 and self._terms[-1].kind == "unknown" else None
        self._quotients.begins(single, self._rows, self._parameters())
        self._rows = 0
        self._before = {n: p.grad.detach().clone() for n, p in self._parameters().items() if p.grad is not None}

    def _notice_changes(self) -> None:
        """Between two passes, gradients may be used and cleared without an update, as for a perturbation."""
        if not self._terms or not self._before:
            return
        now = {n: p.grad for n, p in self._parameters().items() if p.grad is not None and p.grad.any()}
        if not now:
            self._forget()
        elif any(n not in self._before or not torch.equal(gradient, self._before[n]) for n, gradient in now.items()):
            self._terms[0] = replace(self._terms[0], kind="unknown")

    def backward_ends(self) -> None:
        if not self._terms or len(self._run.trace.state.passes) >= _MOST:
            return
        weight = weight_of(self._terms[-1])
        for name, parameter in self._parameters().items():
            if parameter.grad is not None:
                added = parameter.grad.detach()
                added = added - self._before[name] if name in self._before else added.clone()
                self._quotients.added(name, added)
                self._sums[name] = self._sums[name].add_(added, alpha=weight) if name in self._sums else added * weight
        self._quotients.ends()
        self._before = {n: p.grad.detach().clone() for n, p in self._parameters().items() if p.grad is not None}

    def update_begins(self, optimizer: Optimizer, has_closure: bool) -> None:
        terms, found = self._terms, self._run.trace.state.passes
        if len(terms) > 1 and not has_closure and len(found) < _MOST:
            found.append(self._record(self._run.add_optimizer(optimizer)))

    def update_ends(self, optimizer: Optimizer, has_closure: bool) -> None:
        self._forget()

    def _forget(self) -> None:
        self._terms, self._places, self._sums, self._before = [], [], {}, {}
        self._quotients = QuotientPasses()

    def _parameters(self) -> dict[str, Tensor]:
        return {n: p for n, p in self._run.parameters.items() if p.layout is torch.strided and p.is_leaf}

    def _record(self, optimizer: str) -> PassesRecord:
        terms, parameters = self._terms, self._parameters()
        quotient = self._quotients.of_one_batch(self._before)
        if quotient:
            return self._of_quotients(optimizer, quotient)
        total, scale = sum(each.count for each in terms), terms[0].scale
        kind = _kind(terms, total)
        divisor = total if kind == "mean" else 1 / terms[0].factor
        names = [n for n in self._sums if parameters[n].grad is not None and n in self._before]
        right = _flat(self._sums[n] for n in names) / divisor
        added_up, used = _flat(self._before[n] for n in names), _flat(parameters[n].grad for n in names)
        norm = float(right.norm())
        # clipping comes after the passes, and so may a division: what is right before or after is right
        apart = {float((found - wanted).norm()): float(found.norm()) / float(wanted.norm() or 1.0)
                 for found in (added_up, used) for wanted in (right, right * scale)}  # fmt: skip
        error = min(apart)
        both = float(used.norm()) * len(terms) * scale * _BOTH < float(added_up.norm())
        return PassesRecord(
            step=self._run.step,
            optimizer=optimizer,
            passes=len(terms),
            kind="unknown" if both and error > _BOTH * norm - norm else kind,
            factor=max(each.factor for each in terms),
            counts=tuple(each.count for each in terms),
            ratio=apart[error],
            error=error / norm if norm else math.nan,
            one_loop=len(set(self._places)) == 1,
            clean=self._clean,
            place=self._places[0],
        )

    def _of_quotients(self, optimizer: str, right: dict[str, Tensor]) -> PassesRecord:
        """Beside what the passes have added up to: what is done with it afterwards, as by clipping, changes nothing."""
        ratio, error = apart_in_direction(_flat(self._before[n] for n in right), _flat(right.values()))
        return PassesRecord(
            step=self._run.step,
            optimizer=optimizer,
            passes=len(self._terms),
            kind="quotient",
            factor=max(each.factor for each in self._terms),
            counts=(1.0,) * len(self._terms),
            ratio=ratio,
            error=error,
            one_loop=len(set(self._places)) == 1,
            clean=self._clean,
            place=self._places[0],
        )


def _kind(terms: list[PassTerms], total: float) -> str:
    """A sum that was divided may have been divided by anything; by the number of all terms is right."""
    kinds = {each.kind for each in terms}
    if kinds != {"sum"}:
        return kinds.pop() if len(kinds) == 1 else "unknown"
    factors = {each.factor for each in terms}
    known = factors == {1.0} or all(abs(each * total - 1) < _BOTH - 1 for each in factors)
    return "sum" if known else "unknown"


def _flat(gradients: Iterable[Tensor | None]) -> Tensor:
    return torch.cat(
        [torch.zeros(0, device="cpu"), *(g.detach().double().cpu().flatten() for g in gradients if g is not None)]
    )
