"""Whether a record, and the records in it, hold what their annotations say. Python does not look."""

from __future__ import annotations

import types
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints


def well_typed(record: Any) -> bool:
    hints = get_type_hints(type(record))
    return all(_fits(getattr(record, field.name), hints[field.name]) for field in fields(record))


def _fits(value: Any, wanted: Any) -> bool:
    origin, parts = get_origin(wanted), get_args(wanted)
    if origin is Literal:
        return isinstance(value, str) and value in parts
    if origin in (Union, types.UnionType):
        return any(_fits(value, part) for part in parts)
    if origin is tuple:
        return isinstance(value, tuple) and all(_fits(each, parts[0]) for each in value)
    if origin is Mapping:
        return isinstance(value, dict) and all(_fits(k, parts[0]) and _fits(v, parts[1]) for k, v in value.items())
    if is_dataclass(wanted):
        return isinstance(value, wanted) and well_typed(value)  # type: ignore[arg-type]
    if wanted is float:
        return type(value) in (int, float)
    return type(value) is wanted or (wanted is type(None) and value is None)
