"""Every verdict in one file, for machines."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from ..records.verdict import SCHEMA_VERSION
from . import RunResults

#: A list of numbers, as `json.dumps` indents it: a curve with a line for each of its points is not read.
_NUMBERS = re.compile(r"\[(?:\s+-?[\d.][\d.e+-]*,?)+\s+\]")


def text(results: RunResults) -> str:
    head = {"version": SCHEMA_VERSION, "complete": results.complete, "interrupted": results.interrupted}
    start = json.dumps(head, indent=1).removesuffix("\n}")
    return f'{start},\n "verdicts": [{added(results.verdicts, first=True)}{end(results)}'


def added(verdicts: Sequence[Mapping[str, Any]], *, first: bool) -> str:
    return ("" if first or not verdicts else ",") + ",".join(_indented(json.dumps(each, indent=1)) for each in verdicts)


def end(results: RunResults) -> str:
    errors = ",".join(_error(tuple(error.items())) for error in results.errors)
    return f'\n ],\n "errors": [{errors}\n ]\n}}\n'


@cache  # after each test, all errors so far are written once more
def _error(items: tuple[tuple[str, str], ...]) -> str:
    return _indented(json.dumps(dict(items), indent=1))


def _indented(encoded: str) -> str:
    return "\n" + in_rows(encoded).replace("\n", "\n  ").join(("  ", ""))


def in_rows(encoded: str) -> str:
    """With every list of numbers in one line."""
    return _NUMBERS.sub(lambda found: " ".join(found[0].split()), encoded)
