"""The signals by name. Which ones a run pays for is the check's choice; a closer look after a failure takes all."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ..run.run import Run
from .data.alignment import Alignments
from .data.batch_writes import BatchWrites
from .data.blanked_batch import BlankedBatches
from .data.fields import Fields
from .data.scales import Scales
from .data.stored_data import KeptTensors, Samples
from .data.target_pairing import Pairings
from .losses.loss_calls import LossCalls
from .numbers.activations import Activations
from .numbers.batch_norms import BatchNorms
from .numbers.half_precision import HalfPrecision
from .numbers.operations import Operations
from .numbers.regularization import Dropouts, Penalties
from .probes.probes import Probes
from .speed.kept_graphs import KeptGraphs
from .speed.loading import Loading
from .speed.machine import Compilations, Threads
from .speed.memory import Memory
from .speed.phases import StepPhases
from .speed.slow_calls import SlowCalls
from .speed.tokens import Tokens
from .wiring.accumulation import Accumulations
from .wiring.adversaries import Adversaries
from .wiring.clipping import Clipping
from .wiring.detached_samples import DetachedSamples
from .wiring.double_updates import DoubleUpdates
from .wiring.frozen import Frozen
from .wiring.gradients import FirstGradients, Gradients
from .wiring.graph_ends import GraphEnds
from .wiring.modes import Modes
from .wiring.modules import Modules
from .wiring.optimizers import Backwards, Optimizers
from .wiring.parameters import InitialValues, Movement, Parameters
from .wiring.schedulers import Schedulers
from .wiring.stale_gradients import StaleGradients
from .wiring.weight_ties import WeightTies

#: Cheap enough to be always there.
ALWAYS: tuple[Callable[[Run], object], ...] = (Optimizers, Backwards)
BY_NAME: dict[str, Callable[[Run], object]] = {
    "gradients": Gradients,
    "parameters": Parameters,
    "first_gradients": FirstGradients,
    "moves": Movement,
    "stale": StaleGradients,
    "modules": Modules,
    "fields": Fields,
    "activations": Activations,
    "graph_ends": GraphEnds,
    "draws": DetachedSamples,
    "opponents": Adversaries,
    "schedulers": Schedulers,
    "batch_norms": BatchNorms,
    "alignment": Alignments,
    "pairings": Pairings,
    "clipping": Clipping,
    "double_updates": DoubleUpdates,
    "modes": Modes,
    "frozen": Frozen,
    "ties": WeightTies,
    "accumulations": Accumulations,
    "samples": Samples,
    "visits": BatchWrites,
    "spoilt_batches": BlankedBatches,
    "kept_tensors": KeptTensors,
    "loss_calls": LossCalls,
    "starts": InitialValues,
    "scales": Scales,
    "dropouts": Dropouts,
    "penalties": Penalties,
    "operations": Operations,
    "halves": HalfPrecision,
    "split": StepPhases,
    "memory": Memory,
    "tokens": Tokens,
    "threads": Threads,
    "compilations": Compilations,
    "loading": Loading,
    "kept_graphs": KeptGraphs,
    "slow_calls": SlowCalls,
    # last: it calls the models again, when all others have stopped listening
    "probes": Probes,
}
#: They leave off early; the closer look has those that do not.
_BRIEF = ("first_gradients", "moves")
#: About speed and memory, which other checks do not ask for.
_PACE = ("split", "memory", "tokens", "threads", "compilations", "loading", "kept_graphs", "slow_calls")
CLOSER_LOOK: tuple[str, ...] = tuple(name for name in BY_NAME if name not in (*_BRIEF, *_PACE))


def make_signals(run: Run, names: Iterable[str]) -> list[object]:
    return [make(run) for make in (*ALWAYS, *(BY_NAME[name] for name in names))]
