"""pytest's summary section "training health". Colour is added here and nowhere else."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import pytest

from ..records.verdict import Verdict
from ..settings import CHECKS, IMPROVES_ON, MATCHES_BASELINE
from ..wording import plural
from .advice_text import advice_lines
from .one_chart import main_cause, one_chart_each
from .overview import check_rows, seconds, totals
from .remarks import notes, reasons, remark_lines, short_reason
from .silenced import Offered, silenced_lines, unused_lines
from .sparkline import sparkline
from .speed_bar import speed_lines
from .titles import title, titles

if TYPE_CHECKING:
    from ..plugin.session_results import CheckedItem, SessionResults

_COLOURS = {"failed": "red", "passed": "green", "could not judge": "yellow"}

#: Columns: remarks are sentences, and no narrower than this even where pytest's other lines are. By judgement.
_NARROWEST = 60

#: Pieces of a line, each with its colour.
_Line = list[tuple[str, str | None]]


def write_summary(reporter: pytest.TerminalReporter, results: SessionResults, *, whole: bool = False) -> None:
    """`whole`: all tests were asked for, so that what was of no use is known."""
    tests = _by_test(results.checked)
    talkative, verbose = reporter.verbosity >= 0, reporter.verbosity > 0
    width = max(reporter.config.get_terminal_writer().fullwidth, _NARROWEST)
    lines = [*_table(tests, talkative, verbose), *_speeds(tests, talkative), *_of_comparisons(tests), *_advice(tests)]
    lines += _closing_lines(tests, results.unenforced)
    lines += _silenced(tests, results, whole=whole and results.complete and not results.errors)
    if talkative:
        lines += _remarks(tests, width, verbose)
    if not lines:
        return
    reporter.section("training health", sep="-")
    for line in lines:
        for text, colour in line:
            reporter.write(text, **({colour: True} if colour else {}))
        reporter.line("")


def _table(tests: dict[str, list[CheckedItem]], with_healthy: bool, verbose: bool) -> Iterator[_Line]:
    """One line for a healthy training (none under -q), one for each check otherwise; with -v the course of its loss."""
    verdicts = {test: [Verdict.from_json(e.verdict) for e in found] for test, found in tests.items()}
    healthy = {test for test, found in verdicts.items() if all(verdict.passed for verdict in found) and not verbose}
    rows = iter(
        check_rows([verdict for test in tests if test not in healthy for verdict in verdicts[test]], short_reason)
    )
    labels = _labels([test for test in tests if with_healthy or test not in healthy])
    for test, label in labels.items():
        if test in healthy:
            passed = verdicts[test]
            checks, took = ", ".join(v.check for v in passed), seconds(sum(v.seconds for v in passed))
            yield [(f"{label}   ", None), (totals(passed), "green"), (f"   {checks}   {took}", None)]
            continue
        for checked in tests[test]:
            row = next(rows)
            check, outcome, explanation, took = row.columns
            colour = "yellow" if checked.xfailed else _COLOURS[row.verdict.outcome]
            expected = "   (expected)" if checked.xfailed else ""
            course = sparkline(_course(row.verdict)) if verbose else ""
            rest = f"   {explanation}   {took}{expected}{'   ' if course else ''}{course}"
            yield [(f"{label}   {check}  ", None), (outcome, colour), (rest, None)]
            label = " " * len(label)


def _course(verdict: Verdict) -> tuple[float, ...]:
    recorded = verdict.recorded
    return () if recorded is None or recorded.losses is None else recorded.losses.values


def _speeds(tests: dict[str, list[CheckedItem]], talkative: bool) -> Iterator[_Line]:
    """How fast the trainings are whose speed was measured."""
    found = [
        (test, Verdict.from_json(e.verdict))
        for test in tests
        for e in tests[test]
        if e.verdict["figures"].get("step_seconds")
    ]
    labels = _labels([test for test, _ in found])
    for line in speed_lines([(labels[test], verdict) for test, verdict in found] if talkative else []):
        yield [(line, None)]


def _of_comparisons(tests: dict[str, list[CheckedItem]]) -> Iterator[_Line]:
    """What was written, does otherwise though it matches, or was gained: a pass shows its notes nowhere else."""
    for test, found in tests.items():
        for e in found:
            compares = e.verdict["check"] in (MATCHES_BASELINE, IMPROVES_ON) and e.verdict["outcome"] == "passed"
            for note in e.verdict["notes"] if compares else ():
                yield [(f"{test.rpartition('::')[2]}: {note}", None)]


def _advice(tests: dict[str, list[CheckedItem]]) -> Iterator[_Line]:
    """Whatever the verbosity: somebody has asked for it."""
    for test, found in tests.items():
        advice = [each for e in found for each in Verdict.from_json(e.verdict).advice]
        if advice:
            yield [(f"advice for {test.rpartition('::')[2]}", None)]
            for line in advice_lines(advice):
                yield [(f"  {line}", None)]


def _closing_lines(tests: dict[str, list[CheckedItem]], unenforced: int) -> Iterator[_Line]:
    for found in tests.values():
        for line in _shared_causes(found):
            yield [(line, None)]
    # what is silenced was judged: it is counted by itself
    unjudged = sum(
        e.verdict["outcome"] == "could not judge" and not e.verdict.get("silenced") for f in tests.values() for e in f
    )
    if unjudged:
        yield [(f"{plural(unjudged, 'check')} could not judge (a failure with --trainhealth-strict)", "yellow")]
    if unenforced:
        yield [(f"{plural(unenforced, 'marker')} not enforced: run pytest --trainhealth", "yellow")]


def _silenced(tests: dict[str, list[CheckedItem]], results: SessionResults, *, whole: bool) -> Iterator[_Line]:
    """Never left out, not even with -q: what does not fail has to be seen."""
    found = [(e.test, Verdict.from_json(e.verdict)) for each in tests.values() for e in each]
    for line in silenced_lines(found):
        yield [(line, "yellow")]
    for line in unused_lines(found, [Offered(*each) for each in results.offered]) if whole else ():
        yield [(line, "yellow")]


def _remarks(tests: dict[str, list[CheckedItem]], width: int, verbose: bool) -> Iterator[_Line]:
    labels = titles(list(tests))
    named = [(labels[test], Verdict.from_json(e.verdict)) for test, found in tests.items() for e in found]
    for label, found in (("not judged", reasons(named)), ("note", notes(named))):
        for line in remark_lines(label, found, width=width, all_of_them=verbose):
            yield [(line, None)]


def _shared_causes(found: Sequence[CheckedItem]) -> Iterator[str]:
    """One cause, one fix, however many checks noticed it."""
    failed = [(e, Verdict.from_json(e.verdict)) for e in found]
    for chart in one_chart_each([(e.test, verdict) for e, verdict in failed]):
        if chart.pointing:
            (shown, verdict), failures = failed[chart.shown], plural(1 + len(chart.pointing), "failure")
            yield f"1 cause explains {failures}: {main_cause(verdict)}, see {title(shown.nodeid)}"


def _by_test(checked: Sequence[CheckedItem]) -> dict[str, list[CheckedItem]]:
    """In the order in which tests first reported; their checks always in the same order, as under -n."""
    tests: dict[str, list[CheckedItem]] = {}
    for e in checked:
        tests.setdefault(e.test, []).append(e)
    order = list(CHECKS)
    return {test: sorted(found, key=lambda e: order.index(e.verdict["check"])) for test, found in tests.items()}


def _labels(tests: Sequence[str]) -> dict[str, str]:
    labels = titles(tests)
    widest = max(map(len, labels.values()), default=0)
    return {test: label.ljust(widest) for test, label in labels.items()}
