"""What loss functions are called with at the first steps, and how much each contributes to the final loss."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from typing import Any

import torch
from torch import Tensor, nn

from ....records.loss_functions import (
    APPLIES,
    DIFFERENCES,
    NAMES,
    RANGES,
    RECURRENT,
    SOFTMAXES,
    TARGET_AT,
    WITH_CLASSES,
)
from ....records.losses import LossCall
from ....tensors.batches import tensors
from ....tensors.module_paths import full_path
from ...calls.activation_origin import Made, Outputs
from ...calls.arriving_gradients import ArrivingGradients
from ...calls.distances import Distances
from ...calls.likelihoods import Likelihoods
from ...calls.loss_bounds import bounds_of_choices
from ...calls.mixed_probabilities import mixed_from
from ...calls.torch_calls import Call, CallSignal
from ...calls.written_reversals import turns_its_gradient
from ...run.run import Run
from ...run.signal import Cost
from ...source.given_together import given_together
from ...source.places import user_place
from .conflicting_targets import bounds_in_batch
from .generator_range import Imitations
from .kl_term import Divergences
from .policy_reward import is_rewarded
from .similarities import Similarities
from .tensor_summary import count_invalid, given_by, terms

#: Most calls recorded in one step. By judgement: 64 are more than any loss has kinds of terms.
_MOST = 64
#: Relative to the largest: shares count as equal within this. By judgement: float32 has six digits.
_EVEN = 1e-4
#: How far the sum of the parts may differ from the whole loss, relatively. By judgement: float32 has six digits,
#: float16 three.
_SAME = 1e-3
#: The same absolutely: a loss that is 0 except for rounding. By judgement, 1e-9.
_NO_LOSS = 1e-9
#: Relative to the largest target: up to this far outside the range of an activation is rounding (float16: 1e-3).
_BEYOND_ROUNDING = 1e-3
#: Changes of shape between likelihoods and what they are multiplied by. By judgement: squeeze and reshape.
_RESHAPED = 3
#: Against division by 0 and the like, so far below any target that the value does not matter (1e-12).
_NO_ZERO = 1e-12


@dataclass
class _Difference:
    #: Kept alive, so that no other tensor gets its id.
    result: Tensor
    input: Tensor
    target: Tensor
    made: Made | None
    #: A difference that broadcasts is recorded at once, until what is done with it gets a record of its own.
    record: LossCall | None = None


@dataclass
class _Value:
    """The result of a call whose share in the loss is not known yet."""

    record: LossCall
    result: Tensor
    #: Whether it is meant to become large (a log-likelihood), and the tensor it was multiplied by.
    large: bool = False
    factor: Tensor | None = None
    #: Each sample was multiplied by a number of its own, such as a reward or a cost.
    turned: bool = False
    #: The likelihood is that of labels of the batch.
    label: bool = False
    #: What it adds to the loss.
    part: float | None = None

    def weigh(self, share: Tensor, root: float) -> None:
        chosen = share[share != 0]
        even = bool(chosen.numel()) and float(chosen.max() - chosen.min()) <= _EVEN * float(chosen.abs().max())
        uneven = share.numel() > 1 and not even
        if self.turned or (uneven and not (self.large and bool((share >= 0).all()))):
            return  # each sample has its own weight
        share = share.double()
        weight = float((share if self.factor is None else share * self.factor).sum())
        together = float((share * self.result.double()).sum())
        self.record.rises = uneven
        if not uneven:
            self.record.weight = -weight if self.large else weight
        self.part = self.record.part = together
        self.record.sole = isfinite(together) and abs(together - root) <= _SAME * abs(root) + _NO_LOSS


class LossCalls(CallSignal):
    NAME, COST = "loss_calls", Cost.CLOSE

    def __init__(self, run: Run) -> None:
        super().__init__(run)
        self._outputs = Outputs()
        self._divergences = Divergences()
        self._imitations = Imitations(run, self._outputs)
        self._distances = Distances()
        self._likelihoods = Likelihoods(self._outputs)
        self._similarities = Similarities(self._outputs, self._stands_in_the_batch)
        #: Losses written by hand: differences from a target, by the id of the result.
        self._differences: dict[int, _Difference] = {}
        self._values: list[_Value] = []
        #: In a backward pass: the loss that it begins at, and what it may consist of.
        self._root: Tensor | None = None
        self._weighed: list[_Value] = []
        self._arriving = ArrivingGradients()
        self._inside: set[str] = set()
        self._count = 0
        self._batch: list[Tensor] = []

    def wanted(self) -> bool:
        return self._run.step < 2 or self._run.step == self._run.look_closely_at

    def step_begins(self, batch: object) -> None:
        super().step_begins(batch)
        if self._open is None:
            return
        self._forget()
        self._imitations.know_data(batch)
        given = [tensor for _, tensor in tensors(batch)]
        if self._run.feed is None:  # a watched test: these are only the inputs of its model
            given += [*self._run.loader_batches.latest_tensors(), *given_together(given)]
        self._batch = [tensor for tensor in given if tensor.layout == torch.strided]
        self._inside = {
            full_path(prefix, path)
            for prefix, model in self._run.models.items()
            for path, _ in model.named_modules()
            if path
        }

    def run_ends(self) -> None:
        if self._open is not None:
            super().run_ends()
            self._forget()

    def _forget(self) -> None:
        self._outputs.clear()
        self._divergences.clear()
        self._imitations.clear()
        self._similarities.clear()
        self._distances.clear()
        self._likelihoods.clear()
        self._differences.clear()
        self._values.clear()
        self._root, self._weighed = None, []
        self._arriving.forget()
        self._batch = []
        self._count = 0

    # -- calls ---------------------------------------------------------------------------------------

    def called(self, call: Call) -> None:
        if not torch.is_grad_enabled() or self._count >= _MOST:
            return
        with torch.no_grad():
            if call.name in NAMES:
                self._function(call)
            elif call.error is None and isinstance(call.result, Tensor) and call.result.requires_grad:
                if call.module not in self._inside or call.name in SOFTMAXES:
                    self._by_hand(call)  # inside a layer, differences and products are not losses
                    self._similarities.note(call, self._run.step)
                self._imitations.note(call)
                self._run.trace.wiring.reversed_gradients += turns_its_gradient(call)
                if not isinstance(call.args[0], nn.Parameter):
                    self._outputs.note(call, call.args[0], _place_of(call))
                    self._written_out(call)
                self._distances.note(call)
                self._divergence(call)
            elif call.error is None and call.name in (*RECURRENT, "broadcast_tensors"):
                self._outputs.note(call, call.args[0], user_place() if call.name in RECURRENT else None)

    def _function(self, call: Call) -> None:
        where = TARGET_AT[call.name]
        given = [*call.args, *([call.kwargs["target"]] if "target" in call.kwargs else [])]
        if len(given) <= where or not isinstance(given[where], Tensor):
            return
        input, target = given[0], given[where]
        if call.name in DIFFERENCES and target.requires_grad and not input.requires_grad:
            input, target = target, input
        if not input.requires_grad or not input.is_floating_point() or not input.numel() or not target.numel():
            return
        record = LossCall(call.name, reduction=str(call.kwargs.get("reduction", "mean")))
        dim = 1 if input.ndim > 1 else 0
        if call.name in WITH_CLASSES:
            record.classes = input.shape[dim]
        elif call.name not in ("kl_div",):
            dim = -1
        record.input, record.target = given_by(input, dim), given_by(target, dim)
        record.terms = terms(record, input, target)
        count_invalid(call, record, target)
        record.floor, record.chance = bounds_in_batch(call.name, input, target, call.kwargs, self._batch)
        record.given_target = self._stands_in_the_batch(target)
        record.smoothing = float(call.kwargs.get("label_smoothing") or 0.0)
        made = self._outputs.made(input)
        record.mixed = mixed_from(input) if made is None and call.name in APPLIES else ()
        record.distances = call.name in WITH_CLASSES and self._distances.holds(input if made is None else made.raw)
        self._add(call, record, made, target)

    def _stands_in_the_batch(self, target: Tensor) -> bool:
        """By memory (a view, a shift by one token), or by its values: labels are often converted or reshaped.

        Whole numbers are labels; what a model computes for another to follow are floats.
        """
        if target.requires_grad:
            return False
        return not target.is_floating_point() or self._is_of_the_batch(target)

    def _is_of_the_batch(self, target: Tensor) -> bool:
        own = target.untyped_storage().data_ptr()
        return any(
            own == each.untyped_storage().data_ptr()
            or (each.numel() == target.numel() and bool((each.flatten() == target.flatten()).all()))
            for each in self._batch
        )

    def _by_hand(self, call: Call) -> None:
        """Differences that broadcast, their squares, chosen log-probabilities, and a softmax of a softmax."""
        first, second = call.args[0], call.args[1] if len(call.args) > 1 else None
        made = self._outputs.made(first)
        if call.name in SOFTMAXES and made is not None and made.activation in ("softmax", "sigmoid"):
            self._add(call, LossCall(call.name, input=given_by(first, -1), reduction="none"), made)
        elif call.name in ("sub", "mul", "__rsub__") and isinstance(second, Tensor):
            self._pair(call, first, second)
        elif call.name in ("pow", "square", "abs") and id(first) in self._differences:
            if call.name != "pow" or second == 2:
                name = "absolute difference" if call.name == "abs" else "squared difference"
                self._add_difference(call, name, self._differences[id(first)])
        elif made is not None and made.activation == "log_softmax" and _chooses(call):
            self._add_likelihood(call, first, made)
        self._of_label(call)

    def _written_out(self, call: Call) -> None:
        """An activation function by its formula, perhaps inside `torch.distributions`."""
        made = self._outputs.made(call.result)
        if made is None or not made.written_out:
            return
        made.place = user_place()
        before = self._outputs.made(made.raw)
        if made.activation in SOFTMAXES and before is not None and before.activation in ("softmax", "sigmoid"):
            record = LossCall(made.activation, input=given_by(made.raw, -1), reduction="none")
            self._add(call, record, before)

    def _pair(self, call: Call, first: Tensor, second: Tensor) -> None:
        if call.name == "mul" and first is second:
            if id(first) in self._differences:
                self._add_difference(call, "squared difference", self._differences[id(first)])
            return
        if first.requires_grad == second.requires_grad or not first.ndim or not second.ndim:
            return
        input, target = (first, second) if first.requires_grad else (second, first)
        if isinstance(input, nn.Parameter) or not target.is_floating_point():
            return
        made = self._outputs.made(input)
        if call.name == "mul":
            self._turn(input, is_mask=bool(((target == 0) | (target == 1)).all()))
        if call.name == "mul" and is_rewarded(input, target):
            record = LossCall("reward", input=given_by(input), target=given_by(target), reduction="none")
            self._add(call, record, None)
        elif call.name == "mul":
            if made is not None and made.activation == "log_softmax" and made.tensor.shape == target.shape:
                if bool((target >= 0).all()) and bool((target <= 1).all()):
                    self._add_likelihood(call, input, made, target)
            elif call.result.numel() > max(input.numel(), target.numel()):
                record = LossCall("product", input=given_by(input), target=given_by(target), reduction="none")
                self._add(call, record, made, target)
            return
        found = _Difference(call.result, input, target, made)
        self._differences[id(call.result)] = found
        if call.result.numel() > max(input.numel(), target.numel()):
            self._add_difference(call, "difference", found)
            found.record = self._run.trace.loss.calls[-1]

    def _turn(self, likelihoods: Tensor, is_mask: bool) -> None:
        """Likelihoods times rewards or costs: what should become large may be meant to become small.

        Zeros and ones are the costs of actions that were drawn, but a mask where labels come with the batch.
        """
        nodes = [likelihoods.grad_fn]
        while nodes[-1] is not None and len(nodes) <= _RESHAPED:
            nodes.append(next((node for node, _ in nodes[-1].next_functions), None))
        for value in self._values:
            if value.large and value.result.grad_fn in nodes and not (is_mask and value.label):
                value.turned = True

    def _add_difference(self, call: Call, name: str, of: _Difference) -> None:
        if of.record is not None:
            calls = self._run.trace.loss.calls
            calls[:] = [each for each in calls if each is not of.record]
            self._values = [value for value in self._values if value.record is not of.record]
        input, target = given_by(of.input), given_by(of.target)
        record = LossCall(name, input=input, target=target, reduction="none", terms=call.result.numel())
        record.floor, record.chance = bounds_in_batch(name, of.input, of.target, {}, self._batch)
        record.given_target = self._stands_in_the_batch(of.target)
        self._add(call, record, of.made, of.target)

    def _add_likelihood(self, call: Call, input: Tensor, made: Made, chosen: Tensor | None = None) -> None:
        terms = call.result.numel() if chosen is None else int(chosen.sum())
        record = LossCall("log-likelihood", input=given_by(input, -1), reduction="none", terms=terms)
        index = _chosen(call) if chosen is None else None
        if index is not None:
            record.floor, record.chance = bounds_of_choices(index, input.shape[-1])
            record.given_target = self._stands_in_the_batch(index)
        record.distances = self._distances.holds(made.raw)
        self._add(call, record, made)
        self._values[-1].large, self._values[-1].factor = True, chosen
        self._values[-1].label = index is not None and self._is_of_the_batch(index)

    def _of_label(self, call: Call) -> None:
        """The logarithm of a label's probability, without a log_softmax."""
        found = self._likelihoods.note(call, _chooses(call))
        if found is not None:
            terms = found.logarithms.numel() if found.factor is None else int(found.factor.sum())
            record = LossCall("log-likelihood", input=given_by(call.args[0]), reduction="none", terms=terms)
            self._add(call, record, None)
            self._values[-1].large, self._values[-1].factor = True, found.factor

    def _divergence(self, call: Call) -> None:
        self._divergences.note(call)
        times = self._divergences.times(call)
        if times is not None:
            terms = call.args[0]
            record = LossCall("KL divergence", input=given_by(terms), reduction="none", terms=terms.numel())
            self._add(call, record, None)
            self._values[-1].result, self._values[-1].factor = terms, torch.tensor(times, device="cpu")

    def _add(self, call: Call, record: LossCall, made: Made | None, target: Tensor | None = None) -> None:
        self._count += 1
        record.step, record.module, record.place = self._run.step, call.module, user_place()
        record.samples = record.input.shape[0] if record.input.shape else 1
        record.error = type(call.error).__name__ if call.error is not None else ""
        if made is not None:
            record.activation, record.activation_place = made.activation, made.place
            record.activation_module = made.module
            if made.dim is not None:
                record.over = made.raw.shape[made.dim]
                record.over_batch = made.dim == 0 and made.raw.ndim > 1
            if target is not None and target.is_floating_point():
                low, high = RANGES[made.activation]
                margin = _BEYOND_ROUNDING * max(abs(record.target.low), abs(record.target.high), _NO_ZERO)
                outside = (target < low - margin) | (target > high + margin)
                record.unreachable = float(outside.float().mean())
        result = call.result
        if isinstance(result, Tensor):
            record.result_shape = tuple(result.shape)
            record.value = float(result) if result.numel() == 1 else None
            if result.requires_grad:
                self._values.append(_Value(record, result))
        self._run.trace.loss.calls.append(record)

    # -- their share in the loss ---------------------------------------------------------------------

    def backward_begins(self, roots: Any) -> None:
        super().backward_begins(roots)
        self._root, self._weighed, self._values = None, self._values, []
        if len(roots) != 1 or roots[0].numel() != 1 or roots[0].grad_fn is None:
            self._similarities.clear()
            return
        wanted = [*(value.result for value in self._weighed), *self._similarities.wanted()]
        if wanted:
            self._root = roots[0]
            self._arriving.expect(wanted)

    def backward_ends(self) -> None:
        super().backward_ends()
        if self._root is not None:
            with torch.no_grad():
                self._run.trace.loss.similarities += self._similarities.weigh(self._root, self._arriving.at)
                self._weigh(float(self._root))
        self._root, self._weighed = None, []
        self._arriving.forget()

    def _weigh(self, root: float) -> None:
        parts = []
        for value in self._weighed:
            share = self._arriving.at(value.result)
            if share is not None:
                value.weigh(share, root)
                parts.append(value.part)
        known = [part for part in parts if part is not None]
        if len(known) == len(parts) and abs(sum(known) - root) <= _SAME * max(map(abs, (*known, root))):
            for value in self._weighed:
                value.record.complete = value.part is not None


def _place_of(call: Call) -> Any:
    return user_place() if call.name.removesuffix("_") in RANGES else None


def _chosen(call: Call) -> Tensor | None:
    """The classes that are selected, where there is one for each row."""
    index = call.args[2] if call.name == "gather" and len(call.args) > 2 else call.kwargs.get("index")
    if call.name == "__getitem__" and isinstance(call.args[1], tuple):
        index = call.args[1][-1]
    return index if isinstance(index, Tensor) and index.dtype == torch.long and index.numel() else None


def _chooses(call: Call) -> bool:
    """Whether one value of each row is selected: `logp.gather(1, labels[:, None])`, `logp[range(n), labels]`, or the
    diagonal, where each row belongs to the column of its own number (pairs in a batch)."""
    if call.name in ("gather", "diag", "diagonal"):
        return True
    index = call.args[1] if call.name == "__getitem__" else None
    return isinstance(index, tuple) and any(isinstance(i, Tensor) and i.ndim for i in index)
