"""Batches that are mappings of a kind of their own."""

from __future__ import annotations

from collections import UserDict
from collections.abc import Iterator, KeysView, Mapping
from types import MappingProxyType
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from pytest_trainhealth import Training, diagnose
from pytest_trainhealth.tensors.batches import batch_size, map_tensors, tensors


class Rows(Mapping[str, Tensor]):
    """As a TensorDict: it has a batch size, is iterated over by rows, compared by values, and has no hash."""

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, fields: Mapping[str, Tensor], batch_size: Any) -> None:
        self._fields, self.batch_size = dict(fields), torch.Size(batch_size)
        if any(value.shape[: len(self.batch_size)] != self.batch_size for value in self._fields.values()):
            raise RuntimeError("batch dimension mismatch")

    def keys(self) -> KeysView[str]:
        return self._fields.keys()

    def items(self) -> Any:
        return self._fields.items()

    def values(self) -> Any:
        return self._fields.values()

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, str):
            return self._fields[key]
        return Rows({name: value[key] for name, value in self._fields.items()}, ())

    def __setitem__(self, key: str, value: Tensor) -> None:
        if value.shape[: len(self.batch_size)] != self.batch_size:
            raise RuntimeError("batch dimension mismatch")
        self._fields[key] = value

    def __iter__(self) -> Iterator[Any]:
        return (self[index] for index in range(len(self)))

    def __len__(self) -> int:
        return self.batch_size[0] if self.batch_size else 0

    def __eq__(self, other: object) -> Any:
        raise RuntimeError("the comparison of rows is no single answer")


def rows(count: int = 8) -> Rows:
    inputs = torch.randn(count, 6)
    return Rows({"x": inputs, "y": inputs[:, :3].argmax(1)}, (count,))


def test_the_copy_does_not_write_into_the_original() -> None:
    batch = rows()
    before = dict(batch.items())
    doubled = map_tensors(lambda _, t: t * 2, batch)
    assert type(doubled) is Rows
    assert torch.equal(doubled["x"], 2 * before["x"])
    assert all(batch[key] is value for key, value in before.items())


def test_another_number_of_rows() -> None:
    fewer = map_tensors(lambda _, t: t[:3], rows())
    assert (type(fewer), fewer.batch_size, batch_size(fewer)) == (Rows, torch.Size([3]), 3)


@pytest.mark.parametrize("kind", [UserDict, MappingProxyType], ids=lambda kind: kind.__name__)
def test_other_kinds(kind: Any) -> None:
    batch = kind({"x": torch.ones(2), "n": 3})
    doubled = map_tensors(lambda _, t: t * 2, batch)
    assert doubled["x"].tolist() == [2.0, 2.0]
    assert doubled["n"] == 3
    assert [name for name, _ in tensors(batch)] == ["['x']"]


@pytest.mark.parametrize("broken", [False, True])
def test_a_whole_battery(broken: bool) -> None:
    def make() -> Training:
        model = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 3))
        data = [rows(16) for _ in range(4)]
        if broken:
            data[1]["x"][3, 2] = float("nan")
        optimizer = torch.optim.Adam(model.parameters(), 1e-2)
        return Training(model, optimizer, lambda m, b: F.cross_entropy(m(b["x"]), b["y"]), data)

    report = diagnose(make)
    assert {f.cause for f in report.findings} == ({"nan-in-data"} if broken else set())
