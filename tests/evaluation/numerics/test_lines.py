"""The operation and the line that made the first NaN or Inf, for every program that has one to blame."""

from __future__ import annotations

import inspect

import pytest

from .asking import GUILTY, check_program, numeric

#: Programs whose operation is only the second finding, with the reason.
NOT_FIRST = {"softplus_by_hand": "its targets are far from 0, and standardising them heals the run"}
BLAMED = [name for name, fault in numeric().items() if fault.operation]


@pytest.mark.parametrize("name", [name for name in BLAMED if name not in NOT_FIRST])
def test_the_guilty_operation_and_its_line(name: str) -> None:
    answer = check_program((name, 0))
    assert answer.found
    assert answer.right_operation, answer
    assert answer.right_line, answer


@pytest.mark.parametrize("name", NOT_FIRST)
def test_what_is_said_second_is_found_all_the_same(name: str) -> None:
    assert check_program((name, 0)).found


def test_there_are_enough_of_them() -> None:
    assert len(numeric()) >= 40
    assert len(NOT_FIRST) <= 0.05 * len(BLAMED)


@pytest.mark.parametrize("name", BLAMED)
def test_one_line_is_marked(name: str) -> None:
    """The mark is in the program, or in a class of the same file that it uses."""
    program = inspect.unwrap(numeric()[name].make)
    inside = inspect.getsource(program).count(GUILTY)
    assert inside == 1 or (not inside and GUILTY in inspect.getsource(inspect.getmodule(program)))
