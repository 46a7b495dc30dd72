"""Threads of a pool are done in the order in which they were begun, in every run."""

from __future__ import annotations

from contextlib import ExitStack

from ...observe.run.events import Listener
from ...observe.run.run import Run
from ._task_order import put_in_order

EARLY, HOLDS = True, True


class TasksInOrder(Listener):
    def __init__(self, run: Run, stack: ExitStack) -> None:
        put_in_order(stack, lambda call: None, backwards=False, held=True)
