"""A comparison, along with what the check found by itself: the symptom, the reason why not, or a note."""

from __future__ import annotations

from .. import wording
from ..records.comparison import Comparison
from ..records.judgement import CouldNotJudge, Judgement, Passed
from ..records.symptoms import PERFORMANCE
from ..records.verdict import Symptom


def judge_comparison(comparison: Comparison, passed: Passed) -> Judgement:
    """Where the check has no objection, the comparison decides."""
    known = {**passed.figures, **comparison_figures(comparison)}
    if comparison.outcome == "could not compare":
        return CouldNotJudge(f"not compared with {comparison.revision}: {comparison.reason}", known)
    if comparison.outcome == "too wide":
        spread = f"{comparison.ratio:.2f} x {_interval(comparison)} after {comparison.pairs} pairs"
        wanted = f"slower than {comparison.revision} by more than {_tolerance(comparison)}"
        reason = f"too noisy to tell whether it is {wanted}: {spread}"
        return CouldNotJudge(reason, known)
    if comparison.outcome == "slower":
        headline = found(comparison)
        limit = 1 + comparison.tolerance
        summary = f"{headline}, at most {limit:.2f} x allowed ({times(comparison)})"
        return Symptom(summary, PERFORMANCE, comparison.ratio, limit, "low", headline)
    return Passed((*passed.notes, found(comparison)), known)


def found(comparison: Comparison) -> str:
    """'1.21 x the time of origin/main [1.17, 1.25]', whether that is too long or not."""
    return f"{comparison.ratio:.2f} x the time of {comparison.revision} {_interval(comparison)}"


def times(comparison: Comparison) -> str:
    return f"{_ms(comparison.current)} ms a step, {_ms(comparison.other)} ms at {comparison.revision}"


def _interval(comparison: Comparison) -> str:
    return f"[{comparison.low:.2f}, {comparison.high:.2f}]"


def _tolerance(comparison: Comparison) -> str:
    return wording.share(comparison.tolerance)


def _ms(seconds: float) -> str:
    return wording.short(1e3 * seconds)


def comparison_figures(comparison: Comparison | None) -> dict[str, float | None]:
    """For the verdict, however it comes out."""
    if comparison is None or not comparison.pairs:
        return {}
    return {
        "against_ratio": comparison.ratio,
        "against_low": comparison.low,
        "against_high": comparison.high,
        "against_pairs": float(comparison.pairs),
    }
