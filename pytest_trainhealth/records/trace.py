"""What was recorded while stepping: names, numbers, places; never tensors.

Checks judge a `Trace` and causes look for evidence in it, so both are tested in microseconds on made-up
ones. Standard library only.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import isfinite

from .comparison import Comparison
from .data import DataRecord
from .history import History
from .intervention import Applied
from .losses import LossRecord
from .numbers import Crash, NonFinite, NumbersRecord
from .probes import ProbeRecord
from .ranks import RanksRecord
from .speed import SpeedRecord
from .state import StateRecord
from .wiring import ParameterRecord, WiringRecord

#: Whoever follows a run: its steps, its losses, whether its numbers are finite.
THE_RUN = "the run"


@dataclass
class Trace:
    losses: list[float] = field(default_factory=list)
    #: backward() calls and optimizer steps, step by step.
    backwards: list[int] = field(default_factory=list)
    updates: list[int] = field(default_factory=list)
    #: False when backward() was called on a loss that no trainable parameter reaches.
    loss_connected: bool = True
    #: False where no loss was seen: gradients come neither from backward() nor from torch.autograd.grad().
    loss_seen: bool = True
    batch_size: int | None = None
    #: How many batches the data hold, as far as they say so.
    batches: int | None = None
    #: The step is given nothing (`data=None`): it makes what it learns from itself, and other things each time.
    without_data: bool = False
    #: The loop is not ours: it runs in a test that returns nothing.
    watched: bool = False
    nonfinite: NonFinite | None = None
    crash: Crash | None = None
    #: The run was cut short before it could show anything (the reason).
    cut_short: str = ""
    #: Signals that met something they could not read, and why; `THE_RUN` for what follows the run itself.
    not_read: dict[str, str] = field(default_factory=dict)
    #: Parameters that are trained and have no values that can be read, and why.
    unreadable: dict[str, str] = field(default_factory=dict)
    #: A re-run with cures.
    cured: bool = False
    #: What its interventions report.
    applied: Applied = field(default_factory=Applied)
    #: By topic, each with its own file in `records/`.
    wiring: WiringRecord = field(default_factory=WiringRecord)
    loss: LossRecord = field(default_factory=LossRecord)
    data: DataRecord = field(default_factory=DataRecord)
    numbers: NumbersRecord = field(default_factory=NumbersRecord)
    #: The latest look at what the outputs depend on.
    probe: ProbeRecord | None = None
    speed: SpeedRecord = field(default_factory=SpeedRecord)
    state: StateRecord = field(default_factory=StateRecord)
    #: The runs that a check has compared it with, by label.
    compared_with: dict[str, Trace] = field(default_factory=dict)
    #: Of several processes.
    ranks: RanksRecord | None = None
    #: Of a run that is over: what was logged of it.
    history: History | None = None
    #: Against another revision.
    comparison: Comparison | None = None

    @classmethod
    def of(cls, losses: Iterable[float] = (), parameters: Sequence[ParameterRecord] = ()) -> Trace:
        """A made-up trace, for tests of judgement."""
        values = [float(x) for x in losses]
        return cls(
            losses=values,
            backwards=[1] * len(values),
            updates=[1] * len(values),
            wiring=WiringRecord(parameters={p.name: p for p in parameters}),
            batch_size=16,
        )

    @property
    def steps(self) -> int:
        return len(self.losses)

    @property
    def trainable(self) -> list[ParameterRecord]:
        """Without what lies beside the model and takes no part: a teacher, a target network."""
        return [p for p in self.wiring.parameters.values() if p.trainable and not p.stands_by]

    @property
    def frozen(self) -> list[ParameterRecord]:
        """What could learn and may not."""
        return [p for p in self.wiring.parameters.values() if not p.trainable and p.can_learn]

    @property
    def finite(self) -> bool:
        return self.nonfinite is None and (not self.loss_seen or all(isfinite(x) for x in self.losses))

    @property
    def update_count(self) -> int:
        return sum(self.updates)
