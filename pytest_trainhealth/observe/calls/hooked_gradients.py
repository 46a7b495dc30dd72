"""Which parameters get a gradient before the user's own hooks on them change it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from torch import Tensor
from torch.utils.hooks import RemovableHandle


class HookedGradients:
    """Looks at what reaches parameters that have hooks, ahead of these: whether any of it is not 0."""

    def __init__(self, looking: Callable[[Callable[..., object]], Callable[..., None]]) -> None:
        self._looking = looking
        self._handles: dict[int, RemovableHandle] = {}
        self.reached: set[str] = set()

    def look_at(self, parameters: Mapping[str, Tensor]) -> None:
        for name, parameter in parameters.items():
            hooks = parameter._backward_hooks
            if hooks and parameter.requires_grad and id(parameter) not in self._handles:
                others = dict(hooks)
                look = self._looking(partial(self._arrives, name))
                handle = parameter.register_hook(look)  # type: ignore[no-untyped-call]
                # autograd calls them as a plain dict has them, so that move_to_end() is not enough
                for number, hook in others.items():
                    del hooks[number]
                    hooks[number] = hook
                self._handles[id(parameter)] = handle

    def _arrives(self, name: str, gradient: Tensor) -> None:
        if bool(gradient.detach().any()):
            self.reached.add(name)

    def forget(self) -> None:
        for handle in self._handles.values():
            handle.remove()
        self._handles.clear()
