"""Pairs of weights that start out the same, and were meant to be one: two Parameters of the same values or memory.

A decoder may merely start as its encoder's transpose. So something has to say that a tie was meant: shared memory, a
layer's own Parameter replaced by the copy (an assignment is how weights are tied; whoever wants to initialise copies
values into the Parameter that is there), or the user's own words: a siamese network has one tower for both inputs.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor, nn
from torch.nn.parameter import is_lazy
from torch.nn.utils.parametrize import is_parametrized

from ....records.wiring import TiedPair
from ....tensors.module_paths import full_path
from ....tensors.readable import values_of
from ...run.run import Run
from ...run.signal import Cost, Signal
from ...source.authorship import package_of
from ...source.tying_words import says_siamese, says_tied
from .declared_ties import declared_but_apart
from .likely_ties import by_values, likely_copies, likely_pairs, transposed_key, weight_of

#: Among this many values most have to differ: constants and one-hot rows are equal by design. By judgement: 8 different
#: values among 16 are not a pattern.
_ENOUGH = 16


class WeightTies(Signal):
    NAME, COST = "weight_ties", Cost.CLOSE

    def __init__(self, run: Run) -> None:
        self._run = run
        self._known = 0
        self._pairs: list[tuple[TiedPair, Tensor, Tensor]] = []

    def run_begins(self) -> None:
        self._meet_models()

    def step_begins(self, batch: object) -> None:
        if len(self._run.models) > self._known:
            self._meet_models()

    def run_ends(self) -> None:
        for pair, one, other in self._pairs:
            drifted = not torch.equal(one.detach(), other.detach().t() if pair.how == "transposed" else other)
            if drifted or pair.how in ("memory", "declared"):
                self._run.trace.wiring.tied_pairs.append(pair)
        self._pairs.clear()

    def _meet_models(self) -> None:
        for prefix, model in list(self._run.models.items())[self._known :]:
            declared = list(declared_but_apart(prefix, model))
            self._pairs += declared
            if declared:
                continue
            layers = _candidates(model)
            for first_layer, second_layer in likely_pairs(layers):
                (one_path, one), (other_path, other) = layers[first_layer], layers[second_layer]
                how = _relation(one, other)
                if how:
                    names = [full_path(prefix, path, "weight") for path in (one_path, other_path)]
                    self._add(names[0], names[1], how, (weight_of(one), weight_of(other)), model)
            transposed = by_values(layers)
            for path, bare in _bare(model):
                for layer_path, layer in (layers[number] for number in transposed.get(transposed_key(bare), ())):
                    if isinstance(layer, nn.Linear) and _is_transposed(weight_of(layer).detach(), bare.detach()):
                        first = full_path(prefix, layer_path, "weight")
                        second = full_path(prefix, path)
                        self._add(first, second, "transposed", (weight_of(layer), bare), model)
            for first, second, both in _copied_towers(model):
                pair = TiedPair(full_path(prefix, first), full_path(prefix, second), "values", "siamese")
                self._pairs.append((pair, *both))
        self._known = len(self._run.models)

    def _add(self, first: str, second: str, how: str, both: tuple[Tensor, Tensor], model: nn.Module) -> None:
        sites = self._run.creation_sites
        replaced = sites is not None and any(map(sites.assigned_over_another, both))
        meant = "memory" if how == "memory" else "assigned" if replaced else "said" if says_tied(model) else ""
        if meant:
            self._pairs.append((TiedPair(first, second, how, meant), *both))


def _copied_towers(model: nn.Module) -> Iterator[tuple[str, str, tuple[Tensor, Tensor]]]:
    """Parts of a siamese network that are copies of each other: the names and values of their first weights."""
    for path, holder in model.named_modules():
        if package_of(type(holder)) != "user":
            continue
        towers = [(name, part) for name, part in holder.named_children() if any(map(_can_learn, part.modules()))]
        for (one_name, one), (other_name, other) in likely_copies(towers):
            ours, theirs = dict(one.named_parameters()), dict(other.named_parameters())
            name = next((n for n, p in ours.items() if p.ndim > 1), None)
            if name is None or type(one) is not type(other) or not _are_copies(ours, theirs, name):
                continue
            if not says_siamese(type(holder)):
                break
            names = [full_path(path, tower, name) for tower in (one_name, other_name)]
            yield names[0], names[1], (ours[name], theirs[name])


def _are_copies(ours: dict[str, nn.Parameter], theirs: dict[str, nn.Parameter], name: str) -> bool:
    """All values are equal, and those of this weight are no constants."""
    if ours.keys() != theirs.keys() or any(is_lazy(p) for p in (*ours.values(), *theirs.values())):
        return False
    pairs = [(ours[n].detach(), theirs[n].detach()) for n in ours]
    alike = all(a.shape == b.shape and a.device == b.device and torch.equal(a, b) for a, b in pairs)
    return alike and ours[name] is not theirs[name] and _same(ours[name].detach(), theirs[name].detach())


def _candidates(model: nn.Module) -> list[tuple[str, nn.Module]]:
    return [
        (path, module)
        for path, module in model.named_modules()
        if isinstance(module, (nn.Embedding, nn.Linear)) and _can_learn(module)
    ]


def _can_learn(module: nn.Module) -> bool:
    weight = module._parameters.get("weight")  # reading a parametrised weight as an attribute would compute it
    return weight is not None and not is_lazy(weight) and weight.requires_grad and weight.numel() > 1


def _relation(one: nn.Module, other: nn.Module) -> str:
    """What the two have in common: "memory", "values", "transposed" values, or nothing."""
    first, second = weight_of(one).detach(), weight_of(other).detach()
    if weight_of(one) is weight_of(other) or first.device != second.device or first.dtype != second.dtype:
        return ""
    if first.data_ptr() == second.data_ptr() and first.numel() == second.numel():
        return "memory"
    kinds = {isinstance(one, nn.Embedding), isinstance(other, nn.Embedding)}
    if len(kinds) == 2 and first.shape == second.shape and _same(first, second):
        return "values"  # an embedding and the layer that maps back to its entries
    # two layers of the same kind and shape may be clones on purpose; but nobody makes a clone transposed
    return "transposed" if kinds == {False} and _is_transposed(first, second) else ""


def _bare(model: nn.Module) -> list[tuple[str, nn.Parameter]]:
    """Matrices that the user's own classes register themselves."""
    return [
        (full_path(path, name), parameter)
        for path, module in model.named_modules()
        if package_of(type(module)) == "user" and not is_parametrized(module)
        for name, parameter in module.named_parameters(recurse=False)
        if not is_lazy(parameter) and parameter.requires_grad and parameter.ndim == 2
    ]


def _is_transposed(first: Tensor, second: Tensor) -> bool:
    if first.device != second.device or first.dtype != second.dtype or first.data_ptr() == second.data_ptr():
        return False
    return first.shape != second.shape and first.shape == second.shape[::-1] and _same(first, second.t())


def _same(one: Tensor, other: Tensor) -> bool:
    first, second = values_of(one), values_of(other)
    if first is None or second is None or first.shape != second.shape:
        return False
    if not torch.equal(first[:2], second[:2]) or not torch.equal(first, second):
        return False
    sample = first.flatten()[:256]
    return len(set(sample.tolist())) > max(_ENOUGH, len(sample) // 2)
