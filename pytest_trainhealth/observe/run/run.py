"""One run of one training: what is trained, the current step, and the listeners."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING, Any

import torch
from torch import nn
from torch.nn.parameter import is_lazy
from torch.optim import Optimizer

from ...budget.budget import Budget
from ...records.error_words import words_of
from ...records.trace import THE_RUN, Trace
from ...records.wiring import OptimizerRecord, SchedulerRecord
from ...tensors.aside import Aside
from ...tensors.function_modes import take_off_ended
from ...tensors.module_paths import full_path
from ...tensors.readable import is_released
from .events import EVENTS, Listener
from .hidden_layers import unregistered
from .loader_batches import LoaderBatches
from .parameter_records import bare_record, registered_record, size_of
from .sampling import is_sampled

if TYPE_CHECKING:
    from ...training import Training
    from ..calls.torch_calls import SharedCalls
    from ..errors.error_watch import ErrorWatch
    from ..signals.numbers.finiteness import Finiteness
    from ..source.creation_sites import CreationSites
    from .feed import Feed


def _is_gathered(parameter: torch.Tensor) -> bool:
    """By FSDP, for one use of a layer: its memory is given back again and again."""
    return not is_lazy(parameter) and is_released(parameter)


#: Tests of the package set this: there, whoever cannot read something is to be mended.
RAISES = False


class Run:
    """What signals and cures know about the training they listen to.

    Models and optimizers of a `Training` are known from the start; those of a watched test are added when first used.
    """

    #: Set by the program that runs the training, before the first listener needs it.
    finiteness: Finiteness

    def __init__(self, look_closely_at: int | None = None) -> None:
        self.trace = Trace()
        self.step = 0
        self.look_closely_at = look_closely_at
        #: How many batches a look through the data reads. None: as many as are cheap.
        self.most_batches: int | None = None
        #: Whether an evaluation beside the steps has shown all that it can.
        self.evaluated_enough: Callable[[Trace], bool] | None = None
        #: What takes long is not begun when it is used up.
        self.budget = Budget()
        self.models: dict[str, nn.Module] = {}
        #: Plain tensors among them, where the user trains some.
        self.parameters: dict[str, torch.Tensor] = {}
        self.optimizers: dict[str, Optimizer] = {}
        #: The schedulers that were stepped, with their records.
        self.schedulers: list[tuple[Any, SchedulerRecord]] = []
        #: None for a watched test, which has its own loaders.
        self.feed: Feed | None = None
        #: Takes one more step with a batch; None for a watched test.
        self.take_step: Callable[[Any], float] | None = None
        #: The training of the run; None for a watched test.
        self.training: Training | None = None
        #: What was seen of the making of models and optimizers; None where nobody looked.
        self.creation_sites: CreationSites | None = None
        #: Set by the cure that keeps gradients: called before each zero_grad().
        self.refuses_clearing: Callable[[Any], bool] | None = None
        #: What the signals share that see the calls of torch functions; made by the first of them.
        self.shared_calls: SharedCalls | None = None
        #: What sees the calls of a step that is known to raise; None in every other run.
        self.error_watch: ErrorWatch | None = None
        self.loader_batches = LoaderBatches()
        #: Added by cures that change the batch of a step.
        self.batch_changes: list[Callable[[Any], Any]] = []
        #: The step that something is wrapped around; in a watched test the wrapping begins before the step does.
        self.wrapped_step = 0
        self._holders: dict[int, tuple[str, ...]] = {}
        #: The name of each parameter, and the label of each optimizer.
        self._names: dict[int, str] = {}
        self._labels: dict[int, str] = {}
        self._listeners: dict[str, tuple[tuple[Listener, Callable[..., None]], ...]] = {}
        #: When the outermost `emit()` that is still running began.
        self._emitting_since: float | None = None

    # -- listeners -----------------------------------------------------------------------------------

    def subscribe(self, listener: Listener) -> None:
        """Methods that the listener does not override are never called: every step would pay for doing nothing."""
        for event in EVENTS:
            if getattr(type(listener), event) is not getattr(Listener, event):
                known = self._listeners.get(event, ())
                self._listeners[event] = (*known, (listener, getattr(listener, event)))

    def emit(self, event: str, *facts: Any) -> None:
        """The time that listeners take is added up, so that it is not mistaken for the training's own."""
        methods = self._listeners.get(event)
        if methods is None:
            return
        began = time.perf_counter()
        if self._emitting_since is not None:  # emitted by a listener: the outer call times it
            self._tell(methods, facts)
            return
        self._emitting_since = began
        try:
            with Aside():
                self._tell(methods, facts)
        finally:
            self._emitting_since = None
            self.trace.speed.overhead += time.perf_counter() - began

    def _tell(self, methods: tuple[tuple[Listener, Callable[..., None]], ...], facts: tuple[Any, ...]) -> None:
        for listener, method in methods:
            try:
                method(*facts)
            except Exception as error:
                if not listener.ONLY_LOOKS:
                    raise
                self.could_not_read(listener, error)

    @contextmanager
    def nobody_told(self) -> Iterator[None]:
        """For forward and backward passes that are no part of the training."""
        listeners, self._listeners = self._listeners, {}
        try:
            yield
        finally:
            self._listeners = listeners

    def could_not_read(self, listener: Listener, error: Exception) -> None:
        """It is told nothing any more, and takes its hooks and modes off; the trace says what it could not read."""
        name = getattr(listener, "NAME", THE_RUN)
        if name in self.trace.not_read:
            return
        self.trace.not_read[name] = f"{type(error).__name__}: {words_of(error).partition(chr(10))[0]}"
        if RAISES:
            raise error
        for event, methods in self._listeners.items():
            if event != "run_ends":
                self._listeners[event] = tuple(each for each in methods if each[0] is not listener)
        with suppress(Exception):
            listener.run_ends()

    @property
    def emitting(self) -> bool:
        """Listeners are at work: what happens now is not the training's doing."""
        return self._emitting_since is not None

    def overhead_until(self, now: float) -> float:
        """Seconds that listeners have taken so far, including the event being emitted right now."""
        since = self._emitting_since
        return self.trace.speed.overhead + (0.0 if since is None else now - since)

    def end(self) -> None:
        """Every listener gets this event, even if another raises: it may have hooks to remove.

        They are let go of then. Each knows its run, and if the run knew them still, only the garbage collector would
        free the model: a check of the next training would need the memory of both.
        """
        with ExitStack() as every:
            every.callback(self._listeners.clear)
            every.callback(take_off_ended)
            for listener, method in reversed(self._listeners.get("run_ends", ())):
                every.callback(self._tell, ((listener, method),), ())

    def let_go(self) -> None:
        """When all is over, of everything but the trace: whatever a run knows may know the run, and such a circle keeps
        the model and its optimizer's state until the garbage collector comes by."""
        trace = self.trace
        vars(self).clear()
        self.trace = trace

    @property
    def sampled(self) -> bool:
        return is_sampled(self.step) or self.step == self.look_closely_at

    # -- what is trained -----------------------------------------------------------------------------

    @property
    def modes_are_the_users(self) -> bool:
        """The built-in loop puts a model that is handed in in eval mode into training mode; no other loop is helped."""
        return self.training is None or self.training.step is not None

    def add_models(self, models: Mapping[str, nn.Module]) -> None:
        known = {id(model) for model in self.models.values()}
        for prefix, model in models.items():
            if id(model) in known:
                continue
            known.add(id(model))
            self.models[prefix] = model
            self._add_registered(prefix, model)
            for name, store, owner, parameter in unregistered(model):
                if self._add(full_path(prefix, name), parameter):
                    record = self.trace.wiring.parameters[full_path(prefix, name)]
                    record.module_class = "" if owner is None else type(owner).__name__
                    record.kept_in = full_path(prefix, store)
                    record.plain_tensor = not isinstance(parameter, nn.Parameter)
        self.rematch()

    def add_late_parameters(self) -> None:
        """Those of layers that were made since the models were added: in the first forward pass."""
        known = len(self.parameters)
        for prefix, model in self.models.items():
            for name in self._add_registered(prefix, model):
                self.trace.wiring.parameters[name].appeared = self.step
        if len(self.parameters) > known:
            self.rematch()

    def add_outside(self, found: Iterable[tuple[str, nn.Module | None, torch.Tensor]]) -> None:
        """What the loss or the step uses besides the models: their names, the modules that hold them, themselves."""
        for name, owner, parameter in found:
            if self._add(name, parameter):
                record = self.trace.wiring.parameters[name]
                record.module_class, record.outside_model = "" if owner is None else type(owner).__name__, True
                record.plain_tensor = not isinstance(parameter, nn.Parameter)
                seen = None if self.creation_sites is None else self.creation_sites.maker_of(parameter)
                record.made_by = seen or "user"
        self.rematch()

    def _add_registered(self, prefix: str, model: nn.Module) -> list[str]:
        """The names of those that are new."""
        modules, added = dict(model.named_modules(remove_duplicate=False)), []
        for name, parameter in model.named_parameters():
            full = full_path(prefix, name)
            if self._add(full, parameter):
                record = registered_record(prefix, name, parameter, modules, self.creation_sites)
                self.trace.wiring.parameters[full] = record
                added.append(full)
        return added

    def _add(self, full: str, parameter: torch.Tensor) -> bool:
        """Whether it is new."""
        if full in self.parameters or id(parameter) in self._names or _is_gathered(parameter):
            return False
        self._names[id(parameter)] = full
        self.parameters[full] = parameter
        self.trace.wiring.parameters[full] = bare_record(full, parameter)
        return True

    def add_optimizer(self, optimizer: Optimizer, label: str | None = None) -> str:
        if id(optimizer) in self._labels:
            return self._labels[id(optimizer)]
        kind = type(optimizer).__name__
        label = label or (kind if kind not in self.optimizers else f"{kind}[{len(self.optimizers)}]")
        self.optimizers[label] = optimizer
        self._labels[id(optimizer)] = label
        self.trace.wiring.optimizers[label] = OptimizerRecord(label, kind)
        self._match(label, optimizer)  # it alone: there may be one for each parameter
        return label

    def forget_optimizer(self, label: str) -> Optimizer:
        """Takes an optimizer out of the run: it belongs to another training."""
        optimizer = self.optimizers.pop(label)
        del self._labels[id(optimizer)], self.trace.wiring.optimizers[label]
        self.rematch()
        return optimizer

    def has_parameter(self, tensor: torch.Tensor) -> bool:
        name = self._names.get(id(tensor))
        return name is not None and self.parameters[name] is tensor

    def forget_model(self, prefix: str) -> None:
        """Takes a model out of the run and its records: it turned out to have no part in the training."""
        model, wiring = self.models.pop(prefix), self.trace.wiring
        for name in [name for name, record in wiring.parameters.items() if record.model == prefix]:
            del wiring.parameters[name]
            self._names.pop(id(self.parameters.pop(name, None)), None)
        for path, _ in model.named_modules():
            wiring.modules.pop(full_path(prefix, path), None)
        self.rematch()

    def named_modules(self) -> Iterator[tuple[str, nn.Module]]:
        """The modules of all models, under the same paths as in the records."""
        for prefix, model in self.models.items():
            for path, module in model.named_modules():
                yield full_path(prefix, path), module

    def held_by(self, parameter: torch.Tensor) -> tuple[str, ...]:
        return self._holders.get(id(parameter), ())

    def rematch(self) -> None:
        """Find out (again) which optimizer holds which parameters, and which tensors that belong to no model."""
        self._holders = {}
        for label, optimizer in self.optimizers.items():
            self._match(label, optimizer)
        for name, parameter in self.parameters.items():
            self.trace.wiring.parameters[name].held_by = self.held_by(parameter)

    def _match(self, label: str, optimizer: Optimizer) -> None:
        record, held = self.trace.wiring.optimizers[label], [p for g in optimizer.param_groups for p in g["params"]]
        for parameter in held:
            self._holders[id(parameter)] = (*self.held_by(parameter), label)
            name = self._names.get(id(parameter))
            if name is not None:
                self.trace.wiring.parameters[name].held_by = self.held_by(parameter)
        foreign_tensors = [p for p in held if id(p) not in self._names]
        record.parameters, record.values = len(held), sum(size_of(p) for p in held)
        record.foreign_tensors, record.foreign_values = len(foreign_tensors), sum(size_of(p) for p in foreign_tensors)
