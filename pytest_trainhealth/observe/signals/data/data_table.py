"""What is kept of `data`, or of `val_data`, while they are read batch by batch.

The memory does not grow with the samples, except for 8 or 16 bytes of each and field: its print and its sketch.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from ....records.survey import BadLabels, BadValues
from ....tensors.batches import batch_size, map_tensors, tensors
from .class_counts import ClassCounts
from .field_roles import FieldRoles
from .field_statistics import FieldStatistics
from .sample_prints import Prints, joined

#: Fields with a row per sample that are followed. By judgement: 64 columns that are fields of their own.
_MOST_FIELDS = 64
#: Batches that are kept to take a step with. By judgement: one for each kind of fault.
_SUSPECTS = 2


class DataTable:
    """`like`: the table of `data`, for that of `val_data`: near duplicates are found on the same grid. `stored`: what
    comes are not batches but many rows of a data set at a time, of which a batch would have this many."""

    def __init__(
        self, source: str, roles: FieldRoles, like: DataTable | None = None, stored: int | None = None
    ) -> None:
        self._source, self._roles, self._like, self._stored = source, roles, like, stored
        self.fields: dict[str, FieldStatistics] = {}
        self.classes: dict[str, ClassCounts] = {}
        self.sizes: list[int] = []
        self.bad_values: dict[str, BadValues] = {}
        self.bad_labels: dict[str, BadLabels] = {}
        #: Batches with values or labels that a step may not bear, and what was found in them.
        self.suspects: list[tuple[Any, BadValues | BadLabels]] = []
        self.batch_prints: list[int] = []
        #: Not every batch has the same fields, in the same shapes, with a row for each sample.
        self.uneven = False

    @property
    def samples(self) -> int:
        return sum(self.sizes)

    def add(self, batch: Any) -> None:
        number, size = len(self.sizes), batch_size(batch) or 0
        self.sizes.append(size)
        whole = []
        for name, tensor in tensors(batch):
            if tensor.layout != torch.strided or tensor.device.type == "meta" or not tensor.numel():
                continue
            values = torch.view_as_real(tensor.detach()) if tensor.is_complex() else tensor.detach()
            if tensor.is_quantized:
                continue
            if values.is_floating_point():
                self._look_for_bad_values(name, values, number, batch)
            given = self._roles.as_they_are.get(name)
            if given is not None and given.about_classes and values.ndim:
                self._look_at_labels(name, values, number, batch)
            if values.ndim and values.shape[0] == size:
                whole.append(self._add_field(name, values, number))
            else:
                self.uneven = True
        if self.fields and len({each.samples for each in self.fields.values()}) > 1:
            self.uneven = True
        known = [each for each in whole if each is not None]
        self.batch_prints.append(int(joined(*known).sum(dtype=np.uint64)) if known else number)

    def _add_field(self, name: str, values: Tensor, number: int) -> Prints | None:
        field = self.fields.get(name)
        if field is None and len(self.fields) < _MOST_FIELDS and not number:
            field = self.fields[name] = FieldStatistics(name, values.shape, values.dtype)
            other = None if self._like is None else self._like.fields.get(name)
            field.sketcher = None if other is None or other.shape != field.shape else other.sketcher
        if field is None or not field.fits(values):
            self.uneven = True
            return None
        field.add(values, number)
        return field.prints[-1]

    def _look_for_bad_values(self, name: str, values: Tensor, number: int, batch: Any) -> None:
        if bool(torch.isfinite(values.sum())) or not (bad := ~torch.isfinite(values)).any():
            return  # a sum is finite only if all are; one that overflows is looked at closely
        known = self.bad_values.get(name)
        if known is not None:
            known.batches += 1
            return
        sample = int(bad.nonzero()[0][0]) if bad.ndim else None
        place = self.place(number, sample)
        found = self.bad_values[name] = BadValues(self._source, name, *place, int(bad.sum()), values.numel())
        self._suspect(batch, sample, found)

    def _look_at_labels(self, name: str, values: Tensor, number: int, batch: Any) -> None:
        given = self._roles.as_they_are[name]
        outside = given.outside(values) & torch.isfinite(values)
        if bool(outside.any()):
            some, sample = values[outside], int(outside.nonzero()[0][0])
            low, high = float(some.min()), float(some.max())
            known = self.bad_labels.get(name)
            if known is None:
                rule, place = (given.function, given.classes), self.place(number, sample)
                known = BadLabels(self._source, name, *place, 0, low, high, *rule, place=given.place)
                self.bad_labels[name] = known
                self._suspect(batch, sample, known)
            known.count += int(outside.sum())
            known.low, known.high = min(known.low, low), max(known.high, high)
        self.classes.setdefault(name, ClassCounts(name, given)).add(values)

    def _suspect(self, batch: Any, sample: int | None, found: BadValues | BadLabels) -> None:
        if len(self.suspects) >= _SUSPECTS:
            return
        size = self.sizes[-1]
        if self._stored is not None and sample is not None and size > self._stored:
            begin = min(sample, size - self._stored)
            rows = slice(begin, begin + self._stored)
            batch = map_tensors(lambda _, tensor: tensor[rows], batch)
        self.suspects.append((batch, found))

    def place(self, number: int, sample: int | None) -> tuple[int | None, int | None]:
        """Batch and place in it; of rows of a data set, the place in that."""
        if self._stored is None or sample is None:
            return number, sample
        return None, sum(self.sizes[:number]) + sample

    def place_of(self, index: int | None) -> tuple[int | None, int] | None:
        """The same of a sample that is known by its place in all batches together."""
        if index is None or self._stored is not None:
            return None if index is None else (None, index)
        for number, size in enumerate(self.sizes):
            if index < size:
                return number, index
            index -= size
        return None

    # -- what only the whole shows ---------------------------------------------------------------------

    def sample_prints(self, names: list[str]) -> Prints:
        """Of all samples, by these fields."""
        return joined(*(self.fields[name].all_prints() for name in names))

    def sample_sketches(self, names: list[str]) -> Prints:
        """Of all samples: their numbers rounded, everything else as it is. Empty if they have no numbers."""
        floats = [name for name in names if self.fields[name].sketches]
        if not floats:
            return np.zeros(0, np.uint64)
        rest = [self.fields[name].all_prints() for name in names if name not in floats]
        return joined(*(self.fields[name].all_sketches() for name in floats), *rest)
