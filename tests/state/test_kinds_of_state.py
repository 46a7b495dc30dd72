"""Whatever a step keeps something in: it is put back for the next run and the user, or it is named."""

from __future__ import annotations

import array
import collections
import contextvars
import csv
import ctypes
import dataclasses
import enum
import functools
import heapq
import io
import itertools
import mmap
import os
import queue
import random
import re
import sqlite3
import tempfile
import threading
import types
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from . import kept_in_a_module
from .test_what_steps_keep import start_of


@dataclasses.dataclass
class Plain:
    count: int = 0


@dataclasses.dataclass(slots=True)
class Slotted:
    count: int = 0


class Colour(enum.Enum):
    RED = 1


class Grid(np.ndarray):  # type: ignore[type-arg]
    pass


def add(thing: Any) -> Any:
    """A counter that is an attribute."""
    thing.count = getattr(thing, "count", 0) + 1
    return thing.count


def first(thing: Any) -> Any:
    thing[0] += 1
    return float(thing[0])


def cached(limit: int | None, warm: Callable[[Any], Any], value: Callable[[int], Any]) -> Any:
    @functools.lru_cache(limit)
    def function(number: int) -> Any:
        return value(number)

    warm(function)
    return function


def fills(function: Any) -> Any:
    """The first call of a number gives a fresh list, if the cache is as it was."""
    found = function(1)
    if isinstance(found, list):
        found.append(1)
        return len(found)
    return found


def opened(mode: str) -> Any:
    file = tempfile.TemporaryFile("w+")  # noqa: SIM115 - the training keeps it open
    file.write("one\ntwo\nthree\nfour\n")
    file.flush()
    file.seek(0)
    return file if mode == "r+" else open(os.dup(file.fileno()), mode)


def looked_up() -> Any:
    connection = sqlite3.connect(":memory:")
    connection.execute("create table seen (number integer)")
    connection.executemany("insert into seen values (?)", [(each,) for each in range(5)])
    return connection


def inserts(connection: Any) -> Any:
    connection.execute("insert into seen values (0)")
    return connection.execute("select count(*) from seen").fetchone()[0]


def pushes(heap: Any) -> Any:
    heapq.heappush(heap, heap[0] - 1)
    return heap[0], len(heap)


def writes(text: Any) -> Any:
    text.write(text.getvalue()[:1])
    return text.getvalue(), text.tell()


def shared_memory() -> Any:
    tensor = torch.zeros(3)
    return types.SimpleNamespace(array=tensor.numpy()[1:], whole=[tensor])


def writes_the_view(both: Any) -> Any:
    both.array += 1
    return both.whole[0].sum().item()


def mapped() -> Any:
    memory = mmap.mmap(-1, 16)
    memory.write(b"begin")
    return memory


def reads_the_map(memory: Any) -> Any:
    memory[0] += 1
    memory.seek(1, 1)
    return memory[0], memory.tell()


def counts_in_the_module(module: Any) -> Any:
    module.calls += 1
    kept_in_a_module.again = getattr(kept_in_a_module, "again", 0) + 1  # type: ignore[attr-defined]
    return module.calls, kept_in_a_module.again  # type: ignore[attr-defined]


class Calls:
    def __call__(self) -> int:
        global _calls
        _calls += 1
        return _calls


def of_a_thread() -> Any:
    here = threading.local()
    here.count = 5
    return here


#: How it is made, and what a step does with it.
PUT_BACK: dict[str, tuple[Callable[[], Any], Callable[[Any], Any]]] = {
    "deque": (lambda: collections.deque([1], maxlen=3), lambda d: (d.append(sum(d)), list(d))),
    "defaultdict": (lambda: collections.defaultdict(list), lambda d: (d["a"].append(1), len(d["a"]))),
    "Counter": (collections.Counter, lambda c: (c.update("ab"), c["a"])),
    "OrderedDict": (lambda: collections.OrderedDict(a=1, b=2), lambda d: (d.move_to_end(next(iter(d))), list(d))),
    "ChainMap": (lambda: collections.ChainMap({}, {"n": 0}), lambda c: (c.update(n=c["n"] + 1), c["n"])),
    "UserDict": (collections.UserDict, lambda d: (d.update({len(d): 1}), len(d))),
    "heap": (lambda: [3, 5, 7], pushes),
    "set of objects": (lambda: {Holder()}, lambda s: add(next(iter(s)))),
    "frozenset of objects": (lambda: frozenset({Holder()}), lambda s: add(next(iter(s)))),
    "dataclass": (Plain, add),
    "dataclass with slots": (Slotted, add),
    "member of an enum": (lambda: Colour.RED, add),
    "namespace": (types.SimpleNamespace, add),
    "weakref": (lambda: (kept := Holder(), weakref.ref(kept)), lambda pair: add(pair[1]())),
    "only a weakref": (lambda: weakref.ref(_HOLDER), lambda ref: add(ref())),
    "WeakKeyDictionary": (
        lambda: (kept := Holder(), weakref.WeakKeyDictionary({kept: 0})),
        lambda pair: (pair[1].update({pair[0]: pair[1][pair[0]] + 1}), pair[1][pair[0]]),
    ),
    "view of a dict": (lambda: {"a": Holder()}.values(), lambda values: add(next(iter(values)))),
    "mappingproxy": (lambda: types.MappingProxyType({"a": [0]}), lambda proxy: first(proxy["a"])),
    "random.Random": (lambda: random.Random(1), lambda r: r.random()),
    "numpy Generator": (lambda: np.random.default_rng(1), lambda r: r.random()),
    "numpy RandomState": (lambda: np.random.RandomState(1), lambda r: r.rand()),
    "numpy bit generator": (lambda: np.random.PCG64(1), lambda r: int(r.random_raw())),
    "spawned seeds": (
        lambda: np.random.SeedSequence(1), lambda s: int(s.spawn(1)[0].generate_state(1)[0]),
    ),
    "spawned generators": (lambda: np.random.default_rng(1), lambda r: r.spawn(1)[0].random()),
    "torch Generator": (lambda: torch.Generator().manual_seed(1), lambda r: torch.rand(1, generator=r).item()),
    "threading.local": (of_a_thread, add),
    "bytearray": (lambda: bytearray(3), first),
    "memoryview": (lambda: memoryview(bytearray(3)), first),
    "array": (lambda: array.array("d", [0.0]), first),
    "iterator of an array": (lambda: [iter(array.array("d", [1.0, 2.0, 3.0, 4.0]))], lambda box: next(box[0])),
    "mmap": (mapped, reads_the_map),
    "ctypes array": (lambda: (ctypes.c_int * 3)(), first),
    "ctypes number": (lambda: ctypes.c_double(0), lambda c: (setattr(c, "value", c.value + 1), c.value)),
    "numpy view of a tensor": (shared_memory, writes_the_view),
    "numpy array of objects": (lambda: np.array([Holder(), None]), lambda a: add(a[0])),
    "attribute of a numpy array": (lambda: np.zeros(2).view(Grid), add),
    "masked array": (lambda: np.ma.zeros(3), lambda a: (a.__setitem__(a.count() - 1, np.ma.masked), int(a.count()))),
    "tensor's attribute": (lambda: torch.zeros(2), add),
    "StringIO": (lambda: io.StringIO("ab"), writes),
    "BytesIO": (lambda: io.BytesIO(b"ab"), writes),
    "file that is read": (lambda: opened("r"), lambda file: file.readline()),
    "file that is read as bytes": (lambda: opened("rb"), lambda file: file.read(2)),
    "Queue": (lambda: filled(queue.Queue()), lambda q: q.get_nowait()),
    "database that is read": (looked_up, lambda c: (next(_NUMBERS), c.execute("select 1").fetchone())[0]),
    "cache that was empty": (lambda: cached(9, lambda f: None, lambda n: [n]), fills),
    "cache without a limit that was not": (lambda: cached(None, lambda f: f(0), lambda n: [n]), fills),
    "what is in a cache": (lambda: cached(9, lambda f: f(1), lambda n: [n]), fills),
    "what is in a cache without a limit": (lambda: cached(None, lambda f: f(1), lambda n: [n]), fills),
    "cache of numbers to which lists are added": (
        lambda: cached(9, lambda f: f(0), lambda n: [n] if n else n),
        fills,
    ),
    "context variable": (lambda: _VARIABLE, lambda v: (v.set(v.get() + 1), v.get())[1]),
    "another module": (lambda: kept_in_a_module, counts_in_the_module),
    "count that a tuple holds": (lambda: (itertools.count(),), lambda t: next(t[0])),
    "global of a __call__": (Calls, lambda calls: calls()),
    "tee": (lambda: list(itertools.tee(itertools.count())), lambda both: next(both[0])),
    "islice": (lambda: [itertools.islice("abcdefgh", 1, None)], lambda box: next(box[0])),
    "groupby": (lambda: [itertools.groupby("aabbccdd")], lambda box: next(box[0])[0]),
    "accumulate": (lambda: [itertools.accumulate(range(1, 9))], lambda box: next(box[0])),
    "reversed": (lambda: [reversed([1, 2, 3, 4])], lambda box: next(box[0])),
    "zip_longest": (lambda: [itertools.zip_longest("abcd", "ab")], lambda box: next(box[0])),
    "permutations": (lambda: [itertools.permutations("abc")], lambda box: next(box[0])),
}  # fmt: skip
#: The same, and how it is named.
NAMED: dict[str, tuple[Callable[[], Any], Callable[[Any], Any], str]] = {
    "generator": (lambda: (n for n in range(9)), next, "is the generator <genexpr>(), which cannot be rewound"),
    "map of a generator": (lambda: map(str, (n for n in range(9))), next, "is a `map`"),
    "rows of a csv file": (lambda: csv.reader(["a,b", "c,d", "e,f", "g,h"]), next, "is a `_csv.reader`"),
    "matches": (lambda: re.finditer("a", "aaaaaaa"), lambda m: next(m).start(), "is a `callable_iterator`"),
    "rows of a database": (lambda: looked_up().execute("select number from seen"), next, "is a `sqlite3.Cursor`"),
    "numpy's iterator": (lambda: np.arange(9).flat, lambda flat: int(next(flat)), "is a `numpy.flatiter`"),
    "database that is written to": (looked_up, inserts, "rows have been written to the database"),
    "file that is written and read": (
        lambda: opened("r+"), lambda file: (file.write("long"), file.seek(0), len(file.read()), file.seek(0, 2))[2],
        "the file has been written to",
    ),
    "SimpleQueue that is read": (lambda: filled(queue.SimpleQueue()), lambda q: q.get(), "has been read from"),
    "context variable nobody has set": (
        lambda: _UNSET, lambda v: (v.set(v.get(0) + 1), v.get())[1], "without a default cannot be unset",
    ),
    "cache with a limit to which lists are added": (
        lambda: cached(9, lambda f: f(0), lambda n: [n]), fills, "a cache with a limit that was not empty",
    ),
}  # fmt: skip

_HOLDER, _NUMBERS, _calls = None, itertools.count(), 0
_VARIABLE = contextvars.ContextVar("_VARIABLE", default=0)
_UNSET: contextvars.ContextVar[int] = contextvars.ContextVar("_UNSET")


class Holder:
    pass


_HOLDER = Holder()


def filled(waiting: Any) -> Any:
    for number in range(12):
        waiting.put(number)
    return waiting


def uses(make: Callable[[], Any], use: Callable[[Any], Any]) -> Callable[[], Any]:
    thing = make()
    return lambda: use(thing)


@pytest.mark.parametrize("kind", PUT_BACK)
def test_is_put_back(kind: str) -> None:
    start = start_of(uses(*PUT_BACK[kind]))
    runs = []
    for _ in range(3):
        loss: Any = start.begin().loss
        runs.append([loss(None, None) for _ in range(2)])
        assert start.repeatable, start.why_not
    assert start.close() == []
    loss = start.training.loss
    runs.append([loss(None, None) for _ in range(2)])  # what the user finds afterwards
    assert start.close() == []
    assert runs[1:] == runs[:1] * 3
    assert runs[0][0] != runs[0][1]  # it does keep something


@pytest.mark.parametrize("kind", NAMED)
def test_is_named(kind: str) -> None:
    make, use, words = NAMED[kind]
    start = start_of(uses(make, use))
    loss: Any = start.begin().loss
    loss(None, None)
    assert not start.repeatable
    assert words in start.why_not
    assert start.why_not.startswith("cannot start again: `")
    assert start.why_not.endswith("Hand in a function that builds the training")
    assert any(words in name for name in start.close())


def test_a_log_stays_written(tmp_path: Path) -> None:
    with open(tmp_path / "log", "a+") as log:
        start = start_of(lambda: log.write("line\n"))
        for _ in range(2):
            loss: Any = start.begin().loss
            loss(None, None)
            assert start.repeatable
        assert start.close() == []
    assert (tmp_path / "log").read_text() == "line\n" * 2
