"""The one place where a failure is worded: the chart.

ASCII without colour, because the same text goes to the terminal, to JUnit XML and into notebooks. A chart
only ever loses rows: without known lines the places go, without re-runs their table goes, without a cause
the headline is the symptom.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence
from shlex import quote

from ..records.verdict import Certainty, Evidence, Finding, Place, Report, Rerun, Verdict
from ..wording import names
from .advice_text import advice_lines
from .overview import check_rows, stated_once, totals
from .remarks import notes, reasons, remark_lines, short_reason
from .silenced import silenced_lines

#: Where labels and texts begin: the longest label has 9 letters.
_LABEL_COLUMN, _TEXT_COLUMN = 2, 12
#: Columns. By judgement: more is hard to read, and wraps in notebooks.
_WIDTH = 100
#: The three words for how sure a cause is have these meanings and no others.
_MEANING: dict[Certainty, str] = {
    "confirmed": "a re-run with only this cause removed passes",
    "likely": "all of its evidence is there",
    "possible": "part of its evidence is there",
}
#: Lines of each kind. By judgement: a chart of 16 lines is read, a longer one is not.
_MOST_EVIDENCE, _MOST_RERUNS, _MOST_CODE, _MOST_OTHERS = 3, 4, 3, 2
#: Lines that an error came through, the innermost ones. By judgement: who called whom is known further out.
_MOST_LINES = 4


def headline(verdict: Verdict) -> str:
    """One line for every outlet, with the part that one can search for first. Whole: half a sentence misleads."""
    return " ".join(verdict.headline.split())


def shortened(line: str, width: int) -> str:
    """A headline where there is room for `width` columns: whole, or as much as makes sense alone; else nothing.

    What makes sense alone is its first part, the name of the cause or check; what follows is a sentence.
    """
    name = line.partition(":")[0]
    return next((part for part in (line, name) if len(part) <= width), "")


def verdict_text(
    verdict: Verdict, *, width: int = _WIDTH, verbose: bool = False, in_python: bool = False, factory: str = ""
) -> str:
    """The chart of a check that failed or could not judge; one line for one that passed.

    `in_python`: for a reader who did not run pytest. `factory`: the one that the command line names instead of a test.
    """
    if verdict.passed:
        return ": ".join(filter(None, (verdict.check, "passed", verdict.reason)))
    rows = (
        _chart(verdict, verbose, _replay_command(verdict, in_python, factory)) if verdict.failed else _unjudged(verdict)
    )
    return "\n".join([*_wrapped(headline(verdict), width), "", *_laid_out(rows, width)])


def pointer_text(verdict: Verdict, other: str, *, width: int = 100) -> str:
    """In place of a chart that would say once more what the chart of `other` says."""
    finding = verdict.findings[0]
    line = f"{finding.cause}: {finding.certainty} here too, see {other}"
    return line if len(line) <= width else f"{finding.cause}: see {other}"


def report_text(report: Report) -> str:
    """What a notebook shows: how every check went, then one chart for every cause."""
    lines = [f"{report.training}: {totals(report.verdicts)}", ""]
    lines += ["  ".join(["", *row.columns]).rstrip() for row in check_rows(report.verdicts, short_reason)]
    named = [("", verdict) for verdict in report.verdicts]
    lines += [f"  {line}" for line in silenced_lines(named)]
    for label, found in (("not judged", reasons(named)), ("note", notes(named))):
        lines += [f"  {line}" for line in remark_lines(label, found, width=_WIDTH - 2)]
    for verdict, same in stated_once(report.verdicts):
        lines += ["", verdict_text(verdict, in_python=True)]
        if same:
            lines += _laid_out(iter([("same in", [names([each.check for each in same], len(same))])]), _WIDTH)
    if report.advice:
        lines += ["", "advice", *(f"  {line}" for line in advice_lines(report.advice))]
    return "\n".join(lines)


#: Columns that code needs beside its place. By judgement: in less than 20 it is torn to single words.
_CODE = 20


class _Verbatim(str):
    """A line of a table or of the user's code, which must not be re-wrapped."""


class _Line(_Verbatim):
    """A place with the code that stands there. What does not fit goes on below the code, and nothing of it is lost."""

    def within(self, width: int, label_column: str) -> list[str]:
        begins = re.match(r"\s*\S+\s*", self)
        below = " " * (len(label_column) + (begins.end() if begins else 0) + 2)
        if width - len(below) < _CODE:
            return [label_column + self]
        return textwrap.wrap(
            label_column + self, width, subsequent_indent=below, break_long_words=False, break_on_hyphens=False
        )


def _noted(note: str) -> str:
    """Code to paste is indented."""
    return _Verbatim(note) if note.startswith("  ") else note


_Row = tuple[str, Sequence[str]]


def _chart(verdict: Verdict, verbose: bool, replay: str) -> Iterator[_Row]:
    if verdict.symptom is not None:
        yield "symptom", [verdict.symptom.summary, *map(_noted, verdict.notes)]
        places = verdict.symptom.places
        yield "raised", _lines(places if verbose else places[-_MOST_LINES:])
    finding = verdict.findings[0] if verdict.findings else None
    if finding is not None:
        yield "cause", _cause(finding)
        yield "evidence", _capped([_fact(e, finding.places) for e in finding.evidence], _MOST_EVIDENCE, verbose)
    elif verdict.ruled_out:
        yield "cause", [f"none known; ruled out: {names(verdict.ruled_out, len(verdict.ruled_out) if verbose else 4)}"]
    yield "re-runs", [*_reruns(verdict, finding, verbose), *_untried(verdict)]
    if finding is not None:
        if finding.fix is not None and finding.certainty != "possible":
            yield "fix", _instruction(finding.fix.instruction, finding.fix.code)
        if finding.not_this:
            yield "not", [finding.not_this]
        yield "also", _capped([_in_one_row(other) for other in verdict.findings[1:]], _MOST_OTHERS, verbose)
    if verdict.reproducer:
        yield "replay", [_Verbatim(replay)]
    yield "more", [_Verbatim(f"pytest --trainhealth-explain {finding.cause if finding else verdict.check}")]


def _replay_command(verdict: Verdict, in_python: bool, factory: str) -> str:
    if in_python:
        return f"pytest_trainhealth.replay({verdict.reproducer!r}, factory)"
    given = f"--trainhealth-training={quote(factory)} " if factory else ""
    # with an equals sign: without it, pytest would look for its settings beside the file
    return f"pytest {given}--trainhealth-replay={quote(verdict.reproducer)}"


def _unjudged(verdict: Verdict) -> Iterator[_Row]:
    why = "none seen: the check could not judge, and --trainhealth-strict makes that a failure"
    yield "symptom", [why, *verdict.notes]
    yield "more", [_Verbatim(f"pytest --trainhealth-explain {verdict.check}")]


def _cause(finding: Finding) -> list[str]:
    """How sure it is and why: what is wrong stands in the headline."""
    why = finding.why or _MEANING[finding.certainty]
    return [f"{finding.certainty}: {why}", *(_Line(f"  {line}") for line in _lines(finding.places))]


def _lines(places: Sequence[Place]) -> list[str]:
    """Each with its code, the codes below one another."""
    column = max((len(str(place)) for place in places), default=0)
    return [_Line(f"{place!s:<{column}}   {place.code.strip()}".rstrip()) for place in places]


def _fact(evidence: Evidence, places_told: Sequence[Place]) -> str:
    if evidence.place is None or evidence.place in places_told or str(evidence.place) in evidence.text:
        return evidence.text
    return f"{evidence.text} ({evidence.place})"


def _reruns(verdict: Verdict, finding: Finding | None, verbose: bool) -> list[str]:
    """As a table, so that 'this one passes, the others do not' is seen rather than read."""
    own = finding.reruns if finding else ()
    every = list(dict.fromkeys((*own, *verdict.reruns)))
    every.sort(key=lambda rerun: not (rerun.confirms and rerun in own))
    cure = max((len(rerun.cure) for rerun in every), default=0)
    result = max((len(rerun.result) for rerun in every), default=0)
    rows = [
        _Verbatim(f"{rerun.cure:<{cure}}   {rerun.result:<{result}}   {_outcome(rerun, rerun in own)}")
        for rerun in every
    ]
    return _capped(rows, _MOST_RERUNS, verbose)


def _outcome(rerun: Rerun, of_this_cause: bool) -> str:
    if not rerun.healthy:
        return "which confirms the cause" if rerun.confirms and of_this_cause else "still fails"
    return "passes, which confirms the cause" if rerun.confirms and of_this_cause else "passes"


def _untried(verdict: Verdict) -> list[str]:
    return [f"not tried: {names(verdict.untried, 4)}"] if verdict.untried else []


def _instruction(instruction: str, code: Sequence[str]) -> list[str]:
    if not code:
        return [instruction]
    return [f"{instruction.rstrip(':')}:", *(_Verbatim(f"  {line}") for line in code[:_MOST_CODE])]


def _in_one_row(finding: Finding) -> str:
    proof = [evidence.text for evidence in finding.evidence[:1]]
    proof += [f"re-run with {rerun.cure} {_outcome(rerun, True)}" for rerun in finding.reruns[:1]]
    return f"{finding.certainty}: {finding.cause}" + (f" ({'; '.join(proof)})" if proof else "")


def _capped(lines: Sequence[str], most: int, verbose: bool) -> list[str]:
    if verbose or len(lines) <= most:
        return list(lines)
    return [*lines[:most], f"({len(lines) - most:,} more with -vv)"]


def _wrapped(line: str, width: int) -> list[str]:
    """At the width of the rows below it, which are indented like the rest of a long headline."""
    return textwrap.wrap(line, width, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)


def _laid_out(rows: Iterator[_Row], width: int) -> Iterator[str]:
    indent = " " * _TEXT_COLUMN
    # a path or a parameter's name is never broken: it has to stay searchable
    wrapper = textwrap.TextWrapper(width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
    for label, lines in rows:
        label_column = f"{' ' * _LABEL_COLUMN}{label}".ljust(_TEXT_COLUMN)
        for line in lines:
            wrapper.initial_indent = label_column
            if isinstance(line, _Line):
                yield from line.within(width, label_column)
            else:
                yield from [label_column + line] if isinstance(line, _Verbatim) else wrapper.wrap(line)
            label_column = indent
