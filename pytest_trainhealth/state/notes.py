"""What a snapshot has noted so far: how to put back what it met, and what cannot be put back."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .iterators import Copies, copied
from .paths import Path
from .values import Undo, refill_dict, set_slot

#: Objects with the paths by which they are reached.
Held = Iterable[tuple[Path, Any]]
#: Values that are not even looked at: a vocabulary has hundreds of thousands.
PLAIN = frozenset((str, bytes, int, float, complex, bool, type(None)))


class Notes:
    def __init__(self) -> None:
        self.undo: list[tuple[Path, Undo]] = []
        self.one_way: list[tuple[Path, Any]] = []
        self._seen: dict[int, Any] = {}  # keeps everything alive, so that no id is used twice
        self._parts = 0
        self._contents: dict[int, Any] = {}
        self._unread: Copies = {}
        self._iterators: list[Any] = []
        self._lent: dict[int, Any] = {}

    def meet(self, thing: Any) -> bool:
        """Whether it is met for the first time."""
        if id(thing) in self._seen:
            return False
        self._seen[id(thing)] = thing
        return True

    def has_met(self, thing: Any) -> bool:
        return id(thing) in self._seen

    def meet_content(self, container: Any) -> bool:
        """Whether nothing has been noted about it so far: it may be met in full, or only what is in it."""
        if id(container) in self._seen or id(container) in self._contents:
            return False
        self._contents[id(container)] = container
        return True

    def count_part(self) -> int:
        """How many parts of the data have been met by now."""
        self._parts += 1
        return self._parts

    def note(self, path: Path, undo: Undo) -> None:
        self.undo.append((path, undo))

    def forget(self) -> None:
        """Of each undo, which knows these notes: the circle keeps all copies until the garbage collector comes by."""
        self.undo.clear()

    # -- iterators, which copies stand in for ------------------------------------------------------------

    @property
    def lends(self) -> bool:
        return bool(self._iterators)

    def add_iterator(self, thing: Any) -> bool:
        """False if it cannot be copied."""
        if copied(thing, self._unread) is None:
            return False
        self._iterators.append(thing)
        return True

    def lend(self) -> None:
        copies: Copies = {}
        self._lent = {id(each): copied(self._unread[id(each)][1], copies) for each in self._iterators}

    def take_back(self) -> None:
        self._lent = {}

    def now(self, values: dict[Any, Any]) -> dict[Any, Any]:
        """What is held under these names for the time being."""
        return {name: self._lent.get(id(value), value) for name, value in values.items()} if self._lent else values

    def now_of(self, value: Any) -> Any:
        return self._lent.get(id(value), value)

    # -- what objects of any kind have ---------------------------------------------------------------

    def attributes(self, thing: Any, path: Path) -> list[tuple[Path, Any]]:
        """What an object keeps in its `__dict__`, also one that is a function or a kind of list."""
        names = getattr(thing, "__dict__", None)
        if not isinstance(names, dict) or not self.meet(names):
            return []
        return self.pairs(names, path, attributes=True)

    def attribute(self, thing: Any, name: str, path: Path) -> list[tuple[Path, Any]]:
        value, there = getattr(thing, name), path.attribute(name)
        self.note(there, lambda: set_slot(thing, name, self.now_of(value)))
        return [(there, value)]

    def pairs(self, mapping: dict[Any, Any], path: Path, *, attributes: bool = False) -> list[tuple[Path, Any]]:
        items = dict(mapping)
        self.note(path, lambda: refill_dict(mapping, self.now(items)))
        step = path.attribute if attributes else path.item
        held = [(step(key), value) for key, value in items.items() if type(value) not in PLAIN]
        return held + [(step(key), key) for key in items if type(key) not in PLAIN]


def items_of(values: Iterable[Any], path: Path) -> list[tuple[Path, Any]]:
    return [(path.item(index), value) for index, value in enumerate(values) if type(value) not in PLAIN]
