"""From markers to test items: which checks a test function asks for, and with which settings."""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Mapping
from typing import Any

import pytest

from ..checks import check as find_check
from ..engine.request import Request
from ..settings import CHECKS, MARKERS, WrongSetting, read_keywords
from . import benchmark
from .stash import CALLS, CHECK, OPTIONS

#: Nobody asks for it by name: parametrizing it is what makes one item of each check.
CHECK_ARGUMENT = "_trainhealth_check"

Marks = Mapping[str, Mapping[str, Any]]


def read_marks(node: pytest.Item) -> Marks:
    """The keywords of each of our markers on the parameter, the function, its class and module; the closest wins."""
    found: dict[str, dict[str, Any]] = {}
    of_parameter = getattr(getattr(node, "callspec", None), "marks", ())
    for mark in (*of_parameter, *node.iter_markers()):
        if mark.name not in MARKERS:
            continue
        if mark.args:
            given = ", ".join(map(repr, mark.args))
            raise WrongSetting(f"{node.nodeid}: {mark.name} takes keywords only, not {mark.name}({given})")
        keywords = read_keywords(mark.name, mark.kwargs, node.nodeid)
        found[mark.name] = {**keywords, **found.get(mark.name, {})}
    return found


def parametrize(metafunc: pytest.Metafunc) -> None:
    """One item of each check. Wrong markers are found here also when they are not going to be enforced."""
    options = metafunc.config.stash[OPTIONS]
    try:
        marks = read_marks(metafunc.definition)
    except WrongSetting as error:
        raise pytest.Collector.CollectError(str(error)) from None
    if options["enabled"]:
        checks = _checks(marks, options["checks"])
        metafunc.fixturenames.append(CHECK_ARGUMENT)
        metafunc.parametrize(CHECK_ARGUMENT, checks, ids=checks)


def check_of(item: pytest.Item) -> str | None:
    callspec = getattr(item, "callspec", None)
    return item.stash.get(CHECK, None) if callspec is None else callspec.params.get(CHECK_ARGUMENT)


def request_for(item: pytest.Item, check: str, keywords: Mapping[str, Any] | None = None) -> Request:
    """What the item wants of the engine. `keywords` are given where there is no marker that could hold them."""
    if keywords is None:
        marks = read_marks(item)
        keywords = {**marks.get("trainhealth", {}), **marks.get(check, {})}
    test, name = test_of(item)
    options = item.config.stash[OPTIONS]
    calls = item.stash.setdefault(CALLS, Counter())
    calls[check] += 1
    return Request(
        check,
        name,
        seed_of(test, options["seed"]),
        options.for_check(check, keywords),
        test=test,
        item=node_id(item),
        call=calls[check] - 1,
        workers=getattr(item.config, "workerinput", {}).get("workercount", 1),
    )


def test_of(item: pytest.Item) -> tuple[str, str]:
    """Node id and name of the test that an item's check belongs to.

    Put together from the parent, because xdist adds a group's name to node ids (before pytest 9.2).
    """
    check = check_of(item)
    name = item.name if check is None else _without(item.name, check)
    return (f"{item.parent.nodeid}::{name}" if item.parent is not None and CHECK not in item.stash else name), name


def node_id(item: pytest.Item) -> str:
    """With the check. Put together from the parent for the same reason."""
    return item.name if CHECK in item.stash or item.parent is None else f"{item.parent.nodeid}::{item.name}"


def _without(name: str, check: str) -> str:
    """'test[gradients_flow]' is 'test'; beside ids of the user's own parameters the check's stands last or first."""
    for ids, rest in ((f"[{check}]", ""), (f"-{check}]", "]")):
        if name.endswith(ids):
            return name.removesuffix(ids) + rest
    return name.replace(f"[{check}-", "[", 1)


def seed_of(test: str, seed: int) -> int:
    """crc32 rather than hash(): the same in every process."""
    return zlib.crc32(f"{seed}:{test}".encode())


def refuse_unsplit(item: pytest.Item) -> None:
    """Markers that pytest did not let us turn into items of their own: failing is better than passing unjudged."""
    __tracebackhide__ = True
    if check_of(item) is None:
        pytest.fail(
            "training health markers work on test functions and plain classes, not on single parameters or on "
            "unittest.TestCase (there, use pytest_trainhealth.diagnose)",
            pytrace=False,
        )


def finish(items: list[pytest.Item]) -> None:
    """What can be said of single items only, once pytest has made them from their function."""
    for item in items:
        check = check_of(item)
        if check is None or not isinstance(item, pytest.Function):
            continue
        _keep_marker(item, check)
        if find_check(check).times_steps and benchmark.why_not(item.config) is None:
            # By name and in time, for `--benchmark-only` looks at these names; and in a list of its own, for the one
            # that it has is shared with the items of the other checks.
            item.fixturenames = [*dict.fromkeys((*item.fixturenames, "benchmark"))]
            # where a test raises, or a revision does not exist, that is the news
            item.add_marker(pytest.mark.filterwarnings("ignore:Benchmark fixture was not used"))


def _keep_marker(item: pytest.Function, check: str) -> None:
    """Of the function's markers only that of the item's check, so that -k and -m select one check and not all."""
    if check not in {mark.name for mark in item.iter_markers()}:
        item.add_marker(check)
    item.own_markers[:] = [mark for mark in item.own_markers if mark.name == check or mark.name not in CHECKS]


def _checks(marks: Marks, battery: tuple[str, ...]) -> tuple[str, ...]:
    wanted = set(marks)
    if "trainhealth" in marks:
        wanted.update(marks["trainhealth"].get("checks", battery))
    return tuple(check for check in CHECKS if check in wanted)
