"""What the tests need, set here so that `pytest` is the whole command; and inner pytest runs, in folders of their own.

The plugin under test comes in as it does for users: installed.

- One thread for torch, here and in every process that a test starts. The tests run as many at a time as there are
  cores, which makes one each, and the models are so small that a second thread only slows them down. Tests that are
  about threads set their own number.
- Random numbers start anew with every module and every test. Otherwise the data of one test would hang on which others
  were collected before it, and a verdict with it.
- Inner runs know nothing of the outer one. Whether that is spread by xdist, has options in the environment or is run by
  a CI server is not what they are asked about.
- The fast tests come first: rules, texts, checks, causes and the plugin take a minute or two and fail for most
  mistakes; whole trainings follow.
"""

from __future__ import annotations

import os
import random
from pathlib import Path

os.environ["OMP_NUM_THREADS"] = "1"  # read when torch is imported

import pytest
import torch

from pytest_trainhealth.observe.run import run as _run_module

torch.set_num_threads(1)  # if a plugin has imported it already

_run_module.RAISES = True  # users are spared what could not be read; here it is a mistake to be mended

pytest_plugins = ["pytester"]

_TESTS = Path(__file__).parent
#: Folders and files, in the order in which they run; what is not named comes in between.
_FIRST = ("contract", "messages", "records", "analysis", "checks", "causes", "plugin")
_LAST = ("evaluation", "causes/test_pairs.py", "example")
_OF_THE_OUTER_RUN = (
    "CI",
    "PYTEST_ADDOPTS",
    "PYTEST_XDIST_WORKER",
    "PYTEST_XDIST_WORKER_COUNT",
    "PYTEST_XDIST_TESTRUNUID",
)


def _turn(item: pytest.Item) -> int:
    for place, name in enumerate(_LAST):
        if item.path.is_relative_to(_TESTS / name):
            return len(_FIRST) + 1 + place
    return next((place for place, name in enumerate(_FIRST) if item.path.is_relative_to(_TESTS / name)), len(_FIRST))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=_turn)


def _start_anew() -> None:
    random.seed(0)
    torch.manual_seed(0)


def pytest_collectstart(collector: pytest.Collector) -> None:
    if isinstance(collector, pytest.Module):
        _start_anew()


@pytest.fixture(autouse=True)
def the_same_random_numbers() -> None:
    _start_anew()


@pytest.fixture(autouse=True)
def nothing_of_the_outer_run(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in _OF_THE_OUTER_RUN:
        monkeypatch.delenv(name, raising=False)
