"""Imports go one way, and only the layers that touch tensors import torch."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import pytest_trainhealth

PACKAGE = Path(pytest_trainhealth.__file__).parent
#: Records, and those who only read them; what pytest loads; words and figures.
WITHOUT_TORCH = (
    *("checks", "causes", "records", "reports"),
    *("__init__", "facts", "trace", "settings", "symptoms", "figures"),
    *("breakdown", "curve", "guessing", "loss_functions", "misgiven", "objective", "pace", "rates", "silent", "wiring"),
    *("plugin", "chosen", "stash", "collecting", "running", "sending", "gathering", "failure", "fixture"),
    *("named_training", "replay_run", "errand", "pytest_benchmark"),
)
HEAVY = {"torch", "numpy", "hypothesis", "lightning", "transformers"}
#: Records know next to nothing. Lazy imports count too, but for the one of `facts`, whose reason stands beside it.
MAY_KNOW: dict[str, set[str]] = {
    "facts": set(),
    "figures": set(),
    "settings": set(),
    "symptoms": {"facts"},
    "records": {"facts", "trace"},  # a judgement holds the trace that it is about
    "trace": {"facts", "records"},
}
PYTEST_SIDE = {
    "plugin",
    "chosen",
    "stash",
    "collecting",
    "running",
    "sending",
    "gathering",
    "fixture",
    "named_training",
    "replay_run",
}
#: Observe, check, explain, cure, report: nobody knows who comes after.
MUST_NOT_KNOW: dict[str, set[str]] = {
    "training": {"observe", "checks", "causes", "cures", "examine", "api", "reports", *PYTEST_SIDE},
    "cures": {"checks", "causes", "examine", "api", "reports", *PYTEST_SIDE},
    "observe": {"checks", "causes", "examine", "api", "reports", *PYTEST_SIDE},
    "checks": {"observe", "training", "cures", "causes", "examine", "api", "reports", *PYTEST_SIDE},
    "causes": {"observe", "training", "cures", "examine", "api", "reports", *PYTEST_SIDE},
    "examine": {"api", "reports", *PYTEST_SIDE},
    "api": {"reports", *PYTEST_SIDE},
    "reports": {"observe", "training", "cures", "examine", "api", *PYTEST_SIDE},
}
FILES = sorted(PACKAGE.rglob("*.py"))


def layer(file: Path) -> str:
    return file.relative_to(PACKAGE).parts[0].removesuffix(".py")


LAYERS = {layer(file) for file in FILES}


def imported(file: Path, *, at_start_only: bool) -> set[str]:
    """Absolute names of modules; those under `if TYPE_CHECKING` are for readers only."""
    here = ("pytest_trainhealth", *file.relative_to(PACKAGE).with_suffix("").parts)
    found: set[str] = set()
    for node in _walk(ast.parse(file.read_text()), at_start_only):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            package = here[: len(here) - node.level] if node.level else ()
            base = ".".join((*package, *filter(None, [node.module])))
            found.add(base)
            found.update(f"{base}.{alias.name}" for alias in node.names)
    return found


def _walk(tree: ast.AST, at_start_only: bool) -> list[ast.AST]:
    nodes: list[ast.AST] = []
    for child in ast.iter_child_nodes(tree):
        if isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING":
            continue
        if at_start_only and isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            continue
        nodes += [child, *_walk(child, at_start_only)]
    return nodes


@pytest.mark.parametrize("file", [f for f in FILES if layer(f) in WITHOUT_TORCH], ids=lambda f: f.stem)
def test_no_heavy_import(file: Path) -> None:
    assert not {name.partition(".")[0] for name in imported(file, at_start_only=False)} & HEAVY


@pytest.mark.parametrize("file", [f for f in FILES if layer(f) in {*MAY_KNOW, *MUST_NOT_KNOW}], ids=lambda f: f.stem)
def test_one_way(file: Path) -> None:
    own = layer(file)
    names = imported(file, at_start_only=own == "facts")
    known = ({name.split(".")[1] for name in names if name.startswith("pytest_trainhealth.")} & LAYERS) - {own}
    assert not (known - MAY_KNOW[own] if own in MAY_KNOW else known & MUST_NOT_KNOW[own])


def test_layers_named_here_exist() -> None:
    assert {*WITHOUT_TORCH, *MAY_KNOW, *MUST_NOT_KNOW, *PYTEST_SIDE} <= LAYERS
