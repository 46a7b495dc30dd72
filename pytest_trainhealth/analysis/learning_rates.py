"""How a learning rate changes from update to update, and optimizer settings that make no sense."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from typing import Any

from ..records.trace import Trace
from ..records.wiring import OptimizerRecord, SchedulerRecord
from . import loss_curve, rate_ends, schedules, wiring

#: Fewer updates show no course. By judgement: the shortest healthy course that was judged has 40.
_FEWEST = 20
#: Of the run, by then. None of 291 healthy programs is gone at all before the end; two that decay too early are at 0.05
#: to 0.25.
_EARLY = 2 / 3
#: A rate this many times the one the optimizer was made with. At most 1.0 times in 10 healthy programs with a
#: scheduler. By judgement: a warm-up that multiplies is made with its peak.
_RUNAWAY = 10.0
#: Of a weight, changed by one update when the loss has stopped falling. In 33 healthy trainings whose loss stays, of
#: 377, it is 0.076 in one and at most 0.028 in the others; in two that a decay makes far better, 0.46 and 0.66.
_LARGE_UPDATE = 0.1
#: Of the peak. Of 291 healthy programs 5 are below at some update: four that warm up, and a cosine with a restart,
#: which comes back once.
_NEARLY_GONE = 0.1
#: Of the peak, from where it fell and where it is back. By judgement: the one of 457 programs that came back did so
#: once, by a restart that was meant.
_BACK_AGAIN = 0.5
#: Times. By judgement: one warm restart is intended, and none of 457 programs had more.
_BOUNCES = 2
#: Of the peak. Of 298 healthy programs two end below (from 0.23 on), of 109 faulty ones the two that decay too early (0
#: and 0.01).
_AS_LARGE_AS_EVER = 0.5
#: Of the last rate, at the look before. Of 289 healthy programs 4 are below (0.45 to 0.70: warm-ups, one cycle, a
#: restart); the others and 106 faulty ones are at 1 or above.
_STILL_RISING = 0.75
#: The momentum of SGD or the first beta. Healthy: at most 0.95 (298 programs), faulty: 0.999 and 1.0 (two).
_MOST_MOMENTUM = 0.99
#: Healthy: at least 0.9 (298 programs). By judgement, since no program measured has a fault like it: an average over
#: two steps is none.
_LEAST_SECOND_BETA = 0.5
#: Healthy: at most 1e-6 (298 programs). By judgement, since no program measured has a fault like it: nobody goes beyond
#: 1e-3.
_MOST_EPS = 0.01
#: Healthy: 0 (298 programs). By judgement, since no program measured has a fault like it: 1 leaves nothing of the
#: gradient.
_MOST_DAMPENING = 0.99
#: At the rate: the last, the one half way and one before, 3.
_FEWEST_LOOKS = 3
#: Of the peak that a scheduler sets itself. By judgement: half of it is far from what a short run would reach.
_BELOW_ITS_AIM = 0.5
#: Of the rate that the optimizer was made with, at most, in the whole run. By judgement: a rate that is multiplied by
#: itself is at most this where it is usual (0.05 and below); a warm-up that begins as low rises.
_RATE_FOR_FACTOR = 0.05
#: A rate this high is there to be multiplied by rates (`lr=1.0` and a function that returns the rate). By judgement.
_RATE_AS_FACTOR = 0.5
#: They set their own peak, far above the rate that they start from.
_WITH_A_PEAK = ("OneCycleLR", "CyclicLR")


@dataclass(frozen=True)
class Course:
    """Something is odd about the learning rate of an optimizer."""

    optimizer: OptimizerRecord
    #: "zero", "low", "past its end", "runaway", "gone" or "bounces"
    kind: str
    #: What it should have been all the time.
    rate: float
    #: The update from which on it is gone or goes on past its end, or how often it came back.
    at: int = 0


def odd_course(trace: Trace) -> Course | None:
    for record in trace.wiring.optimizers.values():
        if len(record.rates) >= _FEWEST:
            course = _course(record, schedules.schedulers_of(trace, record))
            if course is not None:
                return course
    return None


def runs_away(trace: Trace) -> bool:
    course = odd_course(trace)
    return course is not None and course.kind in ("runaway", "past its end")


def returns_from_0(trace: Trace) -> bool:
    """A rate that was near 0 is on its way up: how far it goes, and what that costs, shows later."""
    return any(rate_ends.coming_back(record.rates) for record in trace.wiring.optimizers.values())


def compounds(trace: Trace) -> bool:
    """A rate that falls as no schedule does, and has not been gone for long enough to tell what that costs."""
    return any(
        rate_ends.compounds(record.rates) and _gone_from(record.rates, max(record.rates)) is None
        for record in trace.wiring.optimizers.values()
    )


def _course(record: OptimizerRecord, schedulers: list[SchedulerRecord]) -> Course | None:
    rates, peak, base = record.rates, max(record.rates), record.initial_lr
    if peak == 0:
        return Course(record, "zero", base) if base else None
    aim = next((s.peak for s in schedulers if schedules.counts_batches_in_epochs(s)), None)
    if aim and peak <= _BELOW_ITS_AIM * aim:
        return Course(record, "low", aim)
    if any(s.kind in _WITH_A_PEAK for s in schedulers):
        base = None
    if base and base < _RATE_AS_FACTOR and peak <= _RATE_FOR_FACTOR * base and not _rises(rates):
        return Course(record, "low", base)
    end = rate_ends.past_its_end(rates)
    if end is not None:
        return Course(record, "past its end", base or max(rates[:end], default=peak), end)
    if base and rates[-1] >= _RUNAWAY * base and rates[-1] == peak:
        return Course(record, "runaway", base)
    gone = _gone_from(rates, peak)
    if gone is not None:
        return Course(record, "gone", max(peak, base or 0.0), gone)
    returns = _returns(rates, peak)
    return Course(record, "bounces", peak, returns) if returns >= _BOUNCES else None


def _rises(rates: list[float]) -> bool:
    """A warm-up that is not over yet."""
    return max(rates[len(rates) // 2 :]) > max(rates[: len(rates) // 2])


def _gone_from(rates: list[float], peak: float) -> int | None:
    """The update from which on the rate is as good as 0, if that is early in the run."""
    last = max(i for i, rate in enumerate(rates) if rate >= rate_ends.GONE * peak)
    return last + 1 if last + 1 <= _EARLY * len(rates) else None


def _returns(rates: list[float], peak: float) -> int:
    """How often the rate was nearly gone and came back."""
    low, count = False, 0
    for rate in rates:
        if rate < _NEARLY_GONE * peak:
            low = low or rates[0] > _BACK_AGAIN * peak or count > 0
        elif rate > _BACK_AGAIN * peak and low:
            low, count = False, count + 1
    return count


def cannot_settle(trace: Trace) -> bool:
    """The loss fell and stays, and the steps are as large as ever: each changes the weights considerably."""
    optimizer = next((o for o in trace.wiring.optimizers.values() if o.steps), None)
    if optimizer is None or not optimizer.rates or optimizer.rates[-1] < _AS_LARGE_AS_EVER * max(optimizer.rates):
        return False
    latest = [p.updates[max(p.updates)] for p in wiring.weights(trace) if p.updates]
    return bool(latest) and median(latest) >= _LARGE_UPDATE and loss_curve.stays(trace.losses)


@dataclass(frozen=True)
class OddSetting:
    """An optimizer setting that makes no sense, and a usual one."""

    optimizer: OptimizerRecord
    name: str
    value: float
    usual: str
    #: Group entries for a re-run.
    instead: dict[str, Any]


def odd_setting(trace: Trace) -> OddSetting | None:
    """The usual values are momentum 0 to 0.95, betas from (0, 0.9) to (0.95, 0.9999), eps 1e-10 to 1e-3."""
    for record in trace.wiring.optimizers.values():
        given = record.settings
        if given.get("momentum", 0.0) >= _MOST_MOMENTUM:
            return OddSetting(record, "momentum", given["momentum"], "0.9", {"momentum": 0.9})
        if given.get("betas[0]", 0.0) >= _MOST_MOMENTUM:
            return OddSetting(record, "betas[0]", given["betas[0]"], "0.9", {"betas": (0.9, 0.999)})
        if given.get("betas[1]", 1.0) < _LEAST_SECOND_BETA:
            return OddSetting(record, "betas[1]", given["betas[1]"], "0.999", {"betas": (0.9, 0.999)})
        if given.get("eps", 0.0) >= _MOST_EPS:
            return OddSetting(record, "eps", given["eps"], "1e-8", {"eps": 1e-8})
        if given.get("dampening", 0.0) >= _MOST_DAMPENING and given.get("momentum"):
            return OddSetting(record, "dampening", given["dampening"], "0", {"dampening": 0.0})
    return None


#: What torch or the literature gives as the default, and what is put in its place.
_USUAL: dict[str, tuple[float, dict[str, Any]]] = {
    "momentum": (0.9, {"momentum": 0.9}),
    "betas[0]": (0.9, {"betas": (0.9, 0.999)}),
    "betas[1]": (0.999, {"betas": (0.9, 0.999)}),
    "eps": (1e-8, {"eps": 1e-8}),
    "dampening": (0.0, {"dampening": 0.0}),
}
#: From 1, for a momentum or a beta: twice as near means twice as many steps. By judgement: 0.95 is usual, too.
_NEARER_TO_ONE = 2.0


def unusual_setting(trace: Trace) -> OddSetting | None:
    """The first setting that differs from the usual one in the direction that does harm. For a swap, never evidence."""
    for record in trace.wiring.optimizers.values():
        for name, (usual, instead) in _USUAL.items():
            value = record.settings.get(name)
            if value is None or not _is_worse(name, value, usual):
                continue
            return OddSetting(record, name, value, f"{usual:g}", dict(instead))
    return None


def _is_worse(name: str, value: float, usual: float) -> bool:
    if name in ("momentum", "betas[0]"):
        return 1 - value <= (1 - usual) / _NEARER_TO_ONE
    return value < usual if name == "betas[1]" else value > usual


def wrong_way_round(trace: Trace) -> bool:
    """The first beta is that of a thousand steps, and larger than the second."""
    odd = odd_setting(trace)
    return odd is not None and odd.name == "betas[0]" and odd.value > odd.optimizer.settings.get("betas[1]", 1.0)


def decays_fast(trace: Trace) -> bool:
    """A rate that has fallen to a tenth within the steps of a check: what that costs shows only later."""
    rates = [record.rates for record in trace.wiring.optimizers.values() if record.rates]
    return any(each[-1] <= _NEARLY_GONE * max(each) for each in rates)


def never_settles(trace: Trace) -> bool:
    """A momentum that counts hundreds of old steps, or betas the wrong way round."""
    odd = odd_setting(trace)
    return wrong_way_round(trace) or (odd is not None and odd.name == "momentum")


def warming_up(trace: Trace) -> bool:
    """The learning rate is still rising: half way it was at most three quarters of what it is at the end.

    Looks are at steps 1, 2, 4, 8 and so on, and the last one may lie half a run before the end: by then it may have
    risen, or fallen again.
    """
    for optimizer in trace.wiring.optimizers.values():
        looks, rates = list(optimizer.lr.values()), optimizer.rates
        if len(looks) < _FEWEST_LOOKS or looks[-1] <= 0:
            continue
        over = len(rates) >= _FEWEST and rates[len(rates) // 2] >= _STILL_RISING * rates[-1]
        if looks[-2] < _STILL_RISING * looks[-1] and looks[-3] < looks[-2] and not over:
            return True
    return False
