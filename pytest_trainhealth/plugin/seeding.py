"""Gives each fixture and test its own seed: what they build is the same in every run, whatever ran before."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

import pytest
import torch

from ..state.process import remember_random_numbers, seed_everything
from .items import seed_of, test_of
from .stash import OPTIONS


def test_seed(request: pytest.FixtureRequest) -> AbstractContextManager[None]:
    """For the body of a test that builds its training itself."""
    return _seeded(seed_of(test_of(request.node)[0], request.config.stash[OPTIONS]["seed"]))


def fixture_seed(name: str, request: pytest.FixtureRequest) -> AbstractContextManager[None]:
    """The seed comes from the fixture's name and scope: a model of module scope must not depend on its first test."""
    node = request.node
    scope = test_of(node)[0] if isinstance(node, pytest.Item) else node.nodeid
    return _seeded(seed_of(f"{scope}::{name}", request.config.stash[OPTIONS]["seed"]))


@contextmanager
def _seeded(seed: int) -> Iterator[None]:
    """Afterwards, random numbers continue as if none had been drawn, unless code inside the block has seeded them."""
    put_back = remember_random_numbers()
    seed_everything(seed)
    try:
        yield
    finally:
        if torch.initial_seed() == seed:
            put_back()
