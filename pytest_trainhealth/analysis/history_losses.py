"""Faults that the course of a training loss shows: it never moved, it went back up, its swings grow."""

from __future__ import annotations

from itertools import pairwise
from math import exp, log

from .. import wording
from ..records.history import History
from ..records.symptoms import INSTABILITY, NOT_LEARNING
from ..records.verdict import Evidence
from .history_curve import Curve
from .history_fault import HistoryFault
from .history_limits import (
    ENOUGH_FOR_A_PASS,
    ENOUGH_FOR_A_SHAPE,
    GIVEN_BACK,
    beyond_noise,
    ends_at_its_best,
    has_gained,
)
from .history_roles import Roles

#: Of the level: so still, in its course and from one value to the next, is no loss whose weights change. By judgement:
#: rounding to three digits leaves 0.0005 of a loss of 1; healthy runs that hardly learn have noise of 0.02 and more.
_STILL = 0.002
#: Around ln(k), and around 1 / k. By judgement: neighbours are 5 % apart up to 20 classes, and both have to fit.
_AT_CHANCE, _NEAR_CHANCE = 0.02, 0.2
#: Classes. By judgement: beyond that the logarithms lie too close together.
_MOST_CLASSES = 1000
#: Of its best, where nothing was gained for sure, or where nobody can tell noise from wandering: what it rose by. By
#: judgement: as in lr-too-high.
_ROSE = 0.5
#: Values. By judgement: of fewer, a running mean and noise cannot be told apart.
_ENOUGH_TO_KNOW_NOISE = 1000
#: The noise of the last third against the quieter one of those before. Healthy shapes in which it matters have at most
#: 2.0, by chance; as a rule noise falls with the loss and with the rate.
_SWINGS_GROW = 3.0
#: Of what was gained, the noise at the end. By judgement: below that it does not matter.
_SWINGS_MATTER = 0.2
#: Values, for thirds that say something about noise. By judgement: ten jumps each.
_ENOUGH_FOR_THIRDS = 30
#: Values, for windows that are longer than a swing. By judgement: thirds of a hundred, with windows of thirty.
_ENOUGH_FOR_SLOW_SWINGS = 300
#: Values that training and validation have in common, for their jumps to be compared. By judgement: with 15 jumps a
#: correlation of 0.7 comes about once in 500 times by chance.
_ENOUGH_TOGETHER = 16
#: Of the jumps of training and validation. Where batches make the noise, those of a set that never changes have nothing
#: to do with them: of 273 healthy pairs, those with large jumps have at most 0.24. Where weights are thrown about, both
#: jump at once.
_TOGETHER = 0.7
#: Of the level, the median jump of both. By judgement: as for one batch in loss_curve.py.
_LARGE_JUMPS = 0.2
#: Of the steps of the run, at its end. By judgement: a warm restart is over after its cycle.
_RECENT = 0.25
#: The rate goes up again by this factor in a warm restart, and not above where it was before. By judgement.
_RESTART, _AS_BEFORE = 2.0, 1.5
#: Times its first entry, for a loss that grows with nearly each entry (and the share of those), for one that does not,
#: and for one that may be below 0. By judgement: of 63 healthy shapes none ends above 3 times its first entry, but for
#: those that begin near 0.
_TEN_TIMES, _NEARLY_EACH, _THOUSAND_TIMES, _MILLION_TIMES = 10.0, 0.8, 1000.0, 1e6
#: Entries for that. By judgement: 3, of which the last is a thousand times the first.
_ENOUGH_TO_BLOW_UP = 3
#: Words in the names of what makes a loss another one as it changes.
_ANNEALED = ("beta", "weight", "lambda", "anneal", "curriculum", "difficulty", "coef", "alpha", "mixup", "sigma")


def still(history: History, roles: Roles) -> HistoryFault | None:
    """The same value from the first entry to the last. One of exactly 0 says nothing: advantages have a mean of 0."""
    if roles.loss is None or len(roles.loss) < ENOUGH_FOR_A_SHAPE:
        return None
    loss, scores = Curve(roles.loss), [Curve(each, -1) for each in (roles.score, roles.val_score) if each is not None]
    size = abs(loss.end)
    moves = loss.spread > _STILL * size or loss.noise > _STILL * size or max(loss.series.swings) > _STILL * size
    if not size or moves or any(has_gained(score) for score in scores):
        return None
    count = wording.plural(len(loss), "entry").replace("entrys", "entries")
    change = loss.spread / size
    return HistoryFault(
        "still", NOT_LEARNING, "high",
        f"{loss.series.name} stays at {wording.loss(loss.end)} over {count}: it moves by {wording.share(change)} of "
        f"its level (a loss that learns moves by more than {wording.share(_STILL)})",
        f"{loss.series.name} stays at {wording.loss(loss.end)} for the whole run",
        change, _STILL,
        (Evidence(f"{loss.series.name} goes {wording.change(loss.start, loss.end)} in {count}"), *_gradients(roles)),
        history.place(loss.series.lines[0]),
    )  # fmt: skip


def _gradients(roles: Roles) -> tuple[Evidence, ...]:
    """Whether anything was there to step with."""
    norm = roles.gradient_norm
    if norm is None or not len(norm):
        return ()
    size = max(norm.values)
    reached = "gradients are there, and nothing steps" if size > 0 else "nothing reaches the parameters"
    return (Evidence(f"{norm.name} is at most {wording.short(size)}: {reached}", size),)


def at_chance(history: History, roles: Roles) -> HistoryFault | None:
    """Loss and accuracy are both those of whoever guesses among k classes, from beginning to end."""
    score = roles.score or roles.val_score
    if roles.loss is None or score is None or len(roles.loss) < ENOUGH_FOR_A_SHAPE or len(score) < ENOUGH_FOR_A_PASS:
        return None
    loss, accuracy = Curve(roles.loss), Curve(score, -1)
    if not {"accuracy", "acc"} & set(roles.names[score.name].measure) or not 0 < loss.end < log(_MOST_CLASSES):
        return None
    classes = round(exp(loss.end))
    share = -accuracy.end * (0.01 if max(score.values) > 1 else 1.0)
    fits = classes > 1 and abs(loss.end - log(classes)) < _AT_CHANCE * log(classes)
    if not fits or abs(share * classes - 1) > _NEAR_CHANCE or loss.gain > _NEAR_CHANCE * loss.start:
        return None
    return HistoryFault(
        "chance", NOT_LEARNING, "high",
        f"{loss.series.name} ends at {wording.loss(loss.end)} and {score.name} at {wording.share(share)}: that is "
        f"chance among {classes} classes, ln({classes}) = {wording.loss(log(classes))} and "
        f"{wording.share(1 / classes)} (expected below, and above)",
        f"after {len(loss)} entries loss and accuracy are those of chance",
        loss.end, log(classes),
        (Evidence(f"{loss.series.name} goes {wording.change(loss.start, loss.end)}, {score.name} "
                  f"{wording.share(-accuracy.start * share / -accuracy.end)} -> {wording.share(share)}"),),
        history.place(loss.series.lines[-1]),
    )  # fmt: skip


def diverged(history: History, roles: Roles) -> HistoryFault | None:
    """It ends far above its best, and stays there."""
    if roles.loss is None or len(roles.loss) < ENOUGH_FOR_A_SHAPE:
        return None
    loss = Curve(roles.loss)
    unsure = loss.wanders or len(loss) < _ENOUGH_TO_KNOW_NOISE or not has_gained(loss)
    limit = max(GIVEN_BACK * loss.fall, beyond_noise(loss), _ROSE * abs(loss.best) if unsure else 0.0)
    if loss.given_back <= limit or is_explained(roles, loss):
        return None
    first = loss.first_above(loss.best + limit, loss.best_at)
    since = loss.series.when(first)
    of_gain = (
        f"{wording.share(loss.given_back / loss.gain)} of what it had gained" if has_gained(loss) else "it never fell"
    )
    return HistoryFault(
        "diverged", INSTABILITY, "high",
        f"{loss.series.name} rises from {wording.loss(loss.best)} to {wording.loss(loss.end)}, {of_gain} (may rise by "
        f"{wording.loss(limit)})",
        f"{loss.series.name} rises from {wording.loss(loss.best)} to {wording.loss(loss.end)}, since {since}",
        loss.end, loss.best + limit,
        (Evidence(f"{loss.series.name} is lowest around {loss.series.when(loss.best_at)} ({wording.loss(loss.best)}), "
                  f"above {wording.loss(loss.best + limit)} from {since} on, and ends at {wording.loss(loss.end)}",
                  loss.end, history.place(loss.series.lines[first])),),
        history.place(loss.series.lines[first]),
        loss.series.steps[first],
    )  # fmt: skip


def blew_up(history: History, roles: Roles) -> HistoryFault | None:
    """It is a thousand times its first entry, or grows with nearly each to ten times that; also in a log of a few.

    The first entry itself is compared, not a level: what explodes at once has its second one among the exploded. A loss
    that may fall below 0 has blown up where it is a million times as large as its first entry, on whichever side.
    """
    series = roles.loss
    if series is None or len(series) < _ENOUGH_TO_BLOW_UP:
        return None
    values = series.values
    rest = values[-max(1, len(values) // 3) :]
    first, least = abs(values[0]), min(map(abs, rest))
    rising = sum(1 for a, b in pairwise(values) if b > a) / (len(values) - 1)
    grows = len(values) >= ENOUGH_FOR_A_PASS and rising >= _NEARLY_EACH and min(values) == values[0] > 0
    times = _TEN_TIMES if grows else _THOUSAND_TIMES if min(values) >= 0 else _MILLION_TIMES
    if not first or least < times * first or least < times * min(map(abs, values[:2])):
        return None
    if is_explained(roles, Curve(series)):
        return None
    at = next(index for index, value in enumerate(values) if abs(value) >= times * first)
    return HistoryFault(
        "diverged" if values[-1] > 0 else "unbounded", INSTABILITY, "high",
        f"{series.name} goes from {wording.short(values[0])} to {wording.short(values[-1])}, "
        f"{wording.short(abs(values[-1]) / first)} times as much (may be {wording.short(times)} times)",
        f"{series.name} grows from {wording.short(values[0])} to {wording.short(values[-1])}",
        abs(values[-1]), times * first,
        (Evidence(f"{series.name} is {wording.short(values[0])} at {series.when(0)}, {wording.short(values[at])} at "
                  f"{series.when(at)} and {wording.short(values[-1])} at the end", values[-1],
                  history.place(series.lines[at])),),
        history.place(series.lines[at]), series.steps[at],
    )  # fmt: skip


def is_explained(roles: Roles, loss: Curve) -> str:
    """Why a loss that ends above its best may be in order: in words, or nothing."""
    for other, sign in ((roles.val_loss, 1), (roles.val_score, -1), (roles.score, -1)):
        if other is not None and len(other) >= ENOUGH_FOR_A_PASS and ends_at_its_best(Curve(other, sign)):
            return f"{other.name} ends at its best"
    for name, each in roles.history.series.items():
        annealed = any(word in name.lower() for word in _ANNEALED) and "decay" not in name.lower()
        if annealed and len(each) > 1 and min(each.values) != max(each.values) and not roles.names[name].is_loss:
            return f"{name} changes, so it is not the same loss throughout"
    return "the learning rate went up again shortly before the end" if _restarted(roles, loss) else ""


def _restarted(roles: Roles, loss: Curve) -> bool:
    """A warm restart: the rate goes back to where it had been, and the run ends before the loss has come down again."""
    best = loss.series.steps[loss.best_at]
    for rate in roles.rates:
        if rate.unit != loss.series.unit or not len(rate):
            continue
        before = [value for value, step in zip(rate.values, rate.steps, strict=True) if step <= best]
        after = [(value, step) for value, step in zip(rate.values, rate.steps, strict=True) if step > best]
        if not before or not after:
            continue
        peak, at = max(after)
        whole = loss.series.steps[-1] - loss.series.steps[0]
        recent = loss.series.steps[-1] - at <= _RECENT * whole
        if recent and peak > _RESTART * before[-1] and peak <= _AS_BEFORE * max(before):
            return True
    return False


def growing_swings(history: History, roles: Roles) -> HistoryFault | None:
    """It goes up and down more and more, until that is a good part of all that was gained."""
    if roles.loss is None or len(roles.loss) < _ENOUGH_FOR_THIRDS:
        return None
    loss, count = Curve(roles.loss), len(roles.loss)
    third = count // 3
    quiet = min(loss.noise_between(0, third), loss.noise_between(third, 2 * third))
    late = loss.noise_between(count - third, count)
    if count >= _ENOUGH_FOR_SLOW_SWINGS:  # noise from one value to the next, or swings that take several
        slow = [loss.swing_between(at, at + third) for at in (0, third)]
        end = loss.swing_between(count - third // 2, count)
        if min(slow) and end / min(slow) > late / (quiet or 1.0):
            quiet, late = min(slow), end
    if not quiet or late < _SWINGS_GROW * quiet or late < _SWINGS_MATTER * loss.gain:
        return None
    if loss.level_at(2 * third) - loss.end > late or is_explained(roles, loss):
        return None  # it gains, whatever its swings
    since = loss.series.when(count - third)
    return HistoryFault(
        "growing swings", INSTABILITY, "high",
        f"{loss.series.name} goes up and down by {wording.loss(late)} in the last third, {wording.short(late / quiet)} "
        f"times as far as before (at most {_SWINGS_GROW:g} times)",
        f"{loss.series.name} oscillates more and more",
        late / quiet, _SWINGS_GROW,
        (Evidence(f"from {since} on its values scatter by {wording.loss(late)}, before by {wording.loss(quiet)}; in "
                  f"all it gained {wording.loss(loss.gain)}", late, history.place(loss.series.lines[count - third])),),
        history.place(loss.series.lines[count - third]),
        loss.series.steps[count - third],
    )  # fmt: skip


def swings_together(history: History, roles: Roles) -> HistoryFault | None:
    """Training and validation jump by a good part of their level, and at the same time.

    Batches differ, and make any training loss jump; the validation set is the same every time. If both go up and down
    together, it is the weights that jump.
    """
    if roles.loss is None or roles.val_loss is None:
        return None
    pairs = _in_common(Curve(roles.loss), Curve(roles.val_loss))
    late = pairs[len(pairs) // 2 :]
    if len(late) < _ENOUGH_TOGETHER or min(min(pair) for pair in late) <= 0:
        return None
    jumps = [(b[0] - a[0], b[1] - a[1]) for a, b in pairwise(late)]
    sizes = [_median_size(late, jumps, side) for side in (0, 1)]
    together = _correlation(jumps)
    if min(sizes) < _LARGE_JUMPS or together < _TOGETHER:
        return None
    half = len(roles.loss) // 2
    since = roles.loss.when(half)
    return HistoryFault(
        "swings together", INSTABILITY, "high",
        f"from one entry to the next, {roles.loss.name} jumps by {wording.share(sizes[0])} of its level and "
        f"{roles.val_loss.name} by {wording.share(sizes[1])}, both at the same time (at most "
        f"{wording.share(_LARGE_JUMPS)})",
        f"{roles.loss.name} and {roles.val_loss.name} jump up and down together",
        min(sizes), _LARGE_JUMPS,
        (Evidence(f"from {since} on the jumps of the two have a correlation of {together:.2f} (batches that differ "
                  "leave one of about 0)", together, history.place(roles.loss.lines[half])),),
        history.place(roles.loss.lines[half]),
        roles.loss.steps[half],
    )  # fmt: skip


def _in_common(loss: Curve, validation: Curve) -> list[tuple[float, float]]:
    """Pairs of both at the moments of validation. None where the two count differently."""
    if loss.series.unit != validation.series.unit:
        return []
    own = dict(zip(loss.series.steps, loss.values, strict=True))
    steps = zip(validation.series.steps, validation.values, strict=True)
    return [(own[step], value) for step, value in steps if step in own]


def _median_size(late: list[tuple[float, float]], jumps: list[tuple[float, float]], side: int) -> float:
    """Of the level."""
    sizes, levels = sorted(abs(jump[side]) for jump in jumps), sorted(pair[side] for pair in late)
    return sizes[len(sizes) // 2] / levels[len(levels) // 2]


def _correlation(pairs: list[tuple[float, float]]) -> float:
    """Of ranks, so that one large jump does not decide."""
    first, second = _ranks([a for a, _ in pairs]), _ranks([b for _, b in pairs])
    middle = (len(pairs) - 1) / 2
    both = sum((a - middle) * (b - middle) for a, b in zip(first, second, strict=True))
    alone = sum((a - middle) ** 2 for a in first)
    return both / alone if alone else 0.0


def _ranks(values: list[float]) -> list[int]:
    order = sorted(range(len(values)), key=values.__getitem__)
    ranks = [0] * len(values)
    for rank, index in enumerate(order):
        ranks[index] = rank
    return ranks
