"""Losses that add a sum over the samples to a mean over them: how the two are weighed depends on the batch."""

from __future__ import annotations

from ..records.state import CutRecord, TermRecord

#: What the values of the sum are multiplied by, at least. A sum that is divided by a batch size written as a number is
#: a mean as long as batches have that size. By judgement: half is a weight, and no division by 8 or more samples.
_LEAST_FACTOR = 0.5
#: The same times the number of samples: as if it were divided by them, and weighted by this. By judgement: no loss is
#: weighted 16 times as much as another on purpose.
_LEAST_WEIGHT = 16.0


def summed_beside_means(cut: CutRecord | None) -> dict[int, TermRecord]:
    """The terms that are sums, by their places, where every term is one or the other by its gradients."""
    terms = {} if cut is None else cut.terms
    kinds = {each.kind for each in terms.values()}
    if cut is None or kinds != {"mean", "sum"}:
        return {}
    summed = {index: each for index, each in terms.items() if each.kind == "sum"}
    sizes = [abs(each.factor) for each in summed.values()]
    return summed if min(sizes) >= _LEAST_FACTOR and min(sizes) * cut.samples >= _LEAST_WEIGHT else {}


def averaged(cut: CutRecord) -> list[str]:
    return [each.name for each in cut.terms.values() if each.kind == "mean"]
