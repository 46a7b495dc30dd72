"""out-of-memory: the step asks for more memory than there is

What happens
    A batch that is too large, activations that are kept for the backward pass, or, more often than one thinks, a tensor
    that nobody meant to make: (N, 1) minus (N,) is N x N, and with a million rows that is 4 TB.

How severe it is
    Critical, and loud, often only for the largest batch or the longest sequence.

How it is recognised
    Torch's message gives the size that is asked for. The step is run once more, and the call that asks for it is seen
    with the shapes it was given, and beside it the largest tensors that there are.

How to fix it
    Where one tensor is larger than all the data, it is the shapes: compare one with one, or work in chunks. Otherwise
    smaller batches with accumulated gradients, `torch.utils.checkpoint`, bfloat16.

What not to do
    `torch.cuda.empty_cache()` in every step: what is in use is not freed by it, and the step gets slower.

How to prevent it
    Test the largest batch that can occur, not the first one; sort by length or cap it.
    `trains_without_nan(batch_sizes=...)` tries sizes.

When this is wrong
    Another process may have taken the memory: the same step passes when the machine is free.
"""

from __future__ import annotations

import re

from .. import wording
from ..analysis import loss_calls, raised
from ..records.errors import ErrorContext, HeldTensor
from ..records.symptoms import CRASH
from ..records.trace import Trace
from ..records.verdict import Evidence, Fix, Symptom
from . import Suspicion
from ._groups import WIRING

GROUP = WIRING
ORDER = 0
CURABLE = False
EXPLAINS = (CRASH,)

_BYTES = re.compile(r"allocate (?P<bytes>\d+) bytes")
_UNITS = {"KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40, "bytes": 1}
_IN_UNITS = re.compile(r"allocate (?P<number>[\d.]+) (?P<unit>KiB|MiB|GiB|TiB|bytes)")
#: What is asked for at once is this much of all that is there: it is one tensor that is too large, and not the sum of
#: many. By judgement: activations of one layer are a part of the whole.
_FAR_TOO_LARGE = 10


def look(trace: Trace, symptom: Symptom) -> Suspicion | None:
    crash = trace.crash
    if crash is None or raised.about(crash) != raised.MEMORY:
        return None
    seen, wanted = crash.seen, _asked_for(crash.first_message)
    who = f"{seen.call.function}{_inside(seen)}" if seen.call is not None else f"step {crash.step}"
    size = "more memory than there is" if wanted is None else f"{wording.size(wanted)} at once"
    evidence = []
    if seen.call is not None and seen.call.given:
        shapes = " and ".join(str(each.shape) for each in seen.call.given[:2])
        evidence.append(Evidence(f"{who} was given {shapes}", wanted, crash.place))
    if seen.held_in_all:
        held = wording.size(seen.held_in_all)
        evidence.append(Evidence(f"all tensors that there are take {held}", float(seen.held_in_all)))
    if seen.held:
        evidence.append(Evidence(f"the largest: {'; '.join(map(_spoken, seen.held))}"))
    if not evidence:
        message = crash.first_message or f"step {crash.step} raises {crash.first_kind}"
        evidence.append(Evidence(message, wanted, crash.place))
    alone = wanted is not None and seen.held_in_all > 0 and wanted > _FAR_TOO_LARGE * seen.held_in_all
    fix = Fix("make smaller batches, and accumulate their gradients")
    if alone:
        fix = Fix("look at the shapes: one tensor is to be far larger than all others together. Compare one with one, "
                  "or work in chunks")  # fmt: skip
    return Suspicion(
        statement=f"{who} asks for {size}",
        evidence=tuple(evidence),
        why="one tensor is too large by far" if alone else "what the step keeps does not fit into memory",
        places=loss_calls.places(crash.place),
        fix=fix,
        not_this="emptying the cache in every step: what is in use is not freed by it",
    )


def _asked_for(message: str) -> float | None:
    plain = _BYTES.search(message)
    if plain is not None:
        return float(plain["bytes"])
    found = _IN_UNITS.search(message)
    return None if found is None else float(found["number"]) * _UNITS[found["unit"]]


def _inside(seen: ErrorContext) -> str:
    return "" if seen.module is None else f" in {seen.module.spoken}"


def _spoken(held: HeldTensor) -> str:
    return f"{held.name or 'one'} of shape {held.shape}, {wording.size(held.bytes)}"
