"""What happens inside the model: gradients and updates by layer, activations that are dead or saturated."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence

from ... import wording
from ...records.recorded import Recorded
from ...records.verdict import Verdict
from . import specs
from .figure import Figure, JudgedRuns, Table, cell

_KINDS = (("Gradients by layer", "gradient per value", "gradient"), ("Updates by layer", "update / weight", "update"))
#: A parameter, with its value at the first look and at the last.
_Row = tuple[str, float | None, float | None]


def layers_of(known: JudgedRuns) -> Iterator[Figure]:
    """Of the check that saw most of it; of one that failed, if there is a choice."""
    run = max((each for each in known if each[1].parameters), default=None, key=lambda each: _seen(*each))
    if run is None:
        return
    every, count = run[1].parameters, run[1].parameter_count
    for title, unit, which in _KINDS:
        rows: list[_Row] = [(each.name, *getattr(each, which)) for each in every]
        if which == "update" and all(first is None and last is None for _, first, last in rows):
            continue
        says = [_extremes(rows, unit)]
        if count > len(every):
            says.append(f"{len(every)} of {count:,} parameters are shown.")
        if any(first is not None and first != last for _, first, last in rows):
            says.append("Hollow: the first look; full: the last.")
        table = Table(
            ("parameter", "first look", "last look"),
            tuple((name, cell(first), cell(last)) for name, first, last in rows),
        )
        yield Figure(title, " ".join(says), specs.dots(rows, unit), table=table)


def _extremes(rows: Sequence[_Row], unit: str) -> str:
    sizes = [(last, name) for name, _, last in rows if last is not None and math.isfinite(last) and last > 0]
    if not sizes:
        return f"At the last look no parameter has a {unit} that can be drawn."
    says = f"At the last look the largest {unit} is {_at(max(sizes))}"
    says += f", the smallest {_at(min(sizes))}." if len(sizes) > 1 else "."
    without = [name for name, _, last in rows if not last]
    return f"{says} {wording.names(without, 4)} {'has' if len(without) == 1 else 'have'} none." if without else says


def _seen(verdict: Verdict, run: Recorded) -> tuple[bool, int, bool]:
    updates = any(each.update != (None, None) for each in run.parameters)
    return updates, len(run.parameters), verdict.failed


def _at(found: tuple[float, str]) -> str:
    return f"{wording.short(found[0])} in {found[1]}"


def activations_of(known: JudgedRuns) -> Iterator[Figure]:
    seen = [(verdict.failed, len(run.activations), run) for verdict, run in known if run.activations]
    if not seen:
        return
    run = max(seen, key=lambda each: each[:2])[2]
    rows, taken = list[tuple[str, float, str]](), Counter[str]()
    for each in run.activations:
        name = f"{each.module} ({each.function})" if each.module else each.function
        taken[name] += 1
        name = name if taken[name] == 1 else f"{name} {taken[name]}"
        kinds = (("dead", each.dead), ("saturated", each.saturated))
        rows += [(name, share, kind) for kind, share in kinds if share is not None]
    worst = max(rows, key=lambda row: row[1], default=("", 0.0, ""))
    if worst[1] == 0:
        looked = wording.plural(len(run.activations), "activation function")
        yield Figure("Activations", f"{looked} looked at: no unit is dead, and no output is at the end of its range.")
        return
    what = {"dead": "of the units are 0 for every sample", "saturated": "of the outputs are at an end of the range"}
    says = f"At worst, in {worst[0]}, {wording.share(worst[1])} {what[worst[2]]}."
    cells = tuple((name, kind, wording.share(value)) for name, value, kind in rows)
    spec = specs.bars(rows, "dead or saturated", "%", (0, 1))
    yield Figure("Activations", says, spec, table=Table(("activation", "kind", "share"), cells))
