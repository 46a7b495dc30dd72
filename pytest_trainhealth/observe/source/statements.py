"""The whole statement that a line belongs to: a call over several lines is known by the line it was made at."""

from __future__ import annotations

import ast
import linecache
import os
import textwrap
from functools import cache

from ...records.verdict import Place


def statement_at(place: Place | None) -> str:
    """Its source, with single blanks for its line breaks; empty if it cannot be read."""
    if place is None:
        return ""
    lines = linecache.getlines(os.path.abspath(place.file))
    span = _spans("".join(lines)).get(place.line)
    if span is None:
        return place.code
    return " ".join(textwrap.dedent("".join(lines[span[0] - 1 : span[1]])).split())


@cache
def _spans(source: str) -> dict[int, tuple[int, int]]:
    """First and last line of the innermost simple statement, by line."""
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return {}
    found: dict[int, tuple[int, int]] = {}
    for node in ast.walk(tree):
        if isinstance(node, (ast.Assign, ast.AnnAssign, ast.Expr, ast.Return)) and node.end_lineno is not None:
            for line in range(node.lineno, node.end_lineno + 1):
                found[line] = (node.lineno, node.end_lineno)
    return found
