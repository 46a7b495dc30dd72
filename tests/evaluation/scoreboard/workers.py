"""Runs jobs in processes, one per core: ends one that hangs, replaces one that dies, and goes on with the others."""

from __future__ import annotations

import multiprocessing
import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any

_SPAWN = multiprocessing.get_context("spawn")


@dataclass(frozen=True)
class NoAnswer:
    """A job gave no answer, for this reason."""

    reason: str


@dataclass
class _Worker:
    process: BaseProcess
    pipe: Connection
    job: int = -1
    deadline: float = 0.0

    def give(self, index: int, job: Any, limit: float) -> None:
        self.job, self.deadline = index, time.monotonic() + limit
        self.pipe.send(job)

    def end(self) -> None:
        self.process.kill()
        self.process.join()
        self.pipe.close()


def cores() -> int:
    return os.cpu_count() or 1


def answers(
    task: Callable[[Any], Any], jobs: Sequence[Any], *, processes: int, limit: float
) -> Iterator[tuple[int, Any]]:
    """Yields each job's number and its answer (or `NoAnswer`) as they come in. `task` must be importable by name."""
    os.environ["OMP_NUM_THREADS"] = "1"  # torch reads it when a worker imports torch
    waiting = iter(enumerate(jobs))
    busy: list[_Worker] = []
    try:
        for _ in range(min(processes, len(jobs))):
            busy.append(_started(task))
            busy[-1].give(*next(waiting), limit)
        while busy:
            first = min(worker.deadline for worker in busy)
            ready = wait([worker.pipe for worker in busy], timeout=max(0.0, first - time.monotonic()))
            for worker in list(busy):
                if worker.pipe in ready:
                    answer = _received(worker)
                elif time.monotonic() > worker.deadline:
                    answer = NoAnswer(f"no answer within {limit:g} s")
                else:
                    continue
                yield worker.job, answer
                busy.remove(worker)
                following = next(waiting, None)
                if following is None or isinstance(answer, NoAnswer):
                    worker.end()
                if following is not None:
                    busy.append(_started(task) if isinstance(answer, NoAnswer) else worker)
                    busy[-1].give(*following, limit)
    finally:
        for worker in busy:
            worker.end()


def _started(task: Callable[[Any], Any]) -> _Worker:
    own_end, worker_end = _SPAWN.Pipe()
    process = _SPAWN.Process(target=_serve, args=(worker_end, task), daemon=True)
    process.start()
    worker_end.close()
    return _Worker(process, own_end)


def _received(worker: _Worker) -> Any:
    try:
        return worker.pipe.recv()
    except (EOFError, OSError):
        worker.process.join(5)
        return NoAnswer(f"the process ended with exit code {worker.process.exitcode}")


def _serve(pipe: Connection, task: Callable[[Any], Any]) -> None:
    while True:
        try:
            job = pipe.recv()
        except EOFError:
            return
        pipe.send(task(job))
