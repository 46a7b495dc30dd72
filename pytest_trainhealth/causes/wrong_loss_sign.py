"""wrong-loss-sign: the training climbs the loss instead of descending it

What happens
    A minus too many (or one too few, in a log-likelihood by hand), or `maximize=True` in the optimizer: each step
    makes the model worse. The loss that is shown falls without bound, or rises.

How it is recognised
    The derivative of what backward() was called on by the value of the loss function is -1, and there is nothing else
    in it. Or every optimizer climbs, and the loss function is one to be made small. Or the KL term of an ELBO, which is
    recognised by its values, has a derivative below 0. The re-run turns the sign. Of adversaries it is told by the
    gradients that come to the critic's scores: what a critic pulls away from the data, its opponent has to pull back.

How to fix it
    Take the minus out, or `maximize=True`.

What not to do
    A smaller learning rate: it climbs more slowly.

When this is wrong
    A likelihood of densities, an ELBO or a policy's objective may well be negative; that alone is not reported. Nor is
    a loss that is low at the start: unlearning and attacks climb on purpose. A policy's objective is judged only where
    the line calls the factor a reward, a return or an advantage; where that name is given to a cost, this is wrong.
"""

from __future__ import annotations

from .. import wording
from ..analysis import loss_calls, wiring
from ..records.intervention import Cure
from ..records.losses import LossCall
from ..records.symptoms import EXPLOSION, INSTABILITY, NOT_LEARNING, PLATEAU, SILENT
from ..records.trace import Trace
from ..records.verdict import Evidence, Fix, Symptom
from ..records.wiring import HelpedCritic
from . import Suspicion
from ._groups import LOSS

GROUP = LOSS
ORDER = 9
EXPLAINS = (SILENT, INSTABILITY, NOT_LEARNING, PLATEAU, EXPLOSION)


def look(trace: Trace, symptom: Symptom) -> Suspicion | None:
    allied = wiring.alliance(trace)
    if allied is not None:
        return _allied(allied)
    call = loss_calls.flipped(trace)
    if call is not None:
        return _turned(trace, call)
    call = loss_calls.rewarded_divergence(trace)
    if call is not None:
        return _rewarded(trace, call)
    call = loss_calls.punished(trace)
    if call is not None:
        return _punished(trace, call)
    if loss_calls.runs_away(trace):
        return _without_bound(trace)
    call = loss_calls.climbed(trace)
    if call is None:
        return None
    optimizer = next(o for o in trace.wiring.optimizers.values() if o.maximize)
    return Suspicion(
        statement=f"{optimizer.label} climbs: maximize=True, and {call.function} is to be made small",
        evidence=(
            Evidence(f"{optimizer.label} has maximize=True", place=optimizer.place),
            Evidence(f"the loss goes {_course(trace)}", trace.losses[-1], call.place),
        ),
        why="each step makes the loss larger",
        places=loss_calls.places(call.place, optimizer.place),
        fix=Fix("take maximize=True out of the optimizer"),
        not_this="a smaller learning rate: it climbs more slowly",
        cures=(Cure("scale_gradients", "sign turned", {"factor": -1.0}),),
    )


def _turned(trace: Trace, call: LossCall) -> Suspicion:
    by_hand = call.function == "log-likelihood"
    summary = "the log-likelihood itself, without a minus" if by_hand else f"the negative of {call.function}"
    derivative = "1" if by_hand else "-1"
    return Suspicion(
        statement=f"backward() is called on {summary}",
        evidence=(
            Evidence(
                f"the derivative of the loss by the {call.function} is {derivative}, and nothing else is in it",
                call.weight,
                call.place,
            ),
            Evidence(f"the loss goes {_course(trace)} while each step makes the model worse", trace.losses[-1]),
        ),
        why="to make it smaller is to make the errors larger",
        places=loss_calls.places(call.place),
        fix=Fix("put a minus in front of it" if by_hand else "take the minus out"),
        not_this="a smaller learning rate: it climbs more slowly",
        cures=(Cure("scale_gradients", "sign turned", {"factor": -1.0, "tells": True}),),
    )


def _allied(alliance: HelpedCritic) -> Suspicion:
    critic, maker = alliance.critic, alliance.maker
    steps = wording.plural(len(alliance.steps), "step")
    return Suspicion(
        statement=f"the loss of {critic}, or that of {maker}, has the wrong sign",
        evidence=(
            Evidence(
                f"in its own turn {critic} pulls its scores of the data one way and those of what {maker} made the "
                f"other; in its turn {maker} pulls them the same way (all {steps} that were looked at)",
                place=alliance.place,
            ),
        ),
        why="both make the same scores larger or smaller, without end, and nothing is imitated",
        places=loss_calls.places(alliance.place),
        fix=Fix(
            "turn the sign of one of them; for a Wasserstein critic:",
            ("loss_critic = critic(fake).mean() - critic(real).mean()", "loss_generator = -critic(fake).mean()"),
        ),
        not_this="clipping or smaller steps: they run away together all the same",
    )


def _without_bound(trace: Trace) -> Suspicion:
    return Suspicion(
        statement="the loss falls without bound: the sign of it is turned",
        evidence=(
            Evidence(f"the loss goes {_course(trace)} in {trace.steps} steps, faster and faster", trace.losses[-1]),
            Evidence("nothing that measures an error can do so: an error is 0 at best"),
        ),
        why="to make it smaller is to make the errors larger",
        fix=Fix(
            "put a minus in front of what is to become large (a likelihood, a reward)", ("loss = -log_prob.mean()",)
        ),
        not_this="a smaller learning rate, or clipping: it falls without bound all the same",
        cures=(Cure("scale_gradients", "sign turned", {"factor": -1.0, "tells": True}),),
    )


def _punished(trace: Trace, call: LossCall) -> Suspicion:
    return Suspicion(
        statement="the policy's objective is descended: there is no minus in front of it",
        evidence=(
            Evidence(
                f"log-probabilities times rewards are part of the loss with a factor of "
                f"{wording.short(call.weight or 0.0)}, which has to be below 0",
                call.weight,
                call.place,
            ),
            Evidence(f"the loss goes {_course(trace)} as what was rewarded becomes rarer", trace.losses[-1]),
        ),
        why="each step makes the actions that were rewarded less likely",
        places=loss_calls.places(call.place),
        fix=Fix("put a minus in front of it:", ("loss = -(log_prob * reward).mean()",)),
        not_this="a smaller learning rate, or clipping: it goes the wrong way all the same",
        cures=(Cure("scale_gradients", "sign turned", {"factor": -1.0, "tells": True}),),
    )


def _rewarded(trace: Trace, call: LossCall) -> Suspicion:
    return Suspicion(
        statement="the KL term has the wrong sign",
        evidence=(
            Evidence(
                f"the derivative of the loss by the KL divergence is {wording.short(call.weight or 0.0)} for each term",
                call.weight,
                call.place,
            ),
            Evidence(f"the loss goes {_course(trace)} while the latent variables leave their prior", trace.losses[-1]),
        ),
        why="a larger divergence makes the loss smaller, without bound",
        places=loss_calls.places(call.place),
        fix=Fix("the KL divergence is added:", ("kl = -0.5 * (1 + log_var - mean**2 - log_var.exp())",)),
        not_this="a smaller weight of the KL term, or clipping: the loss falls without bound all the same",
        cures=(Cure("scale_divergence", "sign of the KL term turned", {"factor": -1.0}),),
    )


def _course(trace: Trace) -> str:
    return wording.change(trace.losses[0], trace.losses[-1])
