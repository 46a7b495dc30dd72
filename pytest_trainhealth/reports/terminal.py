"""pytest's summary section "training health". Colour is added here and nowhere else."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import pytest

from ..records.verdict import Verdict
from ..settings import CHECKS, IMPROVES_ON, MATCHES_BASELINE
from ..wording import plural
from .advice_text import advice_lines
from .overview import check_rows, main_cause, seconds, stated_once, totals
from .speed_bar import speed_lines

if TYPE_CHECKING:
    from ..plugin.session_results import CheckedItem, SessionResults

_COLOURS = {"failed": "red", "passed": "green", "could not judge": "yellow"}

#: Pieces of a line, each with its colour.
_Line = list[tuple[str, str | None]]


def write_summary(reporter: pytest.TerminalReporter, results: SessionResults) -> None:
    tests = _by_test(results.checked)
    talkative = reporter.verbosity >= 0
    lines = [
        *_table(tests, talkative),
        *_speeds(tests, talkative),
        *_told(tests),
        *_advice(tests),
        *_closing_lines(tests, results.unenforced),
    ]
    if not lines:
        return
    reporter.section("training health", sep="-")
    for line in lines:
        for text, colour in line:
            reporter.write(text, **({colour: True} if colour else {}))
        reporter.line("")


def _table(tests: dict[str, list[CheckedItem]], with_healthy: bool) -> Iterator[_Line]:
    """One line for a healthy training (none under -q), one for each check otherwise."""
    verdicts = {test: [Verdict.from_json(e.verdict) for e in found] for test, found in tests.items()}
    healthy = {test for test, found in verdicts.items() if all(verdict.passed for verdict in found)}
    rows = iter(check_rows([verdict for test in tests if test not in healthy for verdict in verdicts[test]]))
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
            yield [(f"{label}   {check}  ", None), (outcome, colour), (f"   {explanation}   {took}{expected}", None)]
            label = " " * len(label)


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


def _told(tests: dict[str, list[CheckedItem]]) -> Iterator[_Line]:
    """What was written, does otherwise though it matches, or was gained: a pass shows its notes nowhere else."""
    for test, found in tests.items():
        for e in found:
            told = e.verdict["check"] in (MATCHES_BASELINE, IMPROVES_ON) and e.verdict["outcome"] == "passed"
            for note in e.verdict["notes"] if told else ():
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
    unjudged = sum(e.verdict["outcome"] == "could not judge" for found in tests.values() for e in found)
    if unjudged:
        yield [(f"{plural(unjudged, 'check')} could not judge (a failure with --trainhealth-strict)", "yellow")]
    if unenforced:
        yield [(f"{plural(unenforced, 'marker')} not enforced: run pytest --trainhealth", "yellow")]


def _shared_causes(found: Sequence[CheckedItem]) -> Iterator[str]:
    """One cause, one fix, however many checks noticed it."""
    failed = [(e, Verdict.from_json(e.verdict)) for e in found if e.verdict["outcome"] == "failed"]
    for words in stated_once([verdict for _, verdict in failed]):
        cause = main_cause(words)
        same = [(e, verdict) for e, verdict in failed if main_cause(verdict) == cause]
        if cause is not None and len(same) > 1:
            nodeid = next(e.nodeid for e, verdict in same if verdict is words)
            yield f"1 cause explains {plural(len(same), 'failure')}: {cause}, see {nodeid.rpartition('::')[2]}"


def _by_test(checked: Sequence[CheckedItem]) -> dict[str, list[CheckedItem]]:
    """In the order in which tests first reported; their checks always in the same order, as under -n."""
    tests: dict[str, list[CheckedItem]] = {}
    for e in checked:
        tests.setdefault(e.test, []).append(e)
    order = list(CHECKS)
    return {test: sorted(found, key=lambda e: order.index(e.verdict["check"])) for test, found in tests.items()}


def _labels(tests: Sequence[str]) -> dict[str, str]:
    """The test's name alone, with its path where another has the same name."""
    short = {test: test.rpartition("::")[2] for test in tests}
    names = list(short.values())
    labels = {test: name if names.count(name) == 1 else test for test, name in short.items()}
    widest = max(map(len, labels.values()), default=0)
    return {test: label.ljust(widest) for test, label in labels.items()}
