"""What is drawn of a training, with the sentence that says the same: from verdicts to figures, without a renderer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ... import wording
from ...records.speed import PHASES
from ...records.verdict import Verdict
from . import specs
from .figure import Figure, JudgedRuns, Table, cell, drawable
from .layer_figures import activations_of, layers_of
from .line_plots import lines
from .loss_figures import losses_of


def figures_of(verdicts: Sequence[Verdict]) -> list[Figure]:
    known = [(verdict, verdict.recorded) for verdict in verdicts if verdict.recorded is not None]
    inside = (*losses_of(known), *layers_of(known), *activations_of(known))
    return [*inside, *_rates(known), *_speed(verdicts), *_data(known), *_logged(known)]


def _rates(known: JudgedRuns) -> Iterator[Figure]:
    rates = max(
        (run.rates for _, run in known if run.rates), default=(), key=lambda found: max(c.steps[-1] for c in found)
    )
    still = [curve for curve in rates if len(set(curve.values)) == 1]
    moving = [curve for curve in rates if curve not in still and drawable(curve)]
    says = [f"{curve.name} keeps a learning rate of {wording.short(curve.values[0])}." for curve in still]
    for number, curve in enumerate(moving, 1):
        first, last = wording.short(curve.values[0]), wording.short(curve.values[-1])
        named = f"{curve.name} ({number})" if len(moving) > 1 else curve.name
        says.append(
            f"The learning rate of {named} goes from {first} to {last}, at most {wording.short(max(curve.values))}."
        )
    if not says:
        return
    many = len(moving) > 1
    curves = [(str(at) if many else "", "run", drawable(curve)) for at, curve in enumerate(moving, 1)]
    spec = lines(curves, (), "update", "learning rate") if moving else None
    yield Figure("Learning rate", " ".join(says), spec)


def _speed(verdicts: Sequence[Verdict]) -> Iterator[Figure]:
    for verdict in verdicts:
        parts = [(name, verdict.figures.get(f"{name}_ms") or 0.0) for name in PHASES]
        if not verdict.figures.get("step_seconds") or not any(value for _, value in parts):
            continue
        total = sum(value for _, value in parts)
        shares = ", ".join(f"{name} {wording.share(value / total)}" for name, value in parts if value > 0)
        samples = verdict.figures.get("samples_per_second")
        speed = f" That is {wording.short(samples)} samples a second." if samples else ""
        spec = specs.parts([(name, value, name) for name, value in parts if value > 0], "milliseconds of a step")
        table = Table(("part", "ms"), tuple((name, wording.short(value)) for name, value in parts))
        yield Figure("Where a step's time goes", f"{wording.short(total)} ms: {shares}.{speed}", spec, table=table)
        return


def _data(known: JudgedRuns) -> Iterator[Figure]:
    surveyed = max((run for _, run in known), default=None, key=lambda run: (run.samples, len(run.fields)))
    fields = max(
        (run.fields for _, run in known), default=(), key=lambda found: sum(each.low is not None for each in found)
    )
    fields = fields or (surveyed.fields if surveyed else ())
    if surveyed is None or not (fields or surveyed.classes):
        return
    says = f"{wording.plural(surveyed.samples, 'sample')} read" if surveyed.samples else "The first batch"
    says += f", and {wording.plural(surveyed.val_samples, 'sample')} for validation." if surveyed.val_samples else "."
    rows = tuple(
        (each.name, each.kind, *(cell(v) if v is not None else "" for v in (each.low, each.high, each.mean, each.std)))
        for each in fields
    )
    spec = None
    if surveyed.classes:
        largest, smallest = max(surveyed.classes, key=lambda c: c[1]), min(surveyed.classes, key=lambda c: c[1])
        says += f" The largest class, {largest[0]}, has {wording.plural(largest[1], 'sample')};"
        says += f" the smallest, {smallest[0]}, has {smallest[1]:,}."
        spec = specs.bars(
            [(f"class {label}", float(count), "run") for label, count in surveyed.classes], "samples", "~s"
        )
    yield Figure(
        "Data", says, spec, table=Table(("tensor", "kind", "low", "high", "mean", "spread"), rows) if rows else None
    )


def _logged(known: JudgedRuns) -> Iterator[Figure]:
    for _, run in known:
        losses = [curve for curve in run.logged if "loss" in curve.name.lower() and drawable(curve)]
        others = [[curve] for curve in run.logged if curve not in losses and drawable(curve)]
        for group in ([losses] if losses else []) + others:
            curves = [
                (str(at) if len(group) > 1 else "", ("run", "second")[min(at - 1, 1)], drawable(each))
                for at, each in enumerate(group, 1)
            ]
            legend = tuple(each.name for each in group) if len(group) > 1 else ()
            says = " ".join(
                f"{each.name} goes from {wording.loss(each.values[0])} to {wording.loss(each.values[-1])}."
                for each in group
            )
            title = "Logged losses" if group is losses else f"Logged {group[0].name}"
            yield Figure(title, says, lines(curves, (), group[0].unit, ""), legend)
