"""How the checks of a training went, in one row each: shared by pytest's summary and by notebooks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from ..records.verdict import Outcome, Verdict
from .one_chart import doubt, one_chart_each

#: Seconds: more would be shown as 100.0 s.
_WITHOUT_TENTHS = 99.95


@dataclass(frozen=True)
class CheckRow:
    """One check, with its columns padded to those of its neighbours."""

    verdict: Verdict
    columns: tuple[str, str, str, str]


def check_rows(verdicts: Sequence[Verdict], why_not: Callable[[Verdict], str] | None = None) -> list[CheckRow]:
    """Reasons for not judging may be long sentences: they stick out rather than widen every row.

    `why_not` words them for this table.
    """
    reasons = [explanation(v) if why_not is None or v.outcome != "could not judge" else why_not(v) for v in verdicts]
    text = [(v.check, _word(v.outcome), why, seconds(v.seconds)) for v, why in zip(verdicts, reasons, strict=True)]
    widths = [max((len(row[column]) for row in text), default=0) for column in range(4)]
    if why_not is None:
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


def stated_once(verdicts: Sequence[Verdict]) -> list[tuple[Verdict, list[Verdict]]]:
    """The failed verdicts of one training that get a chart, the surest first, each with those that point to it."""
    charts = one_chart_each([("", verdict) for verdict in verdicts])
    charts.sort(key=lambda chart: doubt(verdicts[chart.shown]))
    return [(verdicts[chart.shown], [verdicts[number] for number in chart.pointing]) for chart in charts]


def seconds(value: float) -> str:
    return f"{value:.1f} s" if value < _WITHOUT_TENTHS else f"{value:,.0f} s"


def _word(outcome: Outcome) -> str:
    return "not judged" if outcome == "could not judge" else outcome
