"""Where parameters that are not trained stand, in no optimizer or at a rate of 0: before what is trained, or behind it.

Fine-tuning may hand only the head to an optimizer: what is not handed over lies before what is trained. A head that was
left out stands behind it: what goes into the head was computed with parameters that are trained. And one of two critics
stands beside it: a term of the loss depends on it alone, which no optimizer can lower, and nothing that is trained is
computed with any part of it, as it is with a body that carries an early exit, too. (A penalty on single parameters is
no such term.)
"""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

from torch import Tensor, nn
from torch.optim import Optimizer

from ....tensors.module_paths import full_path
from ...calls.graph_leaves import leaves_behind, leaves_of, tensors_in
from ...calls.loss_terms import loss_terms
from ...run.run import Run
from ...run.signal import Cost, Signal
from ...source.authorship import package_of

#: The step that is examined: the second, when all parameters are known. By judgement.
_STEP = 1
#: Parameters in a term of a loss that was computed with a layer. By judgement: a weight and what comes after it; a
#: penalty has one for each.
_FEWEST_IN_A_TERM = 2


class Unheld(Signal):
    NAME, COST = "unheld", Cost.CLOSE

    def __init__(self, run: Run) -> None:
        self._run = run
        self._hook = ExitStack()
        #: Of the modules that hold such a parameter: their names; and names of what is held, by id.
        self._waiting: dict[int, list[str]] = {}
        self._held: dict[int, str] = {}
        self._looked = False
        #: Nodes of the graph that lead to nothing that is held.
        self._clear: set[Any] = set()
        #: What is not held, by id; what each term of a loss leads to that leads to nothing else; and what others do.
        self._unheld: dict[int, str] = {}
        self._alone: list[frozenset[str]] = []
        self._with_others: set[str] = set()
        #: What a backward pass has reached since the last update.
        self._reached: set[str] = set()

    def step_begins(self, batch: object) -> None:
        if not self._due():
            return
        self._looked = True
        records = self._run.trace.wiring.parameters
        trained = self._trained()
        parameters = self._run.parameters
        self._held = {id(p): name for name, p in parameters.items() if id(p) in trained}
        self._unheld = {id(p): name for name, p in parameters.items() if p.requires_grad and id(p) not in trained}
        for path, module in self._run.named_modules():
            names = [full_path(path, key) for key, p in module.named_parameters(recurse=False) if p.requires_grad]
            orphans = [n for n in names if n in records and id(self._run.parameters[n]) not in trained]
            if orphans and _is_one_layer(module):
                self._waiting[id(module)] = orphans
        if self._waiting:
            handle = self._before_call(self._called)
            self._hook.callback(handle.remove)

    def _due(self) -> bool:
        """Without an optimizer of torch's it takes an update to see what is trained."""
        if self._run.optimizers:
            return self._run.step == _STEP
        by_hand = self._run.step >= _STEP and not self._looked
        return by_hand and any(p.moved for p in self._run.trace.trainable)

    def _trained(self) -> set[int]:
        """A group with a rate of 0 trains nothing, unless a schedule has taken it there."""
        if not self._run.optimizers:
            moved = [name for name, p in self._run.trace.wiring.parameters.items() if p.moved]
            return {id(self._run.parameters[name]) for name in moved}
        groups = [group for optimizer in self._run.optimizers.values() for group in optimizer.param_groups]
        rated = [group for group in groups if group.get("lr", 1.0) or group.get("initial_lr")]
        return {id(p) for group in rated for p in group["params"]}

    def backward_begins(self, roots: list[Tensor]) -> None:
        if not self._unheld or not self._held or self._run.step != _STEP:
            return
        for node in (node for root in roots for node in loss_terms(root)):
            unheld = leaves_behind([node], self._unheld)
            if unheld and leaves_behind([node], self._held):
                self._with_others |= unheld
            elif len(unheld) >= _FEWEST_IN_A_TERM:
                self._alone.append(unheld)
            self._reached |= unheld

    def update_begins(self, optimizer: Optimizer, has_closure: bool) -> None:
        label = next((label for label, each in self._run.optimizers.items() if each is optimizer), "")
        for name in self._reached:
            record = self._run.trace.wiring.parameters[name]
            record.stepped_next = record.stepped_next or label
        self._reached = set()

    def step_ends(self) -> None:
        apart = [each for each in self._alone if not each & self._with_others]
        for name in frozenset[str]().union(*apart):
            self._run.trace.wiring.parameters[name].beside_trained = True
        self.run_ends()

    def run_ends(self) -> None:
        self._hook.close()
        self._unheld, self._alone, self._with_others, self._reached = {}, [], set(), set()
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
