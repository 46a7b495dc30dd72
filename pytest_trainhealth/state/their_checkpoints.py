"""The user's own `save` and `load`, in the shapes that people give them.

`save(path)` writes a file and `load(path)` reads it. Or `save()` returns the state and `load(state)` takes it, as
`state_dict()` and `load_state_dict()` do: then it is written into a file here, so that nothing of it is shared with the
training that goes on. Or neither takes anything, as both know where the checkpoint lies.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from .call_shapes import takes

Function = Callable[..., Any]


class NotKept(Exception):
    """What `save()` returns cannot be handed to a training that is built anew; why, in one line. No fault is shown."""


def wants_path(save: Function) -> bool:
    """A `state_dict` never does, though that of a module takes anything."""
    return takes(save, 1) and getattr(save, "__name__", "") != "state_dict"


def can_save(save: Function) -> bool:
    return takes(save, 1) or takes(save, 0)


def can_load(save: Function, load: Function) -> bool:
    return takes(load, 1) or (not wants_path(save) and takes(load, 0))


def save_to(path: Path, save: Function, load: Function) -> None:
    if wants_path(save):
        save(path)
        return
    state = save()
    if not takes(load, 1):
        return
    if state is None:
        raise NotKept("save() takes no path and returns nothing, so there is nothing to call load() with")
    try:
        torch.save(state, path)
    except Exception as error:
        first_line = str(error).partition("\n")[0]
        raise NotKept(
            f"what save() returns cannot be written to a file: {type(error).__name__}: {first_line}"
        ) from error


def load_from(path: Path, save: Function, load: Function) -> None:
    if wants_path(save):
        load(path)
    elif takes(load, 1):
        load(torch.load(path, weights_only=False))
    else:
        load()


def words_of_save(save: Function) -> str:
    return "save(path)" if wants_path(save) else "save()"


def words_of_load(save: Function, load: Function) -> str:
    return "load(path)" if wants_path(save) else "load(state)" if takes(load, 1) else "load()"
