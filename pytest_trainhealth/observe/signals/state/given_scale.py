"""The scale of what models are given: by batches that are learnt from, and by those of `val_data`.

Looked at where the model is called, so that it does not matter who standardises: a data set, a collate function or the
loss. A cure brings the inputs of `val_data` to the mean and spread of the others, or their features into the same
order. Features are the columns of a table, the channels of an image, and the last dimension of a sequence.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from ....records.held_out import OtherOrder, ScaleShift
from .feature_order import order_of

#: Instead of a spread of 0. By judgement: below any that matters, 1e-6.
_NO_ZERO = 1e-6
#: Features, at most, whose order is looked at. By judgement: 512 take 2 MB for their distances.
_MOST = 512
#: Evaluations that are looked at, each as if it were the first. By judgement: 2, as the second one has all batches.
_EVALUATIONS = 2
#: Dimensions of a batch of images, 4, and the only other order that three colours are ever read in: BGR for RGB.
_IMAGES, _REVERSED = 4, (2, 1, 0)
#: What a cure does to the inputs of `val_data`.
RESCALED, REORDERED = "on the scale of data", "in the order of data"

_Sums = tuple[float, Tensor, Tensor]


class GivenScale:
    def __init__(self) -> None:
        #: By source and dimension, of the features of the first float input: number of values, sum, sum of squares.
        self._sums: dict[tuple[str, int], _Sums] = {}
        self._noted: Counter[str] = Counter()
        self._images = False

    @contextmanager
    def noting(self, models: Mapping[str, nn.Module], source: str, *, changed: str = "") -> Iterator[None]:
        if self._noted[source] < _EVALUATIONS:  # all anew: after the first step there was one batch to learn from
            self._sums = {key: sums for key, sums in self._sums.items() if key[0] != source}
        with ExitStack() as stack:
            for model in models.values():
                if not isinstance(model, torch.jit.ScriptModule) and (changed or self._noted[source] < _EVALUATIONS):
                    hook = model.register_forward_pre_hook(self._hook(source, changed), with_kwargs=True)
                    stack.callback(hook.remove)
            yield
        self._noted[source] += 1

    @property
    def shift(self) -> ScaleShift | None:
        if not self._known(1):
            return None
        (mean, std), (val_mean, val_std) = self._moments("data", 1), self._moments("val_data", 1)
        return ScaleShift(*(float(each.mean()) for each in (mean, std, val_mean, val_std)))

    @property
    def other_order(self) -> OtherOrder | None:
        """By the features of a table or the channels of an image first, then by the last dimension."""
        for dim in (1, -1):
            if self._known(dim) and len(self._sums["data", dim][1]) <= _MOST:
                order = order_of(self._moments("data", dim), self._moments("val_data", dim))
                if order:
                    return self._described(dim, order, known_again=True)
        if self._images and self._known(1) and len(self._sums["data", 1][1]) == len(_REVERSED):
            return self._described(1, _REVERSED, known_again=False)
        return None

    def _described(self, dim: int, order: tuple[int, ...], *, known_again: bool) -> OtherOrder:
        first = next(at for at, place in enumerate(order) if at != place)
        own, other = self._moments("data", dim)[0], self._moments("val_data", dim)[0]
        there = float(other[order[first]])
        return OtherOrder(dim, order, first, float(own[first]), float(other[first]), there, known_again)

    def _known(self, dim: int) -> bool:
        """From both sides, and as many features of each."""
        own, other = self._sums.get(("data", dim)), self._sums.get(("val_data", dim))
        return own is not None and other is not None and own[1].shape == other[1].shape

    def _moments(self, source: str, dim: int) -> tuple[Tensor, Tensor]:
        count, total, squares = self._sums[source, dim]
        mean = total / count
        return mean, (squares / count - mean**2).clamp(min=0).sqrt()

    def _hook(self, source: str, changed: str) -> Callable[..., Any]:
        def begins(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            given = next((each for each in (*args, *kwargs.values()) if _has_features(each)), None)
            if given is None:
                return None
            with torch.no_grad():
                if self._noted[source] < _EVALUATIONS:
                    self._images = given.ndim == _IMAGES
                    for dim in (1, -1)[: given.ndim - 1]:
                        self._add(source, given, dim)
                if not changed:
                    return None
                new = self._matched(given, None if changed == RESCALED else self.other_order)
            args = tuple(new if each is given else each for each in args)
            return args, {name: new if each is given else each for name, each in kwargs.items()}

        return begins

    def _add(self, source: str, given: Tensor, dim: int) -> None:
        rows = _by_feature(given, dim)
        new = float(len(rows)), rows.sum(0), (rows**2).sum(0)
        known = self._sums.get((source, dim))
        if known is None:
            self._sums[source, dim] = new
        elif known[1].shape == new[1].shape:
            self._sums[source, dim] = known[0] + new[0], known[1] + new[1], known[2] + new[2]

    def _matched(self, given: Tensor, order: OtherOrder | None = None) -> Tensor:
        """Each feature with the mean and spread that it has in `data`; of another order, each that it is."""
        dim = 1 if order is None else order.dim
        if not self._known(dim) or given.shape[dim] != len(self._sums["data", dim][1]):
            return given
        (mean, std), (val_mean, val_std) = self._moments("data", dim), self._moments("val_data", dim)
        if order is not None:
            places = torch.tensor(order.order, device=given.device)
            given, val_mean, val_std = given.index_select(dim, places), val_mean[places], val_std[places]
        shape = [1] * given.ndim
        shape[dim] = -1
        a, b = std / val_std.clamp(min=_NO_ZERO), mean
        new = (given.double() - val_mean.reshape(shape)) * a.reshape(shape) + b.reshape(shape)
        return new.to(given.dtype)


def _has_features(value: Any) -> bool:
    return isinstance(value, Tensor) and value.is_floating_point() and value.ndim > 1 and value.layout == torch.strided


def _by_feature(given: Tensor, dim: int) -> Tensor:
    """A column for each feature along this dimension."""
    return given.detach().double().transpose(dim, -1).reshape(-1, given.shape[dim])
