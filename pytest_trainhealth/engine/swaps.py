"""Down to the ingredient: what a training has differently from a plain one is exchanged, one thing at a time.

Where a plain recipe is healthy and the user's is not, the cause lies in what differs. Each ingredient that differs is
swapped for the plain one; a swap that heals is a confirmed cause, whether or not a threshold had pointed to it. So a
fault that nobody wrote a rule for is still named by its ingredient. Where the plain recipe is sick too, parts of the
model and of the loss are exchanged in the same way.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..causes import Cause, Stage, Suspicion, all_causes
from ..records.intervention import Cure
from ..records.trace import Trace
from ..records.verdict import Certainty, Symptom
from .findings import finding_of, try_cures_of
from .reruns import Reruns
from .shared_results import KnownCause

Offer = tuple[Cause, Suspicion]


def swap_ingredients(trace: Trace, symptom: Symptom, runs: Reruns, *, about_rates: bool) -> list[KnownCause]:
    """The ingredients whose exchange heals, the most specific first; learning rates only where nothing else does.

    Half of all faults get better with some other learning rate, so a rate that heals proves little while another
    ingredient does.
    """
    offers = [offer for offer in _offers(trace, symptom) if about_rates or offer[0].stage is not Stage.RATES]
    for some in (
        [offer for offer in offers if offer[0].stage is not Stage.RATES],
        [offer for offer in offers if offer[0].stage is Stage.RATES],
    ):
        healed = []
        for cause, suspicion in some:
            cure, reruns = try_cures_of(cause, suspicion, runs)
            if cure is not None:
                healed.append((cause, suspicion, cure, reruns))
        if healed:
            shown = {each[2].label: next(r for r in each[3] if r.confirms) for each in healed}
            best = runs.best(list(shown.values()))
            healed.sort(key=lambda each: each[2].label != best.cure)
            cause, suspicion, cure, reruns = healed[0]
            rivals = [shown[each[2].label] for each in healed[1:]]
            return [KnownCause(finding_of(cause, suspicion, symptom, "confirmed", [*reruns, *rivals], cure), cure)]
    return _together(offers, symptom, runs)


def _offers(trace: Trace, symptom: Symptom) -> list[Offer]:
    if not symptom.suspects:
        return []
    found = []
    for cause in all_causes():
        if cause.swap is not None and cause.swaps == symptom.suspects and symptom.category in cause.explains:
            suspicion = cause.swap(trace, symptom)
            if suspicion is not None:
                found.append((cause, suspicion))
    return found


def _together(offers: Sequence[Offer], symptom: Symptom, runs: Reruns) -> list[KnownCause]:
    """No ingredient alone: the smallest set of them that heals, rates included."""
    plain = [(cause.name, s.cures[0]) for cause, s in offers if s.cures and cause.stage is not Stage.RATES]
    rates = [(cause.name, cure) for cause, s in offers if cause.stage is Stage.RATES for cure in s.cures[:2]]
    if not plain:
        return []
    for group in (plain, *([*plain, rate] for rate in rates)):
        healed = runs.smallest_healing_set(group) if len(group) > 1 else None
        if healed is not None:
            names, proof = healed
            cures = {name: cure for name, cure in group}
            needed = [(cause, s) for cause, s in offers if cause.name in names]
            needed, certainties = by_their_own(needed, cures, runs)
            return [
                KnownCause(finding_of(cause, s, symptom, certainty, [proof], cures[cause.name]), cures[cause.name])
                for (cause, s), certainty in zip(needed, certainties, strict=True)
            ]
    return []


def by_their_own(
    needed: Sequence[Offer], cures: Mapping[str, Cure], runs: Reruns
) -> tuple[list[Offer], list[Certainty]]:
    """With a rate among them, the one whose exchange alone leads furthest is to blame, and the others may be usual.

    At a rate that is far too high, dropout of a usual size has to go as well before one batch is memorised.
    """
    alone = {cause.name: runs.done.get(cures[cause.name].label) for cause, _ in needed}
    known = [each for each in alone.values() if each is not None]
    if not any(cause.stage is Stage.RATES for cause, _ in needed) or len(known) < len(needed):
        return list(needed), ["confirmed"] * len(needed)
    best = runs.best(known)
    in_order = sorted(needed, key=lambda offer: alone[offer[0].name] is not best)
    others: list[Certainty] = ["likely"] * (len(needed) - 1)
    return in_order, ["confirmed", *others]
