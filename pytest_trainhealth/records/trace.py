"""What was recorded while stepping: names, numbers, places; never tensors.

Checks judge a `Trace` and causes look for evidence in it, so both are tested in microseconds on made-up
ones. Standard library only.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import isfinite

from .comparison import Comparison
from .data import Alignment, BlankedBatch, FieldRecord, KeptTensor, Repaired, SampleChange, ScaleRecord
from .losses import GeneratorRange, LossCall
from .numbers import ActivationRecord, Crash, DropoutRecord, FirstBadOperation, HalfRecord, NonFinite
from .probes import ProbeRecord
from .speed import SpeedRecord
from .verdict import Place
from .wiring import (
    Accumulation,
    DetachedSample,
    DoubleUpdate,
    FrozenChange,
    GradientPath,
    GraphEnd,
    HelpedCritic,
    ModeRecord,
    ModuleRecord,
    OptimizerRecord,
    ParameterRecord,
    SchedulerRecord,
    TiedPair,
)


@dataclass
class Trace:
    losses: list[float] = field(default_factory=list)
    #: backward() calls and optimizer steps, step by step.
    backwards: list[int] = field(default_factory=list)
    updates: list[int] = field(default_factory=list)
    parameters: dict[str, ParameterRecord] = field(default_factory=dict)
    modules: dict[str, ModuleRecord] = field(default_factory=dict)
    activations: dict[str, ActivationRecord] = field(default_factory=dict)
    optimizers: dict[str, OptimizerRecord] = field(default_factory=dict)
    #: Size of all gradients right after backward() (per value), and of those that the optimizers got (together).
    after_backward: dict[int, float] = field(default_factory=dict)
    at_update: dict[int, float] = field(default_factory=dict)
    #: Steps at which an optimizer used gradients that still held the previous step's.
    stale_gradients: dict[str, list[int]] = field(default_factory=dict)
    gradient_paths: list[GradientPath] = field(default_factory=list)
    double_updates: dict[str, DoubleUpdate] = field(default_factory=dict)
    modes: dict[str, ModeRecord] = field(default_factory=dict)
    frozen_changes: dict[str, FrozenChange] = field(default_factory=dict)
    #: Parameters whose gradient was set to 0 by hand between backward() and the update, and which weight decay moved.
    zeroed_changes: dict[str, FrozenChange] = field(default_factory=dict)
    tied_pairs: list[TiedPair] = field(default_factory=list)
    accumulations: list[Accumulation] = field(default_factory=list)
    sample_change: SampleChange | None = None
    blanked_batch: BlankedBatch | None = None
    kept_tensors: dict[str, KeptTensor] = field(default_factory=dict)
    #: Where zero_grad() was called between backward() and step().
    cleared_at: Place | None = None
    fields: dict[int, list[FieldRecord]] = field(default_factory=dict)
    scales: list[ScaleRecord] = field(default_factory=list)
    dropouts: list[DropoutRecord] = field(default_factory=list)
    #: Lines outside of the model that take the size of a parameter with its gradient.
    penalties: list[Place] = field(default_factory=list)
    halves: dict[str, HalfRecord] = field(default_factory=dict)
    #: Names of the torch functions that ran inside the model at step 0.
    operations: set[str] = field(default_factory=set)
    graph_ends: list[GraphEnd] = field(default_factory=list)
    #: By the line that drew.
    detached_samples: dict[str, DetachedSample] = field(default_factory=dict)
    #: By the critic.
    helped_critics: dict[str, HelpedCritic] = field(default_factory=dict)
    #: The latest look at what the outputs depend on.
    probe: ProbeRecord | None = None
    nonfinite: NonFinite | None = None
    culprit: FirstBadOperation | None = None
    crash: Crash | None = None
    #: False when backward() was called on a loss that no trainable parameter reaches.
    loss_connected: bool = True
    batch_size: int | None = None
    #: How many batches the data hold, as far as they say so.
    batches: int | None = None
    schedulers: list[SchedulerRecord] = field(default_factory=list)
    alignment: Alignment | None = None
    repaired: Repaired | None = None
    #: Values per channel that a BatchNorm in training mode was given, the fewest of all looks, by path.
    values_per_channel: dict[str, int] = field(default_factory=dict)
    #: What loss functions were given at the first steps.
    loss_calls: list[LossCall] = field(default_factory=list)
    generator_ranges: list[GeneratorRange] = field(default_factory=list)
    #: The cure that changes what they are given, or what becomes of it: the calls are told as they were before.
    loss_cured_by: str = ""
    #: Seconds per step: waiting for the batch, and everything else.
    waits: list[float] = field(default_factory=list)
    computes: list[float] = field(default_factory=list)
    #: Against another revision.
    comparison: Comparison | None = None
    speed: SpeedRecord = field(default_factory=SpeedRecord)
    #: A re-run with cures.
    cured: bool = False
    #: The step from which on a cure made the learning rate smaller, where it did not from the start.
    smaller_steps_from: int | None = None
    #: Cures that reported that they had nothing to do.
    without_effect: list[str] = field(default_factory=list)
    #: The run was cut short before it could show anything (the reason).
    cut_short: str = ""

    @classmethod
    def of(cls, losses: Iterable[float] = (), parameters: Sequence[ParameterRecord] = ()) -> Trace:
        """A made-up trace, for tests of judgement."""
        values = [float(x) for x in losses]
        return cls(
            losses=values,
            backwards=[1] * len(values),
            updates=[1] * len(values),
            parameters={p.name: p for p in parameters},
            batch_size=16,
        )

    @property
    def steps(self) -> int:
        return len(self.losses)

    @property
    def trainable(self) -> list[ParameterRecord]:
        return [p for p in self.parameters.values() if p.trainable]

    @property
    def frozen(self) -> list[ParameterRecord]:
        return [p for p in self.parameters.values() if not p.trainable]

    @property
    def finite(self) -> bool:
        return self.nonfinite is None and all(isfinite(x) for x in self.losses)

    @property
    def update_count(self) -> int:
        return sum(self.updates)
