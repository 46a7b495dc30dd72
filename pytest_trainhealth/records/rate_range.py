"""What a training comes to at other learning rates, from the same start and in as many steps: a range test."""

from __future__ import annotations

from dataclasses import dataclass

from .. import wording

#: The width of the longest bar. By judgement: 30 letters leave room for two numbers in a line of 60.
_WIDEST = 30


@dataclass(frozen=True)
class RatePoint:
    """One run at one rate. `end` is None where it broke: the loss was not finite, or a step raised an error."""

    rate: float
    end: float | None
    #: The highest that the loss got on the way, by medians of five.
    peak: float = 0.0


@dataclass(frozen=True)
class RateRange:
    """`low` to `high` are the rates that work: each gets at least half as far as the best, without a leap upwards.

    Both are None where none works.

    `str()` says where the training's own rate lies, and shows the curve.
    """

    #: The training's own rate, that of its first optimizer.
    rate: float
    steps: int
    #: The loss from which on learning counts.
    start: float
    #: From the lowest rate to the highest.
    points: tuple[RatePoint, ...] = ()
    low: float | None = None
    high: float | None = None
    #: The rate that got furthest.
    best: float | None = None
    #: Why there is no range to tell of.
    why_not: str = ""

    @property
    def works(self) -> bool:
        """Whether the training's own rate lies in the range."""
        return self.low is not None and self.high is not None and self.low <= self.rate <= self.high

    def __str__(self) -> str:
        return f"{self.words} ({wording.plural(self.steps, 'step')} each)\n{self.curve}".rstrip()

    @property
    def words(self) -> str:
        """Where the training's own rate lies, in one line."""
        if self.low is None or self.high is None:
            return f"no range of learning rates is known: {self.why_not}"
        one = self.low == self.high
        span = wording.short(self.low) if one else f"{wording.short(self.low)} to {wording.short(self.high)}"
        if self.works:
            return f"your rate {wording.short(self.rate)} lies in the range that works, {span}"
        where, times = ("above", self.rate / self.high) if self.rate > self.high else ("below", self.low / self.rate)
        factor = wording.short(float(f"{times:.2g}"))
        return f"your rate {wording.short(self.rate)} lies {factor} x {where} the range that works, {span}"

    @property
    def curve(self) -> str:
        """A line for each rate: the loss that it ends at, and a bar as long as its way down."""
        ends = [point.end for point in self.points if point.end is not None]
        way = self.start - min(ends, default=self.start)
        lines = []
        for point in self.points:
            if point.end is None:
                text, bar = "not finite", ""
            else:
                text = wording.loss(point.end)
                bar = "#" * round(_WIDEST * max(0.0, self.start - point.end) / way) if way > 0 else ""
            own = "  <- your rate" if point.rate == self.rate else ""
            lines.append(f"{wording.short(point.rate):>9}  {text:>10}  {bar}{own}".rstrip())
        return "\n".join(lines)
