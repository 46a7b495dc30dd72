"""Brings a tensor into a few numbers whose sums and differences are those of the tensors.

Each value is multiplied by a sign that belongs to its place, and values are added up in turn into a few buckets: the
norm of the buckets is about that of the tensor, and what holds for whole tensors (equal, twice as large, the mean of
two) holds for them. A part of a tensor gets the signs and buckets of its place in the whole, so that the sketches of
all parts add up to that of the whole.
"""

from __future__ import annotations

import zlib
from typing import Any

import torch
from torch import Tensor

#: Numbers kept of a tensor. By judgement: 32 estimate a norm to within a quarter, and only factors of 2 and more, or
#: differences from exactly 0, are read off them.
BUCKETS = 32
#: Signs that are drawn at a time. By judgement: 65,536 cost a quarter of a millisecond.
_PIECE = 65536


class Sketcher:
    def __init__(self) -> None:
        self._signs: dict[str, Tensor] = {}

    @torch.no_grad()
    def __call__(self, name: str, tensor: Tensor) -> tuple[float, list[float]] | None:
        """The norm and the buckets; None for a tensor whose values cannot be read."""
        if tensor.is_meta or tensor.layout is not torch.strided:
            return None
        part, offset = _part(tensor)
        if part is None:
            return None
        flat = part.detach().reshape(-1)
        if flat.is_complex():
            flat = torch.view_as_real(flat).reshape(-1)
        flat = flat.cpu().double()
        if not flat.numel():  # of a few rows, some ranks have none
            return 0.0, [0.0] * BUCKETS
        signed = flat * self._sign(name, offset + flat.numel())[offset:]
        before = offset % BUCKETS
        padded = torch.nn.functional.pad(signed, (before, -(before + signed.numel()) % BUCKETS))
        return float(flat.norm()), padded.view(-1, BUCKETS).sum(0).tolist()

    def _sign(self, name: str, length: int) -> Tensor:
        """The same in every process."""
        known = self._signs.get(name)
        if known is None or known.numel() < length:
            known = _signs(name, length)
            self._signs[name] = known
        return known[:length]


def _signs(name: str, length: int) -> Tensor:
    """Those of a longer tensor begin like those of a shorter one: a rank knows only how far its own part goes."""
    pieces: list[Tensor] = []
    for piece in range(-(-length // _PIECE)):
        generator = torch.Generator("cpu").manual_seed(zlib.crc32(f"{name}:{piece}".encode()))
        pieces.append(torch.randint(0, 2, (_PIECE,), generator=generator, dtype=torch.int8, device="cpu") * 2 - 1)
    return torch.cat(pieces)


def is_shard(tensor: Tensor) -> bool:
    """Whether each rank holds a part of it."""
    placements: Any = getattr(tensor, "placements", None)
    return placements is not None and any(not each.is_replicate() for each in placements)


def _part(tensor: Tensor) -> tuple[Tensor | None, int]:
    """What this process holds of it, and at which value of the whole that begins."""
    placements: Any = getattr(tensor, "placements", None)
    if placements is None:
        return tensor, 0
    local: Tensor = tensor.to_local()  # type: ignore[attr-defined]
    if not is_shard(tensor):
        return local, 0
    if len(placements) != 1 or not placements[0].is_shard(0):
        return None, 0
    return local, first_row(tensor) * (tensor.numel() // max(tensor.shape[0], 1))


def first_row(tensor: Any) -> int:
    """Of a tensor whose rows are spread over the ranks, the first that lies here: as torch.chunk() cuts them."""
    mesh = tensor.device_mesh
    rows_each = -(-tensor.shape[0] // mesh.size())
    return int(min(rows_each * mesh.get_local_rank(), tensor.shape[0]))
