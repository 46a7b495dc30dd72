"""What do the outputs depend on? Repeats a step's calls of the models with other inputs.

In eval mode, without a graph, and with the same random numbers each time; state that a model keeps from a call is
restored. A probe that raises proves nothing.
"""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from torch._C._functorch import is_functorch_wrapped_tensor

from ....records.error_words import words_of
from ....records.loss_functions import SAMPLE_BY_SAMPLE
from ....records.probes import InputRecord, ProbeRecord, ScrambleRecord
from ....records.verdict import Place
from ....tensors.batches import tensors
from ...calls import torch_calls
from ...calls.arriving_gradients import ArrivingGradients
from ...calls.torch_calls import CallSignal
from ...run.run import Run
from ...run.signal import Cost
from ...source.module_calls import Watching
from ...source.places import user_place
from .given_mask import misused_mask
from .influence import influences, samples_in
from .kept_state import carried_state, mask_edits
from .lasting_dropout import DropoutsInEval, switched_off
from .leakage import leak
from .loss_mixing import LossMixing
from .loss_padding import padding_in_loss
from .padding import padding
from .real_positions import find_hidden
from .repeat_call import Call, Leaf, NotRepeatable, OutOfTime, Repeater, repeating
from .returned_order import Compared, returned_order
from .sample_axis import samples_first, shuffled
from .sample_mixing import Axis, mixing
from .scrambles import scramble
from .shifted_twice import shifted_twice
from .stale_padding import stale_padding
from .untaught_end import IgnoredEnd, ignored_end, untaught_end

#: Early, for the short training of a watched test; later, for branches that start at zero. By judgement: watched tests
#: train for as few as 3 steps.
_STEPS = (2, 8)
#: Most modules that are probed, at their first and last call. By judgement: a GAN has 2, a teacher and a student with
#: their heads 4.
_MOST_MODULES = 4
#: Calls of one module in a step with more different numbers of rows than this are not batches. By judgement: 2, as a
#: step may take a batch and another one of negatives or of unlabelled samples.
_SIZES_OF_BATCHES = 2


@dataclass
class _Made:
    """A call, as the step made it."""

    module: nn.Module
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    with_graph: bool
    #: What it returned, and the gradients of the loss with respect to that.
    outputs: dict[str, Tensor] = field(default_factory=dict)
    gradients: dict[str, Tensor] = field(default_factory=dict)


class Probes(CallSignal):
    NAME, COST = "probes", Cost.CLOSE
    LAST = True  # it calls the models again, once all other signals have stopped listening

    def __init__(self, run: Run) -> None:
        super().__init__(run)
        self._hooks: list[Watching] = []
        self._inner: dict[int, set[int]] = {}
        self._calls: list[_Made] = []
        #: How many of them are of each module, so that not all have to be looked through at the end of each call.
        self._called: Counter[int] = Counter()
        self._targets: list[Tensor] = []
        #: The same, each with what it was compared with.
        self._compared: list[Compared] = []
        self._ends: list[IgnoredEnd] = []
        #: The loss functions that were given them, and where.
        self._losses: list[tuple[str, Place | None]] = []
        self._loss_mixing = LossMixing()
        self._arriving = ArrivingGradients()
        self._scrambles: list[ScrambleRecord] = []
        #: Lines whose dropout does nothing in training mode.
        self._off: set[str] = set()
        self._batch: Any = None
        self._inputs: list[tuple[Leaf, InputRecord]] = []
        #: Modules whose calls in one step have different numbers of rows.
        self._varying: set[nn.Module] = set()

    def wanted(self) -> bool:
        return self._run.step in _STEPS

    def step_begins(self, batch: object) -> None:
        self._forget()
        self._batch = batch
        if self.wanted():
            self._hook()
        super().step_begins(batch)

    def _forget(self) -> None:
        self._calls, self._targets, self._losses, self._scrambles, self._batch = [], [], [], [], None
        self._compared, self._ends = [], []
        self._called.clear()
        self._off.clear()
        self._loss_mixing.clear()
        self._arriving.forget()

    def _hook(self) -> None:
        self._inner = {
            id(module): {id(part) for part in module.modules() if part is not module}
            for model in self._run.models.values()
            for module in model.modules()
        }
        self._hooks.append(self._after_call(self._ran, with_kwargs=True))

    def _ran(self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any) -> None:
        inner = self._inner.get(id(module))
        if inner is None or not self._forward or torch.compiler.is_compiling():
            return
        # modules that ran inside this one were not called by the step itself
        while self._calls and id(self._calls[-1].module) in inner:
            self._called[id(self._calls.pop().module)] -= 1
        if any(self._called[part] for part in inner):
            self._calls = [each for each in self._calls if id(each.module) not in inner]
            self._called = Counter(id(each.module) for each in self._calls)
        made = {name or "output": t for name, t in tensors(output) if t.requires_grad and t.layout == torch.strided}
        self._calls.append(_Made(module, args, kwargs, torch.is_grad_enabled(), made))
        self._called[id(module)] += 1

    def called(self, call: torch_calls.Call) -> None:
        if call.error is not None:
            return
        if torch.is_grad_enabled():
            self._loss_mixing.note(call)
            torn = scramble(call)
            self._scrambles += [torn] if torn is not None else []
            off = switched_off(call)
            self._off |= {off} if off is not None else set()
        if call.name in SAMPLE_BY_SAMPLE:
            target = call.args[1] if len(call.args) > 1 else call.kwargs.get("target")
            if isinstance(target, Tensor) and not is_functorch_wrapped_tensor(target):
                self._targets.append(target.detach())
                if call.args and isinstance(call.args[0], Tensor):
                    self._compared.append((call.args[0].detach(), target.detach()))
                self._losses.append((call.name, user_place()))
                end = ignored_end(call, target)
                self._ends += [end] if end is not None else []

    def backward_begins(self, roots: Any) -> None:
        super().backward_begins(roots)
        if not self._hooks or len(roots) != 1 or roots[0].grad_fn is None:
            return
        self._loss_mixing.before_backward(roots)
        self._arriving.expect(output for made in self._calls for output in made.outputs.values())

    def backward_ends(self) -> None:
        super().backward_ends()
        for made in self._calls:
            for name, output in made.outputs.items():
                slope = self._arriving.at(output)
                if slope is not None and slope.layout == torch.strided:
                    made.gradients[name] = slope + made.gradients.get(name, torch.zeros_like(slope))
        self._arriving.forget()

    def step_ends(self) -> None:
        wanted = bool(self._hooks)
        self.run_ends()
        if wanted:
            try:
                self._probe()
            finally:
                self._forget()

    def run_ends(self) -> None:
        super().run_ends()
        for hook in self._hooks:
            hook.remove()
        self._hooks = []

    def _probe(self) -> None:
        try:
            self._run.trace.probe = self._probed()
        except OutOfTime:  # half of the probes prove nothing: the next one may have been the excuse
            reason = self._run.budget.used_up("the model was not called with all the other inputs")
            self._run.trace.probe = ProbeRecord(self._run.step, seen=len(self._calls), reasons=[reason])

    def _probed(self) -> ProbeRecord:
        record = ProbeRecord(self._run.step, seen=len(self._calls))
        with repeating(self._run.budget) as repeat:
            for call, made in self._chosen():
                try:
                    self._look(repeat(call), record, made)
                except NotRepeatable as error:
                    record.reasons.append(f"{call.kind} cannot be called again: {error}")
                except Exception as error:  # user code that fails on a probe is not a fault of the training
                    record.reasons.append(f"{call.kind} cannot be probed: {type(error).__name__}: {words_of(error)}")
        record.mixing += [] if record.mixing else self._loss_mixing.found
        record.scrambles = self._scrambles
        record.inputs, self._inputs = _merged(self._inputs), []
        return record

    def _chosen(self) -> list[tuple[Call, _Made]]:
        """The first and the last call of each module that can be repeated."""
        usable = [
            c for c in self._calls if not any(is_functorch_wrapped_tensor(t) for _, t in tensors((c.args, c.kwargs)))
        ]
        of_module: dict[int, list[_Made]] = {}
        for each in [c for c in usable if c.with_graph] or usable:  # calls without a graph are teachers and metrics
            of_module.setdefault(id(each.module), []).append(each)
        chosen = []
        self._varying = {made[0].module for made in of_module.values() if _rows_vary(made)}
        for made in list(of_module.values())[:_MOST_MODULES]:
            for each in made if len(made) < 3 else (made[0], made[-1]):
                with suppress(TypeError, ValueError, RuntimeError):
                    chosen.append((Call(each.module, each.args, each.kwargs), each))
        return chosen

    def _look(self, repeater: Repeater, record: ProbeRecord, made: _Made) -> None:
        base, gradients = repeater.run(), made.gradients
        with DropoutsInEval(repeater.call, frozenset(self._off)) as dropouts:
            again = repeater.run()
        if not base or any(name not in again or not _equal(t, again[name]) for name, t in base.items()):
            raise NotRepeatable("its outputs differ the second time" if base else "it returns no tensor")
        record.calls += 1
        record.dropouts += dropouts.found
        samples = samples_in(repeater, base)
        if samples:
            inputs = influences(repeater, base, samples, {t.data_ptr() for t in self._targets}, self._run)
            find_hidden(repeater, base, inputs)
            self._inputs += inputs
            _count(record, "inputs", len(inputs))
            with suppress(NotRepeatable):
                self._mixing(repeater, base, samples, record)
        with suppress(NotRepeatable):
            keeps = {t.data_ptr() for _, t in tensors(self._batch) if self._belongs_to_the_data()}
            record.mask_edits += mask_edits(repeater, keeps)
        with suppress(NotRepeatable):
            leaking, number = leak(repeater, base, self._candidates(), self._run, bool(self._targets))
            record.leaks += [leaking] if leaking is not None else []
            _count(record, "leaks", number)
        with suppress(NotRepeatable):
            order = returned_order(repeater, base, made.outputs, self._compared, tensors(self._batch), self._run)
            record.returned += [order] if order is not None else []
        end = untaught_end(repeater, self._ends if len(self._ends) == len(self._losses) else [])
        record.untaught_ends += [end] if end is not None else []
        twice = shifted_twice(repeater, gradients, self._targets, tensors(self._batch))
        if twice is not None:
            twice.place = self._losses[0][1] if self._losses else None
            record.shifted_twice.append(twice)
        with suppress(NotRepeatable):
            padded, number = padding(repeater, base, self._run)
            record.paddings += [padded] if padded is not None else []
            _count(record, "padding", number)
            stale, number = stale_padding(repeater, base, self._run)
            record.paddings += [stale] if stale is not None else []
            _count(record, "padding", number)
            counted, number = padding_in_loss(repeater, base, gradients, self._targets)
            if counted is not None:
                counted.function, counted.place = self._losses[0] if self._losses else ("", None)
                record.paddings.append(counted)
            _count(record, "padding", number)
            if repeater.call.made_by != "user":  # what the user's own model does with its mask is known from above
                misused, number = misused_mask(repeater)
                record.paddings += [misused] if misused is not None else []
                _count(record, "padding", number)

    def _candidates(self) -> list[Tensor]:
        """What the losses were given; if no loss was seen, everything in the batch."""
        return self._targets or [t for _, t in tensors(self._batch) if t.ndim]

    def _mixing(self, repeater: Repeater, base: dict[str, Tensor], samples: int, record: ProbeRecord) -> None:
        answer = mixing(repeater, base, samples, self._run, self._axis(repeater, samples))
        record.mixing += [answer.found] if answer.found is not None else []
        (record.designs if answer.proven else record.unproven).extend([answer.why] if answer.why else [])
        _count(record, "mixing", int(answer.judged or answer.proven))

        state = carried_state(repeater, base, samples)
        if state is not None and shuffled(getattr(self._run.feed, "source", None)):
            record.mixing.append(state)
        elif state is not None:
            record.states.append(f"{state.model} keeps {state.carried} from one batch to the next")

    def _belongs_to_the_data(self) -> bool:
        return isinstance(getattr(self._run.feed, "source", None), (list, tuple, dict))

    def _axis(self, repeater: Repeater, samples: int) -> Axis:
        data = getattr(self._run.feed, "source", None)
        leaves = [leaf for leaf in repeater.call.leaves if leaf.tensor.ndim > 1 and samples in leaf.tensor.shape[:2]]
        answers = [samples_first(leaf, data, self._batch, self._targets) for leaf in leaves]
        first = next((each for each in answers if each is not None), None)
        return Axis(first, shuffled(data), repeater.call.module in self._varying)


def _rows_vary(made: list[_Made]) -> bool:
    """Each call is one object with many elements, not a batch. (Two sizes may be a batch and its negatives.)"""
    sizes = {next((t.shape[0] for _, t in tensors((c.args, c.kwargs)) if t.ndim), 0) for c in made}
    return len(sizes) > _SIZES_OF_BATCHES


def _count(record: ProbeRecord, question: str, number: int) -> None:
    record.judged[question] = record.judged.get(question, 0) + number


def _equal(one: Tensor, other: Tensor) -> bool:
    return one.shape == other.shape and torch.equal(torch.nan_to_num(one), torch.nan_to_num(other))


def _merged(inputs: list[tuple[Leaf, InputRecord]]) -> list[InputRecord]:
    """An input that one call or model ignores may be used by another."""
    for leaf, record in inputs:
        alike = [r for other, r in inputs if (r.model, r.name) == (record.model, record.name)
                 or other.origin == leaf.origin]  # fmt: skip
        record.ignored = all(r.ignored for r in alike)
        using = [r for r in alike if not r.ignored]
        record.ignored_parts = tuple(p for p in record.ignored_parts if all(p in r.ignored_parts for r in using))
    return list({(r.model, r.name): r for _, r in inputs}.values())
