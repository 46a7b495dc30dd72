"""Which pairs of weights are worth comparing, without looking at all pairs: a model may have ten thousand layers.

Weights with the same values, transposed or not, have the same diagonal: those that share one are compared, and those
that begin at the same place in memory.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator, Sequence
from itertools import combinations, product
from typing import Any

from torch import Tensor, nn
from torch.nn.parameter import is_lazy

from ....tensors.readable import Unreadable, values_of

Layers = Sequence[tuple[str, nn.Module]]

#: Values of the diagonal that are compared. By judgement: 4 values that agree by chance are rare among random weights.
_FEW = 4


def weight_of(module: nn.Module) -> Tensor:
    weight = module._parameters["weight"]
    assert weight is not None
    return weight


def likely_pairs(layers: Layers) -> list[tuple[int, int]]:
    """In the order of all pairs."""
    groups = by_values(layers)
    embeddings = {number for number, (_, layer) in enumerate(layers) if isinstance(layer, nn.Embedding)}
    found: set[tuple[int, ...]] = set()
    for number, (_, layer) in enumerate(layers):
        if number in embeddings:
            others = [each for each in groups[_key(weight_of(layer))] if each not in embeddings]
        elif weight_of(layer).ndim == 2 and weight_of(layer).shape[0] != weight_of(layer).shape[1]:
            transposed = groups.get(transposed_key(weight_of(layer)), ())
            others = [each for each in transposed if each not in embeddings]
        else:
            continue
        found |= {tuple(sorted((number, each))) for each in others}
    return sorted((one, other) for one, other in found | set(_in_one_memory(layers)))


def by_values(layers: Layers) -> dict[Hashable, list[int]]:
    groups = defaultdict(list)
    for number, (_, layer) in enumerate(layers):
        groups[_key(weight_of(layer))].append(number)
    return dict(groups)


def transposed_key(weight: Tensor) -> Hashable:
    """The key of a weight that has these values, transposed."""
    return _key(weight.t())


def likely_copies(towers: Sequence[tuple[str, nn.Module]]) -> Iterator[tuple[tuple[str, nn.Module], ...]]:
    """Pairs of parts of one class whose first matrices agree."""
    groups: dict[Any, list[tuple[str, nn.Module]]] = defaultdict(list)
    for name, part in towers:
        first = next((p for p in part.parameters() if p.ndim > 1 and not is_lazy(p)), None)
        groups[type(part), None if first is None else _key(first)].append((name, part))
    for group in groups.values():
        yield from combinations(group, 2)


def _in_one_memory(layers: Layers) -> Iterator[tuple[int, int]]:
    """Different parameters that begin at the same place; one parameter in many layers is no pair."""
    places: dict[Any, dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
    for number, (_, layer) in enumerate(layers):
        weight = weight_of(layer)
        if weight.is_meta:  # it has no memory
            continue
        places[weight.device, weight.data_ptr(), weight.numel()][id(weight)].append(number)
    for parameters in places.values():
        for ours, theirs in combinations(parameters.values(), 2):
            yield from ((min(pair), max(pair)) for pair in product(ours, theirs))


def _key(weight: Tensor) -> Hashable:
    values = weight.detach()
    if values.is_meta:
        return (values.device, values.dtype, values.shape)
    here = values_of(values)
    if here is None:
        raise Unreadable(values)
    begins = (here.diagonal() if here.ndim > 1 else here)[:_FEW].flatten().tolist()
    return (values.device, values.dtype, values.shape, *begins)
