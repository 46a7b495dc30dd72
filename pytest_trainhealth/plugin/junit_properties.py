"""What a JUnit file can hold of a verdict besides its message: properties of the test case."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..records.verdict import Verdict


def junit_properties(verdicts: Iterable[Verdict]) -> Iterator[tuple[str, str]]:
    """Names begin with `trainhealth`: they stand beside those of the user's own `record_property`."""
    for verdict in verdicts:
        yield "trainhealth_check", verdict.check
        yield "trainhealth_outcome", verdict.outcome
        if verdict.reason:
            yield "trainhealth_reason", verdict.reason
        if verdict.findings:
            first = verdict.findings[0]
            yield "trainhealth_cause", first.cause
            yield "trainhealth_certainty", first.certainty
            if first.location:
                yield "trainhealth_place", str(first.location)
        yield "trainhealth_seed", str(verdict.seed)
        if verdict.reproducer:
            yield "trainhealth_reproducer", verdict.reproducer
