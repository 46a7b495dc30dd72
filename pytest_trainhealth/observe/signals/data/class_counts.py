"""How often each class comes, in all batches and in each of them."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from ....records.survey import ClassSurvey
from .field_roles import GivenTarget

#: More classes are words or users, about whose numbers nothing is said. By judgement: ImageNet has 1,000.
_MOST_CLASSES = 1000


class ClassCounts:
    def __init__(self, name: str, given: GivenTarget) -> None:
        self.name, self._given = name, given
        self._counts: dict[int, int] = {}
        self._samples = 0
        self._dense = False
        self._shares: list[float] = []

    def add(self, tensor: Tensor) -> None:
        values = tensor.detach().reshape(tensor.shape[0], -1)
        self._samples += len(values)
        self._dense |= values.shape[1] > 1
        flat = values.flatten()
        if flat.is_floating_point() and not bool((flat == flat.round()).all()):
            return  # soft targets
        flat = flat[(flat != self._given.ignored) & ~self._given.outside(flat)]
        kinds, counts = torch.unique(flat, return_counts=True)
        for kind, count in zip(kinds.tolist(), counts.tolist(), strict=True):
            if len(self._counts) <= _MOST_CLASSES:
                self._counts[int(kind)] = self._counts.get(int(kind), 0) + int(count)
        if len(flat):
            self._shares.append(float(counts.max()) / len(flat))

    def summary(self) -> ClassSurvey | None:
        total = sum(self._counts.values())
        if not total or len(self._counts) > _MOST_CLASSES:
            return None
        return ClassSurvey(
            self.name,
            dict(sorted(self._counts.items())),
            self._samples,
            self._dense,
            in_a_batch=float(np.mean(self._shares)),
            overall=max(self._counts.values()) / total,
            batches=len(self._shares),
        )
