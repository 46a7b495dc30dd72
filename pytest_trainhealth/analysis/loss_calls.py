"""What the calls of loss functions show: signs, shapes and values that do not fit. Used by checks and causes."""

from __future__ import annotations

from collections.abc import Iterator
from math import isfinite, log

from .. import wording
from ..records.loss_functions import APPLIES, BINARY, BOUNDED, DIFFERENCES, WITH_CLASSES
from ..records.losses import GeneratorRange, LossCall, Similarity
from ..records.trace import Trace
from ..records.verdict import Place

#: With valid inputs, their value is at least 0.
NEVER_NEGATIVE = {*WITH_CLASSES, *BINARY}
REGRESSIONS = {*DIFFERENCES, "squared difference", "absolute difference"}
#: Share of the data far outside a generator's range: 38 % of a circle for a sigmoid, 0 for a tanh.
_FAR_FROM_THE_DATA = 0.1
#: Measured noise (audio that clips, a rounded 1.0001) lies outside too: one target in fifty is no accident.
OUT_OF_REACH = 0.02
#: All of them should become small. (A log-likelihood of a density may be on either side of 0.)
_TO_BE_SMALL = {*NEVER_NEGATIVE, *REGRESSIONS, "log-likelihood"}
_OF_CLASSES = (*WITH_CLASSES, "log-likelihood")
DIVERGENCE = "KL divergence"
#: By hand. By judgement: the direction of two updates is no chance.
_FEWEST_UPDATES = 2
#: With fewer samples a sum is not far from a mean. By judgement: the same 8 as in loss-reduction.
_FEWEST_SAMPLES = 8
#: Times the first loss, or 1. By judgement: a logarithm of a density of 1e43 for each value.
_WITHOUT_BOUND = 100.0
#: A Gaussian or any other density has logarithms above 0; probabilities do not.
_ABOVE_ZERO = 1e-3
#: Below 0 by rounding: float32 gives 1e-7 for each term of a mean. By judgement 100 times that.
_ROUNDING = 1e-5
#: Targets this far outside of 0 to 1. By judgement: bicubic resizing of a straight edge overshoots by 0.09 (1.5 times
#: the size) to 0.11 (4 times).
_BEYOND_BINARY = 0.1
#: Shorter curves do not show whether they accelerate. By judgement: two halves of ten losses.
_FEWEST_LOSSES = 20
#: Of the loss of a guess. By judgement: half of it takes knowledge, as in analysis/chance.py.
_FAR_BELOW_CHANCE = 0.5
#: What should become large, by the kind of `Similarity`.
SIMILARITIES = {"cosine_similarity": "cosine similarity", "overlap": "overlap"}
#: A mean cosine at the first step. By judgement: an untrained output has about 0 in more than a few dimensions.
_ALIKE = 0.5
#: Of a weight: float32 gives six digits, and another reduction is another whole factor (8 and more). By judgement.
_SAME = 1e-3


def impossible(trace: Trace) -> LossCall | None:
    """A value that the function cannot have with valid inputs."""
    for call in trace.loss.calls:
        value = call.value if call.value is not None else 0.0
        never = call.function in NEVER_NEGATIVE or (call.function == "kl_div" and not_logarithms(call))
        if never and value < -_ROUNDING and isfinite(value):
            return call
    return None


def oddities(trace: Trace) -> str:
    """What is odd about the loss's inputs, though it may fall as it should; '' where nothing is."""
    if trace.applied.to_the_loss:
        return ""
    if flipped(trace) is not None:
        return "backward() follows the negative of a loss"
    if climbed(trace) is not None:
        who = "the loop" if climbs_by_hand(trace) else "the optimizer"
        return f"{who} maximises what should fall"
    if repelled(trace) is not None:
        return "it gets lower as the right class gets further away"
    unlike = made_unlike(trace)
    if unlike is not None:
        return f"it is the {SIMILARITIES[unlike.kind]} of outputs and targets, which should become large"
    if rewarded_divergence(trace) is not None:
        return "it gets lower as the KL divergence grows"
    if punished(trace) is not None:
        return "it gets lower as rewarded actions become less likely"
    if unbounded(trace):
        return "it falls without bound"
    for call in trace.loss.calls:
        if broadcasts(call):
            return f"{call.function} compares {call.input.shape} with {call.target.shape}"
        if call.function == "nll_loss" and not_logarithms(call):
            return f"nll_loss is given values up to {wording.short(call.input.high)}, which are not log-probabilities"
        if call.function in NEVER_NEGATIVE and call.classes is None and _far_from_binary(call):
            return f"{call.function} is given targets outside 0 to 1"
    return ""


def _far_from_binary(call: LossCall) -> bool:
    """Masks that were resized smoothly go a little beyond 0 and 1, and do no harm."""
    return call.target.low < -_BEYOND_BINARY or call.target.high > 1 + _BEYOND_BINARY


def bounded(trace: Trace) -> bool:
    """A loss's inputs give it a floor: scores from a bounded function, targets out of reach."""
    return any(
        (call.function in REGRESSIONS and call.unreachable > OUT_OF_REACH)
        or (call.function in APPLIES and call.activation in BOUNDED)
        or (call.invalid and call.function not in NEVER_NEGATIVE)
        or shares_one(call)
        for call in trace.loss.calls
    )


def shares_one(call: LossCall) -> bool:
    """A softmax shares 1 among labels although a row may have any number of them."""
    return (
        call.function == "binary_cross_entropy"
        and call.activation == "softmax"
        and (call.over or 0) > 1
        and not call.over_batch
        and (call.target.low, call.target.high, call.target.whole) == (0, 1, True)
        and call.target.shape == call.input.shape
        and not call.target.probabilities
    )


def several_labels(call: LossCall) -> bool:
    """Zeros and ones of the scores' own shape, whose rows do not sum to one."""
    return (
        call.function == "cross_entropy"
        and call.target.shape == call.input.shape
        and call.target.dtype.startswith(("float", "bfloat"))
        and call.target.whole
        and (call.target.low, call.target.high) == (0, 1)
        and not call.target.probabilities
    )


def any_number_of_labels(trace: Trace) -> int | None:
    """The most labels in a row, where other rows have none: from those `cross_entropy` learns nothing.

    Without such rows, zeros and ones may be the choices of a customer, who has at least one (a multinomial likelihood).
    """
    sums = [c.target.row_sums for c in trace.loss.calls if several_labels(c) and c.target.row_sums is not None]
    most = max((high for _, high in sums), default=0.0)
    return int(most) if most >= 2 and min(low for low, _ in sums) == 0 else None


def one_column(trace: Trace) -> LossCall | None:
    return next(
        (c for c in trace.loss.calls if c.function in ("cross_entropy", "log_softmax") and c.classes == 1), None
    )


def one_class_left(trace: Trace) -> LossCall | None:
    """Of two classes that labels have, the loss ignores one: whoever always names the other is right.

    Padding is a class more than those that are to be told apart, so that two are left where it is ignored. With three
    outputs and more an ignored one may be padding, the background or what nobody knows.
    """
    calls = [c for c in trace.loss.calls if c.classes == 2 and c.ignored_class is not None and not c.invalid]
    both = [c for c in calls if c.target.low == 0 and c.target.high == 1 and 0 < c.ignored < 1]
    return both[0] if both and len(calls) == len([c for c in trace.loss.calls if c.place == both[0].place]) else None


def tells_both_apart(trace: Trace, last: float) -> bool:
    """With a cure that lets both classes count: the loss is half of that at chance, which follows from their shares."""
    call = one_class_left(trace)
    if call is None:
        return False
    at_chance = -sum(share * log(share) for share in (call.ignored, 1 - call.ignored))
    return last < at_chance / 2


def not_logarithms(call: LossCall) -> bool:
    """Log-probabilities are 0 at most."""
    return call.input.high > _ABOVE_ZERO


def raw_scores(call: LossCall) -> bool:
    """A loss of log-probabilities that gets something else; of such inputs it can be anything, far below 0 too."""
    return call.function in ("nll_loss", "kl_div") and not_logarithms(call) and not call.error


def broadcasts(call: LossCall) -> bool:
    """(N, 1) against (N,): each value of one side is compared with every value of the other."""
    return (
        call.function in (*REGRESSIONS, "difference", "product")
        and call.input.shape != call.target.shape
        and _without_ones(call.input.shape) == _without_ones(call.target.shape) != ()
        and (call.terms or _size(call.result_shape)) > _size(call.input.shape)
    )


def flipped(trace: Trace) -> LossCall | None:
    """The one loss of a plain training comes with the opposite sign."""
    if climbs(trace):
        return None
    found = [c for c in _sole(trace) if c.weight is not None and _near(c.weight, -1, -c.terms)]
    return next((c for c in (*found, *_all_negative(trace)) if not _learnt(c)), None)


def _all_negative(trace: Trace) -> list[LossCall]:
    """Log-likelihoods that make up the whole loss, all with the wrong sign: of the rows and of the columns, of yes and
    of no, or one whose samples have weights of their own."""
    calls = [c for c in trace.loss.calls if c.step == 0] if _plain(trace) else []
    whole = calls and all(c.complete and c.function == "log-likelihood" and _falls(c) for c in calls)
    return calls if whole else []


def _falls(likelihood: LossCall) -> bool:
    return likelihood.rises or (likelihood.weight or 0.0) < 0


def climbed(trace: Trace) -> LossCall | None:
    """The only loss of a plain training is maximised."""
    return next((c for c in _sole(trace) if c.weight is not None and c.weight > 0), None) if climbs(trace) else None


def made_unlike(trace: Trace) -> Similarity | None:
    """The loss is nothing but the likeness of outputs and targets, and backward() makes it smaller.

    Outputs that are already alike may be meant to become unlike (unlearning, an attack).
    """
    found = trace.loss.similarities if _plain(trace) and not climbs(trace) else []
    wrong = [s for s in found if s.rises and not (s.kind == "cosine_similarity" and s.level > _ALIKE)]
    return wrong[0] if wrong and len(wrong) == len(found) else None


def repelled(trace: Trace) -> LossCall | None:
    """Distances are the scores of a softmax, so that the class that is furthest away is the likeliest."""
    if climbs(trace) or not _plain(trace):
        return None
    calls = [c for c in trace.loss.calls if c.weight is not None and c.function in _OF_CLASSES]
    wrong = [c for c in calls if c.distances and c.sole and (c.weight or 0.0) > 0]
    return wrong[0] if wrong and len(wrong) == len(calls) else None


def punished(trace: Trace) -> LossCall | None:
    """Log-probabilities times their rewards are added to the loss, where they should be subtracted."""
    if climbs(trace):
        return None
    calls = [c for c in trace.loss.calls if c.function == "reward" and c.weight is not None]
    return calls[0] if calls and all(c.weight is not None and c.weight > 0 for c in calls) else None


def unbounded(trace: Trace) -> bool:
    """Far below 0, and faster and faster. A density that becomes sharp falls too, but by a logarithm, so slower and
    slower; and a check stops long before, at a tenth of the first loss. Where a loss gets raw scores for
    log-probabilities, they are the reason, and its sign is right.
    """
    losses = [x for x in trace.losses if isfinite(x)]
    if len(losses) < _FEWEST_LOSSES or not _plain(trace) or climbs(trace) or any(map(raw_scores, trace.loss.calls)):
        return False
    first, middle, last = losses[0], losses[len(losses) // 2], losses[-1]
    return last < -_WITHOUT_BOUND * max(1.0, abs(first)) and last - middle < 2 * (middle - first) < 0


def climbs(trace: Trace) -> bool:
    active = [o for o in trace.wiring.optimizers.values() if o.steps]
    return all(o.maximize for o in active) if active else climbs_by_hand(trace)


def climbs_by_hand(trace: Trace) -> bool:
    """Nothing but the loop moves parameters, and each time along their gradients. Sharpness-aware steps climb only half
    of the time."""
    updates = trace.wiring.hand_updates
    return updates >= _FEWEST_UPDATES and trace.wiring.hand_climbs == updates


def _sole(trace: Trace) -> Iterator[LossCall]:
    """Several backward passes or optimizers in one step: each may have reasons of its own."""
    if _plain(trace):
        yield from (c for c in trace.loss.calls if c.sole and c.function in _TO_BE_SMALL)


def _plain(trace: Trace) -> bool:
    return (
        max(trace.backwards[:2], default=0) == 1 and sum(bool(o.steps) for o in trace.wiring.optimizers.values()) <= 1
    )


def _learnt(call: LossCall) -> bool:
    """Far below chance from the start: what was learnt may be meant to be forgotten (unlearning, an attack)."""
    if call.function == "log-likelihood" and call.part is not None and call.weight:
        return -call.part < _FAR_BELOW_CHANCE * log(2) * abs(call.weight)
    if call.classes is None or call.value is None:
        return False
    return call.value < _FAR_BELOW_CHANCE * log(max(call.classes, 2))


def scale(call: LossCall) -> float | None:
    """Which multiple of the mean over all terms backward() was called on: 1 for a mean, the number of terms for a
    sum."""
    if call.weight is None:
        return None
    return call.weight * (call.terms if call.reduction == "sum" else 1)


def compares_samples(trace: Trace) -> bool:
    """Each sample is a class of its own, and has one score with each sample: how alike the two are.

    How far such a loss can fall is not known, because likeness has bounds: cosines at a temperature of 0.5 leave about
    1.6 for 32 samples. With scores that a layer makes there would be as many classes as samples by chance only, and
    each of them once.
    """
    weighed = [call for call in trace.loss.calls if call.weight is not None]
    return bool(weighed) and all(_own_class(call) for call in weighed)


def _own_class(call: LossCall) -> bool:
    each_once = call.target.whole and call.target.distinct == call.samples == call.classes
    square = call.input.shape == (call.samples, call.samples)
    return square and each_once and call.samples >= _FEWEST_SAMPLES and not call.smoothing


def squashed_twice(call: LossCall) -> bool:
    """A softmax over the samples of a batch is another fault, and a sigmoid before cross_entropy too."""
    if call.function not in APPLIES or call.over_batch or call.over == 1:
        return False
    return call.activation == "softmax" or (call.activation == "sigmoid" and APPLIES[call.function] == "sigmoid")


def mixed_probabilities(trace: Trace) -> LossCall | None:
    """A loss that wants scores gets a mix of probabilities, at every call that was seen.

    A row of several classes has to sum to 1: a sigmoid before cross_entropy is another fault.
    """
    calls = [c for c in trace.loss.calls if c.function in APPLIES and c.mixed]
    for call in calls:
        alike = [c for c in calls if (c.function, c.place) == (call.function, call.place)]
        if all(_are_probabilities(c) for c in alike):
            return call
    return None


def _are_probabilities(call: LossCall) -> bool:
    given = call.input
    return 0 <= given.low <= given.high <= 1 and (APPLIES[call.function] == "sigmoid" or given.probabilities)


def cannot_imitate(trace: Trace) -> GeneratorRange | None:
    """A generator's output cannot reach much of the data that its adversary sees, at two steps."""
    found = [i for i in trace.loss.generator_ranges if i.outside > _FAR_FROM_THE_DATA]
    return next((i for i in found if any(o.step != i.step and o.layer == i.layer for o in found)), None)


def rewarded_divergence(trace: Trace) -> LossCall | None:
    """An ELBO whose KL term has the wrong sign. (A capacity to be reached, |KL - C|, is no sum of the two alone.)"""
    if climbs(trace):
        return None
    return next((kl for kl, _ in elbo(trace) if (kl.weight or 0.0) < 0), None)


def summed_divergence(trace: Trace) -> tuple[LossCall, LossCall] | None:
    """An ELBO whose KL term is summed over the samples and whose reconstruction is their mean, with that call."""
    for kl, other in elbo(trace):
        of_kl, of_other = (kl.weight or 0.0) / kl.terms, (scale(other) or 0.0) / other.terms
        averaged = _near(of_other, 1 / other.samples, 1 / other.terms)
        if kl.samples == other.samples >= _FEWEST_SAMPLES and _near(of_kl, 1) and averaged:
            return kl, other
    return None


def elbo(trace: Trace) -> Iterator[tuple[LossCall, LossCall]]:
    """KL terms, each with the one error term next to it, where the loss consists of these two alone."""
    for step in (0, 1) if _plain(trace) else ():
        calls = [c for c in trace.loss.calls if c.step == step and c.complete]
        kl = [c for c in calls if c.function == DIVERGENCE]
        others = [c for c in calls if c.function in _TO_BE_SMALL and (c.weight or 0.0) > 0 and c.terms]
        if len(calls) == 2 and len(kl) == len(others) == 1:
            yield kl[0], others[0]


def _near(value: float, *others: float) -> bool:
    return any(abs(value - other) <= _SAME * abs(other) for other in others)


def _without_ones(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(n for n in shape if n != 1)


def _size(shape: tuple[int, ...]) -> int:
    size = 1
    for n in shape:
        size *= n
    return size


def made_at(call: LossCall, trace: Trace) -> Place | None:
    """Where the activation function was called, or its module made."""
    module = trace.wiring.modules.get(call.activation_module)
    return call.activation_place or (module.place if module is not None else None)


def places(*found: Place | None) -> tuple[Place, ...]:
    return tuple(dict.fromkeys(p for p in found if p is not None))


def between(low: float, high: float) -> str:
    return f"between {wording.short(low)} and {wording.short(high)}"
