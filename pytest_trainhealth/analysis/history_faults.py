"""All faults that a log shows, worst first."""

from __future__ import annotations

from .. import wording
from ..records.history import History, Series
from ..records.symptoms import EXPLOSION, INSTABILITY, NOT_LEARNING
from ..records.verdict import Evidence
from . import history_losses, history_overfitting, history_rates, history_times
from .history_curve import Curve
from .history_fault import HistoryFault
from .history_limits import ENOUGH_FOR_A_SHAPE, beyond_noise, has_gained
from .history_roles import Roles

#: KNOWLEDGE.md calls a norm above 100 exploding. Alone that is no fault (losses that are sums have such norms and train
#: well), so it also has to have grown by as much, and the loss to have gained nothing since.
LARGE_NORM, NORM_GREW = 100.0, 100.0
#: Of a whole model: below it nothing reaches the parameters. By judgement: healthy norms are 1e-3 and more, and those
#: of a loss that has come down to 0 go with a gain.
NO_NORM = 1e-6
#: Where the loss is sick already: the norm before that, against its usual. By judgement: norms vary by 2 to 5 times.
GREW_BEFORE = 10.0


def find_faults(history: History) -> list[HistoryFault]:
    roles = Roles(history)
    facts = (nonfinite, history_rates.no_rate)
    shapes = (
        history_rates.tiny_rate,
        history_losses.still,
        history_losses.at_chance,
        history_losses.diverged,
        history_losses.blew_up,
        no_gradients,
        growing_gradients,
        history_losses.growing_swings,
        history_losses.swings_together,
        history_rates.rate_gone,
        history_rates.rate_cut_early,
        history_rates.endless_warm_up,
        history_overfitting.overfitting,
        history_times.slower,
    )
    # what two players, or a policy and its critic, make of their losses is no measure of how well they learn
    looks = facts if roles.adversaries or roles.rewards is not None else (*facts, *shapes)
    found = [look(history, roles) for look in looks]
    return [fault for fault in found if fault is not None]


def first_fault(history: History) -> HistoryFault | None:
    return next(iter(find_faults(history)), None)


def nonfinite(history: History, roles: Roles) -> HistoryFault | None:
    """A loss that is NaN or infinite, and never comes back. One that does was a step that was skipped."""
    ended = [(each, each.ends_nonfinite) for each in roles.losses if each.ends_nonfinite is not None]
    if not ended:
        return None
    series, point = min(ended, key=lambda pair: (pair[0].counted(pair[1]), pair[0] is not roles.loss))
    value, when = str(point.value), series.at(point)
    line = f", line {point.line}" if point.line else ""
    evidence = [Evidence(f"{series.name} is {value} at {when}{line}", point.value, history.place(point.line))]
    if len(series):
        last = len(series) - 1
        evidence.append(
            Evidence(
                f"before that it was {wording.loss(series.values[last])} ({series.when(last)})", series.values[last]
            )
        )
    others = sorted(each.name for each, _ in ended if each is not series)
    if others:
        evidence.append(Evidence(f"{wording.names(others)} {wording.is_or_are(len(others))} not finite either"))
    return HistoryFault(
        "nonfinite", EXPLOSION, "critical",
        f"{series.name} is {value} from {when}{line} to the end (expected finite values)",
        f"{series.name} is {value} from {when} on",
        point.value, 0.0, tuple(evidence), history.place(point.line), series.counted(point),
    )  # fmt: skip


def no_gradients(history: History, roles: Roles) -> HistoryFault | None:
    """Nothing reaches the parameters, from the first entry to the last, and nothing is learnt."""
    norm, loss = roles.gradient_norm, roles.loss
    if norm is None or loss is None or min(len(norm), len(loss)) < ENOUGH_FOR_A_SHAPE:
        return None
    largest, curve = max(norm.values), Curve(loss)
    if largest > NO_NORM or has_gained(curve):
        return None
    return HistoryFault(
        "no gradients", NOT_LEARNING, "high",
        f"{norm.name} is at most {wording.short(largest)} (at least {NO_NORM:g}), and {loss.name} goes "
        f"{wording.change(curve.start, curve.end)}",
        f"{norm.name} is almost 0 for the whole run",
        largest, NO_NORM,
        (Evidence(f"{norm.name} is at most {wording.short(largest)} in {len(norm)} entries", largest,
                  history.place(norm.lines[0])),),
        history.place(norm.lines[0]),
    )  # fmt: skip


def growing_gradients(history: History, roles: Roles) -> HistoryFault | None:
    """The norm has grown a hundredfold, to what is large by any measure, and the loss has gained nothing since."""
    norm, loss = roles.gradient_norm, roles.loss
    if norm is None or loss is None or len(norm) < ENOUGH_FOR_A_SHAPE or len(loss) < ENOUGH_FOR_A_SHAPE:
        return None
    curve, falls = Curve(norm), Curve(loss)
    if curve.end < LARGE_NORM or curve.best <= 0 or curve.end < NORM_GREW * curve.best or norm.unit != loss.unit:
        return None
    first = curve.first_above(GREW_BEFORE * curve.best, curve.best_at)
    since = falls.level_at(falls.index_at(norm.steps[first]))
    if falls.end < since - beyond_noise(falls):
        return None
    return HistoryFault(
        "gradients", INSTABILITY, "high",
        f"{norm.name} grows from {wording.short(curve.best)} to {wording.short(curve.end)} (at most {NORM_GREW:g} "
        f"times), and {loss.name} gains nothing meanwhile ({wording.change(since, falls.end)})",
        f"{norm.name} grows to {wording.short(curve.end)}, since {norm.when(first)}",
        curve.end, NORM_GREW * curve.best,
        (Evidence(f"{norm.name} is {wording.short(curve.best)} around {norm.when(curve.best_at)} and "
                  f"{wording.short(curve.end)} at the end", curve.end, history.place(norm.lines[first])),),
        history.place(norm.lines[first]), norm.steps[first],
    )  # fmt: skip


def norm_before(series: Series, step: float) -> tuple[float, float, int] | None:
    """What a norm usually was before a step, what it had become right before it, and where; None if that is unknown.

    A norm that is not finite while the step is to come counts as one that has grown.
    """
    before = [index for index, each in enumerate(series.steps) if each <= step]
    few = max(3, len(before) // 4)
    if len(before) < 2 * few:
        return None
    usual = sorted(series.values[index] for index in before[:-few])
    last = max(before[-few:], key=lambda index: series.values[index])
    return usual[len(usual) // 2], series.values[last], last
