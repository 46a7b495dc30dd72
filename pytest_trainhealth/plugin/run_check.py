"""Turns an item into a verdict, and a verdict into an outcome: passed, failed, or skipped with the reason."""

from __future__ import annotations

import functools
import inspect
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from .. import if_imported
from ..checks import check as find_check
from ..engine.request import DoesNotApply, Request
from ..records.verdict import Verdict
from ..settings import HISTORY_IS_HEALTHY, WrongSetting
from .benchmark import BenchmarkTimer
from .benchmark import fixture as benchmark_fixture
from .first_output import first_output_kept
from .items import check_of, marked_by, request_for
from .outcomes import NOT_ENFORCED, NOTHING_TO_CHECK, NotApplicable, NotJudged, Unhealthy, misused
from .replay_option import with_reproducers
from .stash import CHECK, FACTORY, OPTIONS, SHOW, VAL_DATA, VERDICTS, WIDTH

if TYPE_CHECKING:
    from ..engine.shared_results import SharedResults

_NO_VAL_DATA = "the training has no val_data"
_COROUTINE = (
    "a coroutine can be watched only where a plugin such as pytest-asyncio runs it: install that, or write `def` "
    "instead of `async def`"
)
#: The widest chart; more is hard to read and wraps in CI logs. By judgement.
_WIDEST = 100


@contextmanager
def intercept_call(item: pytest.Function) -> Iterator[None]:
    """While pytest calls the test, replaces it by a function that uses what the test returns.

    Replaces the test itself rather than the call, so that plugins that call tests in their own way (for asyncio, say)
    keep working.
    """
    original = item.obj
    check = check_of(item)
    called = False
    if check is None and inspect.iscoroutinefunction(original):
        yield  # left to the plugin that runs coroutines; nothing is enforced on it
        return

    @functools.wraps(original)
    def stand_in(*args: Any, **kwargs: Any) -> None:
        __tracebackhide__ = True
        nonlocal called
        called = True
        if inspect.iscoroutinefunction(original):
            pytest.fail(_COROUTINE, pytrace=False)
        body = functools.partial(original, *args, **kwargs)
        if check is not None:
            enforce(item, check, body)
        else:
            leave_unenforced(item, body)

    item.obj = stand_in
    try:
        yield
    finally:
        item.obj = original
    if not called:
        pytest.fail("the test was called in a way that keeps its training health from being judged", pytrace=False)


def enforce(item: pytest.Function, check: str, body: Callable[[], object]) -> None:
    __tracebackhide__ = True
    try:
        request = request_for(item, check)
    except WrongSetting as error:
        raise misused(error) from None
    with first_output_kept(item.config, body) as heard:
        verdict = _verdict(item, request, heard, lambda: item.funcargs["benchmark"])
    report_outcome(item, verdict)


def judge_item(item: pytest.Item, request: Request, subject: Any, benchmark: Callable[[], Any] | None) -> None:
    """An item that is there for one check."""
    __tracebackhide__ = True
    report_outcome(item, _verdict(item, request, subject, benchmark))


def _verdict(item: pytest.Item, request: Request, subject: Any, benchmark: Callable[[], Any] | None) -> Verdict:
    __tracebackhide__ = True
    try:
        return run_check(item.config, request, subject, benchmark)
    except DoesNotApply:
        raise NotApplicable(_NO_VAL_DATA) from None
    except pytest.fail.Exception as error:
        if str(error).startswith(NOTHING_TO_CHECK) and (whose := marked_by(item)):
            raise misused(ValueError(f"{error}. {whose}")) from None
        raise


def leave_unenforced(item: pytest.Item, body: Callable[[], object]) -> None:
    """Runs the body nevertheless, so that every run notices a test that breaks."""
    __tracebackhide__ = True
    returned = body()
    if returned is None:
        return
    # A Training can only exist if the user has imported its module, and torch with it.
    kind_of_training = if_imported("Training")
    of_training = kind_of_training is not None and isinstance(returned, kind_of_training)
    if of_training or any(item.iter_markers(HISTORY_IS_HEALTHY)):
        raise NotJudged(NOT_ENFORCED)
    kind = type(returned).__name__
    pytest.fail(f"a test with a training health marker returns a Training or nothing, not {kind}", pytrace=False)


def run_check(
    config: pytest.Config,
    request: Request,
    subject: Any,
    benchmark: Callable[[], Any] | None,
    shared: SharedResults | None = None,
) -> Verdict:
    """`benchmark` returns the fixture, and is called only if that is going to measure; None if there is none."""
    __tracebackhide__ = True
    serving = config.pluginmanager.get_plugin("trainhealth-side")
    if serving is not None:  # a comparison started this process to serve the training, not to judge it
        served: Verdict = serving.serve(request, subject)
        return served
    check = find_check(request.check)
    if check.reads_history:
        return _judge_log(request, subject)
    fixture, reason = benchmark_fixture(config, benchmark) if check.times_steps else (None, None)
    if reason is not None:
        if benchmark is not None and callable(subject):
            subject()  # so that a test that breaks is still noticed
        return Verdict(request.check, request.name, "could not judge", reason, seed=request.seed)
    if fixture is not None:
        timed_steps = request.values.get("steps") or check.steps
        request = replace(request, timer=BenchmarkTimer(fixture, timed_steps))
    request = replace(request, show=config.stash.get(SHOW, None))
    if (request.values.get("against") or check.in_ranks) and "::" in request.test:
        from ..revisions.test_locator import of_test

        request = replace(request, locator=of_test(config, request.test))
    seen = config.stash.setdefault(VAL_DATA, {})
    if request.only_with_val_data and seen.get(request.test) is False:
        raise DoesNotApply
    from ..engine.shared_results import SharedResults
    from ..examine import NotATraining, examine  # imports torch: only for runs that have such tests

    shared = SharedResults() if shared is None else shared
    try:
        verdict = examine(subject, with_reproducers(request, config), shared)
        if request.advice is not None:
            from ..examine import advised

            verdict = advised(verdict, subject, request)
    except DoesNotApply:
        raise
    except (NotATraining, WrongSetting) as error:
        raise misused(error) from None
    except Exception as error:
        if config.getoption("fulltrace"):
            raise
        from ..observe.source.user_frames import hide_our_frames

        raise hide_our_frames(error)  # noqa: B904 - it is the same error
    if shared.has_val_data is not None:
        seen[request.test] = shared.has_val_data
    return verdict


def _judge_log(request: Request, subject: Any) -> Verdict:
    """Imports no torch: whoever looks at a log does not wait for it."""
    __tracebackhide__ = True
    from ..engine.finished_run import NotAHistory, UnreadableHistory, examine_log

    try:
        return examine_log(subject, request)
    except (NotAHistory, UnreadableHistory) as error:
        raise misused(error) from None


def report_outcome(item: pytest.Item, verdict: Verdict) -> Verdict:
    """Returns a verdict that passed, raises one that failed. If it could not judge: skips, or with `strict` raises."""
    __tracebackhide__ = True
    note_verdict(item, verdict)
    if verdict.passed:
        return verdict
    if verdict.failed or (item.config.stash[OPTIONS]["strict"] and not verdict.silenced):
        from ..reports.text import verdict_text

        verbose, width = item.config.get_verbosity() > 1, chart_width(item.config)
        factory = item.config.stash[FACTORY].spec if CHECK in item.stash and FACTORY in item.config.stash else ""
        raise Unhealthy(verdict, verdict_text(verdict, width=width, verbose=verbose, factory=factory))
    raise NotJudged(f"{verdict.check} could not judge: {verdict.reason}")


def note_verdict(item: pytest.Item, verdict: Verdict) -> None:
    """Keeps the verdict for the item's report, which brings it to the summary and into every file."""
    item.stash.setdefault(VERDICTS, []).append(verdict)


def chart_width(config: pytest.Config) -> int:
    """The width of the controller's terminal, in xdist workers too, so that texts are the same with and without -n."""
    workerinput = getattr(config, "workerinput", {})
    # while a test is captured nobody can ask the terminal for its width, so it was asked before
    known = workerinput.get("trainhealth_width") or config.stash.get(WIDTH, None)
    width = known or shutil.get_terminal_size((_WIDEST, 24)).columns
    return int(min(max(width, 60), _WIDEST))
