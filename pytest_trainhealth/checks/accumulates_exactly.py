"""accumulates_exactly: several small batches give the gradient of one large one

What it does
    Where updates are made of several backward passes, it takes up to 24 steps, and compares the gradient of each update
    with the one that a single batch of all its samples has. That one is put together from what each pass adds, weighted
    by the number of its terms: samples, pixels, tokens that are not ignored; or, where a loss is a quotient of sums as
    a soft Dice is, from the sums of all passes. A training that does not accumulate has a
    batch cut into parts, whose gradients are compared with that of the whole, in eval mode.

When it fails
    The two gradients differ: losses that were not divided by the number of passes; a mean over the tokens of each pass,
    divided by the number of passes, where passes have different numbers of tokens; a last pass with fewer samples; a
    quotient over all samples of a pass, where one batch would have one over all of its samples; an advantage or a
    target that the loss standardises over whatever is in the batch; a sum over the samples that is added to a mean over
    them, so that how the two are weighed depends on the size of a batch.

What is not an alarm
    Dropout and BatchNorm, which differ between a batch and its parts; losses that are sums; passes over losses of
    different kinds. Losses that compare outputs of samples with one another, or draw random numbers, are not judged.
    For a training that does not accumulate, a mean over tokens is no fault yet: `micro_batches=k` says that it is to be
    accumulated from k parts, and makes it one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from .. import wording
from ..analysis.run_failures import broke_down
from ..analysis.summed_terms import averaged, summed_beside_means
from ..records.intervention import Cure
from ..records.judgement import NO_CONTROLS, CouldNotJudge, FailedRun, Judgement, NeedsControl, Passed
from ..records.state import CutRecord, PassesRecord
from ..records.symptoms import UNEQUAL
from ..records.trace import Trace
from ..records.verdict import Symptom

SIGNALS = ("passes",)
ONE_BATCH = False
BLAMES_RATES = False
#: The run, and one whose batch is cut: 2.
RUNS = 2
#: By judgement: with 8 passes for each update, 3 updates; and the end of a short epoch.
STEPS = 24
#: Parts of a batch, where nobody says how many. By judgement: 2 show whether they add up.
PARTS = 2
#: The difference of two gradients as a share of one of them, up to which they are the same. Of 37 healthy programs that
#: can be cut, none has more than 3e-7; means over tokens, which are something else, were seen from 0.04 on.
LIMIT = 1e-3

#: The same for quotients, which an epsilon in each of them makes inexact. By judgement: an epsilon of 1 beside sums of
#: 100 and more.
LIMIT_OF_QUOTIENTS = 0.01

CUT = "the batch cut into parts"


def judge(trace: Trace, settings: Mapping[str, Any], controls: Mapping[str, Trace] = NO_CONTROLS) -> Judgement:
    broken = broke_down(trace)
    if broken is not None:
        return broken
    if not trace.state.passes:
        return _not_accumulating(trace, settings, controls)
    known = [each for each in trace.state.passes if each.one_loop and each.clean and math.isfinite(each.error)]
    if not known:
        return CouldNotJudge(_why_not(trace.state.passes[0]))
    known = [each for each in known if each.kind != "unknown"]
    if not known:
        return CouldNotJudge(
            "what the losses of the backward passes are made of is not known: no mean or sum ends them"
        )
    worst = max(known, key=lambda each: each.error / _limit(each))
    if worst.error <= _limit(worst):
        return Passed(figures={"largest_error": worst.error, "updates": float(len(known))})
    return Symptom(_summary(worst), UNEQUAL, worst.error, _limit(worst), "high", _headline(worst))


def _why_not(first: PassesRecord) -> str:
    if not first.one_loop:
        return "the backward passes of an update come from different lines: they are meant to add up"
    if not first.clean:
        return "gradients are left from the update before: see gradients_flow"
    return "the gradient is 0"


def _limit(each: PassesRecord) -> float:
    return LIMIT_OF_QUOTIENTS if each.kind == "quotient" else LIMIT


def _summary(worst: PassesRecord) -> str:
    if worst.kind == "quotient":
        return (
            f"the gradient of {worst.passes} backward passes points elsewhere than that of one batch, by "
            f"{wording.share(worst.error)} of its size (at most {wording.share(LIMIT_OF_QUOTIENTS)} allowed)"
        )
    return (
        f"the gradient of {worst.passes} backward passes is {wording.short(worst.ratio)} times as large as that of one "
        f"batch, and differs by {wording.share(worst.error)} (at most {wording.share(LIMIT)} allowed)"
    )


def _headline(worst: PassesRecord) -> str:
    return f"{worst.passes} backward passes do not add up to one batch"


def _not_accumulating(trace: Trace, settings: Mapping[str, Any], controls: Mapping[str, Trace]) -> Judgement:
    if not trace.state.splittable:
        return CouldNotJudge("each update has one backward pass: nothing is accumulated. A loss= can be cut into parts")
    requested = settings.get("micro_batches")
    other = controls.get(CUT)
    if other is None:
        return NeedsControl(Cure("cut_batches", CUT, {"count": requested or PARTS}))
    cut = other.state.cut
    if cut is None or cut.why_not:
        return CouldNotJudge(
            (cut.why_not if cut is not None else "") or other.cut_short or "too few steps: 4 are needed"
        )
    return _judge_cut(cut, requested)


def _judge_cut(cut: CutRecord, requested: int | None) -> Judgement:
    figures = {"from_mean": cut.from_mean, "from_sum": cut.from_sum}
    if cut.by_chance > LIMIT:
        return CouldNotJudge(
            "the loss draws random numbers, in eval mode too: a batch and its parts draw others", figures
        )
    if cut.from_mean <= LIMIT:
        return Passed(figures=figures)
    if cut.from_sum <= LIMIT:
        return Passed(("the loss is a sum: accumulate it without dividing by the number of parts",), figures)
    summed = summed_beside_means(cut)
    if cut.from_any > LIMIT and summed:
        sums = wording.names([each.name for each in summed.values()])
        summary = (
            f"no weights make {cut.parts} parts of a batch the batch, by {wording.share(cut.from_any)} (at most "
            f"{wording.share(LIMIT)} allowed): the loss adds a sum over the samples ({sums}) to a mean over them "
            f"({wording.names(averaged(cut))})"
        )
        return Symptom(summary, UNEQUAL, cut.from_any, LIMIT, "high", "the loss adds a sum to a mean over the samples")
    if cut.from_any > LIMIT and cut.mixed_by:
        fields = wording.names([f"batch{name}" for name in cut.mixed_by])
        summary = (
            f"{cut.parts} parts of a batch have other gradients than the batch, by {wording.share(cut.from_any)} (at "
            f"most {wording.share(LIMIT)} allowed): the loss computes something over all samples of {fields}"
        )
        return Symptom(summary, UNEQUAL, cut.from_any, LIMIT, "high", f"{fields} depends on what else is in the batch")
    if cut.from_any > LIMIT:
        return CouldNotJudge("the loss compares samples with one another: no weights make the parts the whole", figures)
    weights = wording.names([wording.short(each) for each in cut.weights], most=4)
    summary = (
        f"the mean of {cut.parts} parts of a batch has another gradient than the batch, by "
        f"{wording.share(cut.from_mean)} (at most {wording.share(LIMIT)} allowed): the batch is {weights} of its parts"
    )
    if requested is None:
        advice = "say micro_batches=k if you accumulate from k parts"
        return CouldNotJudge(f"nothing is accumulated, and {summary}; {advice}", figures)
    return Symptom(summary, UNEQUAL, cut.from_mean, LIMIT, "high", f"{cut.parts} parts do not add up to one batch")


def result(trace: Trace, failed_run: FailedRun | None = None) -> str:
    known = [each for each in trace.state.passes if each.kind != "unknown" and math.isfinite(each.error)]
    if not known:
        return "nothing to compare"
    worst = max(known, key=lambda each: each.error / _limit(each))
    return "the gradient of one batch" if worst.error <= _limit(worst) else f"differs by {wording.share(worst.error)}"
