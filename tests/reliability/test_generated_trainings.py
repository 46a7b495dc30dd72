"""Whatever training is examined, and whatever it raises wherever: nothing that can be seen is another afterwards.

A slice runs with the tests, always the same one. `tox -e fuzz` runs ten thousand new cases, goes on after a difference,
and prints what was done and found at its end. A case that it prints is run again by adding it to `AGAIN`.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from .campaign import Tally, cases, run, warm_up
from .trainings.bench import Case

_CASES = int(os.environ.get("RELIABILITY_CASES", "0"))
_SLICE = 150
#: Cases that differed once, as the campaign printed them.
AGAIN: list[Case] = [
    Case(model="conv and lazy", check="overfits_one_batch", data="one batch"),
    Case(model="buffers and counts", check="overfits_one_batch", data="one batch"),
    Case(optimizer="lbfgs", form="method", habits=("hooks_itself_in",), check="learns_from_data"),
    Case(model="transformer", form="generator", schedule="restarts", habits=("draws",), check="uses_its_input"),
    Case(fault="Unprintable", point="after update", at=6, stays=True, form="method"),
    Case(form="closure", habits=("sets_defaults",), subject="factory", check="overfits_one_batch"),
    Case(form="method", habits=("leaves_gradients_off",), check="overfits_one_batch"),
    Case(data="workers", fault="MemoryError", point="after backward", at=4, stays=True, subject="watched"),
    Case(
        model="transformer",
        optimizer="adam in tensors",
        data="workers",
        form="callable",
        fault="OSError",
        point="step begins",
        at=10,
        steps=2,
        check="overfits_one_batch",
    ),
    Case(
        model="transformer",
        data="workers",
        form="method",
        fault="RuntimeError",
        point="after backward",
        at=2,
        stays=True,
        warm=1,
        scaler=True,
        steps=2,
        check="uses_its_input",
    ),
    Case(
        model="checkpointed",
        data="workers",
        form="generator",
        fault="OSError",
        point="after backward",
        at=4,
        check="trains_without_nan",
    ),
    Case(form="generator", subject="shared model", fault="KeyError", point="after backward", at=10, stays=True),
    Case(form="generator", subject="shared model", fault="KeyboardInterrupt", point="step begins", at=3),
]


@pytest.fixture(scope="module", autouse=True)
def _warm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tempfile, "tempdir", str(tmp_path_factory.mktemp("temporary")))  # others write into the real one
        patch.setattr(sys, "unraisablehook", lambda args: None)  # an error at the end of a life is told here
        warm_up()
        yield


@pytest.mark.parametrize("case", AGAIN, ids=str)
def test_what_differed_once(case: Case) -> None:
    assert run(case) == []


@settings(
    max_examples=_CASES or _SLICE, derandomize=not _CASES, deadline=None, database=None, print_blob=False,
    suppress_health_check=list(HealthCheck), phases=[Phase.generate] if _CASES else [Phase.generate, Phase.shrink],
)  # fmt: skip
@given(case=cases())
def _campaign(tally: Tally, case: Case) -> None:
    changed = run(case, tally)
    if not _CASES:
        assert changed == []


def test_nothing_differs_afterwards(capsys: pytest.CaptureFixture[str]) -> None:
    tally, began_in = Tally(), Path.cwd()
    try:
        _campaign(tally)
    finally:
        if _CASES:
            with capsys.disabled():
                print(f"\n{tally.table()}")
    assert tally.found == {}
    assert Path.cwd() == began_in
