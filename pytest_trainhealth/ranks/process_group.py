"""The process group of a rank: the user's own, or else one that is there before the user's code needs it.

Whether a test calls `init_process_group` is known only once it does. So there is a group from the start, and the user's
own call replaces it: code that wraps a model in DDP right away works, and so does code that sets everything up itself.
"""

from __future__ import annotations

import _collections_abc
import contextlib
import functools
import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed import distributed_c10d
from torch.utils.data import DistributedSampler

#: What code calls that knows of other ranks, and the variables that it reads.
_EXCHANGES = (
    *("get_rank", "get_world_size", "all_reduce", "broadcast", "all_gather", "all_gather_into_tensor", "barrier"),
    *("reduce", "reduce_scatter", "reduce_scatter_tensor", "gather", "scatter", "send", "recv", "new_group"),
)
_VARIABLES = ("RANK", "LOCAL_RANK", "WORLD_SIZE")
#: Files that stand between whoever asks and the answer.
_BETWEEN = (os.__file__, _collections_abc.__file__, contextlib.__file__, str(Path(dist.__file__).parent))
_TORCH, _SAMPLER = str(Path(torch.__file__).parent), DistributedSampler.__module__


def _of_users(frame: FrameType | None) -> bool:
    """A DataLoader asks for its rank in any training; code that is not torch's, and a DistributedSampler, mean it."""
    while frame is not None and frame.f_code.co_filename.startswith(_BETWEEN):
        frame = frame.f_back
    if frame is None or frame.f_globals.get("__name__") == _SAMPLER:
        return frame is not None
    return not frame.f_code.co_filename.startswith(_TORCH)


class ProcessGroup:
    def __init__(self, folder: Path) -> None:
        #: All ranks meet at this file; the port in the environment stays free for the user's own group.
        self._file = folder / "process-group"
        self._make = dist.init_process_group
        #: The group is ours, and the user's call has not come yet.
        self._ours = False
        #: What is asked for now is asked for by us.
        self._at_work = False
        #: The user's code has asked for its rank, or exchanged something: this is a distributed training.
        self.asked_for = False
        for home in (dist, distributed_c10d):
            setattr(home, "init_process_group", self._users_call)  # noqa: B010 - only one of them declares it
            for name in _EXCHANGES:
                setattr(home, name, self._noting(getattr(home, name)))
        os._Environ.__getitem__ = self._noting_reads(os._Environ.__getitem__)  # type: ignore[method-assign]

    def make(self) -> None:
        """Nothing if a fixture or a module has made one already."""
        if dist.is_initialized():
            return
        self._at_work = True
        try:
            self._make_ours()
        finally:
            self._at_work = False

    def _make_ours(self) -> None:
        rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
        enough = torch.accelerator.is_available() and torch.accelerator.device_count() >= world
        if enough:
            torch.accelerator.set_device_index(rank)
        where = f"file://{self._file}-{world}"
        self._make(None if enough else "gloo", init_method=where, rank=rank, world_size=world)
        self._ours = True

    def _noting(self, function: Callable[..., Any]) -> Callable[..., Any]:
        if getattr(function, "notes_use", False):  # both homes have the same function
            return function

        @functools.wraps(function)
        def noting(*args: Any, **kwargs: Any) -> Any:
            self.asked_for = self.asked_for or (not self._at_work and _of_users(sys._getframe(1)))
            return function(*args, **kwargs)

        noting.notes_use = True  # type: ignore[attr-defined]
        return noting

    def _noting_reads(self, read: Callable[..., Any]) -> Callable[..., Any]:
        def noting(environment: Any, name: Any) -> Any:
            if name in _VARIABLES and not self._at_work and not self.asked_for:
                self.asked_for = _of_users(sys._getframe(1))
            return read(environment, name)

        return noting

    def _users_call(self, *args: Any, **kwargs: Any) -> Any:
        if self._ours and dist.is_initialized():
            dist.destroy_process_group()
        self._ours, self.asked_for = False, True
        return self._make(*args, **kwargs)
