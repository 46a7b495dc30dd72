"""Which recorded layer is which now: by name, or in the order of the forward pass where names have changed.

Whoever renames a module, writes its layers in another order, or splits a Sequential into a class trains the same model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from ..records.baseline import LayerFigures, LayerSteps, Shape


@dataclass(frozen=True)
class Pairing:
    """Pairs in the order of the forward pass as it is now. `changed`: what is no longer the same architecture."""

    pairs: tuple[tuple[LayerFigures, LayerSteps], ...] = ()
    renamed: tuple[tuple[str, str], ...] = ()
    changed: tuple[str, ...] = ()


def pair(recorded: Sequence[LayerFigures], now: Sequence[LayerSteps]) -> Pairing:
    known = {layer.name: layer for layer in recorded}
    if {(layer.name, layer.shape) for layer in now} == {(layer.name, layer.shape) for layer in recorded}:
        return Pairing(tuple((known[layer.name], layer) for layer in now))
    if [layer.shape for layer in now] == [layer.shape for layer in recorded]:
        return _paired(list(zip(recorded, now, strict=True)))
    if sorted(layer.shape for layer in now) == sorted(layer.shape for layer in recorded):
        return _paired(_by_shape(list(recorded), now))
    return Pairing(changed=tuple(_changes(recorded, now)))


def _paired(pairs: list[tuple[LayerFigures, LayerSteps]]) -> Pairing:
    return Pairing(tuple(pairs), tuple((old.name, new.name) for old, new in pairs if old.name != new.name))


def _by_shape(left: list[LayerFigures], now: Sequence[LayerSteps]) -> list[tuple[LayerFigures, LayerSteps]]:
    """The one with the same name if there is one, otherwise the first that nobody else has the name of."""
    names, pairs = {layer.name for layer in now}, []
    for layer in now:
        alike = [each for each in left if each.shape == layer.shape]
        own = [each for each in alike if each.name == layer.name]
        unclaimed = [each for each in alike if each.name not in names]
        found = (own or unclaimed or alike)[0]
        left.remove(found)
        pairs.append((found, layer))
    return pairs


def _changes(recorded: Sequence[LayerFigures], now: Sequence[LayerSteps]) -> list[str]:
    """In the order of the forward pass: what has another shape, what is gone, what is new."""
    before, after = [(each.name, each.shape) for each in recorded], [(each.name, each.shape) for each in now]
    if {name for name, _ in before} == {name for name, _ in after}:
        shapes = dict(before)
        changes = [(name, shapes[name], shape) for name, shape in after if shapes[name] != shape]
        return [f"{name} is {in_words(shape)}, recorded {in_words(old)}" for name, old, shape in changes]
    by_name = bool({name for name, _ in before} & {name for name, _ in after})
    keys = [[each if by_name else each[1] for each in side] for side in (before, after)]
    found = []
    for kind, i, j, k, m in SequenceMatcher(a=keys[0], b=keys[1], autojunk=False).get_opcodes():
        if kind != "equal":
            found += [f"{name} ({in_words(shape)}) is gone" for name, shape in before[i:j]]
            found += [f"{name} ({in_words(shape)}) is new" for name, shape in after[k:m]]
    return found


def in_words(shape: Shape) -> str:
    return " x ".join(map(str, shape)) or "one value"
