"""Counts results, and holds the figures to their bars. The scoreboard and the tests both count with this module."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from statistics import median

from pytest_trainhealth.causes import cause, cause_names

from .cases import Case
from .results import Result

#: The least shares of faulty programs: found at all, named first, and confirmed if a cure can exist.
LEAST_FOUND, LEAST_NAMED, LEAST_CONFIRMED = 0.98, 0.95, 0.85
MOST_WRONGLY_CONFIRMED = MOST_FALSE_ALARMS = 0


@dataclass(frozen=True)
class Judged:
    """A result next to the truth."""

    case: Case
    result: Result

    @property
    def found(self) -> bool:
        """Some check failed. If the program itself raises, that does not count as found."""
        return bool(self.result.failed)

    @property
    def named_first(self) -> bool:
        # either of two independent faults may come first
        return bool(self.result.findings) and self.result.findings[0][0] in self.case.right | {self.case.second}

    @property
    def named(self) -> bool:
        """Anywhere among the findings."""
        return any(name in self.case.right for name, _ in self.result.findings)

    @property
    def curable(self) -> bool:
        return self.case.cause not in cause_names() or cause(self.case.cause).curable

    @property
    def confirmed(self) -> bool:
        return any(name in self.case.right and certainty == "confirmed" for name, certainty in self.result.findings)

    @property
    def wrongly_confirmed(self) -> tuple[str, ...]:
        """Confirmed causes that are wrong. For a twin or a healthy program, any cause is wrong."""
        allowed = self.case.right | {self.case.second}
        return tuple(
            name for name, certainty in self.result.findings if certainty == "confirmed" and name not in allowed
        )

    @property
    def both(self) -> bool:
        return self.named and any(name == self.case.second for name, _ in self.result.findings)

    @property
    def false_alarm(self) -> bool:
        return self.case.kind != "fault" and self.result.alarm

    @property
    def missed(self) -> bool:
        return self.case.kind == "fault" and not self.named_first


@dataclass(frozen=True)
class Share:
    good: int
    all: int

    @property
    def value(self) -> float:
        return self.good / self.all if self.all else 1.0

    def __str__(self) -> str:
        return f"{self.good} of {self.all}" if self.all else "-"

    @property
    def percent(self) -> str:
        """Rounded down: 97.96 % is not 98 %."""
        return f"{int(1000 * self.value) / 10:g} %" if self.all else "-"


@dataclass(frozen=True)
class Figures:
    """A program counts once for each seed, but only once in `programs`."""

    programs: int
    found: Share
    named: Share
    confirmed: Share
    both: Share
    wrongly_confirmed: int
    false_alarms: Share
    unjudged: int
    no_verdict: int
    seconds: float


def judged(results: Iterable[Result], cases: Mapping[str, Case]) -> list[Judged]:
    return [Judged(cases[result.case], result) for result in results]


def figures(all_judged: Iterable[Judged]) -> Figures:
    every = list(all_judged)
    faulty = [j for j in every if j.case.kind == "fault"]
    healthy = [j for j in every if j.case.kind != "fault"]
    curable = [j for j in faulty if j.curable]
    double = [j for j in faulty if j.case.second]
    return Figures(
        programs=len({j.case.id for j in every}),
        found=Share(sum(j.found for j in faulty), len(faulty)),
        named=Share(sum(j.named_first for j in faulty), len(faulty)),
        confirmed=Share(sum(j.confirmed for j in curable), len(curable)),
        both=Share(sum(j.both for j in double), len(double)),
        wrongly_confirmed=sum(bool(j.wrongly_confirmed) for j in every),
        false_alarms=Share(sum(j.false_alarm for j in healthy), len(healthy)),
        unjudged=sum(bool(j.result.unjudged) for j in every),
        no_verdict=sum(bool(j.result.error) for j in every),
        seconds=median(j.result.seconds for j in every) if every else 0.0,
    )


def below_the_bars(total: Figures) -> list[str]:
    """The bars that are missed, in words; empty if all are kept."""
    shares = (
        ("found", total.found, LEAST_FOUND),
        ("named first", total.named, LEAST_NAMED),
        ("confirmed", total.confirmed, LEAST_CONFIRMED),
    )
    short = [
        f"{word}: {share} ({share.percent}), at least {bar:.0%} wanted"
        for word, share, bar in shares
        if share.value < bar
    ]
    counts = (
        ("wrongly confirmed", total.wrongly_confirmed, MOST_WRONGLY_CONFIRMED),
        ("false alarms", total.false_alarms.good, MOST_FALSE_ALARMS),
    )
    return short + [f"{word}: {count}, at most {bar} wanted" for word, count, bar in counts if count > bar]
