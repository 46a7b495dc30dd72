"""Fingerprints differ when a bit does, and only then."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from pytest_trainhealth.tensors.fingerprint import NoFingerprint, fingerprint


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (torch.tensor([1.0, 2.0]), torch.tensor([1.0, 2.0 + 2**-22])),
        (torch.tensor([0.0]), torch.tensor([-0.0])),
        (torch.zeros(2, 3), torch.zeros(3, 2)),
        (torch.zeros(3), torch.zeros(3, dtype=torch.bfloat16)),
        (torch.tensor([1 + 2j]), torch.tensor([1 - 2j])),
        (np.zeros(3), np.ones(3)),
        ([1, 2], [2, 1]),
        ({"a": 1}, {"a": 1.0}),
        (None, 0),
    ],
)
def test_what_differs_has_another_fingerprint(one, other):
    assert fingerprint(one) != fingerprint(other)
    assert fingerprint(one) == fingerprint(one)


def test_values_count_and_not_how_they_lie():
    values = torch.randn(3, 4)
    assert fingerprint(values) == fingerprint(values.t().contiguous().t())
    assert fingerprint({3, 1, 2}) == fingerprint({1, 2, 3})
    assert fingerprint(torch.tensor([1 + 2j]).conj()) == fingerprint(torch.tensor([1 - 2j]))
    assert fingerprint(values.to_sparse()) == fingerprint(values)


@pytest.mark.parametrize(
    "value", [torch.zeros(0), torch.zeros((), dtype=torch.bfloat16), torch.zeros(2, device="meta")]
)
def test_odd_tensors_have_one(value):
    assert fingerprint(value)


def test_objects_have_none():
    with pytest.raises(NoFingerprint):
        fingerprint([object()])
