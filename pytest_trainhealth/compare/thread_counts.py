"""With how many threads both sides compute: with one, where it is the processor that computes.

Threads of one step wait for each other, so on a busy machine each waits for the one that was interrupted last. With
two threads and other work on two cores, comparisons of the same code came to 0.69 [0.68, 0.76], 0.81, 0.87, 0.94 and
1.26 [1.12, 1.44]: where the threads of a process end up lasts, so that no number of rounds makes up for it. With one
thread they came to 0.96 to 1.02. What an operator costs compares the same; what only several threads show does not
show.
"""

from __future__ import annotations

from typing import Protocol


class _Side(Protocol):
    computes_itself: bool

    def use_threads(self, count: int) -> None: ...


def settle(sides: tuple[_Side, _Side], threads: int) -> list[str]:
    """Notes for the user, whose number of threads it may not be."""
    if threads == 1 or not all(side.computes_itself for side in sides):
        return []
    for side in sides:
        side.use_threads(1)
    return [f"timed with one thread: steps with {threads} are too noisy to compare"]
