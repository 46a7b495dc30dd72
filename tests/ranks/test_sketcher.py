"""A sketch tells tensors apart, and parts of a tensor add up to the whole."""

from __future__ import annotations

import math

import torch

from pytest_trainhealth.ranks import sketcher
from pytest_trainhealth.ranks.sketcher import BUCKETS, Sketcher


def values(name: str, tensor: torch.Tensor) -> list[float]:
    found = Sketcher()(name, tensor)
    assert found is not None
    return found[1]


def test_sums_of_sketches_are_sketches_of_sums():
    one, other = torch.randn(7, 30), torch.randn(7, 30)
    both = [a + b for a, b in zip(values("w", one), values("w", other), strict=True)]
    assert torch.allclose(torch.tensor(values("w", one + other)), torch.tensor(both), atol=1e-5)


def test_its_norm_is_about_that_of_the_tensor():
    for size in (10, 1_000, 200_000):
        tensor = torch.randn(size)
        assert 0.4 < math.hypot(*values("w", tensor)) / float(tensor.norm()) < 1.8


def test_the_parts_of_a_tensor_add_up_to_the_whole(monkeypatch):
    whole = torch.randn(15, 10)
    parts = {0: whole[:8], 80: whole[8:]}
    sketches = []
    for offset, part in parts.items():
        monkeypatch.setattr(sketcher, "_part", lambda tensor, part=part, offset=offset: (part, offset))
        sketches.append(values("w", whole))
    monkeypatch.undo()
    added = torch.tensor(sketches).sum(0)
    assert torch.allclose(added, torch.tensor(values("w", whole)), atol=1e-5)


def test_a_rank_without_a_row_has_nothing_to_add():
    assert values("w", torch.zeros(0, 10)) == [0.0] * BUCKETS


def test_what_has_no_values_has_no_sketch():
    assert Sketcher()("w", torch.empty(3, device="meta")) is None
