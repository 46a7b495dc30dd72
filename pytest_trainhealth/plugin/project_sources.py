"""Models and loops that a project's sources show. Reads them, and imports none: a script may train when imported."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

#: Folders that hold no sources of the project, or its tests.
_PASSED_OVER = frozenset({
    *("venv", "env", "build", "dist", "node_modules", "site-packages", "__pycache__", "docs", "doc"),
    *("tests", "test", "testing", "migrations"),
})  # fmt: skip
#: Files, and bytes of each. By judgement: a large project has some hundred modules of its own, and what is larger than
#: this was generated.
_MOST_FILES, _LARGEST = 2000, 400_000
#: What classes derive from that are models, by the last part of its name.
_MODULES = frozenset({"Module", "PreTrainedModel", "MessagePassing", "Sequential"})
_LIGHTNING = frozenset({"LightningModule"})
#: Calls that train, whatever they are called on.
_TRAINING_CALLS = frozenset({"backward"})
#: Parameters that say how long a training is, and the shortest that they can say.
_HOW_LONG = frozenset({
    *("epochs", "num_epochs", "n_epochs", "max_epochs", "steps", "max_steps", "num_steps", "n_steps"),
    *("iterations", "iters", "n_iters", "max_iters"),
})  # fmt: skip


@dataclass(frozen=True)
class Source:
    """Something in the project's sources."""

    name: str
    #: Relative to the project's root.
    file: Path
    line: int
    #: Arguments that it cannot be called without.
    needs: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.name} ({self.file.as_posix()}:{self.line})"


@dataclass(frozen=True)
class Model(Source):
    lightning: bool = False


@dataclass(frozen=True)
class Loop(Source):
    """A function that trains; or a whole file that does when it is run (then its name is that of the file)."""

    #: The arguments that make it short: `epochs` say.
    how_long: tuple[str, ...] = ()
    reads_arguments: bool = False
    is_script: bool = False
    #: It calls `backward()` itself.
    is_step: bool = False


@dataclass(frozen=True)
class Found:
    models: list[Model] = field(default_factory=list)
    loops: list[Loop] = field(default_factory=list)


def look_through(root: Path) -> Found:
    found = Found()
    for path in _files(root):
        try:
            tree = ast.parse(path.read_bytes())
        except (OSError, SyntaxError, ValueError, RecursionError):
            continue
        _read(tree, path.relative_to(root), found)
    return found


def _files(root: Path) -> Iterator[Path]:
    count = 0
    for folder, inner, files in os.walk(root):
        inner[:] = sorted(name for name in inner if name not in _PASSED_OVER and not name.startswith("."))
        if "pyvenv.cfg" in files:
            inner[:] = []
            continue
        for name in sorted(files):
            path = Path(folder, name)
            if name.endswith(".py") and not name.startswith(("test_", "conftest", "setup.")):
                if count >= _MOST_FILES:
                    return
                if path.stat().st_size <= _LARGEST:
                    count += 1
                    yield path


def _read(tree: ast.Module, file: Path, found: Found) -> None:
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    trains = {f.name for f in functions if _calls(f) & _TRAINING_CALLS}
    while more := {f.name for f in functions if f.name not in trains and _names_called(f) & trains}:
        trains |= more
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and (bases := {_last(base) for base in node.bases}) & (_MODULES | _LIGHTNING):
            made = next((f for f in node.body if isinstance(f, ast.FunctionDef) and f.name == "__init__"), None)
            needs = _needed(made)[1:] if made is not None else ()
            found.models.append(Model(node.name, file, node.lineno, needs, lightning=bool(bases & _LIGHTNING)))
    for function in functions:
        if function.name in trains and not function.name.startswith("_"):
            names = [a.arg for a in (*function.args.args, *function.args.kwonlyargs)]
            long = tuple(name for name in names if name in _HOW_LONG)
            reads = "parse_args" in _calls(function)
            direct = bool(_calls(function) & _TRAINING_CALLS) and not _loops(function)
            found.loops.append(
                Loop(function.name, file, function.lineno, _needed(function), long, reads, False, direct)
            )
    outside = [node for node in tree.body if not isinstance(node, (ast.FunctionDef, ast.ClassDef)) and not _guard(node)]
    if any(_calls(node) & _TRAINING_CALLS or _names_called(node) & trains for node in outside):
        whole = ast.Module(outside, [])
        found.loops.append(Loop(file.name, file, 1, reads_arguments="parse_args" in _calls(whole), is_script=True))


def _calls(node: ast.AST) -> set[str]:
    """The methods and functions that are called in it, by the last part of their names."""
    return {_last(each.func) for each in ast.walk(node) if isinstance(each, ast.Call)}


def _names_called(node: ast.AST) -> set[str]:
    return {n.func.id for n in ast.walk(node) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)}


def _loops(function: ast.FunctionDef) -> bool:
    return any(isinstance(node, (ast.For, ast.While)) for node in ast.walk(function))


def _guard(node: ast.stmt) -> bool:
    """`if __name__ == "__main__":`, which is not run by an import."""
    return isinstance(node, ast.If) and "__name__" in {n.id for n in ast.walk(node.test) if isinstance(n, ast.Name)}


def _needed(function: ast.FunctionDef) -> tuple[str, ...]:
    given = function.args
    positional = [*given.posonlyargs, *given.args]
    required = positional[: len(positional) - len(given.defaults)]
    required += [arg for arg, default in zip(given.kwonlyargs, given.kw_defaults, strict=True) if default is None]
    return tuple(arg.arg for arg in required)


def _last(node: ast.expr) -> str:
    if isinstance(node, ast.Subscript):
        return _last(node.value)
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
