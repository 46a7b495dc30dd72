"""Sequences of which only the padding is read: a mask that is the wrong way round hides what is real.

With another sample's values in their place something may still change, because their padding is elsewhere. So what is
real is exchanged for other real values, and the padding stays where it is.
"""

from __future__ import annotations

from torch import Tensor

from ....records.probes import InputRecord
from .influence import has_none
from .padding import Padded, known_padding
from .repeat_call import Leaf, Repeater


def find_hidden(repeater: Repeater, base: dict[str, Tensor], inputs: list[tuple[Leaf, InputRecord]]) -> None:
    """Marks the inputs that have no influence where they are not padding."""
    open_to_doubt = {leaf.name: record for leaf, record in inputs if record.direct and not record.ignored}
    for padded in known_padding(repeater):
        record = open_to_doubt.get(padded.leaf.name)
        if record is not None and has_none(repeater, base, padded.leaf, _exchanged(padded)):
            record.ignored = record.hidden = True


def _exchanged(padded: Padded) -> list[Tensor]:
    """Two versions with the real values of other positions and samples."""
    versions, many = [], int(padded.real.sum())
    for shift in (1, max(1, many // 2)):
        other = padded.leaf.tensor.clone()
        other[padded.real] = other[padded.real].roll(shift, 0)
        versions.append(other)
    return versions
