"""Whether a generator works against its critic, or helps it.

A critic is a model with its own optimizer. This signal reads the gradients of the critic's scores: in the critic's own
turn for the data and for samples that another model made (detached), and in that model's turn for its new samples. A
critic pulls the first two apart, and the other model has to pull its scores back. It counts only if the gradients have
the same sign throughout a batch.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn

from ....records.wiring import HelpedCritic
from ....tensors.module_paths import full_path
from ....tensors.storage import memory_of
from ...run.run import Run
from ...run.signal import Cost, Signal
from ...source.places import user_place

#: Steps that are examined. By judgement: more than 2 of the 4 have to agree (analysis/wiring.py).
_STEPS = 4
_DATA, _DETACHED, _ATTACHED = "data", "detached", "attached"


class Adversaries(Signal):
    NAME, COST = "adversaries", Cost.CLOSE

    def __init__(self, run: Run) -> None:
        self._run = run
        self._handles: list[Any] = []
        #: Outputs of the models in this step, and the model that made each; kept so that their memory is not reused.
        self._made: dict[int, tuple[Tensor, str]] = {}
        #: Signs of the gradients, by critic and by the kind of its input.
        self._signs: dict[str, dict[str, list[int]]] = {}
        self._helped: dict[str, HelpedCritic] = {}

    def step_begins(self, batch: object) -> None:
        self._close()
        if self._run.step < _STEPS and len(self._run.optimizers) > 1:
            for name, module in self._players():
                self._handles.append(self._after_call(self._listen(name), module))

    def step_ends(self) -> None:
        for critic, signs in self._signs.items():
            if _helped(signs) and critic in self._helped:
                known = self._run.trace.wiring.helped_critics.setdefault(critic, self._helped[critic])
                known.steps.append(self._run.step)
        self._close()

    def run_ends(self) -> None:
        self._close()

    def _close(self) -> None:
        for handle in self._handles:
            handle.remove()
        self._handles.clear()
        self._made.clear()
        self._signs.clear()
        self._helped.clear()

    def _players(self) -> Iterator[tuple[str, nn.Module]]:
        """The largest modules whose trainable parameters are all held by the same single optimizer."""
        for prefix, model in self._run.models.items():
            found: list[str] = []
            for path, module in model.named_modules():
                if any(path == f or not f or path.startswith(f"{f}.") for f in found):
                    continue
                holders = {self._run.held_by(p) for p in module.parameters() if p.requires_grad}
                if len(holders) == 1 and len(next(iter(holders))) == 1:
                    found.append(path)
                    yield full_path(prefix, path), module

    def _listen(self, name: str) -> Any:
        def called(module: nn.Module, inputs: tuple[Any, ...], output: Any) -> None:
            if not isinstance(output, Tensor) or output.layout != torch.strided:
                return
            given = next((x for x in inputs if isinstance(x, Tensor) and x.is_floating_point()), None)
            if given is not None and output.requires_grad and output.numel() == len(output) == len(given):
                self._score(name, given, output)
            self._made.setdefault(memory_of(output), (output, name))

        return called

    def _score(self, critic: str, given: Tensor, scores: Tensor) -> None:
        _, maker = self._made.get(memory_of(given), (None, ""))
        if maker == critic or (not maker and given.requires_grad):
            return
        what = _DATA if not maker else _ATTACHED if given.requires_grad else _DETACHED
        if what == _DETACHED:
            self._helped[critic] = HelpedCritic(critic, maker, user_place())
        signs = self._signs.setdefault(critic, {}).setdefault(what, [])
        handle = scores.register_hook(self._looking(lambda gradient: signs.append(_sign(gradient))))  # type: ignore[no-untyped-call]
        self._handles.append(handle)


def _helped(signs: dict[str, list[int]]) -> bool:
    """Each of the three has one sign throughout, and the maker pulls the scores of its samples as the critic does."""
    if any(len(set(signs.get(what, ()))) != 1 for what in (_DATA, _DETACHED, _ATTACHED)):
        return False
    data, detached, attached = (signs[what][0] for what in (_DATA, _DETACHED, _ATTACHED))
    return detached != 0 and data == -detached and attached == detached


def _sign(gradient: Tensor) -> int:
    """0 if the signs differ between samples."""
    low, high = float(gradient.min()), float(gradient.max())
    return 1 if low >= 0 < high else -1 if high <= 0 > low else 0
