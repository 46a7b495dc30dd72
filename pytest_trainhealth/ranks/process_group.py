"""The process group of a rank: the user's own, or else one that is there before the user's code needs it.

Whether a test calls `init_process_group` is known only once it does. So there is a group from the start, and the user's
own call replaces it: code that wraps a model in DDP right away works, and so does code that sets everything up itself.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed import distributed_c10d


class ProcessGroup:
    def __init__(self, folder: Path) -> None:
        #: All ranks meet at this file; the port in the environment stays free for the user's own group.
        self._file = folder / "process-group"
        self._make = dist.init_process_group
        #: The group is ours, and the user's call has not come yet.
        self._ours = False
        dist.init_process_group = self._users_call
        distributed_c10d.init_process_group = self._users_call

    def make(self) -> None:
        """Nothing if a fixture or a module has made one already."""
        if dist.is_initialized():
            return
        rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
        enough = torch.accelerator.is_available() and torch.accelerator.device_count() >= world
        if enough:
            torch.accelerator.set_device_index(rank)
        where = f"file://{self._file}-{world}"
        self._make(None if enough else "gloo", init_method=where, rank=rank, world_size=world)
        self._ours = True

    def _users_call(self, *args: Any, **kwargs: Any) -> Any:
        if self._ours and dist.is_initialized():
            dist.destroy_process_group()
        self._ours = False
        return self._make(*args, **kwargs)
