"""Adapters: small parts that learn beside a model that was frozen on purpose.

What is frozen beside an adapter was frozen by whoever put the adapter in, and that is the whole idea: to unfreeze it is
never the fix, whatever the training does. Two things show an adapter, and neither is a name:

- a frozen matrix has two trained ones beside it that together have its shape, out x rank and rank x in, with a rank
  below both: a change of low rank (LoRA), whoever wrote it;
- what learns was made by an installed package, and what is frozen by somebody else: the package took a model that was
  there, froze it and put its own parts in (prompts, prefixes, scales, bottlenecks).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from ..records.trace import Trace
from ..records.wiring import ParameterRecord

#: These make nothing of their own accord.
_NOBODY = ("user", "torch")


def has_adapters(trace: Trace) -> bool:
    frozen, trained = trace.frozen, trace.trainable
    if not frozen or not trained:
        return False
    makers = {p.made_by for p in frozen}
    if any(p.made_by not in _NOBODY and p.made_by not in makers for p in trained):
        return True
    return next(_of_low_rank(frozen, trained), None) is not None


def _of_low_rank(frozen: Sequence[ParameterRecord], trained: Sequence[ParameterRecord]) -> Iterator[ParameterRecord]:
    """Frozen matrices with a pair beside them that together has their shape."""
    nearby: dict[str, list[tuple[int, ...]]] = defaultdict(list)
    for p in trained:
        if len(p.shape) == 2:
            for holder in _holders(p):
                nearby[holder].append(p.shape)
    for p in frozen:
        if len(p.shape) == 2 and any(_together(nearby.get(holder, []), p.shape) for holder in _holders(p)):
            yield p


def _holders(parameter: ParameterRecord) -> list[str]:
    """The layer that holds it, and the one around that: `q.base.weight` and `q.lora_a.default.weight` share `q`."""
    parts = parameter.name.split(".")[:-1]
    return [".".join(parts[:end]) for end in range(len(parts), max(len(parts) - 3, 0), -1)]


def _together(shapes: list[tuple[int, ...]], whole: tuple[int, ...]) -> bool:
    """Also where a matrix is kept as (in, out)."""
    for first, second in ((whole[0], whole[1]), (whole[1], whole[0])):
        ranks = {shape[1] for shape in shapes if shape[0] == first} | {s[0] for s in shapes if s[1] == first}
        others = {shape[0] for shape in shapes if shape[1] == second} | {s[1] for s in shapes if s[0] == second}
        if any(rank < min(whole) for rank in ranks & others):
            return True
    return False


def left_out(trace: Trace) -> list[ParameterRecord]:
    """A frozen output layer beside adapters: behind the last block of the model, and not one for its vocabulary.

    A head for a task is new, and has to learn unless the adapters can do without; a vocabulary comes with the model.
    """
    everything = list(trace.wiring.parameters.values())
    blocks = [n for n, p in enumerate(everything) if any(part.isdigit() for part in p.name.split("."))]
    if not blocks:
        return []
    words = {p.shape for p in everything if p.module_class == "Embedding"}
    behind = [p for p in everything[blocks[-1] + 1 :] if len(p.shape) == 2 and p.shape not in words]
    return [] if any(p.trainable for p in behind) else [p for p in behind if not p.moved]
