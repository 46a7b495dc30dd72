"""Both sides are timed with one thread where several would only be noise."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_trainhealth.revisions import compare, thread_counts


class Made:
    def __init__(self, computes_itself: bool = True) -> None:
        self.computes_itself, self.threads = computes_itself, 0

    def use_threads(self, count: int) -> None:
        self.threads = count


def test_several_threads_become_one_and_that_is_told() -> None:
    sides = Made(), Made()
    notes = thread_counts.settle(sides, 4)
    assert [side.threads for side in sides] == [1, 1]
    assert notes == ["timed with one thread: steps with 4 are too noisy to compare"]


@pytest.mark.parametrize(("threads", "on"), [(1, (True, True)), (4, (False, False)), (4, (True, False))])
def test_one_thread_and_accelerators_are_left_alone(threads: int, on: tuple[bool, bool]) -> None:
    sides = Made(on[0]), Made(on[1])
    assert thread_counts.settle(sides, threads) == []
    assert [side.threads for side in sides] == [0, 0]


def test_it_is_settled_before_anything_is_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    sides: Any = Made(), Made()
    monkeypatch.setattr(compare, "paired", lambda current, other, *_: (current.threads, other.threads))
    terms = compare.Terms("main", 0.1, 0.0, "keeps_throughput", seed=0, threads=2, device=None, promised=45)
    assert compare._timed(*sides, terms) == (
        (1, 1),
        ["timed with one thread: steps with 2 are too noisy to compare"],
    )
