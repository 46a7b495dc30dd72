"""The scale of what models are given: by batches that are learnt from, and by those of `val_data`.

Looked at where the model is called, so that it does not matter who standardises: a data set, a collate function or the
loss. A cure brings the inputs of `val_data` to the mean and spread of the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from ....records.held_out import ScaleShift

#: Instead of a spread of 0. By judgement: below any that matters, 1e-6.
_NO_ZERO = 1e-6


class GivenScale:
    def __init__(self) -> None:
        #: By source, of the features of the first float input: number of values, sum, and sum of squares.
        self._sums: dict[str, tuple[float, Tensor, Tensor]] = {}
        self._done: set[str] = set()

    @contextmanager
    def noting(self, models: Mapping[str, nn.Module], source: str, *, matched: bool = False) -> Iterator[None]:
        with ExitStack() as stack:
            for model in models.values():
                if not isinstance(model, torch.jit.ScriptModule) and (matched or source not in self._done):
                    hook = model.register_forward_pre_hook(self._hook(source, matched=matched), with_kwargs=True)
                    stack.callback(hook.remove)
            yield
        self._done.add(source)

    @property
    def shift(self) -> ScaleShift | None:
        if "data" not in self._sums or "val_data" not in self._sums:
            return None
        (mean, std), (val_mean, val_std) = self._moments("data"), self._moments("val_data")
        if mean.shape != val_mean.shape:
            return None
        return ScaleShift(*(float(each.mean()) for each in (mean, std, val_mean, val_std)))

    def _moments(self, source: str) -> tuple[Tensor, Tensor]:
        count, total, squares = self._sums[source]
        mean = total / count
        return mean, (squares / count - mean**2).clamp(min=0).sqrt()

    def _hook(self, source: str, *, matched: bool) -> Callable[..., Any]:
        def begins(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            given = next((each for each in (*args, *kwargs.values()) if _has_features(each)), None)
            if given is None:
                return None
            with torch.no_grad():
                if source not in self._done:
                    self._add(source, given)
                if not matched:
                    return None
                new = self._matched(given)
            args = tuple(new if each is given else each for each in args)
            return args, {name: new if each is given else each for name, each in kwargs.items()}

        return begins

    def _add(self, source: str, given: Tensor) -> None:
        rows = _by_feature(given)
        new = float(len(rows)), rows.sum(0), (rows**2).sum(0)
        known = self._sums.get(source)
        if known is None:
            self._sums[source] = new
        elif known[1].shape == new[1].shape:
            self._sums[source] = known[0] + new[0], known[1] + new[1], known[2] + new[2]

    def _matched(self, given: Tensor) -> Tensor:
        mean, std = self._moments("data")
        rows = _by_feature(given)
        if rows.shape[1] != mean.shape[0] or "val_data" not in self._sums:
            return given
        val_mean, val_std = self._moments("val_data")
        shape = [1, -1, *([1] * (given.ndim - 2))] if given.ndim > 1 else [-1]
        a, b = std / val_std.clamp(min=_NO_ZERO), mean
        new = (given.double() - val_mean.reshape(shape)) * a.reshape(shape) + b.reshape(shape)
        return new.to(given.dtype)


def _has_features(value: Any) -> bool:
    return isinstance(value, Tensor) and value.is_floating_point() and value.ndim > 1 and value.layout == torch.strided


def _by_feature(given: Tensor) -> Tensor:
    """A column for each feature of a table, or channel of an image."""
    return given.detach().double().transpose(1, -1).reshape(-1, given.shape[1]) if given.ndim > 1 else given[:, None]
