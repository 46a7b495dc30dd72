"""Replays one step operation by operation, backward pass included, and finds the first operation to blame.

An Inf alone is often intended (a mask filled with -inf). So each Inf is traced back to where it was made; the culprit
is the operation that made the first NaN, or the one that made the Inf from which that NaN was computed.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from ..records.numbers import FirstBadOperation, Range
from ..records.verdict import Place
from .run.events import Listener
from .run.run import Run
from .source.forward_lines import forward_place
from .source.module_stack import ModuleHistory
from .source.places import user_place

#: An Inf written by one of these is intended.
_FILLS = {"fill_", "fill", "full", "full_like", "masked_fill", "masked_fill_", "where", "scalar_tensor", "lift_fresh",
          "new_full", "copy_", "clone", "detach", "constant_pad_nd"}  # fmt: skip
#: Memory that nothing has written to yet may hold any value.
_UNWRITTEN = {"empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided", "empty_permuted"}
#: Most lines whose module is remembered. By judgement: a step that loops for ever must not fill the memory.
_MOST_PLACES = 10_000


@contextmanager
def under_the_microscope(run: Run) -> Iterator[None]:
    """Examines what the step does while this is open; the finding goes to `run.trace.numbers.culprit`."""
    stack = ModuleHistory(run.models)
    mode = _Microscope(run, stack)
    run.subscribe(mode)
    # anomaly mode makes each backward node remember the forward line it belongs to
    try:
        with torch.autograd.set_detect_anomaly(True, check_nan=False), stack.kept(), mode:
            yield
    finally:  # also of a step that raises: a check of torch's may be what notices the NaN
        run.trace.numbers.culprit = mode.culprit


class _Microscope(TorchDispatchMode, Listener):  # type: ignore[no-untyped-call]
    def __init__(self, run: Run, modules: ModuleHistory) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._run, self._modules = run, modules
        self._updating = False
        #: Which operation made the Inf at each memory address; and all such operations in order, because memory is
        #: reused.
        self._made_inf: dict[int, FirstBadOperation] = {}
        self._makers: list[FirstBadOperation] = []
        #: By line, the module whose own method was running there without being called as a module.
        self._module_at: dict[Place, str] = {}
        self.culprit: FirstBadOperation | None = None

    def update_begins(self, optimizer: Any, has_closure: bool) -> None:
        self._updating = not has_closure

    def update_ends(self, optimizer: Any, has_closure: bool) -> None:
        self._updating = False

    def _is_monitoring(self) -> bool:
        """Not part of training: code without a graph, outside backward passes and updates, only monitors progress."""
        return not (torch.is_grad_enabled() or self._updating or torch._C._current_autograd_node() is not None)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if self.culprit is not None or _short(func) in _UNWRITTEN or self._is_monitoring():
            return func(*args, **(kwargs or {}))
        given = [t for t in tree_leaves((args, kwargs)) if _has_values(t)]
        before = [(_has_nan(t), _has_inf(t), _range(t)) for t in given]
        result = func(*args, **(kwargs or {}))
        for output in tree_leaves(result):
            if _may_be_bad(output):
                self._look(func, given, before, output)
        return result

    def _look(self, func: Any, given: list[Tensor], before: list[tuple[bool, bool, Range]], output: Tensor) -> None:
        nan, inf = _has_nan(output), _has_inf(output)
        if not nan and not inf:
            self._made_inf.pop(output.data_ptr(), None)
            if torch._C._current_autograd_node() is None:
                self._note_owner()
            return
        carriers = [self._made_inf[t.data_ptr()] for t, (_, i, _) in zip(given, before, strict=True)
                    if i and t.data_ptr() in self._made_inf]  # fmt: skip
        if nan and not any(n for n, _, _ in before):
            self.culprit = carriers[0] if carriers else self._blame(func, before, output, "nan")
        elif nan:  # a NaN came in before any operation made one: the batch or the parameters held it
            self.culprit = self._blame(func, before, output, "nan", from_finite=False)
        elif carriers:
            self._made_inf[output.data_ptr()] = carriers[0]
        elif not any(i for _, i, _ in before) and _short(func) not in _FILLS:
            self._made_inf[output.data_ptr()] = maker = self._blame(func, before, output, "inf")
            self._makers.append(maker)

    def backward_begins(self, roots: list[Tensor]) -> None:
        """An Inf that reaches the loss is to blame, whatever the backward pass turns it into."""
        for root in roots:
            if self.culprit is None and self._makers and not bool(torch.isfinite(root.detach()).all()):
                self.culprit = self._made_inf.get(root.data_ptr(), self._makers[0])

    def __exit__(self, *error: Any) -> Any:
        if self.culprit is None and self._makers:
            self.culprit = self._makers[0]
        return super().__exit__(*error)  # type: ignore[no-untyped-call]

    def _note_owner(self) -> None:
        """Of a line outside of every call of a module: the backward pass knows the line, but no longer who ran it."""
        if not self._modules.current and len(self._module_at) < _MOST_PLACES:
            place = user_place()
            owner = "" if place is None or place in self._module_at else self._modules.owner_of_this_line()
            if place is not None and owner:
                self._module_at[place] = owner

    def _module_of(self, node: Any, place: Place | None) -> str:
        """The innermost module that was running when the operation was called; '' for one outside of the model."""
        if node is None:
            return self._modules.current or self._modules.owner_of_this_line()
        ran_in = self._modules.at(node._sequence_nr())
        return ran_in or (self._module_at.get(place, "") if place is not None else "")

    def _blame(
        self, func: Any, before: list[tuple[bool, bool, Range]], output: Tensor, value: str, *, from_finite: bool = True
    ) -> FirstBadOperation:
        node = torch._C._current_autograd_node()
        phase = "backward" if node is not None else "update" if self._updating else "forward"
        place = forward_place(node) if node is not None else user_place()
        module = self._module_of(node, place)
        operation = type(node).__name__ if node is not None else _short(func)
        bad = torch.isnan(output) if value == "nan" else torch.isinf(output)
        size = self._run.trace.batch_size
        sample = int(bad.nonzero()[0][0]) if output.ndim and output.shape[0] == size and size else None
        ranges = tuple(r for _, _, r in before)
        step, early = self._run.step, not self._modules.any_ran
        return FirstBadOperation(operation, phase, value, module, place, ranges, from_finite, step, sample, early)


def _short(func: Any) -> str:
    return str(func).removeprefix("aten.").partition(".")[0]


def _has_values(value: Any) -> bool:
    if not isinstance(value, Tensor) or value.layout != torch.strided or not value.numel():
        return False
    return value.dtype != torch.bool and not value.is_complex()


def _may_be_bad(value: Any) -> bool:
    return _has_values(value) and value.is_floating_point()


def _has_nan(tensor: Tensor) -> bool:
    return bool(torch.isnan(tensor).any())


def _has_inf(tensor: Tensor) -> bool:
    return bool(torch.isinf(tensor).any())


def _range(tensor: Tensor) -> Range:
    values = tensor.detach()
    finite = values[torch.isfinite(values)]
    if not finite.numel():
        finite = values.new_zeros(1)
    sizes = finite.abs()
    nonzero = sizes[sizes > 0]
    return Range(
        low=float(finite.min()),
        high=float(finite.max()),
        smallest=float(nonzero.min()) if nonzero.numel() else 0.0,
        zeros=float((values == 0).float().mean()),
        dtype=str(tensor.dtype).removeprefix("torch."),
        shape=tuple(tensor.shape),
        infinite=float(torch.isinf(values).float().mean()),
    )
