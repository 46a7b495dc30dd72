"""Modes leave the stack one by one, whatever the order, and are put back where they stood."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.overrides import TorchFunctionMode, _get_current_function_mode_stack

from pytest_trainhealth.tensors.function_modes import FunctionMode, Lifted, none_left, take_off_ended, unseen


class _Mode(FunctionMode):
    def __torch_function__(self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))


def test_first_on_may_be_first_off() -> None:
    first, second = _Mode(), _Mode()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert _get_current_function_mode_stack() == [second]
    second.__exit__(None, None, None)
    assert not _get_current_function_mode_stack()


def test_a_lifted_mode_is_put_back_where_it_stood() -> None:
    first, second = _Mode(), _Mode()
    with first, second:
        lifted = Lifted(first)
        lifted.lift()
        lifted.lift()
        assert _get_current_function_mode_stack() == [second]
        lifted.put_back()
        assert _get_current_function_mode_stack() == [second]
        lifted.put_back()
        assert _get_current_function_mode_stack() == [first, second]
    assert not _get_current_function_mode_stack()


def test_a_mode_that_was_left_lifted_comes_back_or_is_gone_for_good() -> None:
    mode = _Mode()
    lifted = Lifted(mode)
    with mode:
        lifted.lift()
        lifted.lift()
        lifted.end()
        assert _get_current_function_mode_stack() == [mode]
        lifted.lift()
    assert not _get_current_function_mode_stack()


@pytest.mark.parametrize("lifted", [False, True])
def test_nothing_is_seen_while_it_is_lifted(lifted: bool) -> None:
    seen: list[Any] = []

    class Seeing(FunctionMode):
        def __torch_function__(self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None) -> Any:
            seen.append(func)
            return func(*args, **(kwargs or {}))

    with Seeing() as mode:
        if lifted:
            Lifted(mode).lift()
        torch.ones(2).add(1)
    assert bool(seen) is not lifted


def test_what_only_measures_is_seen_by_none_of_ours() -> None:
    class Others(TorchFunctionMode):
        def __torch_function__(self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None) -> Any:
            return func(*args, **(kwargs or {}))

    theirs, first, second = Others(), _Mode(), _Mode()

    @unseen
    def measure(fails: bool) -> list[Any]:
        if fails:
            raise ValueError("no figure")
        return list(_get_current_function_mode_stack())

    with first, theirs, second:
        assert measure(False) == [theirs]
        with pytest.raises(ValueError, match="no figure"):
            measure(True)
        assert _get_current_function_mode_stack() == [first, second, theirs]  # ours stand below those of others
    assert measure(False) == []


def test_a_mode_that_ends_while_torch_calls_it_is_taken_off_later() -> None:
    class Ends(FunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            self.__exit__(None, None, None)
            return func(*args, **(kwargs or {}))

    before = torch._C._len_torch_function_stack()
    Ends().__enter__()
    torch.ones(2).sum()
    assert torch._C._len_torch_function_stack() == before + 1, "torch has put it back"
    take_off_ended()
    assert torch._C._len_torch_function_stack() == before


def test_none_of_ours_stays_on_whatever_happens() -> None:
    @none_left()
    def interrupted() -> None:
        _Mode().__enter__()
        _Mode().__enter__()
        raise KeyboardInterrupt

    outer = _Mode()
    with outer:
        with pytest.raises(KeyboardInterrupt):
            interrupted()
        assert _get_current_function_mode_stack() == [outer]
    assert not _get_current_function_mode_stack()
