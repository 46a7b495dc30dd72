"""A test that hands in a `Training` or a `History` without any marker, or with one that is misspelt, must not end
green: nobody has judged anything.

Loaded in every run, so it imports next to nothing.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from .. import if_imported
from ..settings import HISTORY_IS_HEALTHY, MARKERS
from .stash import UNMARKED, VERDICTS

#: How much two names have in common, from 0 to 1. By judgement: a letter too many or too few in the shortest marker,
#: `trainhealth`, leaves 0.95, two leave 0.9; names of other meanings are below 0.6.
_ALIKE = 0.85


_COROUTINE = (
    "a coroutine is watched while it trains, and cannot hand in a Training: return it from a test that is no coroutine"
)


def is_lost(item: pytest.Item) -> bool:
    """Whether what the test returns reaches nobody who judges it: no marker, or a coroutine, which has no result."""
    if not isinstance(item, pytest.Function) or item.config.getoption("trace"):  # a debugger would stop in our code
        return False
    return not _marked(item) or inspect.iscoroutinefunction(item.obj)


@contextmanager
def refuse_training(item: pytest.Function) -> Iterator[None]:
    """While pytest runs the test, looks at what that returns.

    Replaces the function as early as this, because plugins that run coroutines drop what those return.
    """
    original = item.obj

    def look_at(returned: object) -> None:
        __tracebackhide__ = True
        kind = next((name for name in ("Training", "History") if _is_a(returned, name)), None)
        if kind is None:
            return
        if _marked(item):
            pytest.fail(_COROUTINE, pytrace=False)
        if not item.stash.get(VERDICTS, None):  # otherwise the fixture has judged, and pytest warns of the rest
            item.stash[UNMARKED] = True
            pytest.fail(_nothing_judged(item, kind), pytrace=False)

    @functools.wraps(original)
    def stand_in(*args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        returned = original(*args, **kwargs)
        look_at(returned)
        return returned

    @functools.wraps(original)
    async def awaited_stand_in(*args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        returned = await original(*args, **kwargs)
        look_at(returned)
        return returned

    item.obj = awaited_stand_in if inspect.iscoroutinefunction(original) else stand_in
    try:
        yield
    finally:
        item.obj = original


def misspelt(node: pytest.Item) -> str | None:
    """Says what is wrong with a marker that nobody has registered and that looks like one of ours."""
    for mark in node.iter_markers():
        meant = None if mark.name in MARKERS else _meant(mark.name, node.config)
        if meant is not None:
            own = "If it is a marker of your own, register it in the configuration"
            return f"there is no marker {mark.name!r}. Did you mean {meant}? ({own})"
    return None


def _marked(item: pytest.Item) -> bool:
    return any(mark.name in MARKERS for mark in item.iter_markers())


def _meant(name: str, config: pytest.Config) -> str | None:
    import difflib

    close = difflib.get_close_matches(name.lower(), MARKERS, n=1, cutoff=_ALIKE)
    registered = {line.partition(":")[0].partition("(")[0].strip() for line in config.getini("markers")}
    return close[0] if close and name not in registered else None


def _is_a(returned: object, name: str) -> bool:
    """A Training, or a History. Where its module is not imported, nobody can have made one."""
    kind = None if returned is None else if_imported(name)
    return kind is not None and isinstance(returned, kind)


def _nothing_judged(item: pytest.Item, kind: str) -> str:
    usual = HISTORY_IS_HEALTHY if kind == "History" else "trainhealth"
    why = misspelt(item) or f"add @pytest.mark.{usual}, or the marker of one check (pytest --markers lists them)"
    return f"the test returns a {kind}, but no marker says what to check, so nothing was judged: {why}"
