"""Time stands still for a side's workers while the other side has its turn."""

from __future__ import annotations

import multiprocessing
import signal
import time
from collections.abc import Iterator
from multiprocessing.process import BaseProcess

import pytest

from pytest_trainhealth.revisions import loader_workers

from .conftest import processes

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="processes cannot be stopped on this system")


@pytest.fixture
def worker() -> Iterator[BaseProcess]:
    process = multiprocessing.Process(target=time.sleep, args=(60,), daemon=True)
    process.start()
    yield process
    process.kill()
    process.join()


def rests(worker: BaseProcess, expected: bool) -> bool:
    """A signal takes a moment."""
    for _ in range(100):
        state = next(row[3] for row in processes() if row[0] == str(worker.pid))
        if state.startswith("T") is expected:
            break
        time.sleep(0.01)
    return expected if state.startswith("T") is expected else not expected


def test_they_rest_between_answers(worker: BaseProcess) -> None:
    with loader_workers.at_work():
        assert loader_workers.count() == 1
    assert rests(worker, True)
    with loader_workers.at_work():
        assert not rests(worker, False)
    assert rests(worker, True)
    loader_workers.wake()
    assert not rests(worker, False)


def test_who_is_about_to_be_ended_hears_it(worker: BaseProcess) -> None:
    with pytest.raises(RuntimeError), loader_workers.at_work():
        raise RuntimeError("the step raised, and its loader goes")
    worker.terminate()
    worker.join(5)
    assert worker.exitcode == -signal.SIGTERM
