"""What arrives at tensors in a backward pass of the user's own.

`torch.autograd.grad()` would tell the same, in a pass of its own: all hooks on its way would be called once more than
without us, and whoever counts in one, logs, or clips by what came before, would notice.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from torch import Tensor
from torch.utils.hooks import RemovableHandle


class ArrivingGradients:
    def __init__(self) -> None:
        #: By the ids of tensors, which whoever expects something there keeps alive.
        self._handles: dict[int, RemovableHandle] = {}
        self._arrived: dict[int, Tensor] = {}

    def expect(self, tensors: Iterable[Tensor]) -> None:
        """From now on, in the pass that begins: after the hooks that are on these tensors already."""
        self.forget()
        for tensor in tensors:
            if tensor.requires_grad and id(tensor) not in self._handles:
                note = partial(self._note, id(tensor))
                self._handles[id(tensor)] = tensor.register_hook(note)  # type: ignore[no-untyped-call]

    def _note(self, tensor: int, gradient: Tensor) -> None:
        """Kept as it is: modes of the user's own would see whatever is done with it here."""
        self._arrived[tensor] = gradient

    def at(self, tensor: Tensor) -> Tensor | None:
        """None where nothing came by."""
        arrived = self._arrived.get(id(tensor))
        return None if arrived is None else arrived.detach()

    def forget(self) -> None:
        for handle in self._handles.values():
            handle.remove()
        self._handles.clear()
        self._arrived.clear()
