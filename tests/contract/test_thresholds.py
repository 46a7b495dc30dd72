"""A number that decides has a name, and beside the name its measurement or the words "by judgement"."""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

import pytest_trainhealth

PACKAGE = Path(pytest_trainhealth.__file__).parent
MODULES = sorted(PACKAGE.rglob("*.py"))
#: Up to here a whole number in a comparison is a plain count (two shapes, three dimensions), and no limit.
LARGEST_COUNT = 3
#: A comparison, too, though it is written as a call.
CLOSE = {"isclose", "allclose"}
#: A figure, a file or a survey where it was measured, or that it was not.
SOURCE = re.compile(r"(?<![A-Za-z_])\d|tests/|docs/|KNOWLEDGE|\bby judgement\b", re.IGNORECASE)
#: A cause's place in the order of all causes, which `causes/__init__.py` gives: nothing is measured against it.
PLACE_IN_AN_ORDER = "ORDER"


def inline_thresholds(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Numbers without a name that a comparison depends on: where each is, and the comparison."""
    found = {}
    for node in ast.walk(tree):
        if _compares(node):
            for number in _numbers_of(node):
                found[number.lineno, number.col_offset] = f"{ast.unparse(number)} in {ast.unparse(node)}"
    return ((line, words) for (line, _), words in sorted(found.items()))


def _compares(node: ast.AST) -> bool:
    if isinstance(node, ast.Call):
        return (node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")) in CLOSE
    ordered = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)
    return isinstance(node, ast.Compare) and any(isinstance(op, ordered) for op in node.ops)


def _numbers_of(node: ast.AST) -> Iterator[ast.Constant]:
    """What is in brackets behind a name (`losses[-3:]`) says where to look, not how much is too much."""
    if isinstance(node, ast.Constant) and type(node.value) in (int, float) and _decides(node.value):
        yield node
    for child in ast.iter_child_nodes(node):
        if not (isinstance(node, ast.Subscript) and child is node.slice):
            yield from _numbers_of(child)


def _decides(value: object) -> bool:
    assert isinstance(value, int | float)
    return value not in (0.0, 1.0) if isinstance(value, float) else value > LARGEST_COUNT


def constants(source: str) -> Iterator[tuple[int, str, str]]:
    """The named numbers of a module: the line, the name and what stands beside it."""
    lines = source.splitlines()
    for node in ast.parse(source).body:
        target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
        name = "" if target is None else ast.unparse(target).strip("()")
        value = getattr(node, "value", None)
        if value is not None and re.fullmatch(r"[A-Z0-9_, ]+", name) and _is_numeric(value):
            yield node.lineno, name, _comment(lines, node)


def _is_numeric(value: ast.expr) -> bool:
    if isinstance(value, ast.Constant):
        return type(value.value) in (int, float)
    if isinstance(value, ast.Tuple):
        return bool(value.elts) and all(map(_is_numeric, value.elts))
    if isinstance(value, ast.BinOp):
        return _is_numeric(value.left) and _is_numeric(value.right)
    return isinstance(value, ast.UnaryOp) and _is_numeric(value.operand)


def _comment(lines: list[str], node: ast.stmt) -> str:
    """The lines of comment right above, and the one behind. What stands above two constants speaks for the first."""
    first = node.lineno - 1
    while first > 0 and lines[first - 1].startswith("#"):
        first -= 1
    behind = lines[(node.end_lineno or node.lineno) - 1].partition("#")[2]
    return " ".join([*(line.lstrip("#: ") for line in lines[first : node.lineno - 1]), behind.strip()]).strip()


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_number_that_decides_has_a_name(path: Path) -> None:
    found = inline_thresholds(ast.parse(path.read_text(encoding="utf-8")))
    assert [f"{path.name}:{line}: {words}" for line, words in found] == []


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_named_number_has_its_measurement_beside_it(path: Path) -> None:
    named = [row for row in constants(path.read_text(encoding="utf-8")) if row[1] != PLACE_IN_AN_ORDER]
    assert [f"{path.name}:{line}: {name}  {words}" for line, name, words in named if not SOURCE.search(words)] == []


def _found(source: str) -> list[str]:
    return [words.split(" in ")[0] for _, words in inline_thresholds(ast.parse(textwrap.dedent(source)))]


def test_inline_numbers_are_found_wherever_they_decide() -> None:
    assert _found("a < 0.3 * b") == ["0.3"]
    assert _found("fell = before - last > max(0.1 * abs(first), 25 - spread)") == ["0.1", "25"]
    assert _found("x = next(n for n in rows if 0 < n <= 1 + 1e-4)") == ["0.0001"]
    assert _found("math.isclose(a, b, abs_tol=1e-9) or torch.allclose(a, b, 1e-5)") == ["1e-09", "1e-05"]


def test_what_decides_nothing_needs_no_name() -> None:
    assert _found("a > 0.0 and b <= 1.0 and len(c) < 3 and x.ndim == 4 and losses[-10:] < limit") == []
    assert _found("seconds = 1e3 * step") == []


@pytest.mark.parametrize(
    "source",
    [
        "_LIMIT = 0.3",
        "#: A limit.\n_LIMIT = 0.3",
        "#: Healthy: at most 0.1.\n\n_LIMIT = 0.3",
        "#: Healthy: at most 0.1.\n_OTHER = 0.3  # 3\n_LIMIT = 0.3",
        "_LOW, _HIGH = 0.3, -2 / 3",
    ],
)
def test_a_number_without_a_source_is_found(source: str) -> None:
    assert [name for _, name, words in constants(source) if not SOURCE.search(words)][-1][:2] == "_L"


@pytest.mark.parametrize(
    "source",
    [
        "#: Healthy: at most 0.1.\n_LIMIT = 0.3",
        "_LIMIT = 0.3  # by judgement: nobody has one",
        "#: A limit. By judgement:\n#: nobody has one.\n_LIMIT: float = 0.3",
    ],
)
def test_a_number_with_a_source_is_in_order(source: str) -> None:
    assert [bool(SOURCE.search(words)) for _, _, words in constants(source)] == [True]
