"""evaluation-changes-state: an evaluation changes what it evaluates, and the training goes on with that

What happens
    Weights are exchanged for their average and not put back, a forward pass moves statistics or counts calls in eval
    mode too, samples that are evaluated get into a memory, or a seed is set so that every evaluation draws the same.
    Training goes on from another state than the one it had reached, and how good a model becomes depends on how often
    it is looked at. After each evaluation that sets a seed, the same dropout, noise and order come again.

How severe it is
    High: looking at the model changes it.

How it is recognised
    Weights, buffers or attributes are other after an evaluation than before, and the steps that follow differ from
    those of the same run without it. Or two evaluations that began with other random numbers end with the same ones,
    and the steps draw from these (never more than *likely*). The re-run puts weights, buffers and attributes back after
    the evaluation.

How to fix it
    Evaluate a copy, or put back what was exchanged in a `finally`. Let a module change its state only `if
    self.training`. Draw what has to be the same each time from a generator of its own.

What not to do
    Evaluating less often: it makes the difference smaller, and keeps it.

How to prevent it
    Evaluate under `eval()` and `torch.no_grad()`, with generators of its own, and restore the mode in a `finally`.
    `evaluates_cleanly` compares everything before and after.

When this is wrong
    Methods that learn from the samples that they are tested on, by design.
"""

from __future__ import annotations

from .. import wording
from ..records.intervention import Cure
from ..records.state import EvaluationRecord
from ..records.symptoms import UNEQUAL
from ..records.trace import Trace
from ..records.verdict import Evidence, Fix, Symptom
from . import Suspicion
from ._groups import STATE

GROUP = STATE
ORDER = 14
EXPLAINS = (UNEQUAL,)

_PUT_BACK = Cure("evaluated", "all put back after the evaluation", {"how": "put back"})


def look(trace: Trace, symptom: Symptom) -> Suspicion | None:
    found = trace.state.evaluation
    if found is None or not found.changed:
        return None if found is None or not found.reseeded else _reseeded(found)
    names = wording.names(found.changed)
    return Suspicion(
        statement=f"evaluating changes {names}",
        evidence=(
            Evidence(
                f"{names} {wording.is_or_are(len(found.changed))} other after the evaluation than before",
                float(len(found.changed)),
            ),
        ),
        why="the training goes on from there" if found.own else "forward() changes it in eval mode, too",
        fix=Fix("put back what the evaluation exchanges, and change state only `if self.training`"),
        not_this="evaluating less often: it makes the difference smaller, and keeps it",
        cures=(_PUT_BACK,),
    )


def _reseeded(found: EvaluationRecord) -> Suspicion:
    """Never more than likely: a check puts random numbers back itself, so that no re-run could show the difference."""
    names = wording.names(found.reseeded)
    return Suspicion(
        statement=f"evaluating seeds the random numbers of {names}",
        evidence=(
            Evidence(
                f"two evaluations that began with other random numbers of {names} end with the same ones",
                float(len(found.reseeded)),
            ),
            Evidence(f"steps draw from the random numbers of {names}: after each evaluation they draw the same again"),
        ),
        why="the training goes on from that seed",
        fix=Fix(
            "draw what has to be the same each time from a generator of its own:",
            ("generator = torch.Generator().manual_seed(seed)", "noise = torch.randn(size, generator=generator)"),
        ),
        not_this="another seed: the same numbers come again after each evaluation, whichever they are",
    )
