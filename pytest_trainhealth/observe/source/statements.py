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
    first, last = _block(lines, place.line)
    # every training pays for this, and a whole file takes a hundred times as long to parse as one of its functions
    span = _spans("".join(lines[first - 1 : last])).get(place.line - first + 1)
    if span is None:
        first, span = 1, _spans("".join(lines)).get(place.line)
    if span is None:
        return place.code
    return " ".join(textwrap.dedent("".join(lines[first + span[0] - 2 : first + span[1] - 1])).split())


def _block(lines: list[str], line: int) -> tuple[int, int]:
    """First and last line of what stands at the left margin and what belongs to it, such as a whole function."""
    first = next((n for n in range(min(line, len(lines)), 0, -1) if _at_the_margin(lines[n - 1])), 1)
    last = next((n for n in range(first + 1, len(lines) + 1) if _at_the_margin(lines[n - 1])), len(lines) + 1)
    return first, last - 1


def _at_the_margin(line: str) -> bool:
    """A closing bracket ends what began above."""
    return line[:1] not in ("", " ", "\t", "\n", "\r", "\f", ")", "]", "}", "#")


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
