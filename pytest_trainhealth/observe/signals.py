"""The signals by name. Which ones a run pays for is the check's choice; a closer look after a failure takes all."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from .accumulation import Accumulations
from .activations import Activations
from .alignment import Alignments
from .batch_norms import BatchNorms
from .clipping import Clipping
from .double_updates import DoubleUpdates
from .draws import Draws
from .fields import Fields
from .frozen import Frozen
from .gradients import FirstGradients, Gradients
from .graph_ends import GraphEnds
from .kept_graphs import KeptGraphs
from .loading import Loading
from .loss_calls import LossCalls
from .memory import Memory
from .modes import Modes
from .modules import Modules
from .operations import Operations
from .opponents import Opponents
from .optimizers import Backwards, Optimizers
from .pairings import Pairings
from .parameters import Moves, Parameters, Starts
from .precision import Halves
from .probes import Probes
from .regularization import Dropouts, Penalties
from .run import Run
from .scales import Scales
from .schedulers import Schedulers
from .slow_calls import SlowCalls
from .split import Split
from .spoilt import SpoiltBatches
from .stale import StaleGradients
from .stored import KeptTensors, Samples
from .surroundings import Compilations, Threads
from .ties import Ties
from .tokens import Tokens
from .visits import Visits

#: Cheap enough to be always there.
ALWAYS: tuple[Callable[[Run], object], ...] = (Optimizers, Backwards)
BY_NAME: dict[str, Callable[[Run], object]] = {
    "gradients": Gradients,
    "parameters": Parameters,
    "first_gradients": FirstGradients,
    "moves": Moves,
    "stale": StaleGradients,
    "modules": Modules,
    "fields": Fields,
    "activations": Activations,
    "graph_ends": GraphEnds,
    "draws": Draws,
    "opponents": Opponents,
    "schedulers": Schedulers,
    "batch_norms": BatchNorms,
    "alignment": Alignments,
    "pairings": Pairings,
    "clipping": Clipping,
    "double_updates": DoubleUpdates,
    "modes": Modes,
    "frozen": Frozen,
    "ties": Ties,
    "accumulations": Accumulations,
    "samples": Samples,
    "visits": Visits,
    "spoilt_batches": SpoiltBatches,
    "kept_tensors": KeptTensors,
    "loss_calls": LossCalls,
    "starts": Starts,
    "scales": Scales,
    "dropouts": Dropouts,
    "penalties": Penalties,
    "operations": Operations,
    "halves": Halves,
    "split": Split,
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
