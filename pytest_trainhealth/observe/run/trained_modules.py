"""What a watched test trains: every module that owns a tensor which an optimizer holds or the loss reaches.

It does not matter what is called, in which order, or whether anything is called at all. Optimizers say at once what
they hold; a model that is in none of them is known once a backward pass reaches it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from weakref import WeakSet

from torch import Tensor, nn
from torch.nn.parameter import is_lazy
from torch.optim import Optimizer

from ...tensors.graph import leaf_tensors
from ...tensors.module_paths import full_path
from ...tensors.readable import is_sharded
from ..source.authorship import package_of
from ..source.creation_sites import CreationSites
from ..source.live_modules import find_owners
from ..source.variable_names import variable_name
from .run import Run

#: Searches through all live objects. By judgement: models made before the test are found by the first one; tensors that
#: no module has would bring about another at each step.
_MOST_SEARCHES = 4


class TrainedModules:
    """Adds to a run the models, and tensors outside of them, that its test turns out to train."""

    def __init__(self, run: Run, sites: CreationSites) -> None:
        self._run, self._sites = run, sites
        self._searches = 0
        #: Tensors that gave nothing to add. Kept, so that no other gets their id.
        self._nobodys: dict[int, Tensor] = {}
        self._held: dict[int, Tensor] = {}
        #: How many groups and tensors each optimizer had when it was looked at.
        self._sizes: dict[str, tuple[int, int]] = {}
        self._reached: set[int] = set()
        #: What loaders call to make their batches.
        self._of_loaders: WeakSet[nn.Module] = WeakSet()
        self._called: set[int] = set()
        #: Ids of all modules of the run's models.
        self._inside: set[int] = set()
        self._models = 0

    def knows(self, module: nn.Module) -> bool:
        if len(self._run.models) != self._models:
            self._models = len(self._run.models)
            self._inside = {id(each) for model in self._run.models.values() for each in model.modules()}
        return id(module) in self._inside

    def called(self, module: nn.Module) -> None:
        """A module that has parameters is about to run, with gradients.

        It is one that is trained if an optimizer says so, or if there is no optimizer to ask.
        """
        self.look_at_optimizers()
        if id(module) in self._called or not all(p.is_leaf for p in module.parameters()):
            return  # or `functional_call` has put other tensors in place of its parameters
        self._called.add(id(module))
        if self.knows(module):
            return
        if not self._run.optimizers or not self._held or any(id(p) in self._held for p in module.parameters()):
            self._add([self._whole(module)])

    def belongs_to_a_loader(self, module: nn.Module) -> None:
        """What it makes are data. A gradient may reach its constants: it is trained only if an optimizer holds it."""
        self._of_loaders.add(module)

    def look_at_optimizers(self) -> None:
        """The models that optimizers hold tensors of, if there are optimizers or groups that are new."""
        new: list[Tensor] = []
        for label, optimizer in self._run.optimizers.items():
            size = len(optimizer.param_groups), sum(len(group["params"]) for group in optimizer.param_groups)
            if self._sizes.get(label) != size:
                self._sizes[label] = size
                new += _held_by(optimizer)
        if new:
            self._held |= {id(tensor): tensor for tensor in new}
            self._add(self._wholes(new))
            self._run.rematch()

    def look_at_loss(self, roots: Iterable[object]) -> None:
        """The models that a backward pass from these roots reaches."""
        self.look_at_leaves(leaf_tensors(roots))

    def look_at_leaves(self, leaves: Sequence[Tensor]) -> None:
        self.look_at_optimizers()
        self._reached.update(map(id, leaves))
        unknown = [each for each in leaves if not self._run.has_parameter(each) and id(each) not in self._nobodys]
        if not unknown:
            return
        self._add(self._wholes(unknown))
        if any(map(is_sharded, self._run.parameters.values())):
            return  # what a pass reaches is gathered for one use from the parameters that are known, and then let go of
        outside = [each for each in unknown if not self._run.has_parameter(each)]
        ownerless = [each for each in outside if self._sites.owner_of(each) is None]
        # an input whose gradient is asked for is no parameter, unless there is nothing else that could be trained
        nothing_else = not self._run.parameters and not self._run.optimizers
        own = [each for each in ownerless if nothing_else or id(each) in self._held or type(each) is nn.Parameter]
        places = {key: place for place, key in enumerate(self._held)}
        own.sort(key=lambda each: places.get(id(each), len(places)))
        self._run.add_outside([(self._name_outside(each), None, each) for each in own])
        self._nobodys |= {id(each): each for each in outside}

    def forget_idle(self) -> None:
        """At the end: models that were made and handed to an optimizer, and then neither used nor stepped."""
        records = self._run.trace.wiring
        stepped = {label for label, record in records.optimizers.items() if record.steps}
        for prefix, model in list(self._run.models.items()):
            names = [name for name, record in records.parameters.items() if record.model == prefix]
            used = any(id(each) in self._called for each in model.modules()) or any(
                records.parameters[n].has_gradient
                or id(self._run.parameters[n]) in self._reached
                or stepped.intersection(records.parameters[n].held_by)
                for n in names
                if n in self._run.parameters
            )
            if names and not used:
                self._run.forget_model(prefix)

    # -- owners ------------------------------------------------------------------------------------------------------

    def _wholes(self, tensors: list[Tensor]) -> list[nn.Module]:
        """The models that these tensors belong to, each once and in their order."""
        tensors = [each for each in tensors if not self._run.has_parameter(each)]
        owners = [self._sites.owner_of(each) for each in tensors]
        missing = [each for each, owner in zip(tensors, owners, strict=True) if owner is None]
        missing = [each for each in missing if id(each) not in self._nobodys]
        if missing and self._searches < _MOST_SEARCHES:
            self._searches += 1
            find_owners(missing, self._sites)
            owners = [self._sites.owner_of(each) for each in tensors]
        found: dict[int, nn.Module] = {}
        for tensor, owner in zip(tensors, owners, strict=True):
            if owner is not None and self._counts(tensor, owner):
                whole = self._whole(owner)
                found[id(whole)] = whole
        return list(found.values())

    def _counts(self, tensor: Tensor, owner: nn.Module) -> bool:
        """A head that was replaced is trained no more; what is in no optimizer and in eval mode is a teacher."""
        if id(tensor) not in self._held and (not owner.training or owner in self._of_loaders):
            return False
        return not any(self._sites.was_taken_out(each) for each in (owner, *self._sites.holders_of(owner)))

    def _whole(self, module: nn.Module) -> nn.Module:
        """The model that the module is a part of, or itself.

        A layer of torch belongs to what it was put into. A larger module counts if an optimizer holds other parts of
        it, or if all that it adds is trained, too; a collection of models need not be one.
        """
        best = module
        for each in self._sites.holders_of(module):
            inside = {id(p) for p in best.parameters()}
            others = [p for p in each.parameters() if id(p) not in inside]
            accounted = all(not p.requires_grad or id(p) in self._held or id(p) in self._reached for p in others)
            held = any(id(p) in self._held for p in others)
            if held or accounted or (others and package_of(type(best)) == "torch"):
                best = each
        return best

    def _add(self, models: list[nn.Module]) -> None:
        """Parts are known by their whole. The only model of all needs no name; of several, each has its variable's."""
        new = [each for each in models if not self.knows(each)]
        parts = {id(part) for each in new for part in each.modules() if part is not each}
        new = [each for each in new if id(each) not in parts]
        for model in new:
            if all(self._run.has_parameter(p) for p in model.parameters()):
                continue  # kept in a plain list of a model that is known by now
            alone = not self._run.models and len(new) == 1
            self._run.add_models({"" if alone else self._name(model): model})

    def _name(self, model: nn.Module) -> str:
        name = variable_name(model) or f"{type(model).__name__}{len(self._run.models)}"
        first = self._run.models.get("")
        taken = {*self._run.models, *(() if first is None else (key for key, _ in first.named_children()))}
        return name if name not in taken else f"{name}{len(self._run.models)}"

    def _name_outside(self, tensor: Tensor) -> str:
        name = variable_name(tensor) or f"{type(tensor).__name__.lower()}{len(self._run.parameters)}"
        return name if name not in self._run.parameters else full_path(name, str(len(self._run.parameters)))


def _held_by(optimizer: Optimizer) -> list[Tensor]:
    held = [p for group in optimizer.param_groups for p in group["params"]]
    return [each for each in held if isinstance(each, Tensor) and not is_lazy(each)]
