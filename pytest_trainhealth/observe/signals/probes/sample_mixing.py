"""Does a change of one sample affect the outputs of others? And with which operation does that begin?"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from ....records.probes import MixingRecord
from ....records.verdict import Place
from ....tensors.batches import tensors
from ....tensors.module_paths import full_path
from ...calls.torch_calls import function_name
from ...run.run import Run
from ...source.module_stack import ModuleStack
from ...source.places import user_place
from .repeat_call import Leaf, NotRepeatable, Repeater, Values

#: How much other samples change, as a share of the sample's own change. Rounding stays below 1e-6; an LSTM that
#: mistakes samples for time steps reaches 0.05 to 1, a mean over the batch about 1 / N.
_SHARE = 1e-3
#: Names which show that rows are nodes, not samples.
_GRAPH = ("edge", "adj", "lapl", "graph", "neighb", "senders", "receivers")
#: Rows are sorted or passed to experts: the result of each depends on the others by design.
_ROUTING = {"topk", "sort", "argsort", "unique", "bincount", "cdist", "multinomial", "nonzero"}
_BY_INDEX = ("index_", "scatter", "segment")
_RECURRENT = {"lstm", "gru", "rnn_tanh", "rnn_relu"}
#: Most calls that are remembered of one forward pass. By judgement: 5,000 are more than deep networks have.
_MOST_CALLS = 5000
#: Relative to the largest value: rows are the same except for rounding, 1e-7 in float32. By judgement 100 times that.
_SAME_ROW = 1e-5
#: Relative to the largest value: a sample's own change counts as at least this much, or rounding of 1e-7 would count as
#: a change of the others.
_ROUNDING = 1e-6


@dataclass
class Step:
    """One torch function during a call."""

    name: str
    module: str
    place: Place | None
    given: list[Tensor] = field(default_factory=list)
    results: list[Tensor] = field(default_factory=list)


class _Recorder(TorchFunctionMode):
    def __init__(self, modules: ModuleStack) -> None:
        super().__init__()
        self.steps: list[Step] = []
        self._modules = modules

    def __torch_function__(self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        given = [t for _, t in tensors((args, kwargs)) if t.is_floating_point()]
        result = func(*args, **kwargs)
        results = [t.detach() for _, t in tensors(result) if t.is_floating_point()]
        name = function_name(func)
        if len(self.steps) < _MOST_CALLS and not name.startswith("__get") and (results or name in _ROUTING):
            # an operation in place may overwrite these: keep the present values
            kept = [t.clone() for t in results]
            self.steps.append(Step(name, self._modules.current, user_place(), given, kept))
        return result


def operations(repeater: Repeater, changes: Values, run: Run) -> list[Step]:
    modules = ModuleStack(run.models)
    with ExitStack() as stack:
        stack.enter_context(modules.kept())
        recorder = _Recorder(modules)
        stack.enter_context(recorder)
        repeater.run(changes)
    return recorder.steps


def mixing(
    repeater: Repeater, base: dict[str, Tensor], samples: int, run: Run, stacked: bool
) -> tuple[MixingRecord | None, bool, str]:
    """The mixing, if any; whether it could have been seen; and why it is not reported."""
    call = repeater.call
    leaves = [leaf for leaf in call.leaves if leaf.tensor.ndim and leaf.tensor.shape[0] == samples]
    outputs = [name for name, t in base.items() if _rows_are_samples(t, samples, leaves, stacked)]
    why = _cannot_tell(repeater, samples, run)
    if why or samples < 2 or not leaves or not outputs:
        return None, False, why
    worst = MixingRecord(call.kind, 0, samples, 0, 0.0, call.made_by)
    probed: Values = {}
    for sample in dict.fromkeys((0, samples // 2, samples - 1)):
        changes = with_other(leaves, sample)
        found = _changed_rows(base, repeater.run(changes), outputs, sample) if changes else None
        if found is not None and found[0] > worst.share:
            worst.share, worst.others = found
            worst.sample, probed = sample, changes
    if repeater.stateful:
        return None, False, f"{call.kind} changes its own state when it is called, in eval mode too"
    if worst.share <= _SHARE:
        return None, True, ""
    found_there, why = _located(repeater, probed, worst, run)
    return found_there, not why, why


def _cannot_tell(repeater: Repeater, samples: int, run: Run) -> str:
    call = repeater.call
    if len(run.optimizers) > 1:
        return "several optimizers, as for adversaries, whose critics may compare samples"
    held = {name.lower(): b for name, b in call.module.named_buffers()}
    named = [*(leaf.name.lower() for leaf in call.leaves), *held]
    given = [leaf.tensor for leaf in call.leaves if leaf.tensor.ndim > 1]
    rows = any(t.shape[0] == samples and not _square(t, samples) for t in given)
    square = any(_square(t, samples) and _is_weight(t) for t in (*(given if rows else ()), *held.values()))
    pairs = samples != 2 and any(t.ndim == 2 and t.shape[0] == 2 and not t.is_floating_point() for t in given)
    plain = [t for m in call.module.modules() for _, t in tensors(_own_attributes(m))]
    sparse = any(t.layout != torch.strided for t in (*held.values(), *plain))
    if (
        square
        or pairs
        or sparse
        or any(_square(t, samples) for t in plain)
        or any(w in n for n in named for w in _GRAPH)
    ):
        return "the rows are nodes of a graph"
    return ""


def _own_attributes(module: nn.Module) -> list[Any]:
    return [v for name, v in vars(module).items() if not name.startswith("_") and isinstance(v, (Tensor, list, tuple))]


def _is_weight(tensor: Tensor) -> bool:
    """Whether it may hold weights of edges: numbers, or whether there is an edge."""
    return tensor.is_floating_point() or bool((tensor <= 1).all())


def _square(tensor: Tensor, samples: int) -> bool:
    return tensor.ndim >= 2 and tuple(tensor.shape[-2:]) == (samples, samples)


def _rows_are_samples(output: Tensor, samples: int, leaves: list[Leaf], stacked: bool) -> bool:
    """Data may have time first, and pairs of samples may be compared: only certain cases are examined."""
    if not output.is_floating_point() or not output.ndim or output.shape[0] != samples:
        return False
    if samples in output.shape[1:] or not bool(torch.isfinite(output).all()):
        return False
    widest = max(leaves, key=lambda leaf: leaf.tensor.ndim, default=None)
    if widest is None or widest.tensor.ndim == 1:
        return False
    shape = widest.tensor.shape
    if stacked or len(shape) == 4 or (len(shape) == 2 and widest.tensor.is_floating_point()):
        return True
    # with (time, samples, ...) the output would still have the second dimension
    return shape[1] != samples and (output.ndim == 1 or output.shape[1] != shape[1])


def with_other(leaves: list[Leaf], sample: int) -> dict[str, Tensor]:
    """One sample's values replaced by those of another that differs; empty if all are the same."""
    samples = leaves[0].tensor.shape[0]
    for other in (*range(sample + 1, samples), *range(sample)):
        changes = {}
        for leaf in leaves:
            if not torch.equal(leaf.tensor[other], leaf.tensor[sample]):
                changed = leaf.tensor.clone()
                changed[sample] = leaf.tensor[other]
                changes[leaf.name] = changed
        if changes:
            return changes
    return {}


def _changed_rows(
    base: dict[str, Tensor], new: dict[str, Tensor], names: list[str], sample: int
) -> tuple[float, int] | None:
    """The largest change of other rows relative to the sample's own, and how many changed. None if inconclusive."""
    worst: tuple[float, int] | None = None
    for name in names:
        before, after = base[name], new.get(name)
        if after is None or after.shape != before.shape or not bool(torch.isfinite(after).all()):
            continue
        change = row_changes(before, after)
        own = float(change[sample])
        change[sample] = 0
        if own == 0 or _are_permuted(before, after, change > _SHARE * own):
            continue
        others = int((change > _SHARE * own).sum())
        found = (float(change.max()) / own, others)
        worst = found if worst is None or found > worst else worst
    return worst


def row_changes(before: Tensor, after: Tensor) -> Tensor:
    return (after.detach().double() - before.detach().double()).abs().reshape(before.shape[0], -1).amax(1)


def _table(tensor: Tensor) -> Tensor:
    return tensor.double().reshape(tensor.shape[0], -1)


def _are_permuted(before: Tensor, after: Tensor, rows: Tensor) -> bool:
    """The rows only come in another order, sorted by length for example: none was mixed with another."""
    if not bool(rows.any()):
        return False
    distance = torch.cdist(_table(after[rows]), _table(before))
    return bool((distance.amin(1) < _SAME_ROW * before.double().abs().max()).all())


def _located(repeater: Repeater, changes: Values, found: MixingRecord, run: Run) -> tuple[MixingRecord | None, str]:
    """Where samples begin to mix, unless the operation is meant to mix them."""
    try:
        before, after = operations(repeater, {}, run), operations(repeater, changes, run)
    except NotRepeatable:
        return found, ""
    if [s.name for s in before] != [s.name for s in after]:
        return None, "the call takes another path for other inputs"
    for one, other in zip(before, after, strict=True):
        square = "attention" not in one.name and any(_square(t, found.samples) for t in one.results)
        if one.name in _ROUTING or square:
            return None, f"samples are compared with each other on purpose ({one.name})"
        if _mixes(one, other, found.sample, found.samples):
            why = _meant(one)
            if why:
                return None, why
            found.operation, found.module, found.place = one.name, one.module, one.place
            found.given = tuple(one.given[0].shape) if one.given else ()
            found.module_class = _class_of(one.module, run)
            return found, ""
        if any(_one_sequence(a, b, found.samples) for a, b in zip(one.results, other.results, strict=False)):
            return None, "the batch is turned into one sequence"
    return found, ""


def _one_sequence(before: Tensor, after: Tensor, samples: int) -> bool:
    """The shape is (1, ..., samples, ...), and the change is in it."""
    shaped = before.ndim > 2 and before.shape[0] == 1 and samples in before.shape[1:]
    return shaped and not torch.equal(before, after)


def _mixes(one: Step, other: Step, sample: int, samples: int) -> bool:
    for before, after in zip(one.results, other.results, strict=False):
        if not before.ndim or before.shape[0] != samples or before.shape != after.shape:
            continue
        change = row_changes(before, after)
        scale = max(float(change[sample]), _ROUNDING * float(before.abs().max()))
        change[sample] = 0
        if float(change.max()) > _SHARE * scale:
            return True
    return False


def _meant(step: Step) -> str:
    shape = tuple(step.given[0].shape) if step.given else ()
    if step.name in ("batch_norm", "instance_norm"):
        return "BatchNorm without running statistics"
    if step.name.startswith(_BY_INDEX):
        return f"rows are handed around by {step.name}()"
    as_one_sequence = shape[:1] == (1,) or (len(shape) > 2 and shape[1] == 1) or len(shape) == 2
    if as_one_sequence and (step.name in _RECURRENT or "attention" in step.name or "conv" in step.name):
        return f"the batch is one sequence for {step.name}"
    return ""


def _class_of(path: str, run: Run) -> str:
    for prefix, model in run.models.items():
        for name, module in model.named_modules():
            if path and full_path(prefix, name) == path:
                return describe(module)
    return ""


def describe(module: nn.Module) -> str:
    first = getattr(module, "batch_first", None)
    return type(module).__name__ if first is None else f"{type(module).__name__}(batch_first={first})"
