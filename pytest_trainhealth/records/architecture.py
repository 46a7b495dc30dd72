"""How a model is built, as one step shows it: its layers in the order of their calls, and how they hang together."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class LayerRecord:
    """One layer with weights, at its first call."""

    path: str
    kind: str
    #: Spread of what goes in and of what comes out, over all values.
    spread_in: float
    spread_out: float

    @property
    def gain(self) -> float | None:
        return self.spread_out / self.spread_in if self.spread_in > 0 else None


@dataclass
class ArchitectureRecord:
    layers: list[LayerRecord] = field(default_factory=list)
    #: Normalisations that were called.
    normalisations: int = 0
    #: A recurrent layer runs through its weights again and again: how deep that is depends on the data.
    recurrent: bool = False
    #: Weights on the longest and on the shortest way from the loss back to the inputs; where shortcuts lead around
    #: layers, the second is smaller. None where the graph was not followed.
    longest: int | None = None
    shortest: int | None = None
    #: Samples that the data hold, as far as they say so.
    samples: int | None = None
