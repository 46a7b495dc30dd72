"""A comparison as the verdict of a check, for those who ask for it with a marker."""

from __future__ import annotations

from ..checks import check as find_check
from ..engine.request import Request
from ..records.improvement import Improvement
from ..records.judgement import CouldNotJudge, Passed
from ..records.trace import Trace
from ..records.verdict import Symptom, Verdict


def verdict_of(found: Improvement | None, request: Request) -> Verdict:
    check, steps = find_check(request.check), 0 if found is None else found.steps
    judgement = check.judge(Trace(), {**request.values, "improvement": found}, {})
    if isinstance(judgement, Passed):
        notes, figures = judgement.notes, judgement.figures
        return Verdict(check.name, request.name, "passed", notes=notes, figures=figures, steps=steps)
    if isinstance(judgement, CouldNotJudge):
        notes = () if found is None else found.notes
        return Verdict(
            check.name, request.name, "could not judge", judgement.reason, notes=notes, figures=judgement.figures,
            steps=steps,
        )  # fmt: skip
    assert isinstance(judgement, Symptom)
    assert found is not None
    return Verdict(
        check.name,
        request.name,
        "failed",
        symptom=judgement,
        notes=found.notes,
        figures={"change": found.change, "low": found.low, "high": found.high},
        steps=steps,
    )
