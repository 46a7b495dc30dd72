"""Which activation function made a tensor, traced through operations that only rearrange its values."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from ...records.loss_functions import RANGES, RECURRENT, SOFTMAXES
from ...records.verdict import Place
from .torch_calls import Call
from .written_out import Written, WrittenOut

_MOVES = {
    "squeeze", "unsqueeze", "view", "reshape", "flatten", "unflatten", "transpose", "permute", "contiguous", "clone",
    "float", "double", "half", "bfloat16", "to", "type", "type_as", "T", "mT", "swapaxes", "movedim", "view_as",
    "reshape_as", "expand", "__getitem__", "select", "narrow", "t", "clamp", "clip",
}  # fmt: skip
#: Of an LSTM: without a projection a weight has 4 times as many rows as there are hidden units.
_GATES = 4
#: Dimensions of a weight; a state has 3.
_MATRIX = 2
#: Where the inverse of tanh is still finite: the next number below 1 but some rounding.
_INSIDE = 1 - 1e-6
_LOGARITHMS = {"softmax": "log_softmax", "sigmoid": "log_sigmoid"}


@dataclass
class Made:
    """A tensor that an activation function computed from another (`raw`)."""

    activation: str
    raw: Tensor
    #: Kept alive, so that no other tensor gets its id.
    tensor: Tensor
    place: Place | None = None
    #: Dimension over which a softmax normalises, counted from the front.
    dim: int | None = None
    module: str = ""
    moves: tuple[Call, ...] = ()
    #: No function of torch's: its formula is written out.
    written_out: bool = False

    def before(self) -> Tensor:
        """What the tensor would be without the activation function."""
        tensor = self.raw
        for move in self.moves:
            tensor = move.function(tensor, *move.args[1:], **move.kwargs)
        return tensor


class Outputs:
    def __init__(self) -> None:
        self._made: dict[int, Made] = {}
        self._written = WrittenOut()

    def clear(self) -> None:
        self._made.clear()
        self._written.clear()

    def made(self, tensor: Any) -> Made | None:
        return self._made.get(id(tensor))

    def holds(self, detached: Tensor) -> bool:
        """Whether the tensor shares the memory of one that an activation function made."""
        memory = detached.untyped_storage().data_ptr()
        return any(
            m.tensor.layout == torch.strided and m.tensor.untyped_storage().data_ptr() == memory
            for m in self._made.values()
        )

    def note(self, call: Call, raw: Tensor, place: Place | None = None) -> None:
        """To be called after each torch call; `raw` is its first argument (a copy, if the call works in place)."""
        result, known = call.result, self._made.get(id(call.args[0]))
        if call.name in RECURRENT and isinstance(result, tuple):
            self._note_state(call, place)
        if call.name == "broadcast_tensors":
            self._note_broadcast(call)
        if not isinstance(result, Tensor):
            return
        name, written = call.name, self._written.note(call)
        if written is not None:
            self._note_written(call, written)
        elif (
            known is not None and known.activation == "softmax" and known.dim == self._written.divided_by_its_sum(call)
        ):
            self._keep(known, result, known.activation, known.moves)  # probabilities sum to 1 already
        elif name.removesuffix("_") in RANGES:
            self._made[id(result)] = Made(name.removesuffix("_"), raw, result, place, _dim(call, result), call.module)
        elif known is not None and name == "log" and known.activation in _LOGARITHMS:
            self._keep(known, result, _LOGARITHMS[known.activation], known.moves)
        elif known is not None and name in _MOVES and result.is_floating_point():
            # a clamp of probabilities only keeps logarithms finite: it must not be applied to the raw values
            moves = known.moves if name in ("clamp", "clip") else (*known.moves, call)
            self._keep(known, result, known.activation, moves)
        else:
            self._made.pop(id(result), None)  # changed in place

    def _note_state(self, call: Call, place: Place | None) -> None:
        """The hidden state of a recurrent layer, unless it is projected: what is before its last tanh stands for it."""
        output, weights = call.result[0], next((a for a in call.args if _are_weights(a)), None)
        if weights is None or weights[1].shape[0] % weights[1].shape[1]:
            return
        if call.name == "lstm" and weights[1].shape[0] != _GATES * weights[1].shape[1]:
            return
        for state in (output, call.result[1]):
            raw = torch.atanh(state.clamp(-_INSIDE, _INSIDE))
            self._made[id(state)] = Made(call.name, raw, state, place, None, call.module)

    def _note_written(self, call: Call, written: Written) -> None:
        made = Made(written.activation, written.raw, call.result, None, written.dim, call.module, written_out=True)
        self._made[id(call.result)] = made

    def _note_broadcast(self, call: Call) -> None:
        for given, result in zip(call.args, call.result, strict=True):
            known = self._made.get(id(given))
            if known is not None and given.shape == result.shape:
                self._keep(known, result, known.activation, known.moves)

    def put(self, result: Tensor, made: Made) -> None:
        """`result` has taken the place of what `made` describes."""
        self._made[id(result)] = replace(made, tensor=result)

    def _keep(self, known: Made, result: Tensor, activation: str, moves: tuple[Call, ...]) -> None:
        self._made[id(result)] = replace(known, activation=activation, tensor=result, moves=moves, written_out=False)


def _are_weights(argument: Any) -> bool:
    """The list of all weights, as opposed to the pair of states."""
    matrices = isinstance(argument, (list, tuple)) and len(argument) > 1
    return matrices and all(isinstance(each, Tensor) and each.ndim == _MATRIX for each in argument[:2])


def _dim(call: Call, result: Tensor) -> int | None:
    if call.name not in SOFTMAXES:
        return None
    dim = call.kwargs.get("dim", call.args[1] if len(call.args) > 1 else -1)
    return dim % max(result.ndim, 1) if isinstance(dim, int) else None
