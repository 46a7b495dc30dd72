"""The signals by name. Which ones a run pays for is the check's choice; a closer look after a failure takes all."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from .activations import Activations
from .fields import Fields
from .gradients import Gradients
from .graph_ends import GraphEnds
from .modules import Modules
from .optimizers import Backwards, Optimizers
from .parameters import Parameters
from .run import Run
from .stale import StaleGradients

#: Cheap enough to be always there.
ALWAYS: tuple[Callable[[Run], object], ...] = (Optimizers, Backwards)
BY_NAME: dict[str, Callable[[Run], object]] = {
    "gradients": Gradients,
    "parameters": Parameters,
    "stale": StaleGradients,
    "modules": Modules,
    "fields": Fields,
    "activations": Activations,
    "graph_ends": GraphEnds,
}
CLOSER_LOOK: tuple[str, ...] = tuple(BY_NAME)


def make_signals(run: Run, names: Iterable[str]) -> list[object]:
    return [make(run) for make in (*ALWAYS, *(BY_NAME[name] for name in names))]
