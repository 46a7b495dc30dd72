"""improves_on: the training is better than another one, beyond what seeds explain

What it does
    Runs the training of `before=`, a function or a `Training`, and the one that the test returns, with the same 5 seeds
    and for 200 steps each, and measures both on `val_data` now and then. `trainhealth.compare(before, after)` is the
    same as a function, with curves, and takes a `measure=` of your own.

When it fails
    It is worse: its validation loss is larger by more than 10 %, and the interval of 95 % over the seeds says that this
    is not by chance; or it ends in NaN where the other does not.

What is not an alarm
    No difference beyond noise, and one of less than 10 %: nothing was shown then, so it could not judge. Passing takes
    a validation loss that is better by more than 10 %, no NaN, and no more overfitting. Without `val_data` both are
    judged by the training loss, and the notes say so. Each side is measured by its own loss: where the same weights
    give other losses on the same batches, nothing is compared.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..records.improvement import Improvement
from ..records.judgement import NO_CONTROLS, CouldNotJudge, FailedRun, Judgement, Passed
from ..records.symptoms import WORSE
from ..records.trace import Trace
from ..records.verdict import Symptom

SIGNALS: tuple[str, ...] = ()
ONE_BATCH = False
BLAMES_RATES = False
BESIDE_ANOTHER = True
#: By judgement: what a change is worth shows in 200 steps, as many as overfits_one_batch takes.
STEPS = 200
#: With each of two trainings. By judgement: 5 seeds give an interval that 12 would make half as wide.
SEEDS = 5


def judge(trace: Trace, settings: Mapping[str, Any], controls: Mapping[str, Trace] = NO_CONTROLS) -> Judgement:
    found: Improvement | None = settings.get("improvement")
    if found is None:
        return CouldNotJudge("it needs a training to compare with: before= names the function that builds it")
    figures = {"change": found.change, "low": found.low, "high": found.high}
    if found.fixed:
        return Passed((found.summary, *found.notes), figures)
    if not found.worse:
        missing = [words for words, shown in found.demands if shown is False and found.better]
        return CouldNotJudge("; not shown: ".join([found.summary, *missing]), figures)
    words = found.summary.partition(": ")[2]
    return Symptom(words, WORSE, -(found.change or 0.0), 0.0, "high", f"worse than before: {words.partition(' (')[0]}")


def result(trace: Trace, failed_run: FailedRun | None = None) -> str:
    return ""
