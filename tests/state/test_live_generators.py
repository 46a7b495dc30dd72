"""Generators of random numbers are put back wherever they live; those that every run seeds are left alone."""

from __future__ import annotations

import random

import numpy as np
import torch

from pytest_trainhealth.state.live_generators import generators_noted, put_generators_back

HELD = {
    "torch": torch.Generator().manual_seed(1),
    "numpy": np.random.default_rng(1),
    "old": np.random.RandomState(1),
    "python": random.Random(1),
}


def drawn() -> tuple[float, ...]:
    return (
        float(torch.rand((), generator=HELD["torch"])),
        float(HELD["numpy"].random()),
        float(HELD["old"].rand()),
        HELD["python"].random(),
    )


def test_they_go_on_from_where_they_were():
    with generators_noted():
        first = drawn()
        assert drawn() != first
        put_generators_back()
        assert drawn() == first
    assert drawn() == first  # so does the end of the block


def test_shared_ones_are_left_alone():
    with generators_noted():
        torch.manual_seed(3)
        random.seed(3)
        np.random.seed(3)
        before = torch.get_rng_state(), random.getstate(), np.random.get_state()[1].tolist()
        put_generators_back()
        assert torch.equal(torch.get_rng_state(), before[0])
        assert random.getstate() == before[1]
        assert np.random.get_state()[1].tolist() == before[2]
