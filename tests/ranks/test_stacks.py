"""Where a process waits, read off what faulthandler writes."""

from __future__ import annotations

import os
from pathlib import Path

import torch

from pytest_trainhealth import training
from pytest_trainhealth.ranks.stacks import whereabouts

TORCH = Path(torch.__file__).parent
OURS = training.__file__


def stack(*frames: str) -> str:
    thread = f'Thread 0x1 (most recent call first):\n  File "{os.__file__}", line 3 in read\n\n'
    return "\n".join([thread + "Current thread 0x2 (most recent call first):", *frames])


def test_a_collective_that_the_users_line_calls():
    found = whereabouts(
        stack(
            f'  File "{TORCH}/distributed/distributed_c10d.py", line 5 in all_reduce',
            f'  File "{TORCH}/distributed/c10d_logger.py", line 6 in wrapper',
            f'  File "{__file__}", line 7 in step',
            f'  File "{OURS}", line 8 in take',
        )
    )
    assert found.inside == "all_reduce()"
    assert found.place is not None
    assert found.place.line == 7


def test_a_backward_pass_of_ours_has_no_line_of_the_user():
    found = whereabouts(
        stack(
            f'  File "{TORCH}/autograd/graph.py", line 5 in _engine_run_backward',
            f'  File "{TORCH}/_tensor.py", line 6 in backward',
            f'  File "{OURS}", line 8 in take',
            f'  File "{OURS}", line 9 in main',
        )
    )
    assert (found.inside, found.place) == ("backward()", None)


def test_a_line_of_the_user_that_calls_nothing_in_python():
    found = whereabouts(stack(f'  File "{__file__}", line 7 in load', f'  File "{OURS}", line 8 in take'))
    assert found.inside == "load()"


def test_nothing_was_written():
    assert whereabouts("").inside == ""
