"""What GitHub Actions shows: an annotation beside the user's own line, and a table on the page of the run."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..records.verdict import Verdict
from ..wording import plural
from .overview import explanation, seconds, totals
from .problems import Problem, problems

#: Rows of the table. GitHub refuses a summary of more than 1 MiB; a row has up to 2,500 characters.
_MOST_ROWS = 300


def annotation_lines(verdicts: Sequence[Mapping[str, Any]]) -> list[str]:
    """Lines for the log of a step, which GitHub reads; of more than ten, it shows the first ten: the surest."""
    return [_annotation(problem) for problem in problems(verdicts)]


def _annotation(problem: Problem) -> str:
    fields = {"file": problem.file, "line": str(max(problem.line, 1)), "title": problem.headline}
    given = ",".join(f"{name}={_property(value)}" for name, value in fields.items())
    count = len(problem.tests)
    tests = problem.tests[0] if count == 1 else f"{problem.tests[0]} and {count - 1} more"
    return f"::error {given}::{_message(chr(10).join((*problem.message, f'seen by {tests}')))}"


def _message(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _message(text).replace(":", "%3A").replace(",", "%2C")


def step_summary(verdicts: Sequence[Mapping[str, Any]], errors: Sequence[Mapping[str, str]], *, complete: bool) -> str:
    """Markdown: one line if all is well, else a row for each check that failed or could not judge."""
    judged = [(entry["nodeid"], Verdict.from_json(entry), entry.get("expected", False)) for entry in verdicts]
    lines = ["### Training health", ""]
    if not complete:
        lines += ["**The run did not end: not every test has its outcome.**", ""]
    trainings = Counter(nodeid.partition("[")[0] for nodeid, _, _ in judged)
    taken = seconds(sum(verdict.seconds for _, verdict, _ in judged))
    lines += [f"{totals(verdict for _, verdict, _ in judged)} in {plural(len(trainings), 'test')}, {taken}", ""]
    rows = [*_rows(judged), *_error_rows(errors)]
    if rows:
        lines += [
            "| test | outcome | cause | where | what to do |",
            "| --- | --- | --- | --- | --- |",
            *rows[:_MOST_ROWS],
        ]
        if len(rows) > _MOST_ROWS:
            lines += ["", f"and {len(rows) - _MOST_ROWS:,} more"]
    return "\n".join(lines).rstrip() + "\n\n"


def _rows(judged: Sequence[tuple[str, Verdict, bool]]) -> Iterator[str]:
    worst_first = sorted(judged, key=lambda each: not each[1].failed)
    for nodeid, verdict, expected in worst_first:
        if verdict.passed:
            continue
        finding = verdict.findings[0] if verdict.findings else None
        place = finding.location if finding else None
        outcome = f"{verdict.outcome} (expected)" if expected else verdict.outcome
        fix = " ".join((finding.fix.instruction, *finding.fix.code)) if finding and finding.fix else ""
        yield _row(nodeid, outcome, explanation(verdict), str(place or ""), fix)


def _error_rows(errors: Sequence[Mapping[str, str]]) -> Iterator[str]:
    for error in errors:
        yield _row(error["nodeid"], error["outcome"], error["message"], "", "")


def _row(*cells: str) -> str:
    return f"| {' | '.join(map(_cell, cells))} |"


def _cell(text: str) -> str:
    """Without what Markdown would obey: names are users'."""
    return re.sub(r"([\\`*_\[\]<>|~#@])", r"\\\1", " ".join(text.split()))
