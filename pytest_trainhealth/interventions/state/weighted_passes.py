"""Each backward pass of an update counts by the number of its terms, as it would in one batch."""

from __future__ import annotations

from contextlib import ExitStack

import torch
from torch import Tensor
from torch.optim import Optimizer

from ...observe.calls.pass_terms import PassTerms, pass_terms, weight_of
from ...observe.run.events import Listener
from ...observe.run.run import Run


class WeightedPasses(Listener):
    def __init__(self, run: Run, stack: ExitStack) -> None:
        self._run = run
        self._terms: list[PassTerms] = []
        self._before: dict[str, Tensor] = {}
        self._sums: dict[str, Tensor] = {}

    def backward_begins(self, roots: list[Tensor]) -> None:
        self._terms.append(pass_terms(roots[0]) if len(roots) == 1 else PassTerms("unknown"))
        self._before = {n: p.grad.detach().clone() for n, p in self._run.parameters.items() if p.grad is not None}

    def backward_ends(self) -> None:
        weight = weight_of(self._terms[-1])
        for name, parameter in self._run.parameters.items():
            if parameter.grad is not None:
                added = parameter.grad.detach()
                added = added - self._before[name] if name in self._before else added.clone()
                self._sums[name] = self._sums.get(name, torch.zeros_like(added)) + added * weight

    def update_begins(self, optimizer: Optimizer, has_closure: bool) -> None:
        terms = self._terms
        if has_closure or len(terms) < 2 or any(each.kind != "mean" for each in terms):
            return
        total = sum(each.count for each in terms)
        with torch.no_grad():
            for name, summed in self._sums.items():
                gradient = self._run.parameters[name].grad
                if gradient is not None:
                    gradient.copy_(summed / total)

    def update_ends(self, optimizer: Optimizer, has_closure: bool) -> None:
        self._terms, self._before, self._sums = [], {}, {}
