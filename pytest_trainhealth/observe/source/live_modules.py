"""Finds the modules that own some tensors among all that are alive: those made before anybody looked, or copied."""

from __future__ import annotations

import gc
from collections.abc import Iterable

from torch import Tensor, nn

from .creation_sites import CreationSites


def find_owners(tensors: Iterable[Tensor], sites: CreationSites) -> None:
    """Notes the owners of these tensors and the modules around them, as if their making had been seen.

    Looks at every object that Python's garbage collector knows: less than a tenth of a second for a million of them.
    """
    wanted = {id(tensor) for tensor in tensors}
    objects = gc.get_objects()
    # `isinstance` would ask objects that pretend to be of another class, which may do anything
    kinds = {kind for kind in set(map(type, objects)) if issubclass(kind, nn.Module)}
    modules = [each for each in objects if type(each) in kinds]
    del objects
    for module in modules:
        state = vars(module)
        for parameter in state.get("_parameters", {}).values():
            if parameter is not None and id(parameter) in wanted and sites.owner_of(parameter) is None:
                sites.note_owner(parameter, module, made_now=False)
        for child in state.get("_modules", {}).values():
            if child is not None and not sites.holders_of(child):
                sites.note_holder(child, module)
