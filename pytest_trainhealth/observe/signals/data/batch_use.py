"""What a step does with the tensors of its batch: which it writes into, and which its loss is computed from.

A tensor that gets what a model has computed is a memory (a hidden state, a priority, a refined label), which is meant
to change. So values are followed: from parameters on, and from the batch on.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from weakref import ref

from torch import Tensor, nn

from ....records.verdict import Place
from ....tensors.function_modes import FunctionMode
from ....tensors.storage import memory_of
from ...source.places import user_place

#: A tensor's values as Python numbers or an array: where these go cannot be seen.
_CONVERSIONS = {"item", "tolist", "numpy", "__array__", "__float__", "__int__", "__index__", "__bool__"}
_LOSSES = {"cross_entropy", "binary_cross_entropy", "binary_cross_entropy_with_logits"}


class BatchUse(FunctionMode):
    def __init__(self, given: dict[str, Tensor]) -> None:
        super().__init__()
        self._names = {memory_of(tensor): name for name, tensor in given.items()}
        #: By tensor: the parts of the batch that it was computed from.
        self._from_batch: dict[int, tuple[ref[Tensor], frozenset[str]]] = {}
        self._from_model: dict[int, ref[Tensor]] = {}
        self._model_seen = False
        #: The lines that write into parts of the batch what no model has computed.
        self.written: dict[str, Place | None] = {}
        self.memories: set[str] = set()
        #: What meets something that is trained, and what a loss function compares with.
        self.used: set[str] = set()
        self.targets: set[str] = set()

    def __torch_function__(self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        given = list(_tensors((args, kwargs)))
        versions = [(t, t._version) for t in given if not t.is_inference()]
        result = func(*args, **kwargs)
        written = [tensor for tensor, version in versions if tensor._version != version]
        self._follow(func, args, kwargs, [*written, *_tensors(result)])
        self._note_writes(written, given)
        return result

    def _follow(self, func: Any, args: Any, kwargs: Any, results: list[Tensor]) -> None:
        given, name = list(_tensors((args, kwargs))), getattr(func, "__name__", "")
        by_model = any(map(self._comes_from_model, given))
        parts = frozenset[str]().union(*map(self._parts, given))
        if any(tensor.requires_grad for tensor in given):
            self.used |= parts
            if name in _LOSSES or name.endswith("_loss"):
                target = args[1] if len(args) > 1 else kwargs.get("target")
                self.targets |= self._parts(target) if isinstance(target, Tensor) else set()
        self._model_seen |= by_model and name in _CONVERSIONS
        for result in results:
            if by_model:
                self._from_model[id(result)] = ref(result)
            if parts:
                self._from_batch[id(result)] = (ref(result), parts)

    def _note_writes(self, written: list[Tensor], given: list[Tensor]) -> None:
        names = [self._names[memory_of(tensor)] for tensor in written if memory_of(tensor) in self._names]
        if names and (self._model_seen or any(map(self._comes_from_model, given))):
            self.memories.update(names)
        elif names:
            place = user_place()
            for name in names:
                self.written.setdefault(name, place)

    def _comes_from_model(self, tensor: Tensor) -> bool:
        known = self._from_model.get(id(tensor))
        return tensor.requires_grad or isinstance(tensor, nn.Parameter) or (known is not None and known() is tensor)

    def _parts(self, tensor: Tensor) -> frozenset[str]:
        known, parts = self._from_batch.get(id(tensor), (None, frozenset[str]()))
        own = self._names.get(memory_of(tensor))
        return (parts if known is not None and known() is tensor else frozenset()) | (
            {own} if own is not None else set()
        )


def _tensors(value: Any) -> Iterator[Tensor]:
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from _tensors(each)
    elif isinstance(value, dict):
        yield from _tensors(list(value.values()))
