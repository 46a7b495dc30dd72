"""How a learning rate comes to its end: whether it grows again beyond it, and whether it compounds on its way there.

A schedule counts its own steps. Whoever computes a rate by hand has nothing that stops where the course ends: a formula
such as `(1 - step / total) ** power` goes on beyond it, below 0 or up again. And whoever multiplies the rate by what is
meant for the rate of the beginning lets it compound.
"""

from __future__ import annotations

from itertools import pairwise
from math import log, sqrt

#: A rate below this share of its peak is as good as none: in the rest of the run it does what a fiftieth of the steps
#: would. A cosine over the whole run gets there in its last 9 %, a linear decay in its last 2 %.
GONE = 0.02
#: Times the rate that it fell from. A restart or a cycle returns to that at most. By judgement: a second stage with a
#: rate of its own is rarely twice as high, and is announced by a warm-up, which is a straight line.
_BEYOND = 2.0
#: Of what it gained in the first half of its way up. A straight line gains as much, a square three times as much. By
#: judgement.
_EVER_FASTER = 2.0
#: Updates on the way up. By judgement: half of them say whether it gets faster.
_FEWEST_UP = 8
#: Changes of a rate, before it is down to nine tenths. By judgement: the exponent of fewer is that of a rounding.
_FEWEST_CHANGES = 6
#: Of the peak: where the three points lie between which exponents are measured. By judgement: from nine tenths, the
#: smallest fall that is none of rounding, to a fifth.
_AT_FIRST, _WELL_DOWN = 0.9, 0.2
#: -log(rate) grows with this power of the steps. Measured between those points: exponential 1.0 and 1.0, linear and
#: polynomial 1.1 and 1.5 or less, cosine 2.1 and 2.3, further down 2.5; what compounds: a power 2.0, a cosine 3.0.
_LEAST_POWER = 1.5
#: Between both exponents. A cosine: 0.24 and more, a linear decay 0.4; what compounds: at most 0.03.
_SAME_POWER = 0.1


def past_its_end(rates: list[float]) -> int | None:
    """The update at which the course ended, where the rate went on below 0, or up again beyond where it had come from.

    Ever faster: it was near 0, grows with every update, and in the second half of its way more than in the first.
    """
    below = next((i for i, rate in enumerate(rates) if rate < 0), None)
    if below is not None:
        return below
    low = _on_its_way_up(rates)
    if low is None or rates[-1] < _BEYOND * max(rates[:low]) or len(rates) - low < _FEWEST_UP:
        return None
    half = rates[(low + len(rates)) // 2]
    return low if rates[-1] - half >= _EVER_FASTER * (half - rates[low]) else None


def coming_back(rates: list[float]) -> bool:
    """It was near 0 and grows with every update: a cycle turns round or begins anew, and the end of one does not."""
    return _on_its_way_up(rates) is not None or (bool(rates) and min(rates) < 0)


def _on_its_way_up(rates: list[float]) -> int | None:
    """Where it was lowest, if it is lower there than a fiftieth of what it fell from, and has only grown since."""
    if not rates:
        return None
    low = max(i for i, rate in enumerate(rates) if rate == min(rates))
    if not 0 < low < len(rates) - 1 or rates[low] > GONE * max(rates[:low]):
        return None
    after = rates[low:]
    return low if all(one <= other for one, other in pairwise(after)) else None


def compounds(rates: list[float]) -> bool:
    """It is multiplied by a factor that falls itself, and so falls faster than any schedule, but never ends.

    With a factor that falls as a power of the steps, the logarithm of the rate is a power of the steps all the way
    down. A schedule that ends at 0 runs away from any power as it comes near its end, one with a floor lags behind, and
    an exponential one, or one in stages, has a power of 1.
    """
    way = _changes_from_the_peak(rates)
    if len(way) < _FEWEST_CHANGES or way[-1] > _WELL_DOWN * way[0] or way[0] <= 0:
        return False
    if any(one < other for one, other in pairwise(way)):
        return False
    first = sum(rate >= _AT_FIRST * way[0] for rate in way) - 1
    last = sum(rate >= GONE * way[0] for rate in way) - 1
    middle = round(sqrt(first * last))
    if first < _FEWEST_CHANGES or not first < middle < last:
        return False
    powers = [_power(way, first, middle), _power(way, middle, last)]
    return min(powers) >= _LEAST_POWER and abs(powers[1] - powers[0]) <= _SAME_POWER


def _changes_from_the_peak(rates: list[float]) -> list[float]:
    """From the last update at its peak on, once for each value: a rate may change but once in several updates."""
    if not rates:
        return []
    peak = max(i for i, rate in enumerate(rates) if rate == max(rates))
    return [rate for i, rate in enumerate(rates) if i == peak or (i > peak and rate != rates[i - 1])]


def _power(way: list[float], one: int, other: int) -> float:
    return log(log(way[0] / way[other]) / log(way[0] / way[one])) / log(other / one)
