"""updates-lost: an optimizer holds parameters, and its steps leave them where they are

What happens
    Gradients arrive, the optimizer that holds the parameters steps, and they keep their values: a `step()` of your own
    does not go over all of them, or something puts the old values back (a hook, a copy, a projection at the end of the
    loop). If the rest of the model can make up for it, the loss still falls and nobody notices.

How severe it is
    High: the step is taken, and rounding or somebody else undoes it.

How it is recognised
    A parameter has gradients and a learning rate above 0, and is the same after every one of at least five optimizer
    steps. Whether the step wrote to it tells an optimizer that skips it from values that are put back. With
    `keeps_precision`, weights of 16 bits count too, most of whose updates are rounded away; the re-run keeps them in
    float32. Or something writes to what the optimizer holds between its steps, and each time leads straight back to
    where the weights were when the run began, or takes back most of every single update; the re-run keeps what the
    optimizer has left.

How to fix it
    In a `step()` of your own, go over every parameter of every group. Look for code after the step that copies, loads
    or clamps weights, and for hooks on the optimizer. An average follows the weights, and not the other way round:
    `target.lerp_(online, tau)`; and a copy that the weights go back to has to be renewed.

What not to do
    A higher learning rate: what is taken back or never done does not become more.

How to prevent it
    Keep weights in float32 and autocast the rest; give each parameter one owner. `gradients_flow` compares before and
    after; `keeps_precision` sees what 16 bits swallow.

When this is wrong
    Parameters that are meant to stay fixed: say so with `requires_grad_(False)`, or do not hand them over. Updates that
    are too small for the type of number, and constants held by a bound, are not reported.
"""

from __future__ import annotations

from statistics import median

from .. import wording
from ..analysis import unmoved
from ..analysis.half_precision import lost_moves
from ..records.intervention import Cure
from ..records.symptoms import NOT_LEARNING, PLATEAU, UNEQUAL
from ..records.trace import Trace
from ..records.verdict import Evidence, Fix, Symptom
from . import Suspicion
from ._groups import WIRING

GROUP = WIRING
ORDER = 5
CURABLE = False
EXPLAINS = (NOT_LEARNING, PLATEAU, UNEQUAL)


def look(trace: Trace, symptom: Symptom) -> Suspicion | None:
    if symptom.category == UNEQUAL:
        return _rounded(trace)
    still = unmoved.held_still(trace)
    if not still:
        return _led_back(trace) or _ended(trace)
    names, lost = wording.names([p.name for p in still]), [p.lost for p in still if p.lost is not None]
    optimizer = trace.wiring.optimizers.get(still[0].held_by[0])
    label = still[0].held_by[0]
    put_back = any(each.written or each.changed for each in lost)
    evidence = [
        Evidence(
            f"{names} ({wording.count(sum(p.size for p in still))} values) got gradients at {lost[0].count} steps of "
            f"{label} and never moved",
            float(lost[0].count),
        ),
        Evidence(f"their learning rate is {wording.short(lost[0].rate)}, not 0", lost[0].rate),
        Evidence(
            f"{label}.step() wrote to them, and their old values were there again"
            if put_back
            else f"{label}.step() did not write to them"
        ),
    ]
    return Suspicion(
        statement=f"{names} {'is' if len(still) == 1 else 'are'} {'put back' if put_back else 'skipped'} at every step",
        evidence=tuple(evidence),
        why="something restores them after the step" if put_back else f"the step of {label} leaves them out",
        places=() if optimizer is None or optimizer.place is None else (optimizer.place,),
        fix=Fix(
            "look for what copies or loads weights after the step, and for hooks on the optimizer"
            if put_back
            else f"let {label}.step() go over every parameter of every group:",
            () if put_back else ("for group in self.param_groups:", '    for p in group["params"]:'),
        ),
        not_this="a higher learning rate: what never arrives does not become more",
    )


def _led_back(trace: Trace) -> Suspicion | None:
    """Written to between updates, and each time towards the start of the run."""
    found = unmoved.led_back(trace)
    if found is None:
        return None
    label, record = found
    names = sorted(record.names, key=list(trace.wiring.parameters).index)
    them = "it" if len(names) == 1 else "them"
    straight = record.to_the_start == record.writes
    way = "each time straight towards the values at the start of the run" if straight else "after every single one"
    return Suspicion(
        statement=f"{wording.names(names)} {'is' if len(names) == 1 else 'are'} drawn back "
        f"{'to the start ' if straight else ''}between steps",
        evidence=(
            Evidence(
                f"between the steps of {label}, something wrote to {them} {wording.plural(record.writes, 'time')} (of "
                f"{record.updates} seen): {way}",
                float(record.writes),
                record.place,
            ),
            Evidence(
                f"each takes back {wording.share(median(record.taken))} of what {label} had moved since the one before",
                median(record.taken),
            ),
        ),
        why="a copy of the first weights is written to the ones that learn, or an average runs the wrong way round",
        places=() if record.place is None else (record.place,),
        fix=Fix(
            "let the average follow the weights, and not the other way round; renew a copy that is gone back to:",
            ("average.lerp_(weight, share)  # weight stays as it is",),
        ),
        not_this="a higher learning rate: it only moves the point at which the two forces are equal",
        cures=(Cure("kept_updates", "what the optimizer leaves is kept"),),
    )


def _ended(trace: Trace) -> Suspicion | None:
    """Of an optimizer that is none of torch's: its first step moves the parameters, and no other one does."""
    last = unmoved.updates_ended(trace)
    if last is None:
        return None
    passes = trace.wiring.hand_passes
    return Suspicion(
        statement=f"nothing moves any more after {wording.plural(trace.wiring.hand_updates, 'update')}",
        evidence=(
            Evidence(
                f"the parameters moved after {last} of {passes} backward passes, and after none of those that "
                "followed, though each left gradients",
                float(passes - last),
            ),
        ),
        why="what goes over the parameters finds none from then on: a generator or a filter() yields them once",
        fix=Fix("keep the parameters in a list:", ("self.params = list(params)",)),
        not_this="a higher learning rate: there is nothing that it is multiplied with",
    )


def _rounded(trace: Trace) -> Suspicion | None:
    """What `keeps_precision` has seen: weights of 16 bits, and updates that are smaller than their last bit."""
    names, share = lost_moves(trace)
    if not names:
        return None
    return Suspicion(
        statement=f"rounding takes {wording.share(share)} of the updates of {wording.names(names)}",
        evidence=(
            Evidence(f"of the values that have a gradient, {wording.share(share)} are the same after an update", share),
            Evidence(f"{wording.plural(len(names), 'parameter')} of 16 bits, and no copy of more in the optimizer"),
        ),
        why="an update smaller than about 1/256 of a weight in bfloat16 is rounded away",
        fix=Fix(
            "keep the weights in float32, and compute under autocast:",
            ("with torch.autocast(device, torch.bfloat16):",),
        ),
        not_this="a higher learning rate: it moves what is not lost too far",
        cures=(Cure("float32", "weights in float32"),),
    )
