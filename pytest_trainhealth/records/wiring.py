"""Parameters, modules, optimizers, and what happens to gradients between backward() and the step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import takewhile

from .architecture import ArchitectureRecord
from .verdict import Place

#: Gradient per value, first weight against the largest, best of 64 steps: at least 1e-2 in all 192 healthy programs
#: (any weight: 1.6e-3); the first of twelve sigmoid layers is at 1e-11.
VANISHED = 1e-8
#: How updates are called that no optimizer of torch's makes.
BY_HAND = "the update by hand"
#: How the end of a graph is called where gradients were switched off.
NO_GRAD = "no_grad()"
#: Functions of steps, as `GraphEnd` calls them: the graph goes on, and their derivative is 0 everywhere.
FLAT = frozenset(("round()", "floor()", "ceil()", "trunc()", "sign()", "heaviside()"))
#: Draws for which torch has a derivative, of 0.
DRAWS = frozenset(("torch.normal()", "torch.bernoulli()", "torch.poisson()"))
#: Functions that return values and an index, of which only the values have a graph.
INDEX_OF = {
    name: f"the index of {name}()"
    for name in ("max", "min", "topk", "sort", "kthvalue", "median", "mode", "cummax", "cummin")
}
#: Choices, by which scores decide what is taken, and get no gradient for it.
CHOICES = frozenset(("argmax()", "argmin()", "argsort()", *INDEX_OF.values()))


@dataclass
class LostUpdates:
    """Updates of a parameter that an optimizer holds, that has a gradient, and that has not moved yet."""

    count: int = 0
    #: The largest learning rate of its group, and the one that the group was made with, if a scheduler kept it.
    rate: float = 0.0
    initial_rate: float | None = None
    #: The optimizer's step wrote to it; it left other values there; such an update is too small for the type of number.
    written: bool = False
    changed: bool = False
    too_small: bool = False
    #: All its values are the same: a bound may hold it there.
    constant: bool = False
    #: Updates that moved it, and after each of which its old values were there again.
    put_back: int = 0


@dataclass
class OutsideWrites:
    """What something other than an optimizer has written to the parameters that it holds, between its updates."""

    #: Pairs of updates between which it was looked for, and those between which something wrote.
    updates: int = 0
    writes: int = 0
    names: set[str] = field(default_factory=set)
    place: Place | None = None
    #: Writes that lead straight back to the values at the start of the run.
    to_the_start: int = 0
    #: The share of what updates had moved since the last write that each write took back.
    taken: list[float] = field(default_factory=list)


@dataclass
class ParameterRecord:
    """One parameter. Steps are keys because norms are sampled (steps 0, 1, 2, 4, 8, ...)."""

    name: str
    shape: tuple[int, ...] = ()
    size: int = 0
    dtype: str = "float32"
    trainable: bool = True
    #: Trainable at first, and frozen when its gradient was looked for: the first step of the last such run of steps.
    frozen_since: int | None = None
    #: The module that holds it, its class, who wrote that class, and whose code made the parameter ("user" or a
    #: package: torch's own layers belong to whoever makes them).
    module: str = ""
    module_class: str = ""
    class_by: str = "user"
    made_by: str = "user"
    #: The model that it belongs to, by its name: empty for the only one, or the first.
    model: str = ""
    #: What a package made: the module around it that the user's code put into the model.
    put_in: str = ""
    #: The step in which it was made, if it was not there before: a layer made in the first forward pass.
    appeared: int | None = None
    #: It belongs to no model: the loss or the step uses it. And a tensor that is no `nn.Parameter`.
    outside_model: bool = False
    plain_tensor: bool = False
    #: The attribute, a plain list or dict, that holds it where no module does: `parameters()` does not know it.
    kept_in: str = ""
    held_by: tuple[str, ...] = ()
    #: Norm of the gradient that the optimizer got; None where it got none.
    gradients: dict[int, float | None] = field(default_factory=dict)
    #: Size of an update relative to the weights.
    updates: dict[int, float] = field(default_factory=dict)
    norm: float | None = None
    moved: bool | None = None
    #: Spread and mean of its values at the start.
    std: float | None = None
    mean: float = 0.0
    #: Whether what goes into its module was computed with parameters that an optimizer holds; None: not looked at.
    behind_trained: bool | None = None
    #: Whether losses that nothing trained can change are all that leads to it: a part beside what is trained.
    beside_trained: bool = False
    #: In no optimizer: the label of the one that steps next when a backward pass has reached it.
    stepped_next: str = ""
    #: It cannot matter as its layer is called: attention over a single key, one step of a recurrence.
    inert: bool = False
    #: Whether the graph of the loss leads to it; None: not looked at.
    in_graph: bool | None = None
    #: Updates that had a gradient for it and left it as it was, and what was seen of them.
    lost: LostUpdates | None = None
    #: How many inputs each unit sums up, as seen where an input was multiplied with it.
    fan_in: int | None = None
    #: Units of a recurrent layer, an attention or an embedding, whose rows are no units: gates stand below one another,
    #: tokens have a row each. None where rows are units, if anything is.
    units: int | None = None
    #: Spread between its units relative to its size, by sampled step: 0 where all units are equal. Weights only.
    unit_spread: dict[int, float] = field(default_factory=dict)

    @property
    def is_weight(self) -> bool:
        """Matrices and kernels: a bias before a BatchNorm or in front of a softmax rightly gets almost no gradient."""
        return len(self.shape) >= 2 and self.size > 1

    @property
    def can_learn(self) -> bool:
        """Whole numbers and masks have no gradient, whoever unfreezes them."""
        return self.dtype.startswith(("float", "bfloat", "complex"))

    @property
    def has_gradient(self) -> bool:
        """Some sampled step gave it a gradient other than exactly zero."""
        return any(g is not None and g != 0 for g in self.gradients.values())

    @property
    def never_reached(self) -> bool:
        return bool(self.gradients) and all(g is None for g in self.gradients.values())

    @property
    def stands_by(self) -> bool:
        """Beside the model, in no optimizer, and reached by no gradient."""
        return self.outside_model and not self.held_by and not self.has_gradient

    def rms_gradients(self) -> dict[int, float]:
        """Per value rather than per tensor, so that layers of different size can be compared."""
        scale = max(self.size, 1) ** 0.5
        return {step: g / scale for step, g in self.gradients.items() if g is not None}


def largest_gradient(weights: Sequence[ParameterRecord]) -> float:
    """Per value."""
    return max((g for p in weights for g in p.rms_gradients().values()), default=0.0)


def vanished_first(weights: Sequence[ParameterRecord], share: float = VANISHED) -> list[ParameterRecord]:
    """The first weights of the model, as long as their gradient is almost nothing next to the largest, at every look.

    A gradient that vanishes on its way back is missing from the first layers. Single weights further on may have almost
    none by nature: query and key weights at the start get 1e-9 of the largest in a healthy MobileBERT.
    """
    limit = share * largest_gradient(weights)
    return list(takewhile(lambda p: p.has_gradient and max(p.rms_gradients().values()) < limit, weights))


@dataclass
class ModuleRecord:
    """One module of the model, as far as forward hooks saw it at sampled steps."""

    path: str
    kind: str
    made_by: str = "user"
    calls: int = 0
    #: False when it ran where torch records no graph; and where that was switched off.
    grad_enabled: bool = True
    no_grad_at: Place | None = None
    #: It ran without a graph, next to layers that learn from something else than its output.
    branch: bool = False
    place: Place | None = None
    #: Put into the model after an optimizer had been made.
    after_optimizer: bool = False


@dataclass
class OptimizerRecord:
    label: str
    kind: str
    lr: dict[int, float] = field(default_factory=dict)
    steps: int = 0
    parameters: int = 0
    values: int = 0
    #: The largest of its groups.
    weight_decay: float = 0.0
    #: Tensors it holds that the model does not have.
    foreign_tensors: int = 0
    foreign_values: int = 0
    #: It maximises (`maximize=True`).
    maximize: bool = False
    place: Place | None = None
    #: The whole statement that made it.
    statement: str = ""
    #: Where its rate got a name, if it has one, and that name.
    rate_place: Place | None = None
    rate_name: str = ""
    #: The learning rate at every update, in order; of several groups the largest.
    rates: list[float] = field(default_factory=list)
    #: The one it was made with, if a scheduler has kept it ("initial_lr").
    initial_lr: float | None = None
    #: Momentum, betas and the like of its first group.
    settings: dict[str, float] = field(default_factory=dict)

    @property
    def first_lr(self) -> float | None:
        return next(iter(self.lr.values()), None)


@dataclass
class SchedulerRecord:
    """A scheduler that was stepped by the user's call (calls inside that one belong to it)."""

    kind: str
    optimizer: str
    calls: int = 0
    #: The steps of its first calls.
    steps: list[int] = field(default_factory=list)
    #: Where step() was called (None: by our own loop), and where the scheduler was made.
    place: Place | None = None
    made_at: Place | None = None
    #: The highest rate that it is to reach, if it sets one of its own (OneCycleLR, CyclicLR).
    peak: float | None = None
    #: Steps until its course is over, if it says so (OneCycleLR).
    total_steps: int | None = None
    #: ReduceLROnPlateau: "min" or "max", how many calls it waits, and what it was given.
    mode: str = ""
    patience: int | None = None
    fed: list[float] = field(default_factory=list)


@dataclass
class GradientPath:
    """Norms of all gradients that an optimizer holds, on their way through one step that was looked at."""

    step: int
    optimizer: str
    #: Right after backward(), without the factor that a loss scaler has removed since.
    after_backward: float
    at_update: float
    #: Where they were written to between the two, and whether a loss scaler removed its factor after that; one of the
    #: loop's own, which divides by a constant that it has multiplied the loss by.
    changed_at: Place | None = None
    unscaled_later: bool = False
    by_hand: bool = False
    #: What is left of them when they are cleared, if they were written into after the step, and where that was.
    left: float | None = None
    changed_later_at: Place | None = None
    #: Something wrote into them, and many have one and the same value, which none on that side of 0 passes, while those
    #: on the other side go far beyond it.
    cut_at: float | None = None


@dataclass
class ClipCalls:
    """A line that calls `clip_grad_norm_` (or `clip_grad_value_`) with parameters that are trained."""

    place: Place
    limit: float
    by_norm: bool = True
    #: Steps at which it was looked at, and those of them at which it found a gradient other than 0.
    looks: int = 0
    found: int = 0
    #: Steps at which all that it found had been used by an optimizer, and was cleared before the next backward().
    late: int = 0
    #: Steps at which no optimizer held any of what it found, and nothing had moved that since the look before.
    unheld: int = 0
    #: How often an optimizer used what it clipped; and how often another one stepped, unclipped, before that was gone.
    used: int = 0
    aside: int = 0


@dataclass
class UsedUpClip:
    """A line that calls `clip_grad_norm_` with an iterator that it was given before, and which yields nothing now."""

    place: Place
    limit: float
    steps: list[int] = field(default_factory=list)


@dataclass
class UnusedPasses:
    """Backward passes whose gradients were cleared before an optimizer had used them."""

    optimizer: str
    #: For each of its updates: passes from the same line that were cleared since the last one, and those that it used.
    #: Where it got nothing at all, the passes from any line.
    cleared: list[int] = field(default_factory=list)
    used: list[int] = field(default_factory=list)
    #: Passes from other lines that were cleared since the last update: another loss's.
    elsewhere: list[int] = field(default_factory=list)
    #: Of backward(), and where its gradients were cleared.
    place: Place | None = None
    cleared_at: Place | None = None


@dataclass
class WronglyScaled:
    """An update with gradients that a loss scaler's factor is still in, or was taken out of although it never was in.

    They are `factor` times their real size.
    """

    step: int
    optimizer: str
    factor: float
    #: Of all gradients of the optimizer, as it got them.
    norm: float
    place: Place | None = None


@dataclass
class DoubleUpdate:
    """A parameter that moved twice with one gradient: in two optimizers, or held twice by one."""

    parameter: str
    optimizers: tuple[str, str]
    steps: list[int] = field(default_factory=list)


@dataclass
class ModeRecord:
    """A trained model, and the mode in which its mode-dependent layers ran.

    Steps at which it was updated after a forward pass in training mode, and after one in eval mode only.
    """

    model: str
    trained: list[int] = field(default_factory=list)
    evaluated: list[int] = field(default_factory=list)
    #: Kinds of the layers that ran in eval mode, by path; and paths of BatchNorms that came with statistics.
    layers: dict[str, str] = field(default_factory=dict)
    pretrained: set[str] = field(default_factory=set)
    #: Where eval() was called, if that was in the run.
    place: Place | None = None
    #: Steps at which it was evaluated on other data in training mode, and where.
    validated: list[int] = field(default_factory=list)
    validated_at: Place | None = None
    #: It has dropout, and no BatchNorm.
    drops: bool = False
    #: The path of a part in eval mode, within the model in training mode that has this prefix.
    part: str = ""
    holder: str = ""


@dataclass
class NoisyTeacher:
    """A frozen module that runs in training mode, and whose output nothing is computed from but the loss."""

    name: str
    #: Its dropout layers, by name.
    layers: list[str] = field(default_factory=list)
    steps: list[int] = field(default_factory=list)
    #: Its path, if it is part of a model.
    path: str = ""
    place: Place | None = None


@dataclass
class FrozenChange:
    """A frozen parameter that an optimizer moved, or a BatchNorm with frozen parameters whose statistics moved."""

    name: str
    #: The optimizer, or "statistics".
    by: str
    steps: list[int] = field(default_factory=list)


@dataclass
class FrozenRows:
    """Rows of an embedding whose gradients were set to 0 by hand, and which an optimizer moved."""

    name: str
    by: str
    steps: list[int] = field(default_factory=list)
    #: How many, of how many.
    rows: int = 0
    of: int = 0


@dataclass
class TiedPair:
    """Two weights that began with the same "values" (or "transposed" ones), share their "memory", or are one according
    to the model itself ("declared")."""

    first: str
    second: str
    how: str
    #: What shows that one was meant: "memory", "assigned" over a layer's own weight, or "said" in the source; or
    #: "siamese", where the source says that, and the weights are the first ones of two towers; or "configuration".
    meant: str = "assigned"


@dataclass
class Accumulation:
    """One update, and the backward passes before it."""

    step: int
    optimizer: str
    passes: int
    #: What a loss, as a mean, was multiplied by: 1/k where it was divided by k; the mean of all passes.
    factor: float = 1.0
    place: Place | None = None
    #: All came from one line.
    one_loop: bool = True


@dataclass
class EmptyUpdates:
    """How many of the optimizers' steps had a gradient to step with, and how many had none."""

    full: int = 0
    #: Cleared between backward() and the step; and never computed since the last step.
    cleared: int = 0
    not_computed: int = 0
    #: Where the first empty step was taken.
    place: Place | None = None
    #: By optimizer: steps before which all of its gradients, which the backward pass had computed, were cleared.
    robbed: dict[str, int] = field(default_factory=dict)
    #: By optimizer: steps with a gradient, and steps right after a backward pass that had reached nothing it holds.
    met: dict[str, int] = field(default_factory=dict)
    missed: dict[str, int] = field(default_factory=dict)

    @property
    def empty(self) -> int:
        return self.cleared + self.not_computed


@dataclass
class LastingGraphs:
    """Steps whose graph an update has made useless, and which is there all the same."""

    #: How many, if none of them was let go of; otherwise 0.
    steps: int = 0
    #: Batches of one pass through the data; 1 where there is but one, and where it is not known.
    a_pass: int = 1


@dataclass
class CoastingRecord:
    """How one of several optimizers steps: with a gradient; with none, since no pass has come to it; and of those the
    steps that moved its parameters all the same, on momentum or weight decay."""

    optimizer: str
    full: int = 0
    waited: int = 0
    coasted: int = 0
    #: Where it coasted first.
    place: Place | None = None


@dataclass
class GraphEnd:
    """A place in the user's source where the autograd graph ends."""

    operation: str
    module: str
    place: Place | None = None
    #: The parameters whose graph ends here.
    parameters: frozenset[str] = frozenset()


@dataclass
class HelpedCritic:
    """A critic and its opponent that pull its scores the same way, and the steps at which they do."""

    critic: str
    maker: str
    #: Where the critic got the opponent's samples, in its own turn.
    place: Place | None = None
    steps: list[int] = field(default_factory=list)


@dataclass
class DetachedSample:
    """A draw around a mean that needs gradients, and the steps at which only a pull to 0 reached it.

    Or a row of a table that was chosen for values that need gradients, and only a pull to that row reached them.
    """

    #: "sample()", of a `Normal`, or "torch.normal()"; "argmin()" or another choice.
    function: str = "sample()"
    place: Place | None = None
    #: The gradient that came to the mean was a multiple of the mean itself.
    penalty_only: bool = False
    #: It is a choice from a table.
    choice: bool = False
    steps: list[int] = field(default_factory=list)


@dataclass
class LostInitialisation:
    """A weight that is computed from other parameters, and was given values that the first forward pass replaces."""

    weight: str
    #: By `torch.nn.utils.weight_norm`, which keeps it as an attribute; otherwise by `torch.nn.utils.parametrize`.
    old: bool = True
    place: Place | None = None


@dataclass
class WiringRecord:
    """Everything about the wiring: what is trained, by which optimizer, and what happens to the gradients."""

    parameters: dict[str, ParameterRecord] = field(default_factory=dict)
    modules: dict[str, ModuleRecord] = field(default_factory=dict)
    optimizers: dict[str, OptimizerRecord] = field(default_factory=dict)
    schedulers: list[SchedulerRecord] = field(default_factory=list)
    #: How the model is built; None: not looked at.
    architecture: ArchitectureRecord | None = None
    #: Size of all gradients right after backward() (per value), and of those that the optimizers got (together).
    after_backward: dict[int, float] = field(default_factory=dict)
    at_update: dict[int, float] = field(default_factory=dict)
    #: Steps at which an optimizer used gradients that still held the previous step's.
    stale_gradients: dict[str, list[int]] = field(default_factory=dict)
    #: A model was called in training mode and without gradients, on other data than the step's.
    evaluated_while_training: bool = False
    #: Updates by hand that were examined: something moved parameters with gradients that no optimizer holds.
    hand_updates: int = 0
    #: Those of them in which everything that moved went along its gradient, where plain descent goes against it.
    hand_climbs: int = 0
    #: How many backward passes had gone before each of them, and how many there were in all while this was counted.
    hand_update_passes: list[int] = field(default_factory=list)
    hand_passes: int = 0
    #: Those that stepped with what another's backward pass, through them, had left: at which steps, and whose.
    leaked_gradients: dict[str, dict[int, str]] = field(default_factory=dict)
    empty_updates: EmptyUpdates = field(default_factory=EmptyUpdates)
    #: By the optimizer.
    outside_writes: dict[str, OutsideWrites] = field(default_factory=dict)
    #: By the optimizer.
    coasting: dict[str, CoastingRecord] = field(default_factory=dict)
    lasting_graphs: LastingGraphs = field(default_factory=LastingGraphs)
    #: Derivatives are taken of tensors that no module and no optimizer has, as `torch.func` does.
    trains_unknown: bool = False
    #: The loss was computed with derivatives of a model (`autograd.grad(..., create_graph=True)`).
    through_derivatives: bool = False
    #: Where zero_grad() was called between backward() and step().
    cleared_at: Place | None = None
    gradient_paths: list[GradientPath] = field(default_factory=list)
    #: By the line.
    clip_calls: dict[str, ClipCalls] = field(default_factory=dict)
    #: The lowest limit at which a loop that is not the user's clips gradients that nothing has used.
    clipped_by_loop: float | None = None
    used_up_clips: dict[str, UsedUpClip] = field(default_factory=dict)
    #: By the optimizer.
    unused_passes: dict[str, UnusedPasses] = field(default_factory=dict)
    wrongly_scaled: list[WronglyScaled] = field(default_factory=list)
    double_updates: dict[str, DoubleUpdate] = field(default_factory=dict)
    accumulations: list[Accumulation] = field(default_factory=list)
    modes: dict[str, ModeRecord] = field(default_factory=dict)
    noisy_teachers: dict[str, NoisyTeacher] = field(default_factory=dict)
    frozen_changes: dict[str, FrozenChange] = field(default_factory=dict)
    #: Parameters whose gradient was set to 0 by hand between backward() and the update, and which weight decay moved.
    zeroed_changes: dict[str, FrozenChange] = field(default_factory=dict)
    zeroed_rows: dict[str, FrozenRows] = field(default_factory=dict)
    tied_pairs: list[TiedPair] = field(default_factory=list)
    graph_ends: list[GraphEnd] = field(default_factory=list)
    #: How often a gradient was turned round on its way back, at the first steps.
    reversed_gradients: int = 0
    #: By the line that drew.
    detached_samples: dict[str, DetachedSample] = field(default_factory=dict)
    lost_initialisations: list[LostInitialisation] = field(default_factory=list)
    #: By the critic.
    helped_critics: dict[str, HelpedCritic] = field(default_factory=dict)
