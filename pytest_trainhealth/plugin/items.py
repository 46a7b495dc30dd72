"""From markers to test items: which checks a test function requests, and with which settings."""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any

import pytest

from ..checks import check as find_check
from ..engine.request import AdviceRequest, Request
from ..reports.titles import title
from ..settings import CHECKS, HISTORY_IS_HEALTHY, MARKERS, RANKS_AGREE, WITH_VAL_DATA, WrongSetting, read_keywords
from . import benchmark
from .silencing import silencings_for
from .stash import ADVISED, CALLS, CHECK, IF_VAL_DATA, OPTIONS

#: No test takes this argument: parametrizing it makes one item for each check.
CHECK_ARGUMENT = "_trainhealth_check"
#: One has no training, the other has it in processes of its own.
_WITHOUT_ADVICE = (HISTORY_IS_HEALTHY, RANKS_AGREE)

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
        found[mark.name] = _closer(found.get(mark.name, {}), keywords)
    return found


def _closer(closer: Mapping[str, Any], farther: Mapping[str, Any]) -> dict[str, Any]:
    """Both, where the closer wins; tables such as `ignore=` are put together."""
    tables = {n: {**farther[n], **closer[n]} for n in closer if n in farther and isinstance(closer[n], Mapping)}
    return {**farther, **closer, **tables}


def parametrize(metafunc: pytest.Metafunc) -> None:
    """Makes one item for each check. Reports wrong markers even if they are not going to be enforced."""
    options = metafunc.config.stash[OPTIONS]
    try:
        marks = read_marks(metafunc.definition)
    except WrongSetting as error:
        raise pytest.Collector.CollectError(str(error)) from None
    if options["enabled"]:
        checks = _checks(marks, options["checks"], whole="checks" not in options.given)
        metafunc.fixturenames.append(CHECK_ARGUMENT)
        metafunc.parametrize(CHECK_ARGUMENT, checks, ids=checks)


def check_of(item: pytest.Item) -> str | None:
    callspec = getattr(item, "callspec", None)
    return item.stash.get(CHECK, None) if callspec is None else callspec.params.get(CHECK_ARGUMENT)


def request_for(item: pytest.Item, check: str, keywords: Mapping[str, Any] | None = None) -> Request:
    """The item's request to the engine. `keywords` replace those of markers, for checks requested without a marker."""
    if keywords is None:
        marks = read_marks(item)
        keywords = _closer(marks.get(check, {}), marks.get("trainhealth", {}))
    test, name = test_of(item)
    options = item.config.stash[OPTIONS]
    calls = item.stash.setdefault(CALLS, Counter())
    calls[check] += 1
    values = options.for_check(check, keywords)
    if find_check(check).keeps_baseline:
        from .baseline_paths import baseline_of

        values["baseline"] = str(baseline_of(item, test, calls[check], values["baseline"]))
    return Request(
        check,
        name,
        seed_of(test, options["seed"]),
        values,
        test=test,
        item=node_id(item),
        call=calls[check] - 1,
        workers=getattr(item.config, "workerinput", {}).get("workercount", 1),
        only_with_val_data=item.stash.get(IF_VAL_DATA, False),
        expected_errors=_expected_errors(item),
        advice=advice_for(item) if options["advise"] and check not in _WITHOUT_ADVICE else None,
        silencings=silencings_for(item, check, test, keywords),
    )


def advice_for(item: pytest.Item) -> AdviceRequest | None:
    """Once for each training: with the first of its checks that is selected, or the first that its test asks for."""
    tests = (each for each in item.session.items if test_of(each)[0] == test_of(item)[0])
    if next(tests, item) is not item or item.stash.get(ADVISED, False):
        return None
    item.stash[ADVISED] = True
    from .advice_options import advice_options

    return advice_options(item.config)


def _expected_errors(item: pytest.Item) -> tuple[type[BaseException], ...]:
    """What `xfail(raises=...)` names: a chart in place of it would turn the expected failure into an unexpected one."""
    named = [mark.kwargs["raises"] for mark in item.iter_markers("xfail") if "raises" in mark.kwargs]
    kinds = [kind for each in named for kind in (each if isinstance(each, tuple) else (each,))]
    return tuple(kind for kind in kinds if isinstance(kind, type) and issubclass(kind, BaseException))


def test_of(item: pytest.Item) -> tuple[str, str]:
    """Node id and name (with its class) of the test that an item's check belongs to.

    Built from the parent's node id, because xdist adds a group's name to the item's own (before pytest 9.2).
    """
    check = check_of(item)
    name = item.name if check is None else _without(item.name, check)
    if item.parent is None or CHECK in item.stash:
        return name, name
    test = f"{item.parent.nodeid}::{name}"
    return test, title(test)


def node_id(item: pytest.Item) -> str:
    """The node id with the check. Built from the parent's for the same reason."""
    return item.name if CHECK in item.stash or item.parent is None else f"{item.parent.nodeid}::{item.name}"


def _without(name: str, check: str) -> str:
    """'test[gradients_flow]' becomes 'test'. Among ids of the user's own parameters, the check comes last or first."""
    for ids, rest in ((f"[{check}]", ""), (f"-{check}]", "]")):
        if name.endswith(ids):
            return name.removesuffix(ids) + rest
    return name.replace(f"[{check}-", "[", 1)


def seed_of(test: str, seed: int) -> int:
    """The same wherever pytest is started. Folders of a node id do not count: they are those between pytest's root
    directory and the file, and which that is depends on the arguments and on which configuration files lie around.

    Uses crc32 rather than hash(), because it is the same in every process.
    """
    file, separator, names = test.partition("::")
    return zlib.crc32(f"{seed}:{PurePosixPath(file).name}{separator}{names}".encode())


_WORK_ON = "training health markers work on test functions and plain classes, not on"
_TEST_CASE = (
    f"{_WORK_ON} unittest.TestCase, whose methods pytest cannot split into checks: move the test out of it, or call "
    "pytest_trainhealth.diagnose(make_training) there and assert that the report is healthy"
)
_SINGLE_PARAMETER = f"{_WORK_ON} single parameters: mark the function"


def marked_by(item: pytest.Item) -> str:
    """Whose marker asks for the check, where it is not the test's own; for those who did not mean this test."""
    check = check_of(item)
    nodes = [node for node, mark in item.iter_markers_with_node() if mark.name in ("trainhealth", check)]
    farther = [node for node in nodes if node is not item]
    if not farther or len(nodes) - len(farther) > 1:
        return ""
    where = "its class" if isinstance(farther[0], pytest.Class) else "the pytestmark of its file"
    return f"The marker comes from {where}: mark the tests that train instead"


def refuse_unsplit(item: pytest.Item) -> None:
    """Fails if pytest did not let us turn a marker into items of its own: that is better than passing unjudged."""
    __tracebackhide__ = True
    if isinstance(item, pytest.DoctestItem):  # a marker of its module, meant for the tests there
        item.warn(pytest.PytestWarning("a doctest is not watched: training health markers work on test functions"))
    elif check_of(item) is None:
        of_unittest = isinstance(getattr(item, "cls", None), type) and hasattr(item.cls, "assertEqual")  # type: ignore[attr-defined]
        pytest.fail(_TEST_CASE if of_unittest else _SINGLE_PARAMETER, pytrace=False)


def finish(items: list[pytest.Item]) -> None:
    """What can only be done on single items, once pytest has made them from their function."""
    for item in items:
        check = check_of(item)
        if check is None or not isinstance(item, pytest.Function):
            continue
        _keep_marker(item, check)
        if find_check(check).times_steps and benchmark.why_not(item.config) is None:
            # Added by name and this early because `--benchmark-only` looks at these names; and in a new list because
            # the old one is shared with the items of the other checks.
            item.fixturenames = [*dict.fromkeys((*item.fixturenames, "benchmark"))]
            # if the test raises, or a revision does not exist, that is what matters
            item.add_marker(pytest.mark.filterwarnings("ignore:Benchmark fixture was not used"))


def _keep_marker(item: pytest.Function, check: str) -> None:
    """Keeps only the marker of the item's own check, so that -k and -m select one check and not all."""
    if check not in {mark.name for mark in item.iter_markers()}:
        item.add_marker(check)
        chosen = "checks" in read_marks(item).get("trainhealth", {}) or not item.config.stash[OPTIONS].whole_battery
        item.stash[IF_VAL_DATA] = check in WITH_VAL_DATA and not chosen
    item.own_markers[:] = [mark for mark in item.own_markers if mark.name == check or mark.name not in CHECKS]


def _checks(marks: Marks, battery: tuple[str, ...], *, whole: bool) -> tuple[str, ...]:
    """`whole`: nobody has chosen the checks of the battery."""
    wanted = set(marks)
    if "trainhealth" in marks:
        wanted.update(marks["trainhealth"].get("checks", (*battery, *WITH_VAL_DATA) if whole else battery))
    return tuple(check for check in CHECKS if check in wanted)
