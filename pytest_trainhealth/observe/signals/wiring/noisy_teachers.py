"""Frozen modules that make targets while their dropout is on: a teacher that was left in training mode.

Dropout in a frozen part whose features are trained on regularises. So what a frozen module returns is followed: it
makes targets if it meets what is trained, and no trained parameter works on it or on anything computed from it. A copy
that moves is an averaged teacher, and one that is built like a part that is trained may be a target network: both may
want their noise.
"""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any
from weakref import ref

from torch import Tensor, nn
from torch.nn.modules.dropout import _DropoutNd

from ....records.wiring import NoisyTeacher
from ....tensors.function_modes import FunctionMode
from ...calls.graph_leaves import tensors_in
from ...run.run import Run
from ...run.signal import Cost, Signal
from ...source.places import user_place

#: The first step shows whether there is such a module, and the next ones what becomes of its output. By judgement: 3.
_STEPS = 3
#: Values of a parameter that are compared, to see whether it moves. By judgement: averaging moves all of them.
_LOOKED_AT = 64


class NoisyTeachers(Signal):
    NAME, COST = "noisy_teachers", Cost.CLOSE

    def __init__(self, run: Run) -> None:
        self._run = run
        self._open = ExitStack()
        self._stack: list[nn.Module] = []
        #: Dropout layers that were in eval mode when they were handed in, where the built-in loop may switch them on.
        self._found_off: set[int] = set()
        #: Frozen modules with active dropout, by id, with their records and what their parameters were.
        self._teachers: dict[int, tuple[nn.Module, NoisyTeacher, list[Tensor]]] = {}
        self._follow: _Follow | None = None

    def run_begins(self) -> None:
        if self._run.modes_are_the_users:
            return
        dropouts = [m for _, m in self._run.named_modules() if isinstance(m, _DropoutNd)]
        self._found_off = {id(m) for m in dropouts if not m.training}

    def step_begins(self, batch: object) -> None:
        if self._run.step >= _STEPS or (self._run.step and not self._teachers):
            return
        self._open.callback(self._before_call(self._enter).remove)
        self._open.callback(self._after_call(self._leave, always_call=True).remove)
        if self._teachers:
            self._follow = self._open.enter_context(_Follow(self))

    def step_ends(self) -> None:
        self._open.close()
        self._stack.clear()
        follow, self._follow = self._follow, None
        for key, (_, record, _) in self._teachers.items() if follow is not None else ():
            if follow is not None and key in follow.met and key not in follow.trained_on:
                record.steps.append(self._run.step)

    def run_ends(self) -> None:
        self._open.close()
        for module, record, before in self._teachers.values():
            stays = all(map(_equal, _looked_at(module), before))
            if record.steps and stays and not self._has_twin(module):
                self._run.trace.wiring.noisy_teachers[record.name] = record
        self._teachers.clear()
        self._stack.clear()

    def _enter(self, module: nn.Module, inputs: Any) -> None:
        self._stack.append(module)
        if isinstance(module, _DropoutNd) and module.training and module.p > 0 and id(module) not in self._found_off:
            frozen = next((each for each in self._stack if _is_frozen(each)), None)
            if frozen is not None:
                self._note(frozen, module)

    def _leave(self, module: nn.Module, inputs: Any, output: Any) -> None:
        if self._stack:
            self._stack.pop()
        if id(module) in self._teachers and not self._run.step:
            self._teachers[id(module)][1].place = user_place()  # the line that calls it
        if self._follow is not None and id(module) in self._teachers:
            self._follow.begin(id(module), [t for t in tensors_in(output) if not t.requires_grad])

    def _note(self, frozen: nn.Module, dropout: nn.Module) -> None:
        if id(frozen) not in self._teachers:
            path = next((path for path, module in self._run.named_modules() if module is frozen), "")
            record = NoisyTeacher(path or type(frozen).__name__, path=path)
            self._teachers[id(frozen)] = (frozen, record, _looked_at(frozen))
        record = self._teachers[id(frozen)][1]
        inner = next((path for path, module in frozen.named_modules() if module is dropout), "")
        name = ".".join(part for part in (record.name, inner) if part)
        if name not in record.layers:
            record.layers.append(name)

    def _has_twin(self, teacher: nn.Module) -> bool:
        shapes = [p.shape for p in teacher.parameters()]
        trained = [m for _, m in self._run.named_modules() if type(m) is type(teacher) and m is not teacher]
        return any([p.shape for p in m.parameters()] == shapes for m in trained)


class _Follow(FunctionMode):
    """What becomes of the outputs of teachers, and of all that is computed from them."""

    def __init__(self, signal: NoisyTeachers) -> None:
        super().__init__()
        self._signal = signal
        self._from: dict[int, tuple[ref[Tensor], frozenset[int]]] = {}
        #: Teachers whose output meets what is trained; and those with output that a trained parameter works on.
        self.met: set[int] = set()
        self.trained_on: set[int] = set()

    def begin(self, teacher: int, outputs: list[Tensor]) -> None:
        for output in outputs:
            self._from[id(output)] = (ref(output), frozenset({teacher}))

    def __torch_function__(self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        with self._signal._reading():
            self._follow(tensors_in((args, kwargs or {})), result)
        return result

    def _follow(self, given: list[Tensor], result: Any) -> None:
        teachers = frozenset[int]().union(*map(self._teachers_of, given))
        if teachers:
            if any(tensor.requires_grad and tensor.is_leaf for tensor in given):
                self.trained_on |= teachers
            elif any(tensor.requires_grad for tensor in given):
                self.met |= teachers
            for tensor in tensors_in(result):
                self._from[id(tensor)] = (ref(tensor), teachers)

    def _teachers_of(self, tensor: Tensor) -> frozenset[int]:
        known, teachers = self._from.get(id(tensor), (None, frozenset[int]()))
        return teachers if known is not None and known() is tensor else frozenset()


def _is_frozen(module: nn.Module) -> bool:
    own = list(module.parameters())
    return bool(own) and not any(p.requires_grad for p in own)


def _looked_at(module: nn.Module) -> list[Tensor]:
    return [p.detach().flatten()[:_LOOKED_AT].clone() for p in module.parameters()]


def _equal(one: Tensor, other: Tensor) -> bool:
    return one.shape == other.shape and bool((one == other).all())
