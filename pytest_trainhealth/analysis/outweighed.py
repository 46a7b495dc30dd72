"""A KL term that outweighs the reconstruction beside it: nothing pays for what the latent variables would tell.

In an ELBO the errors of all values of a sample and the divergences of all its latents are added up, so one term of each
weighs the same, or `beta` times as much. A mean over the values beside a sum over the latents weighs each divergence as
many times more as a sample has values; a sum over the batch, that times the number of samples.
"""

from __future__ import annotations

from dataclasses import dataclass

from .. import wording
from ..records.losses import LossCall
from ..records.symptoms import PLATEAU
from ..records.trace import Trace
from ..records.verdict import Symptom
from . import loss_curve
from .loss_calls import elbo, scale

#: One divergence counts as this many errors. By judgement: 4 is the usual `beta` of disentangled latents.
_TIMES = 8.0
#: Of the way from the floor up to a guess: what is left says nothing about the sample. By judgement, the same 0.9 as in
#: overfits_one_batch.
_NO_BETTER_THAN_A_GUESS = 0.9
#: The same where the factor is nobody's choice. By judgement: half of the way takes knowledge (analysis/chance.py).
_HALF_WAY = 0.5
#: Of a factor: float32 gives six digits. By judgement.
_SAME = 1e-3


@dataclass(frozen=True)
class Outweighed:
    divergence: LossCall
    other: LossCall
    #: How many times as much as one term of the other the divergence of one latent counts.
    times: float

    @property
    def plain_sum(self) -> bool:
        """The divergences are added up without any factor but the number of samples: nobody has chosen this weight."""
        each = (self.divergence.weight or 0.0) / self.divergence.terms
        samples = max(self.divergence.samples, 1)
        return any(abs(each * by - 1) <= _SAME for by in (1, samples))


def outweighed(trace: Trace, level: float) -> Outweighed | None:
    """Where the whole loss comes to `level`, about where the same answer for every sample would have it.

    A factor that somebody has chosen is a matter of taste as long as anything is learnt at all.
    """
    for kl, other in elbo(trace):
        each, of_other = (kl.weight or 0.0) / kl.terms, (scale(other) or 0.0) / other.terms
        if of_other <= 0 or each < _TIMES * of_other or not other.given_target:
            continue
        found, points = Outweighed(kl, other, each / of_other), _floor_and_chance(trace, kl, other)
        if points is None:
            continue
        floor, chance = points
        if level - floor > (_HALF_WAY if found.plain_sum else _NO_BETTER_THAN_A_GUESS) * (chance - floor) > 0:
            return found
    return None


def _floor_and_chance(trace: Trace, kl: LossCall, other: LossCall) -> tuple[float, float] | None:
    """Floor and chance of the other term, in units of the loss that the step returns."""
    if other.chance is None or other.floor is None or kl.part is None or not other.part or not trace.losses:
        return None
    factor = trace.losses[other.step] / (kl.part + other.part) * (scale(other) or 0.0)
    return factor * other.floor, factor * other.chance


def silenced(trace: Trace) -> Symptom | None:
    last = loss_curve.level(trace.losses)
    found = outweighed(trace, last)
    points = None if found is None else _floor_and_chance(trace, found.divergence, found.other)
    if points is None or trace.applied.to_the_loss:
        return None
    floor, chance = points
    if last - floor <= _NO_BETTER_THAN_A_GUESS * (chance - floor):
        return None
    return Symptom(
        f"loss {wording.change(trace.losses[0], last)} in {len(trace.losses)} steps on one batch: the same answer for "
        f"every sample gives {wording.loss(chance)} without any KL term",
        PLATEAU,
        last,
        chance,
        "high",
        f"loss stops at {wording.loss(last)}, that of the same answer for every sample",
    )


NOTHING_SHOWN = "the KL term outweighs the other one, and the loss ends at that of the same answer for every sample"
