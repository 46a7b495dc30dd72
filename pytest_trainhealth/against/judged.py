"""A comparison beside what the check found by itself: the symptom, the reason why not, or a note."""

from __future__ import annotations

from .. import figures
from ..checks import CouldNotJudge, Judgement, Passed
from ..facts import Symptom
from ..records.comparison import Comparison
from ..symptoms import PERFORMANCE


def beside(comparison: Comparison | None, passed: Passed) -> Judgement:
    """Where the check has nothing to object, the comparison decides."""
    if comparison is None:
        return passed
    known = {**passed.figures, **_figures(comparison)}
    if comparison.outcome == "could not compare":
        return CouldNotJudge(f"not compared with {comparison.revision}: {comparison.reason}", known)
    if comparison.outcome == "too wide":
        spread = f"{found(comparison)} after {comparison.pairs} pairs"
        reason = f"too noisy to compare with {comparison.revision}: {spread}, tolerance {_tolerance(comparison)}"
        return CouldNotJudge(reason, known)
    if comparison.outcome == "slower":
        headline = found(comparison, slower=True)
        limit = 1 + comparison.tolerance
        said = f"{headline}, at most {limit:.2f} x wanted ({times(comparison)})"
        return Symptom(said, PERFORMANCE, comparison.ratio, limit, "low", headline)
    note = f"{comparison.ratio:.2f} x the time of {comparison.revision} {_interval(comparison)}"
    return Passed((*passed.notes, note), known)


def found(comparison: Comparison, *, slower: bool = False) -> str:
    """'1.21 x slower than origin/main [1.17, 1.25]', or only the figures."""
    named = f" slower than {comparison.revision}" if slower else ""
    return f"{comparison.ratio:.2f} x{named} {_interval(comparison)}"


def times(comparison: Comparison) -> str:
    return f"{_ms(comparison.here)} ms a step, {_ms(comparison.there)} ms at {comparison.revision}"


def _interval(comparison: Comparison) -> str:
    return f"[{comparison.low:.2f}, {comparison.high:.2f}]"


def _tolerance(comparison: Comparison) -> str:
    return figures.share(comparison.tolerance)


def _ms(seconds: float) -> str:
    return figures.short(1e3 * seconds)


def _figures(comparison: Comparison) -> dict[str, float | None]:
    if not comparison.pairs:
        return {}
    return {
        "against_ratio": comparison.ratio,
        "against_low": comparison.low,
        "against_high": comparison.high,
        "against_pairs": float(comparison.pairs),
    }
