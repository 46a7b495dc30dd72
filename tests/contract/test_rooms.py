"""The house: every module lives in a room, and imports go one way, from the upper rooms to the lower ones.

`MAY_IMPORT` is the table. A module that is in no room of it, an import that it does not allow (inside a function as
well: a lazy import is a dependency like any other) and torch in a room of plain records are errors.
"""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

import pytest_trainhealth

PACKAGE = Path(pytest_trainhealth.__file__).parent
NAME = "pytest_trainhealth"
FILES = sorted(PACKAGE.rglob("*.py"))

_RECORDS = {"settings", "wording", "records"}
_READERS = {*_RECORDS, "analysis"}
_TORCH = {"tensors", "state", "frameworks", "training", "budget", "progress"}
_SIGHT = {"observe.source", "observe.run", "observe.calls", "observe.signals", "observe.microscope", "observe.errors"}
_TOPICS = {f"observe.signals.{topic}" for topic in ("wiring", "losses", "data", "numbers", "probes", "speed", "state")}
_RUNNING = {*_RECORDS, *_TORCH, *_SIGHT, *_TOPICS, "interventions", "programs"}
_ENGINE = {*_RUNNING, *_READERS, "checks", "causes", "histories", "engine"}
_TOP = {*_ENGINE, "stress", "reproducers", "revisions", "baselines", "improvements", "advice", "ranks"}

#: A room, and the rooms that it may know besides itself. Lower lines come later; nothing is allowed that is not here.
MAY_IMPORT: dict[str, set[str]] = {
    "settings": set(),
    "wording": set(),
    "records": {"wording"},
    "histories": {"records", "wording"},
    "progress": {"wording"},
    "budget": {"wording", "progress"},
    "analysis": _RECORDS,
    "checks": _READERS,
    "causes": _READERS,
    "tensors": {"records"},
    "state": {"tensors", "records"},
    "frameworks": {"tensors", "state", *_RECORDS},
    "training": {"tensors", "state", "frameworks", *_RECORDS},
    "observe": set(),
    "observe.source": {*_RECORDS, "tensors"},
    "observe.run": {*_RECORDS, *_TORCH, "observe.source"},
    "observe.calls": {*_RECORDS, *_TORCH, "observe.source", "observe.run"},
    **{
        topic: {*_RECORDS, *_TORCH, *_SIGHT} - {"observe.signals", "observe.microscope", "observe.errors"}
        for topic in _TOPICS
    },
    # the registry finds its topics by scanning; what they share stands below them
    "observe.signals": {*_RECORDS, "observe.run", *_TOPICS},
    "observe.microscope": {*_RECORDS, *_TORCH, "observe.source", "observe.run", "observe.calls"},
    "observe.errors": {*_RECORDS, *_TORCH, "observe.source", "observe.run", "observe.calls"},
    "interventions": {*_RECORDS, *_TORCH, *_SIGHT, *_TOPICS},
    "programs": {*_RECORDS, *_TORCH, *_SIGHT, *_TOPICS, "interventions"},
    "engine": _ENGINE,
    "stress": _ENGINE,
    "reproducers": _ENGINE,
    "revisions": _ENGINE,
    "baselines": _ENGINE,
    "improvements": _ENGINE,
    "advice": _ENGINE,
    # both find the same test in other processes, and talk to them
    "ranks": {*_ENGINE, "revisions"},
    "examine": _TOP,
    "api": {*_TOP, "examine"},
    "reports": {"wording", "records", "settings", "reports.html"},
    # of `frameworks`, the door to packages that only some users have
    "reports.html": {"wording", "records", "settings", "reports", "frameworks"},
    "reports.explain": {"wording", "records", "settings", "checks", "causes", "reports"},
    # a rule of a code scanner comes with its page
    "reports.sarif": {"", "wording", "records", "settings", "causes", "reports"},
    "plugin": {*_TOP, "examine", "api", "reports", "reports.explain"},
    "": {"records", "histories", "training", "api", "plugin"},
}
#: Rooms that read records only: no torch, and nothing that would bring it.
WITHOUT_TORCH = {
    *("", "settings", "wording", "records", "histories", "analysis", "checks", "causes", "reports", "reports.explain"),
    "reports.sarif",
    "reports.html",
}
#: pytest's side imports torch where a test is judged, by way of the engine; seeding fixtures is torch's own business.
PLUGIN_WITH_TORCH = {"plugin.seeding", "plugin.revision_process", "plugin.rank_process", "plugin.benchmark"}
HEAVY = {"torch", "numpy", "hypothesis", "lightning", "transformers"}
#: The imports against the rule: `str(verdict)` is the chart, and the chart is laid out in reports; so are two curves.
EXCEPTIONS = {("records.verdict", "reports"), ("records.improvement", "reports")}


def module(file: Path) -> str:
    """Its dotted name inside the package; empty for the package itself."""
    parts = file.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def room(name: str) -> str | None:
    """The room of a module, or None: the longest entry of the table that it lies in."""
    parts = name.split(".") if name else []
    for length in range(len(parts), -1, -1):
        found = ".".join(parts[:length])
        if found in MAY_IMPORT and (found or not parts):
            return found
    return None


MODULES = {module(file): file for file in FILES}


def imported(file: Path) -> set[str]:
    """Absolute names of all that a file imports, lazily too; what stands under `if TYPE_CHECKING` is for readers."""
    here = (NAME, *file.relative_to(PACKAGE).with_suffix("").parts)
    found: set[str] = set()
    for node in _statements(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            package = here[: len(here) - node.level] if node.level else ()
            base = ".".join((*package, *filter(None, [node.module])))
            inside = {f"{base}.{alias.name}" for alias in node.names}
            modules = {name for name in inside if name.removeprefix(f"{NAME}.") in MODULES}
            found |= modules
            if modules != inside:
                found.add(base)
    return found


def _statements(tree: ast.AST) -> list[ast.AST]:
    nodes: list[ast.AST] = []
    for child in ast.iter_child_nodes(tree):
        if not (isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING"):
            nodes += [child, *_statements(child)]
    return nodes


def wrong_imports(file: Path) -> list[str]:
    own = room(module(file))
    assert own is not None
    wrong = []
    for name in imported(file):
        if name != NAME and not name.startswith(f"{NAME}."):
            continue
        other = room(name.removeprefix(NAME).removeprefix("."))
        allowed = other == own or other in MAY_IMPORT[own] or (module(file), other) in EXCEPTIONS
        # the package itself holds the version and the lazy names: light, and open to everybody
        if not allowed and name != NAME:
            wrong.append(name)
    return sorted(wrong)


@pytest.mark.parametrize("file", FILES, ids=module)
def test_every_module_has_a_room_and_keeps_to_it(file: Path) -> None:
    assert room(module(file)) is not None, "in no room of MAY_IMPORT: find its room, or its name"
    assert wrong_imports(file) == []


@pytest.mark.parametrize("file", [f for f in FILES if room(module(f)) in {*WITHOUT_TORCH, "plugin"}], ids=module)
def test_no_heavy_import(file: Path) -> None:
    if module(file) in PLUGIN_WITH_TORCH:
        return
    assert not {name.partition(".")[0] for name in imported(file)} & HEAVY


def test_budgets_go_by_one_clock() -> None:
    asked = {name for name, file in MODULES.items() if "time.monotonic(" in file.read_text()}
    assert asked == {"budget.monotonic"}


def test_the_hall_is_empty() -> None:
    assert sorted(name for name in MODULES if "." not in name and MODULES[name].name != "__init__.py") == [
        *("api", "settings", "training", "wording")
    ]


def test_rooms_of_the_table_exist() -> None:
    assert {room(name) for name in MODULES} == set(MAY_IMPORT)


#: What an installation always has; hypothesis is asked only where it has been imported before.
_ALWAYS_INSTALLED = {*sys.stdlib_module_names, NAME, "torch", "numpy", "pytest", "_pytest", "hypothesis"}


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_package_that_only_some_users_have_is_asked_for_by_name(path: Path) -> None:
    """An `import` statement of an optional package is an error for those who lack it, and for a type checker there."""
    imported = {
        name.partition(".")[0]
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        for name in (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [node.module or ""]
            if isinstance(node, ast.ImportFrom) and not node.level
            else []
        )
    }
    assert imported <= _ALWAYS_INSTALLED
