"""The two sides meet the same neighbours: a training with one thread is timed on one core."""

from __future__ import annotations

import multiprocessing
import os
from types import SimpleNamespace

import pytest

from pytest_trainhealth.revisions.cpu_affinity import Cores


@pytest.fixture
def asked_for(monkeypatch: pytest.MonkeyPatch) -> list[set[int]]:
    """What would have been set, on a machine with four cores of which three are ours."""
    asked: list[set[int]] = []
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 3})
    monkeypatch.setattr(os, "sched_setaffinity", lambda _, cores: asked.append(set(cores)))
    monkeypatch.setattr(os, "register_at_fork", lambda **_: None)
    return asked


def test_one_thread_is_kept_on_one_core(asked_for: list[set[int]]) -> None:
    with Cores().one(threads=1):
        assert asked_for == [{3}]
    assert asked_for == [{3}, {0, 1, 3}]


def test_free_again_whatever_happens(asked_for: list[set[int]]) -> None:
    with pytest.raises(KeyboardInterrupt), Cores().one(threads=1):
        raise KeyboardInterrupt
    assert asked_for[-1] == {0, 1, 3}


def test_several_threads_need_several_cores(asked_for: list[set[int]]) -> None:
    with Cores().one(threads=2), Cores().one(threads=0):
        assert asked_for == []


def test_workers_that_were_not_forked_are_free_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """A spawned process begins with the core of who spawned it."""
    asked: dict[int, set[int]] = {}
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})
    monkeypatch.setattr(os, "sched_setaffinity", lambda process, cores: asked.update({process: set(cores)}))
    monkeypatch.setattr(os, "register_at_fork", lambda **_: None)
    monkeypatch.setattr(multiprocessing, "active_children", lambda: [SimpleNamespace(pid=7)])
    with Cores().one(threads=1):
        assert asked == {0: {1}}
    assert asked == {0: {0, 1}, 7: {0, 1}}
