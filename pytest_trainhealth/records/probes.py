"""What calling the models again with changed inputs showed."""

from __future__ import annotations

from dataclasses import dataclass, field

from .verdict import Place


@dataclass
class InputRecord:
    """One tensor that a model was called with, and whether any output follows it."""

    name: str
    #: Class of the model that was called, and who wrote it ("user" or a package).
    model: str
    shape: tuple[int, ...]
    made_by: str = "user"
    #: Another sample's values in its place changed no output at all, with the weights as they are and with others.
    ignored: bool = False
    #: The same, but only where it is not padding: a mask hides what is real.
    hidden: bool = False
    #: The same, but values far outside of the data's range do change outputs: a threshold that no sample reaches.
    within_the_data: bool = False
    #: Columns or channels for which the same is true.
    unit: str = ""
    ignored_parts: tuple[int, ...] = ()
    parts: int = 0
    #: Each output belongs to a column and depends on those before it in some order: the last reaches none, by design.
    in_order: bool = False
    #: Columns at one end of a series that lie beyond what the model's convolutions see from the other end.
    out_of_view: bool = False
    #: An argument of forward() itself, not a part of a larger batch that the model may pick from.
    direct: bool = True
    place: Place | None = None


@dataclass
class MixingRecord:
    """One sample was changed, and the outputs of others changed with it (eval mode, same random numbers)."""

    model: str
    sample: int
    samples: int
    #: How many other samples' outputs changed.
    others: int
    #: The largest change among them, relative to the changed sample's own.
    share: float
    made_by: str = "user"
    #: Of the samples that were replaced, only this one changes others: its values are used for all.
    for_all: int | None = None
    #: The first operation after which samples are mixed.
    operation: str = ""
    module: str = ""
    module_class: str = ""
    given: tuple[int, ...] = ()
    #: It is the loss that mixes them: the gradient of a sample depends on the scores of others.
    in_loss: bool = False
    #: A state with a row for each sample that the model keeps from one batch to the next, though batches are drawn at
    #: random.
    carried: str = ""
    place: Place | None = None


@dataclass
class LastingDropout:
    """Dropout that is on in eval mode, though nobody asked for it."""

    model: str
    #: "F.dropout()" without `training=`, or "nn.Dropout".
    written: str
    #: A layer that forward() makes at every call.
    made_anew: bool = False
    place: Place | None = None
    made_by: str = "user"
    #: It is off in training mode.
    reversed: bool = False


@dataclass
class MaskEdit:
    """A mask that a call writes to, and the next call again: there is less left of it each time, or more."""

    model: str
    name: str
    #: It is an argument, and belongs to the data; otherwise the model keeps it.
    argument: bool
    #: Share of ones before a call, and after two.
    before: float
    after: float
    place: Place | None = None
    made_by: str = "user"


@dataclass
class ScrambleRecord:
    """A `view()` or `reshape()` that gives a dimension another place and leaves the values in their old order."""

    operation: str
    given: tuple[int, ...]
    result: tuple[int, ...]
    #: Between the model's output and the loss.
    in_loss: bool = False
    place: Place | None = None
    made_by: str = "user"


@dataclass
class PaddingRecord:
    """More padding was added after the sequences, marked like the existing padding, or other padding."""

    model: str
    mask: str
    padded: str
    #: The largest change at real positions, relative to what another sample's values change.
    share: float
    rows: int
    length: int
    made_by: str = "user"
    #: What says where the padding is: "mask", "lengths", or the "padding_idx" of an embedding.
    known_from: str = "mask"
    #: False: the model takes this length only, so padding was embedded like another token instead.
    longer: bool = True
    #: The mask has no influence on anything at all.
    unused: bool = False
    #: After the end come values like any others, and those of other samples were put there.
    stale: bool = False
    #: The loss counts padded positions: how many, of how many positions in all. `share` is that share.
    in_loss: bool = False
    counted: int = 0
    positions: int = 0
    #: The loss function, and the value of the targets there.
    function: str = ""
    filling: float | None = None
    #: An argument of the same call with the targets: what a re-run may change.
    labels: str = ""
    #: Whoever called the model left its mask out ("missing"), or gave it the wrong way round ("inverted"): with the
    #: other mask, the padding has no influence. `mask` is the argument; `share` is 0 where it hides what is real.
    misused: str = ""
    #: The first operation after which the padding shows.
    operation: str = ""
    place: Place | None = None


@dataclass
class ShiftedTwice:
    """Targets two elements ahead: labels that are one ahead of the tokens, and a loss that moves them once more."""

    model: str
    tokens: str
    labels: str
    #: The targets that were compared, and the share of them that is the element after the next.
    positions: int
    share: float
    #: The labels are an argument of the call, where a re-run can move them back.
    argument: bool = True
    #: No target was seen: the model showed that it moves labels, when it was given a single one.
    by_asking: bool = False
    place: Place | None = None
    #: Whoever made the labels, whoever made the model.
    made_by: str = "user"


@dataclass
class UntaughtEnd:
    """A model that makes sequences, and a loss that ignores the token that ends them."""

    model: str
    tokens: str
    #: What the user's code calls it, and its number.
    name: str
    value: int
    #: How many sequences of the batch end.
    rows: int
    function: str
    place: Place | None = None
    #: Whoever made the model, the loss is the user's.
    made_by: str = "user"


@dataclass
class ReturnedOrder:
    """A model sorts its samples and returns them like that, and the loss compares them with targets as they came."""

    model: str
    samples: int
    #: How many are compared with a target that is not their own, and another one.
    crossed: int
    operation: str
    made_by: str = "user"
    place: Place | None = None


@dataclass
class LeakRecord:
    """A sequence model whose inputs contain what it has to predict."""

    model: str
    name: str
    #: "future": an output changes with tokens after its position. "same": each target is the input at its position.
    kind: str
    position: int
    length: int
    #: The largest change at earlier positions, relative to that after the cut.
    share: float
    made_by: str = "user"
    #: The target of a position is the element this far after it.
    shift: int = 1
    operation: str = ""
    module: str = ""
    place: Place | None = None


@dataclass
class ProbeRecord:
    """What calling the models again with changed inputs showed, at one step."""

    step: int
    #: Calls that could be repeated, and calls seen.
    calls: int = 0
    seen: int = 0
    inputs: list[InputRecord] = field(default_factory=list)
    mixing: list[MixingRecord] = field(default_factory=list)
    scrambles: list[ScrambleRecord] = field(default_factory=list)
    mask_edits: list[MaskEdit] = field(default_factory=list)
    dropouts: list[LastingDropout] = field(default_factory=list)
    #: States that models keep from one batch to the next, where nothing says that batches are unrelated.
    states: list[str] = field(default_factory=list)
    paddings: list[PaddingRecord] = field(default_factory=list)
    leaks: list[LeakRecord] = field(default_factory=list)
    shifted_twice: list[ShiftedTwice] = field(default_factory=list)
    returned: list[ReturnedOrder] = field(default_factory=list)
    untaught_ends: list[UntaughtEnd] = field(default_factory=list)
    #: How many calls each question could be answered for, and why it could not be for others.
    judged: dict[str, int] = field(default_factory=dict)
    reasons: list[str] = field(default_factory=list)
    #: Why samples are meant to change each other's outputs, as a probe has proven; and what only looks like it.
    designs: list[str] = field(default_factory=list)
    unproven: list[str] = field(default_factory=list)

    @property
    def ignored(self) -> list[InputRecord]:
        """Inputs that no output follows: those that a model gets by name, or all there are."""
        blind = {r.model for r in self.inputs} - {r.model for r in self.inputs if not r.ignored}
        return [r for r in self.inputs if r.ignored and (r.direct or r.model in blind)]

    @property
    def ignored_in_part(self) -> list[InputRecord]:
        return [r for r in self.inputs if r.ignored_parts and r.direct and not r.in_order and not r.out_of_view]
