"""Calls a model again as a step called it, with other inputs, and leaves no trace of having done so."""

from __future__ import annotations

import inspect
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.parameter import is_lazy

from ....budget.budget import Budget
from ....records.error_words import words_of
from ....state.process import remember_random_numbers
from ....tensors.batches import map_tensors, tensors
from ...source.authorship import made_by

Values = Mapping[str, Tensor]
#: The argument by which a layer may be told its mode.
_MODE = "training"
#: Modules keep their parts, hooks and whatever a framework attaches to them under names that begin like this.
_PRIVATE = "_"
#: Smallest spread of other weights, so that layers of zeros have an effect. By judgement: small compared with usual
#: weights of 0.1.
_LEAST_WEIGHT = 0.05
#: Size of the noise added to weights whose signs are flipped. By judgement: 0.1, as it only has to break ties.
_A_LITTLE = 0.1
#: Added to a counter of calls or steps. By judgement: a million is beyond any warm-up.
_LATER = 1_000_000


class NotRepeatable(Exception):
    """The call raises, or its result is not the same the second time."""


class OutOfTime(BaseException):
    """The time budget is used up. No `Exception`: probes take one for an answer, and this is none."""


@dataclass(frozen=True)
class Leaf:
    """One tensor among the arguments of a call."""

    name: str
    tensor: Tensor
    #: Whether it is itself an argument of forward(), not part of one.
    direct: bool
    #: The address of its values when the step made the call: two models may be given the same tensor.
    origin: tuple[int, tuple[int, ...]] = (0, ())


class Call:
    """One call of a module: detached copies of its arguments, by the names of forward()'s parameters."""

    def __init__(self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.module = module
        self.kind = type(module).__name__
        self.made_by = made_by("", {"": module})
        self._signature = _signature(module)
        bound = self._signature.bind(*args, **kwargs)
        self._origins = {
            full: (t.data_ptr() if t.layout == torch.strided else 0, tuple(t.shape))
            for name, value in bound.arguments.items()
            for full, t in tensors(value, name)
        }
        self._given = {
            name: map_tensors(lambda _, t: t.detach().clone(), value, name) for name, value in bound.arguments.items()
        }
        device = next((t.device.type for _, t in tensors(self._given)), "cpu")
        self._autocast = (device, torch.is_autocast_enabled(device), torch.get_autocast_dtype(device))
        self.leaves = list(self._leaves())
        #: Arguments that a repeated call has put something into: lists that are handed in for its results.
        self.filled: set[str] = set()

    def _leaves(self) -> Iterator[Leaf]:
        for name, value in self._given.items():
            kind = self._signature.parameters[name].kind
            named = kind not in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
            for full, tensor in tensors(value, name):
                if tensor.layout == torch.strided and not tensor.is_nested:
                    yield Leaf(full, tensor, named and isinstance(value, Tensor), self._origins[full])

    def takes_results(self, leaf: Leaf) -> bool:
        """Whether it lies in an argument that the call fills: what is there was never read."""
        return any(leaf.name.startswith((f"{name}[", f"{name}.")) for name in self.filled)

    @contextmanager
    def also_given(self, values: Values) -> Iterator[None]:
        """Calls inside get these arguments, in place of what was given for them, or though nothing was."""
        before = self._given
        names = list(self._signature.parameters)
        merged = {**before, **values}
        self._given = {name: merged[name] for name in names if name in merged}
        try:
            yield
        finally:
            self._given = before

    @contextmanager
    def in_mode(self, train: bool) -> Iterator[None]:
        """Calls inside that say `training=True` say this: layers of some packages go by it, and have no other mode."""
        before = self._given
        self._given = {name: _with_mode(name, value, train) for name, value in before.items()}
        try:
            yield
        finally:
            self._given = before

    def __call__(self, changes: Values) -> dict[str, Tensor]:
        given = {
            name: map_tensors(lambda full, t: changes.get(full, t).clone(), value, name)
            for name, value in self._given.items()
        }
        bound = inspect.BoundArguments(self._signature, given)
        device, enabled, dtype = self._autocast
        with torch.autocast(device, dtype=dtype, enabled=enabled):
            sizes = {name: len(value) for name, value in given.items() if isinstance(value, (list, dict))}
            output = self.module(*bound.args, **bound.kwargs)
        self.filled.update(name for name, size in sizes.items() if len(given[name]) > size)
        return {name or "output": t for name, t in tensors(output) if t.layout == torch.strided and not t.is_nested}


def _with_mode(name: str, value: Any, train: bool) -> Any:
    if name == _MODE and value is True:
        return train
    if isinstance(value, dict) and value.get(_MODE) is True:  # handed on with other named arguments
        return {**value, _MODE: train}
    return value


def _signature(module: nn.Module) -> inspect.Signature:
    try:
        return inspect.signature(module.forward)
    except (TypeError, ValueError):  # a compiled module has no signature
        return inspect.signature(lambda *inputs, **named: None)


class Repeater:
    """Repeats one call, each time with the same random numbers and from the same state."""

    def __init__(self, call: Call, put_back: Callable[[], None], budget: Budget) -> None:
        self.call, self._put_back, self._budget = call, put_back, budget
        self._weights = _Weights(call.module)
        #: The call differentiates inside: an energy whose slope is the output, or a flow that needs a divergence.
        self._needs_a_graph = False
        self.stateful = False

    def run(
        self, changes: Values | None = None, *, gradients: bool = False, train: bool = False, draws: int = 0
    ) -> dict[str, Tensor]:
        """`draws`: so many random numbers are used up before, so that the call draws others."""
        if self._budget.over():
            raise OutOfTime
        if gradients or self._needs_a_graph:
            return self._once(changes, gradients, train, draws)
        try:
            return self._once(changes, gradients, train, draws)
        except NotRepeatable as error:
            if not isinstance(error.__cause__, RuntimeError):
                raise
            self._needs_a_graph = True
            try:
                return self._once(changes, gradients, train, draws)
            except NotRepeatable:
                self._needs_a_graph = False
                raise

    def _once(self, changes: Values | None, gradients: bool, train: bool, draws: int) -> dict[str, Tensor]:
        module = self.call.module
        modes = [(each, each.training) for each in module.modules()]
        state = _State(module)
        try:
            self._put_back()
            torch.rand(draws, device="cpu")
            module.train() if train else module.eval()
            # the fast path cuts off padding and computes other numbers than training does
            with_gradients = torch.set_grad_enabled(gradients or self._needs_a_graph)
            with with_gradients, _without_fast_path(), self.call.in_mode(train):
                outputs = self.call(changes or {})
                return outputs if gradients else {name: t.detach() for name, t in outputs.items()}
        except Exception as error:
            raise NotRepeatable(f"{type(error).__name__}: {words_of(error)}") from error
        finally:
            changed = state.restore() | self._weights.restore()
            self.stateful = self.stateful or (changed and not train)
            for each, mode in modes:
                each.training = mode

    def close(self) -> None:
        """Restores all weights, even those written to without autograd's version counter noticing."""
        self._weights.restore(every=True)

    @contextmanager
    def other_weights(self, seed: int) -> Iterator[None]:
        """Zero-initialised layers, closed gates and dead units hide an influence; with other weights it shows.

        The first seed flips the signs, which opens whatever a rectifier keeps closed.
        """
        generator = torch.Generator("cpu").manual_seed(seed)
        self._weights.others = True
        try:
            for parameter, value in self._weights.values:
                if parameter.is_floating_point() and value.numel():
                    size = max(_LEAST_WEIGHT, float(value.float().square().mean().sqrt()))
                    noise = torch.randn(parameter.shape, generator=generator, device="cpu").to(value) * size
                    parameter.data.copy_(_A_LITTLE * noise - value if seed == 0 else noise)
            yield
        finally:
            self._weights.others = False
            self._weights.restore(every=True)

    @contextmanager
    def later(self) -> Iterator[None]:
        """As if the training were further on: counters that each call moves are far up, factors of 0 are 1."""
        modules = list(self.call.module.modules())
        before = [(each, _numbers(each)) for each in modules]
        factors = [(b, b.detach().clone()) for b in self.call.module.buffers() if _is_closed_factor(b)]
        counters = self._counters(before)
        try:
            for module, numbers in before:
                for name, value in numbers.items():
                    if (id(module), name) in counters:
                        module.__dict__[name] = value + _LATER
                    elif isinstance(value, float) and value == 0:
                        module.__dict__[name] = 1.0
            for buffer, _ in factors:
                buffer.data.fill_(1)
            yield
        finally:
            for module, numbers in before:
                module.__dict__.update(numbers)
            for buffer, value in factors:
                buffer.data.copy_(value)

    def _counters(self, before: list[tuple[nn.Module, dict[str, Any]]]) -> set[tuple[int, str]]:
        """Numbers that a call changes. Read right after the call, before the state is put back."""
        moved: set[tuple[int, str]] = set()

        def hook(module: nn.Module, args: Any, output: Any) -> None:
            moved.update((id(m), n) for m, held in before for n, value in held.items() if vars(m).get(n) != value)

        handle = self.call.module.register_forward_hook(hook)
        try:
            self.run()
        finally:
            handle.remove()
        return moved


def _numbers(module: nn.Module) -> dict[str, Any]:
    return {name: value for name, value in vars(module).items() if type(value) in (int, float) and name != "training"}


def _is_closed_factor(buffer: Tensor) -> bool:
    return buffer.is_floating_point() and buffer.numel() == 1 and float(buffer) == 0


class _Weights:
    """Most models do not write to their weights when called; those that keep moving averages in them do."""

    def __init__(self, module: nn.Module) -> None:
        self.values = [(p, p.detach().clone()) for p in module.parameters() if not is_lazy(p)]
        self._versions = [p._version for p, _ in self.values]
        #: Whether other weights are in place at the moment.
        self.others = False

    def restore(self, *, every: bool = False) -> bool:
        """True if a call had written to any weight."""
        written = [p._version != before for (p, _), before in zip(self.values, self._versions, strict=True)]
        if self.others and any(written):
            raise NotRepeatable("it writes to its own weights")
        for (parameter, value), wrote in zip(self.values, written, strict=True):
            if wrote or (every and not torch.equal(parameter.detach(), value)):
                parameter.data.copy_(value)
        self._versions = [p._version for p, _ in self.values]
        return any(written)


@contextmanager
def repeating(budget: Budget | None = None) -> Iterator[Callable[[Call], Repeater]]:
    """Each repetition gets the same random numbers; afterwards their state is restored."""
    put_back = remember_random_numbers()
    used: list[Repeater] = []

    def repeat(call: Call) -> Repeater:
        used.append(Repeater(call, put_back, budget or Budget()))
        return used[-1]

    try:
        yield repeat
    finally:
        for repeater in used:
            repeater.close()
        put_back()


@contextmanager
def _without_fast_path() -> Iterator[None]:
    before = torch.backends.mha.get_fastpath_enabled()
    with ExitStack() as stack:
        stack.callback(torch.backends.mha.set_fastpath_enabled, before)
        torch.backends.mha.set_fastpath_enabled(False)
        yield


#: Most attributes of layers are of these kinds, and each of a dozen calls remembers them all.
_WITHOUT_CONTENT = frozenset({int, float, bool, str, tuple, type(None)})


class _State:
    """Buffers and plain attributes of a module and its parts: by value, containers by what they hold."""

    def __init__(self, module: nn.Module) -> None:
        self._buffers = [
            (holder, name, buffer, buffer.detach().clone())
            for holder in module.modules()
            for name, buffer in holder._buffers.items()
            if buffer is not None and not is_lazy(buffer)
        ]
        #: With the names of all attributes, in their order: where these are the same, none was added.
        self._attributes = [(each, list(vars(each)), _attributes(each)) for each in module.modules()]
        self._contents = [
            (thing, _content(thing))
            for _, _, held in self._attributes
            for thing in held.values()
            if type(thing) not in _WITHOUT_CONTENT
        ]

    def restore(self) -> bool:
        """True if a buffer had been changed."""
        changed = False
        for holder, name, buffer, value in self._buffers:
            # TorchScript keeps them in a wrapper that has no get()
            same = name in holder._buffers and holder._buffers[name] is buffer and _same(buffer, value)
            changed = changed or not same
            if not same:
                holder._buffers[name] = buffer
                buffer.data = value.clone() if buffer.shape != value.shape else buffer.data.copy_(value)
        for module, names, held in self._attributes:
            if list(vars(module)) != names:
                for name in set(_attributes(module)) - set(held):
                    module.__dict__.pop(name, None)
            module.__dict__.update(held)
        for thing, content in self._contents:
            _put_back(thing, content)
        return changed


def _attributes(module: nn.Module) -> dict[str, Any]:
    return {name: value for name, value in vars(module).items() if not name.startswith(_PRIVATE)}


def _content(thing: Any) -> Any:
    if isinstance(thing, (list, deque)):
        return list(thing)
    if isinstance(thing, (dict, set)):
        return thing.copy()
    if isinstance(thing, torch.Generator):
        return thing.get_state()
    if isinstance(thing, Tensor) and not is_lazy(thing) and thing.layout == torch.strided:
        return thing.detach().clone()
    return None


def _put_back(thing: Any, content: Any) -> None:
    if isinstance(thing, (list, deque)):
        thing.clear()
        thing.extend(content)
    elif isinstance(thing, (dict, set)):
        thing.clear()
        thing.update(content)
    elif isinstance(thing, torch.Generator):
        thing.set_state(content)
    elif content is not None and not _same(thing, content):
        thing.data.copy_(content)


def _same(tensor: Tensor, value: Tensor) -> bool:
    return tensor.shape == value.shape and torch.equal(tensor.detach(), value)
