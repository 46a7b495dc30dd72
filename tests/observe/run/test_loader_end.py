"""The workers of a loader are ended at once if an interrupt is on its way, and patiently otherwise."""

from __future__ import annotations

import pytest
from torch.utils.data import _utils

from pytest_trainhealth.observe.run.loader_end import end_workers


class Worker:
    """Does not listen to SIGTERM."""

    killed = False

    def is_alive(self) -> bool:
        return not self.killed

    def kill(self) -> None:
        self.killed = True


class Iterator:
    """What torch has, as far as it matters here."""

    def __init__(self, error: BaseException | None = None) -> None:
        self._workers, self.patience, self._error = [Worker(), Worker()], 0.0, error

    def _shutdown_workers(self) -> None:
        self.patience = _utils.MP_STATUS_CHECK_INTERVAL
        if self._error is not None:
            raise self._error


USUAL = _utils.MP_STATUS_CHECK_INTERVAL


def ended_during(error: BaseException, iterator: Iterator) -> Iterator:
    try:
        raise error
    except BaseException:
        end_workers(iterator)
    return iterator


def test_without_an_error() -> None:
    iterator = Iterator()
    end_workers(iterator)
    assert iterator.patience == USUAL
    assert not iterator._workers[0].killed


def test_after_an_error_of_the_users() -> None:
    assert ended_during(ValueError(), Iterator()).patience == USUAL


@pytest.mark.parametrize("interrupt", [KeyboardInterrupt(), SystemExit()], ids=repr)
def test_after_an_interrupt(interrupt: BaseException) -> None:
    iterator = ended_during(interrupt, Iterator())
    assert iterator.patience < USUAL / 16
    assert all(worker.killed for worker in iterator._workers)
    assert _utils.MP_STATUS_CHECK_INTERVAL == USUAL


def test_torch_can_raise_meanwhile() -> None:
    iterator = Iterator(RuntimeError("a worker is gone"))
    with pytest.raises(RuntimeError, match="a worker is gone"):
        ended_during(KeyboardInterrupt(), iterator)
    assert all(worker.killed for worker in iterator._workers)
    assert _utils.MP_STATUS_CHECK_INTERVAL == USUAL


def test_an_iterator_without_workers() -> None:
    end_workers(iter([1]))
