"""How the checks of a training went, in one row each: shared by pytest's summary and by notebooks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ..records.verdict import Outcome, Verdict

_SUREST_FIRST = ("confirmed", "likely", "possible")
#: Seconds: more would be shown as 100.0 s.
_WITHOUT_TENTHS = 99.95


@dataclass(frozen=True)
class CheckRow:
    """One check, with its columns padded to those of its neighbours."""

    verdict: Verdict
    columns: tuple[str, str, str, str]


def check_rows(verdicts: Sequence[Verdict]) -> list[CheckRow]:
    """Reasons for not judging may be long sentences: they stick out rather than widen every row."""
    text = [(v.check, _word(v.outcome), explanation(v), seconds(v.seconds)) for v in verdicts]
    widths = [max((len(row[column]) for row in text), default=0) for column in range(4)]
    widths[2] = max((len(explanation(v)) for v in verdicts if v.outcome != "could not judge"), default=0)
    return [
        CheckRow(verdict, (f"{a:<{widths[0]}}", f"{b:<{widths[1]}}", f"{c:<{widths[2]}}", f"{d:>{widths[3]}}"))
        for verdict, (a, b, c, d) in zip(verdicts, text, strict=True)
    ]


def explanation(verdict: Verdict) -> str:
    """The cause and how sure it is, in the words of the chart."""
    if verdict.findings:
        return f"{verdict.findings[0].cause} ({verdict.findings[0].certainty})"
    if verdict.symptom is not None and verdict.explains_itself:
        return verdict.symptom.headline
    return "no known cause fits" if verdict.failed else verdict.reason


def totals(verdicts: Iterable[Verdict]) -> str:
    """'2 failed, 1 passed': failures first, without outcomes that did not occur."""
    counted = Counter(verdict.outcome for verdict in verdicts)
    outcomes: tuple[Outcome, ...] = ("failed", "passed", "could not judge")
    return ", ".join(f"{counted[outcome]:,} {outcome}" for outcome in outcomes if counted[outcome]) or "no checks"


def stated_once(verdicts: Iterable[Verdict]) -> list[Verdict]:
    """Failed verdicts, the surest for each cause: one cause is one fix, however many checks noticed it."""
    surest: dict[str, Verdict] = {}
    for verdict in verdicts:
        if verdict.failed:
            key = main_cause(verdict) or verdict.check
            surest[key] = min(surest.get(key, verdict), verdict, key=_doubt)
    return sorted(surest.values(), key=_doubt)


def main_cause(verdict: Verdict) -> str | None:
    return verdict.findings[0].cause if verdict.findings else None


def seconds(value: float) -> str:
    return f"{value:.1f} s" if value < _WITHOUT_TENTHS else f"{value:,.0f} s"


def _doubt(verdict: Verdict) -> tuple[int, int]:
    if not verdict.findings:
        return len(_SUREST_FIRST), 0
    return _SUREST_FIRST.index(verdict.findings[0].certainty), verdict.findings[0].rank


def _word(outcome: Outcome) -> str:
    return "not judged" if outcome == "could not judge" else outcome
