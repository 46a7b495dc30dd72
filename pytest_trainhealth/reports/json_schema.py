"""The JSON Schema of what `--trainhealth-json` writes, made from the records themselves: it cannot fall behind them."""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Mapping
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from ..records.verdict import SCHEMA_VERSION, Place, Verdict

#: JSON has no nan and no inf: they are words that `float()` reads back.
_NUMBER = {"anyOf": [{"type": "number"}, {"enum": ["nan", "inf", "-inf"]}]}
_WORDS: dict[Any, dict[str, Any]] = {
    str: {"type": "string"},
    bool: {"type": "boolean"},
    int: {"type": "integer"},
    float: _NUMBER,
    type(None): {"type": "null"},
}


def json_schema() -> dict[str, Any]:
    """Draft 2020-12. A newer release may add properties; whoever changes or drops one raises the version."""
    records: dict[str, Any] = {}
    verdict = _record(Verdict, records)
    _record(Place, records)
    of_the_test = {
        "nodeid": {"type": "string", "description": "pytest's name of the test."},
        "place": {
            "anyOf": [
                {"type": "object", "required": ["file", "line"], "properties": records["Place"]["properties"]},
                {"type": "null"},
            ],
            "description": "Where the test stands.",
        },
        "expected": {"type": "boolean", "description": "The test is expected to fail (xfail)."},
    }
    error = {
        "type": "object",
        "description": "A test that raised, or whose worker died.",
        "required": ["nodeid", "outcome", "message"],
        "properties": {name: {"type": "string"} for name in ("nodeid", "outcome", "message")},
    }
    yes_or_no = {"type": "boolean"}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Verdicts of pytest-trainhealth",
        "type": "object",
        "required": ["version", "complete", "interrupted", "verdicts", "errors"],
        "properties": {
            "version": {"const": SCHEMA_VERSION},
            "complete": {**yes_or_no, "description": "Every test that was selected has its outcome."},
            "interrupted": yes_or_no,
            "verdicts": {
                "type": "array",
                "items": {
                    "allOf": [verdict],
                    "type": "object",
                    "required": list(of_the_test),
                    "properties": of_the_test,
                },
            },
            "errors": {"type": "array", "items": error},
        },
        "$defs": dict(sorted(records.items())),
    }


def _record(kind: type, records: dict[str, Any]) -> dict[str, Any]:
    """A reference to the record's own entry, which is made if there is none yet."""
    if kind.__name__ not in records:
        records[kind.__name__] = {}
        hints = get_type_hints(kind)
        names = [field.name for field in dataclasses.fields(kind)]
        records[kind.__name__] = {
            "type": "object",
            "description": (kind.__doc__ or "").partition("\n")[0],
            "required": names,
            "properties": {name: _kind(hints[name], records) for name in names},
        }
    return {"$ref": f"#/$defs/{kind.__name__}"}


def _kind(hint: Any, records: dict[str, Any]) -> dict[str, Any]:
    if hint in _WORDS:
        return _WORDS[hint]
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        return _record(hint, records)
    origin, inside = get_origin(hint), get_args(hint)
    if origin is Literal:
        return {"enum": list(inside)}
    if origin in (Union, types.UnionType):
        return {"anyOf": [_kind(each, records) for each in inside]}
    if origin is tuple:
        return {"type": "array", "items": _kind(inside[0], records)}
    if origin is Mapping:
        return {"type": "object", "additionalProperties": _kind(inside[1], records)}
    raise TypeError(f"no JSON for {hint}")
