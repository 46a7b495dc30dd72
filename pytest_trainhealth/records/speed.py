"""Where a step's time went, how memory changed, and what a closer look at a slow training showed."""

from __future__ import annotations

from dataclasses import dataclass, field

from .verdict import Place

#: What a step's time goes into, in the order of the step.
PHASES = ("wait", "transfer", "forward", "backward", "optimizer", "rest")


@dataclass
class Phases:
    """Seconds of one step. What is missing from the whole step is the rest: clipping, logging, schedulers."""

    transfer: float = 0.0
    forward: float = 0.0
    backward: float = 0.0
    optimizer: float = 0.0


@dataclass
class LoadingRecord:
    """How a DataLoader makes its batches: read in this process, once, after the run."""

    dataset: str
    workers: int
    batch_size: int
    #: Seconds of one sample in `__getitem__` or `__iter__`, and of one batch in the collate function. 0 where nothing
    #: could be read: an iteration that can happen only once.
    item: float
    collate: float = 0.0
    #: The slowest of the user's own lines in them.
    item_place: Place | None = None
    collate_place: Place | None = None
    #: An IterableDataset: each of several workers iterates over all of it, unless it takes only its share.
    iterable: bool = False
    #: The part of this time in which a processor computes. In the rest it waits: for a disk, a network, a lock.
    busy: float = 1.0

    @property
    def reader(self) -> str:
        return "__iter__" if self.iterable else "__getitem__"

    @property
    def batch(self) -> float:
        """Seconds that one process takes for a batch."""
        return self.item * self.batch_size + self.collate


@dataclass
class KeptGraph:
    """Something that outlives its step and holds the graph of that step: tensors with a `grad_fn`."""

    #: "list", "dict", "the variable", and the name by which the user knows it.
    kind: str
    name: str
    #: Tensors with a graph in it after the first of the watched steps and after the last.
    before: int
    after: int
    #: Nodes of the graphs that are alive, at the same moments.
    nodes_before: int
    nodes_after: int
    steps: int
    place: Place | None = None

    @property
    def grows(self) -> bool:
        """With every step, not once: an exponential average or a carried state stays as large as it is."""
        return self.nodes_after - self.nodes_before >= self.steps - 1 > 0


@dataclass
class JoinedRecord:
    """The same training with several batches joined into one: seconds of a step before and after."""

    count: int
    alone: float
    joined: float


@dataclass
class CallRecord:
    """Calls of one function from one line of the user's own, in one step, and their share of all time."""

    name: str
    calls: int
    seconds: float
    share: float
    place: Place | None = None
    #: A function of torch's, whose result can be remembered.
    torch: bool = False


@dataclass
class LineRecord:
    """A line of the user's own, or a loop with all its lines: how often in a step, and how much of the forward pass."""

    rounds: int
    seconds: float
    #: Of all that is neither backward pass nor update.
    share: float
    place: Place
    #: Modules that the line calls, with those in them.
    modules: int = 0


@dataclass
class SyncRecord:
    """A line that makes Python wait for the device: `.item()`, `.cpu()`, `float(tensor)`."""

    name: str
    per_step: float
    device: str
    place: Place | None = None


@dataclass
class SpeedRecord:
    """Everything about speed and memory."""

    #: Seconds per step: waiting for the batch, and everything else.
    waits: list[float] = field(default_factory=list)
    computes: list[float] = field(default_factory=list)
    #: By step. On an accelerator not of every step: to split one it has to be synchronised.
    phases: dict[int, Phases] = field(default_factory=dict)
    #: Samples of each step, where the batches show them. Of a watched test those that its loaders gave; where a step of
    #: it ends may differ from step to step, and with that how many batches it has.
    samples: list[int] = field(default_factory=list)
    #: Batches that the loaders of a watched test gave for each step: several, where gradients are accumulated.
    loader_batches: list[int] = field(default_factory=list)
    #: Steps whose batch had to wait for worker processes that were just started.
    worker_starts: list[int] = field(default_factory=list)
    #: Tokens of each step, where the batches hold token ids.
    tokens: list[int] = field(default_factory=list)
    #: Floating point operations of one step.
    flops: float | None = None
    #: Bytes in use after each step, and the most there ever were.
    memory: list[int] = field(default_factory=list)
    peak_memory: int | None = None
    #: Bytes that one step kept for its backward pass, at most.
    kept_for_backward: int | None = None
    #: Seconds that listeners took, which do not count as the training's.
    overhead: float = 0.0
    #: Graphs that torch.compile made, by step, and why it made the last.
    compiled: dict[int, int] = field(default_factory=dict)
    compiled_because: str = ""
    #: torch's threads, and the processors that this process may use.
    threads: int = 1
    cores: int = 1
    #: How many processes wanted a processor in the last minute, where the system says so; this one among them.
    load: float | None = None
    #: Worker processes of the loaders.
    workers: int = 0
    #: The closer look after a gate has failed.
    loading: LoadingRecord | None = None
    kept_graphs: list[KeptGraph] = field(default_factory=list)
    joined: JoinedRecord | None = None
    calls: list[CallRecord] = field(default_factory=list)
    #: The line, and the loop, that take most of the forward pass.
    line: LineRecord | None = None
    loop: LineRecord | None = None
    #: The profiler's operators by their own time, with their share.
    operators: list[tuple[str, float]] = field(default_factory=list)
    syncs: list[SyncRecord] = field(default_factory=list)
