"""One line for each training whose speed was measured: the figures, and what a step consists of as a bar. ASCII."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ..records.speed import PHASES
from ..records.verdict import Verdict
from ..wording import short

#: Columns. By judgement: with speed and label next to it a line stays below 100.
_WIDTH = 24
_LETTERS = {"wait": "w", "transfer": "t", "forward": "f", "backward": "b", "optimizer": "o", "rest": "."}


def speed_lines(measured: Sequence[tuple[str, Verdict]]) -> Iterator[str]:
    """`measured`: the label of a test, with its verdict on speed."""
    known = [(label, verdict) for label, verdict in measured if verdict.figures.get("step_seconds")]
    rows = [(label, *_row(verdict.figures)) for label, verdict in known]
    widths = [max((len(row[column]) for row in rows), default=0) for column in range(4)]
    for (label, speed, step, bar, text), (_, verdict) in zip(rows, known, strict=True):
        yield f"{label:<{widths[0]}}   {speed:>{widths[1]}}   {step:>{widths[2]}}   {bar}  {text}"
        if verdict.passed:
            yield from (f"{'':<{widths[0]}}   {note}" for note in verdict.notes)


def _row(figures: Mapping[str, float | None]) -> tuple[str, str, str, str]:
    samples, tokens = figures.get("samples_per_second"), figures.get("tokens_per_second")
    known = {name: figures.get(f"{name}_ms") or 0.0 for name in PHASES}
    text = _describe(known) + (f"   {short(tokens)} tokens/s" if tokens else "")
    step = f"{short(1e3 * (figures['step_seconds'] or 0.0))} ms a step"
    return f"{short(samples)} samples/s" if samples else "-", step, bar(known), text


def bar(phases: Mapping[str, float]) -> str:
    """|wwwwffffffbbbbbbbbbbo...|: a letter for each part of the whole. Rounded so that the parts add up."""
    total = sum(phases.values()) or 1.0
    drawn, done = "", 0.0
    for name, value in phases.items():
        done += value
        drawn += _LETTERS[name] * (round(_WIDTH * done / total) - len(drawn))
    return f"|{drawn:<{_WIDTH}}|"


def _describe(phases: Mapping[str, float]) -> str:
    """'wait 4 %, forward 30 %, ...': what is too small to be drawn is left out."""
    total = sum(phases.values()) or 1.0
    shares = {name: 100 * value / total for name, value in phases.items()}
    return ", ".join(f"{name} {share:.0f} %" for name, share in shares.items() if share >= 1)
