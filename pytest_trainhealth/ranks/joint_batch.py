"""What one process with the samples of all ranks needs: their first batches, and the weights that they began with."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from ..tensors.batches import map_tensors, tensors
from ..training import Training
from .rank_observer import bare_name
from .sketcher import first_row, is_shard

#: Values in a model up to which its weights are written to the disk for another process. By judgement: 100 million take
#: 400 MB and a second.
_MOST_VALUES = 10**8


class CannotJoin(Exception):
    """The message says why there is no joint batch."""


@torch.no_grad()
def keep_weights(training: Training, folder: Path, rank: int) -> None:
    """Whole tensors once; of those that are spread over the ranks, the rows of each."""
    kept: dict[str, Any] = {}
    state = _state(training)
    if sum(each.numel() for each in state.values()) <= _MOST_VALUES:
        for name, tensor in state.items():
            if is_shard(tensor):
                kept[name] = (first_row(tensor), tensor.to_local().cpu())  # type: ignore[attr-defined]
            elif rank == 0:
                kept[name] = (0, _whole(tensor).cpu())
    torch.save(kept, folder / f"weights-{rank}.pt")


def keep_batch(batch: Any, folder: Path, rank: int, index: int) -> None:
    torch.save(batch, folder / f"batch-{index}-{rank}.pt")


@torch.no_grad()
def load_weights(training: Training, folder: Path, world: int) -> None:
    found: dict[str, list[tuple[int, Tensor]]] = {}
    for rank in range(world):
        for name, part in torch.load(folder / f"weights-{rank}.pt", weights_only=False).items():
            found.setdefault(name, []).append(part)
    for name, tensor in _state(training).items():
        if name not in found:
            raise CannotJoin(f"{name} is not there, or the model is too large")
        rows = [rows for _, rows in sorted(found[name], key=lambda part: part[0]) if rows.numel() or rows.ndim == 0]
        whole = rows[0] if len(rows) == 1 else torch.cat(rows)
        _whole(tensor).copy_(whole)


def load_batches(folder: Path, world: int) -> Iterator[Any]:
    """The batches of all ranks up to the first update, each joined into one."""
    index = 0
    while (folder / f"batch-{index}-{world - 1}.pt").exists():
        each = [torch.load(folder / f"batch-{index}-{rank}.pt", weights_only=False) for rank in range(world)]
        yield joined(each)
        index += 1


def joined(batches: list[Any]) -> Any:
    """Tensors of the same place, one after the other along the samples."""
    parts: dict[str, list[Tensor]] = {}
    for batch in batches:
        for name, tensor in tensors(batch):
            parts.setdefault(name, []).append(tensor)
    for name, found in parts.items():
        shapes = {tuple(each.shape[1:]) for each in found}
        if len(found) != len(batches) or len(shapes) > 1 or not all(each.ndim for each in found):
            raise CannotJoin(f"the batches of the ranks cannot be joined: {name or 'a tensor'} has other shapes")
    return map_tensors(lambda name, _: torch.cat(parts[name]), batches[0])


def _state(training: Training) -> dict[str, Tensor]:
    found: dict[str, Tensor] = {}
    for prefix, module in training.modules.items():
        for name, tensor in (*module.named_parameters(), *module.named_buffers()):
            found[bare_name(f"{prefix}.{name}" if prefix else name)] = tensor
    return found


def _whole(tensor: Tensor) -> Tensor:
    return tensor.to_local() if hasattr(tensor, "placements") else tensor.detach()  # type: ignore[attr-defined]
