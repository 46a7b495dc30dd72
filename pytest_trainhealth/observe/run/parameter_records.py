"""A parameter as the trace knows it: its name, its module, and who made it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from torch import Tensor, nn
from torch.nn.parameter import is_lazy

from ...records.wiring import ParameterRecord
from ...tensors.module_paths import full_path
from ..source.authorship import made_by, package_of

if TYPE_CHECKING:
    from ..source.creation_sites import CreationSites


def size_of(parameter: Tensor) -> int:
    return 0 if is_lazy(parameter) else parameter.numel()


def bare_record(full: str, parameter: Tensor) -> ParameterRecord:
    return ParameterRecord(
        name=full,
        shape=() if is_lazy(parameter) else tuple(parameter.shape),
        size=size_of(parameter),
        dtype=str(parameter.dtype).removeprefix("torch."),
        trainable=parameter.requires_grad,
        module=full.rpartition(".")[0],
    )


def registered_record(
    prefix: str, name: str, parameter: Tensor, modules: Mapping[str, nn.Module], sites: CreationSites | None
) -> ParameterRecord:
    """Of a parameter that a module has registered. Who made it is known if its making was seen; else classes tell."""
    record, path = bare_record(full_path(prefix, name), parameter), name.rpartition(".")[0]
    record.model, record.module_class = prefix, type(modules[path]).__name__
    record.class_by = package_of(type(modules[path]))
    seen = None if sites is None else sites.maker_of(parameter)
    record.made_by = seen or made_by(path, modules, direct=True)
    if record.made_by != "user":
        record.put_in = full_path(prefix, _put_in_by_user(path, modules, sites))
    return record


def _put_in_by_user(path: str, modules: Mapping[str, nn.Module], sites: CreationSites | None) -> str:
    """The innermost module on the way to it that the user's code put into the model; empty if there is none.

    Where nobody saw it, that is a module right inside one of the user's own classes.
    """
    while path:
        holder = path.rpartition(".")[0]
        by = None if sites is None or path not in modules else sites.put_in_by(modules[path])
        if by is None and holder in modules and package_of(type(modules[holder])) == "user":
            by = "user"
        if by == "user":
            return path
        path = holder
    return ""
