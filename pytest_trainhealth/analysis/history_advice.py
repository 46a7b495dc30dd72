"""What is worth knowing about a run that is in order: odd, but no fault by itself; and what its log cannot show."""

from __future__ import annotations

from collections.abc import Iterator

from .. import wording
from .history_curve import Curve
from .history_faults import GREW_BEFORE
from .history_limits import ENOUGH_FOR_A_SHAPE, NEARLY_NOTHING, beyond_noise, has_gained
from .history_losses import is_explained
from .history_overfitting import risen_share
from .history_rates import course
from .history_roles import Roles

#: Points of accuracy: KNOWLEDGE.md calls a gap of more than 20 severe. A note, because many good classifiers have it.
_WIDE_GAP = 0.2
#: Of what was gained, the noise at the end. By judgement: a third.
_NOISY = 0.3
#: Of the run: flat for so long, at a rate that never changes. By judgement: whoever has converged may stop earlier, and
#: whoever bounces around a level would see a smaller rate help. Nobody can tell the two apart from a log.
_FLAT = 0.5
#: Times the time of a step before. By judgement: loading a checkpoint or another machine does as much, for a while.
_SLOWER = 2.0
#: Values of time, for a cliff to be seen. By judgement.
_ENOUGH_TIMES = 20


def advice(roles: Roles, *, failed: bool) -> list[str]:
    """Beside a fault, only what may have to do with it: who looks for the cause of NaN needs no advice on epochs."""
    related = (_odd_values, _rates, _norms, _unlogged)
    looks = (_odd_values, _overfits_a_little, _gap, _given_back, _noisy, _flat, _rates, _norms, _slower, _unlogged)
    return [note for look in (related if failed else looks) for note in look(roles)]


def _odd_values(roles: Roles) -> Iterator[str]:
    for each in roles.history.series.values():
        point = each.first_nonfinite
        if point is not None and (each.ends_nonfinite is None or each not in roles.losses):
            line = f", line {point.line}" if point.line else ""
            times = wording.plural(each.nonfinite, "time")
            yield f"{each.name} is not finite {times}, first at {each.at(point)}{line} ({point.value})"


def _overfits_a_little(roles: Roles) -> Iterator[str]:
    if roles.loss is None or roles.val_loss is None:
        return
    validation = Curve(roles.val_loss)
    share = risen_share(Curve(roles.loss), validation)
    if share > NEARLY_NOTHING:
        yield (
            f"{roles.val_loss.name} was best around {roles.val_loss.when(validation.best_at)} "
            f"({wording.loss(validation.best)}, {wording.loss(validation.end)} at the end): keep that checkpoint"
        )


def _gap(roles: Roles) -> Iterator[str]:
    if roles.score is None or roles.val_score is None or not len(roles.score) or not len(roles.val_score):
        return
    training, validation = -Curve(roles.score, -1).end, -Curve(roles.val_score, -1).end
    unit = 0.01 if max(*roles.score.values, *roles.val_score.values) > 1 else 1.0
    if (training - validation) * unit > _WIDE_GAP:
        yield (
            f"{roles.score.name} ends {wording.short(100 * unit * (training - validation))} points above "
            f"{roles.val_score.name} (more than {wording.short(100 * _WIDE_GAP)} is much)"
        )


def _given_back(roles: Roles) -> Iterator[str]:
    if roles.loss is None or len(roles.loss) < ENOUGH_FOR_A_SHAPE or roles.adversaries or roles.rewards is not None:
        return
    loss = Curve(roles.loss)
    if has_gained(loss) and loss.given_back > max(NEARLY_NOTHING * loss.gain, beyond_noise(loss)):
        why = is_explained(roles, loss)
        yield (
            f"{roles.loss.name} ends at {wording.loss(loss.end)}, above its best of {wording.loss(loss.best)} around "
            f"{roles.loss.when(loss.best_at)}{f'; {why}' if why else ''}"
        )


def _noisy(roles: Roles) -> Iterator[str]:
    if roles.loss is None or len(roles.loss) < 2 * ENOUGH_FOR_A_SHAPE or roles.adversaries:
        return
    loss, half = Curve(roles.loss), len(roles.loss) // 2
    noise = loss.noise_between(half, len(loss))
    if has_gained(loss) and noise > _NOISY * loss.gain and roles.val_loss is None:
        yield (
            f"{roles.loss.name} goes up and down by {wording.loss(noise)}, {wording.share(noise / loss.gain)} of what "
            "it gained: whether batches differ or the learning rate is too high, a validation loss would tell"
        )


def _flat(roles: Roles) -> Iterator[str]:
    found = course(roles)
    if found is None or found.kind != "constant" or roles.loss is None:
        return
    loss, half = Curve(roles.loss), len(roles.loss) // 2
    if len(loss) < 2 * ENOUGH_FOR_A_SHAPE or not has_gained(loss):
        return
    if loss.level_at(half) - loss.end < beyond_noise(loss) and loss.noise > 0:
        rate = wording.short(found.series.values[-1])
        yield (
            f"{roles.loss.name} has not fallen since {roles.loss.when(half)}, at a constant learning rate of {rate}: a "
            "decay may help, unless it has converged"
        )


def _rates(roles: Roles) -> Iterator[str]:
    found = course(roles)
    if found is None:
        return
    name, values = found.series.name, found.series.values
    if found.kind == "warm-up":
        yield f"{name} still rises at the end of the log ({wording.short(values[-1])}): its warm-up has no end"
    if found.kind == "runaway":
        yield f"{name} grows from {wording.short(values[0])} to {wording.short(values[-1])}, and does not stop"
    if found.kind == "zero" and roles.loss is not None and has_gained(Curve(roles.loss)):
        yield f"{name} is 0 throughout, although the loss falls: it is not the rate that was used"


def _norms(roles: Roles) -> Iterator[str]:
    norm = roles.gradient_norm
    if norm is None or len(norm) < ENOUGH_FOR_A_SHAPE:
        return
    curve = Curve(norm)
    if curve.best > 0 and curve.end > GREW_BEFORE * curve.best:
        yield f"{norm.name} grows from {wording.short(curve.best)} to {wording.short(curve.end)}"


def _slower(roles: Roles) -> Iterator[str]:
    """A cliff in the time of a step is no fault of the training: another machine, another neighbour, longer samples."""
    seconds = roles.seconds
    if seconds is None or len(seconds) < _ENOUGH_TIMES:
        return
    times = Curve(seconds)
    half = len(times) // 2
    before = min(level for at, level in times.levels if at <= half)
    if before > 0 and times.end > _SLOWER * before:
        first = times.first_above(_SLOWER * before, 0)
        yield (
            f"steps take {wording.short(times.end / before)} times as long from {seconds.when(first)} on "
            f"({wording.short(before)} s -> {wording.short(times.end)} s)"
        )


def _unlogged(roles: Roles) -> Iterator[str]:
    missing = []
    if roles.val_loss is None and roles.val_score is None:
        missing.append("validation loss (overfitting)")
    if not roles.rates:
        missing.append("learning rate (its schedule)")
    if roles.gradient_norm is None:
        missing.append("gradient norm (its growth)")
    if missing:
        yield f"not logged, so that it cannot be told: {', '.join(missing)}"
