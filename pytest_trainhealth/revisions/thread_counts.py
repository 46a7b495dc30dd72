"""How many threads both revisions use: one, if they compute on the CPU.

The threads of a step wait for each other, so on a busy machine all wait for the one that was interrupted last. With two
threads and other work on two cores, comparisons of the same code came to 0.69 [0.68, 0.76], 0.81, 0.87, 0.94 and
1.26 [1.12, 1.44]: threads stay where the scheduler put them, so no number of rounds makes up for it. With one thread
they came to 0.96 to 1.02. One thread shows what an operator costs just as well; a slowdown that needs several threads
stays unseen.
"""

from __future__ import annotations

from typing import Protocol


class _Process(Protocol):
    computes_itself: bool

    def use_threads(self, count: int) -> None: ...


def settle(revisions: tuple[_Process, _Process], threads: int) -> list[str]:
    """Sets the number of threads of both. Returns a note if that is not the user's own number."""
    if threads == 1 or not all(revision.computes_itself for revision in revisions):
        return []
    for revision in revisions:
        revision.use_threads(1)
    return [f"timed with one thread: steps with {threads} are too noisy to compare"]
