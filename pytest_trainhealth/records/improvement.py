"""Two trainings beside one another: what each came to, seed by seed, and which is better."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, Literal

Outcome = Literal["better", "worse", "no difference beyond noise", "less than 10 % apart", "could not compare"]


@dataclass
class Validation:
    """What a run was measured by now and then, while it trained."""

    #: 'validation loss', or 'measure'; empty where nothing could be measured.
    what: str = ""
    #: The step, and the value.
    points: list[tuple[int, float]] = field(default_factory=list)
    #: Of all parameters at the start, and of what was validated on; empty where none could be taken.
    start: str = ""
    batches: str = ""
    #: Why nothing was measured.
    why_not: str = ""


@dataclass(frozen=True)
class SeedRun:
    """One run, from one seed."""

    losses: tuple[float, ...]
    validation: Validation
    finite: bool = True
    #: It raised, or was cut short, and why.
    stopped: str = ""
    batch_size: int | None = None


@dataclass(frozen=True)
class Course:
    """One side, over its seeds. Losses are means over the last quarter of a run."""

    name: str
    #: By seed: what it is judged by, and its training loss.
    results: tuple[float, ...] = ()
    train: tuple[float, ...] = ()
    #: The mean over the seeds, at each point.
    curve: tuple[float, ...] = ()
    #: How many seeds ended in NaN or Inf.
    not_finite: int = 0
    #: Validation loss less training loss, mean over the seeds; None without a validation loss.
    gap: float | None = None


@dataclass(frozen=True)
class Improvement:
    """What `compare(before, after)` returns. `str()` of it reads well, and `to_json()` is for machines."""

    outcome: Outcome
    before: Course
    after: Course
    #: The outcome, what it rests on and how sure it is, in one line.
    summary: str = ""
    #: 'validation loss', 'training loss' or 'measure': smaller is better.
    judged_by: str = ""
    #: By what share it is smaller after than before, and its interval of 95 %; None where that has no meaning.
    change: float | None = None
    low: float | None = None
    high: float | None = None
    seeds: int = 0
    steps: int = 0
    #: The steps of the points of both curves.
    points: tuple[int, ...] = ()
    #: The verdict on a fix, part by part: what was asked for, and whether it was shown (None: cannot be told).
    demands: tuple[tuple[str, bool | None], ...] = ()
    notes: tuple[str, ...] = ()
    reason: str = ""

    @property
    def better(self) -> bool:
        return self.outcome == "better"

    @property
    def fixed(self) -> bool:
        """Better, and nothing else got worse: what is asked of a fix."""
        return self.better and all(shown is not False for _, shown in self.demands)

    @property
    def worse(self) -> bool:
        return self.outcome == "worse"

    def to_json(self) -> dict[str, Any]:
        """Plain dicts, lists, numbers and texts."""
        return {**asdict(self), "demands": dict(self.demands)}

    def __str__(self) -> str:
        from ..reports.improvement import improvement_text  # wording has one home, and it reads these records

        return improvement_text(self)
