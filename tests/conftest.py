"""Inner pytest runs, in folders of their own. The plugin under test comes in as it does for users: installed.

Random numbers start anew with every module and every test. Otherwise the data of one test would hang on which others
were collected before it, and a verdict with it.
"""

from __future__ import annotations

import random

import pytest
import torch

pytest_plugins = ["pytester"]


def _start_anew() -> None:
    random.seed(0)
    torch.manual_seed(0)


def pytest_collectstart(collector: pytest.Collector) -> None:
    if isinstance(collector, pytest.Module):
        _start_anew()


@pytest.fixture(autouse=True)
def the_same_random_numbers() -> None:
    _start_anew()
