"""Where parameters that are not trained stand, in no optimizer or at a rate of 0: before what is trained, or behind it.

Fine-tuning may hand only the head to an optimizer: what is not handed over lies before what is trained. A head that was
left out stands behind it: what goes into the head was computed with parameters that are trained.
"""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

from torch import nn

from ....tensors.module_paths import full_path
from ...calls.graph_leaves import leaves_of, tensors_in
from ...run.run import Run
from ...run.signal import Cost, Signal
from ...source.authorship import package_of

#: The step that is examined: the second, when all parameters are known. By judgement.
_STEP = 1


class Unheld(Signal):
    NAME, COST = "unheld", Cost.CLOSE

    def __init__(self, run: Run) -> None:
        self._run = run
        self._hook = ExitStack()
        #: Of the modules that hold such a parameter: their names; and names of what is held, by id.
        self._waiting: dict[int, list[str]] = {}
        self._held: dict[int, str] = {}
        #: Nodes of the graph that lead to nothing that is held.
        self._clear: set[Any] = set()

    def step_begins(self, batch: object) -> None:
        if self._run.step != _STEP:
            return
        records = self._run.trace.wiring.parameters
        trained = self._trained()
        self._held = {id(p): name for name, p in self._run.parameters.items() if id(p) in trained}
        for path, module in self._run.named_modules():
            names = [full_path(path, key) for key, p in module.named_parameters(recurse=False) if p.requires_grad]
            orphans = [n for n in names if n in records and id(self._run.parameters[n]) not in trained]
            if orphans and _is_one_layer(module):
                self._waiting[id(module)] = orphans
        if self._waiting:
            handle = self._before_call(self._called)
            self._hook.callback(handle.remove)

    def _trained(self) -> set[int]:
        """A group with a rate of 0 trains nothing, unless a schedule has taken it there.

        Where the loop updates by hand, or with an optimizer that is none of torch's, what has moved is trained.
        """
        if not self._run.optimizers:
            records = self._run.trace.wiring.parameters
            return {id(p) for name, p in self._run.parameters.items() if records[name].moved}
        groups = [group for optimizer in self._run.optimizers.values() for group in optimizer.param_groups]
        rated = [group for group in groups if group.get("lr", 1.0) or group.get("initial_lr")]
        return {id(p) for group in rated for p in group["params"]}

    def step_ends(self) -> None:
        self.run_ends()

    def run_ends(self) -> None:
        self._hook.close()
        self._waiting.clear()
        self._clear.clear()

    def _called(self, module: nn.Module, inputs: Any) -> None:
        for name in self._waiting.get(id(module), ()):
            record = self._run.trace.wiring.parameters[name]
            record.behind_trained = bool(record.behind_trained) or self._is_behind(inputs)

    def _is_behind(self, inputs: Any) -> bool:
        """Parts of the graph that were found clear are not searched again: layers share what comes before them."""
        return bool(leaves_of(tensors_in(inputs), self._held, self._clear))


def _is_one_layer(module: nn.Module) -> bool:
    """What goes into it is what its parameters work on. A composed module of the user's may use one anywhere."""
    return package_of(type(module)) != "user" or next(module.children(), None) is None
