"""What functions, classes and modules of the user's own keep: closures, defaults, globals, names bound by a step."""

from __future__ import annotations

import functools
import types
from contextlib import suppress
from typing import Any

from .notes import Held, Notes, items_of
from .paths import Path, root
from .user_code import class_state, module_of_user, names_bound, names_used, special_methods, written_by_user
from .values import rebind, rebind_class, rebind_module, refill_dict


def function(notes: Notes, thing: types.FunctionType, path: Path) -> Held:
    here = root(thing)
    held = [*notes.attribute(thing, "__defaults__", here), *items_of(thing.__defaults__ or (), here)]
    held.append((here, thing.__kwdefaults__))
    held += notes.attributes(thing, here)
    for name, place in zip(thing.__code__.co_freevars, thing.__closure__ or (), strict=True):
        held.extend(cell(notes, place, here.attribute(name)))
    if written_by_user(thing):
        held += _globals(notes, thing, here)
    wrapped = getattr(thing, "__wrapped__", None)
    return held if wrapped is None else [*held, (path, wrapped)]


def _globals(notes: Notes, thing: types.FunctionType, here: Path) -> list[tuple[Path, Any]]:
    there, used = thing.__globals__, names_used(thing.__code__)
    values = {name: there[name] for name in used if name in there}
    unbound = [name for name in names_bound(thing.__code__) if name not in there]
    notes.note(here, lambda: rebind(there, notes.now(values), unbound))
    module = Path(None, "root", (thing.__module__ or "").rpartition(".")[2])
    held = [(module.attribute(name), value) for name, value in values.items()]
    return [*held, *_in_modules([value for value in values.values() if module_of_user(value)], used)]


def _in_modules(modules: list[types.ModuleType], used: list[str]) -> list[tuple[Path, Any]]:
    """What code that names a module may take from it: `settings.seen`. Not all it holds, which may be data."""
    found: dict[int, types.ModuleType] = {}
    while modules:
        module = modules.pop()
        if id(module) not in found:
            found[id(module)] = module
            modules += [vars(module)[name] for name in used if module_of_user(vars(module).get(name))]
    return [
        (root(module).attribute(name), vars(module)[name])
        for module in found.values()
        for name in dict.fromkeys(used)
        if name in vars(module)
    ]


def module_names(notes: Notes, thing: types.ModuleType) -> Held:
    """Which names are bound to what. What they are bound to is looked at where code names it."""
    values = {name: value for name, value in vars(thing).items() if not name.startswith("__")}
    notes.note(root(thing), lambda: rebind_module(thing, notes.now(values)))
    return ()


def user_class(notes: Notes, kind: type) -> Held:
    here, values = root(kind), class_state(kind)
    notes.note(here, lambda: rebind_class(kind, class_state(kind), notes.now(values)))
    held = [(here.attribute(name), value) for name, value in {**values, **special_methods(kind)}.items()]
    return [*held, *((here, base) for base in kind.__bases__)]


def partial(notes: Notes, thing: functools.partial[Any], path: Path) -> Held:
    called, arguments, keywords = thing.func, dict(enumerate(thing.args)), dict(thing.keywords)

    def undo() -> None:
        function, values = notes.now_of(called), tuple(notes.now(arguments).values())
        refill_dict(thing.keywords, notes.now(keywords))  # the same dictionary: others may hold it
        if thing.func is not function or any(a is not b for a, b in zip(thing.args, values, strict=False)):
            thing.__setstate__((function, values, thing.keywords, thing.__dict__))  # type: ignore[attr-defined]

    notes.note(path, undo)
    held = [(path, called), *items_of(arguments.values(), path), *notes.attributes(thing, path)]
    return [*held, *((path.attribute(name), value) for name, value in keywords.items())]


def method(thing: Any, path: Path) -> Held:
    """A method leads to its object, and a function of a module nowhere."""
    owner = thing.__self__
    if isinstance(owner, type) or type(owner).__module__.startswith("torch._C"):
        owner = None
    return [(path, owner), *([(path, thing.__func__)] if isinstance(thing, types.MethodType) else [])]


def cell(notes: Notes, place: types.CellType, path: Path) -> Held:
    try:
        content = place.cell_contents
    except ValueError:  # a name that is not bound yet
        notes.note(path, lambda: _unbind(place))
        return ()

    def undo() -> None:
        place.cell_contents = notes.now_of(content)

    notes.note(path, undo)
    return ((path, content),)


def _unbind(cell: types.CellType) -> None:
    with suppress(ValueError):  # it is not bound
        del cell.cell_contents
