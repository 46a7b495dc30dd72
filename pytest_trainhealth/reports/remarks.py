"""What checks noted, and why some could not judge: each sentence once, with the checks that it is about."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator

from ..records.verdict import Verdict
from ..wording import names, plural

#: Reasons up to here stand beside their check. By judgement: with its name and outcome a line stays below 100.
BESIDE = 50
#: By judgement: more would be read by nobody; -v shows them all.
_MOST = 6
_INDENT = "  "


def short_reason(verdict: Verdict) -> str:
    """The reason as it stands in the row of its check: nothing where it is told below."""
    return verdict.reason if len(verdict.reason) <= BESIDE else "(see below)"


def reasons(named: Iterable[tuple[str, Verdict]]) -> dict[str, list[str]]:
    """Why checks could not judge, where it is too long to stand beside them; `named`: with the test's title."""
    found: dict[str, list[str]] = {}
    for title, verdict in named:
        if verdict.outcome == "could not judge" and len(verdict.reason) > BESIDE:
            found.setdefault(verdict.reason, []).append(_where(title, verdict))
    return found


def notes(named: Iterable[tuple[str, Verdict]]) -> dict[str, list[str]]:
    """What was noted of checks that did not fail: those of a failure are in its chart, those of a speed by its bar."""
    found: dict[str, list[str]] = {}
    for title, verdict in named:
        shown_with_its_speed = verdict.passed and verdict.figures.get("step_seconds")
        for note in () if verdict.failed or shown_with_its_speed else verdict.notes:
            found.setdefault(note, []).append(_where(title, verdict))
    return found


def _where(title: str, verdict: Verdict) -> str:
    """Outside of pytest there is one training, and no title."""
    return f"{title}[{verdict.check}]" if title else verdict.check


def remark_lines(label: str, found: dict[str, list[str]], *, width: int, all_of_them: bool = False) -> Iterator[str]:
    """'note: the sentence (test_a[gradients_flow] and 3 more)', wrapped, at most a handful."""
    shown = list(found) if all_of_them else list(found)[:_MOST]
    for sentence in shown:
        text = f"{label}: {' '.join(sentence.split())} ({names(found[sentence], most=1)})"
        yield from textwrap.wrap(text, width, subsequent_indent=_INDENT, break_long_words=False, break_on_hyphens=False)
    if len(found) > len(shown):
        yield f"{label}: {plural(len(found) - len(shown), 'other')}, with -v"
