"""wrong-loss-sign: the training increases the loss instead of decreasing it

What happens
    One minus too many (or too few, in a log-likelihood by hand), or `maximize=True` in the optimizer: each step makes
    the model worse. The reported loss falls without bound, or rises.

How severe it is
    Critical: it trains away from the goal, as fast as it can.

How it is recognised
    The tensor that backward() is called on has a derivative of -1 with respect to the loss function's value, and
    contains nothing else. Or it is the cosine similarity of outputs and targets, or the overlap of a mask and its
    prediction, which should become large. Or distances are the scores of a softmax, which makes the largest the
    likeliest. Or every optimizer maximises, or a loop that updates by hand adds gradients to its parameters, and the
    loss function should be small. Or the
    KL term of an ELBO, which is recognised by its values, has a derivative below 0. The re-run flips the sign. For
    adversaries, the gradients of the critic's scores show it: what a critic pulls away from the data, its opponent has
    to pull back. Or a policy's advantage rises with the critic's estimate of the same sample (value - return), while
    the figure that the step returns does not fall; the re-run turns it round.

How to fix it
    Remove the minus, or `maximize=True`; by hand, subtract the gradient.

What not to do
    A smaller learning rate: it only gets worse more slowly.

How to prevent it
    Minimise, always: negate once, in the function that is named a loss, and test that a better answer has a lower one.
    `overfits_one_batch` shows it.

When this is wrong
    A likelihood of densities, an ELBO or a policy's objective may well be negative; that alone is not reported. Neither
    is a loss that is low at the start: unlearning and attacks increase it on purpose. A policy's objective is judged
    only where the line calls the factor a reward, a return or an advantage, or where it is a critic's error and another
    figure does not fall; where a cost has such a name, or the figure is meant to rise, this is wrong.
"""

from __future__ import annotations

from .. import wording
from ..analysis import course, loss_calls, wiring
from ..records.intervention import Cure
from ..records.losses import LossCall, Similarity
from ..records.symptoms import EXPLOSION, INSTABILITY, NOT_LEARNING, PLATEAU, SILENT
from ..records.trace import Trace
from ..records.verdict import Evidence, Fix, Symptom
from ..records.wiring import HelpedCritic
from . import Suspicion
from ._groups import LOSS

GROUP = LOSS
ORDER = 9
EXPLAINS = (SILENT, INSTABILITY, NOT_LEARNING, PLATEAU, EXPLOSION)
#: Steps at which an advantage was seen that is turned round. By judgement: two are no accident.
_SEVERAL = 2


def look(trace: Trace, symptom: Symptom) -> Suspicion | None:
    allied = wiring.alliance(trace)
    if allied is not None:
        return _allied(allied)
    call = loss_calls.flipped(trace)
    if call is not None:
        return _turned(trace, call)
    call = loss_calls.repelled(trace)
    if call is not None:
        return _repelled(call)
    unlike = loss_calls.made_unlike(trace)
    if unlike is not None:
        return _made_unlike(trace, unlike)
    call = loss_calls.rewarded_divergence(trace)
    if call is not None:
        return _rewarded(trace, call)
    call = loss_calls.punished(trace)
    if call is not None:
        return _punished(trace, call)
    if _turned_round(trace):
        return _advantage(trace)
    if loss_calls.unbounded(trace):
        return _without_bound(trace)
    call = loss_calls.climbed(trace)
    if call is None:
        return None
    if loss_calls.climbs_by_hand(trace):
        return _climbed_by_hand(trace, call)
    optimizer = next(o for o in trace.wiring.optimizers.values() if o.maximize)
    return Suspicion(
        statement=f"{optimizer.label} has maximize=True, but {call.function} should become small",
        evidence=(
            Evidence(f"{optimizer.label} has maximize=True", place=optimizer.place),
            Evidence(f"the loss goes {_course(trace)}", trace.losses[-1], call.place),
        ),
        why="each step makes the loss larger",
        places=loss_calls.places(call.place, optimizer.place),
        fix=Fix("remove maximize=True from the optimizer"),
        not_this="a smaller learning rate: it only gets worse more slowly",
        cures=(Cure("scale_gradients", "sign flipped", {"factor": -1.0}),),
    )


def _climbed_by_hand(trace: Trace, call: LossCall) -> Suspicion:
    updates = wording.plural(trace.wiring.hand_climbs, "update")
    return Suspicion(
        statement=f"the loop adds gradients to its parameters, but {call.function} should become small",
        evidence=(
            Evidence(f"parameters move along their gradients, not against them (all {updates} examined)"),
            Evidence(f"the loss goes {_course(trace)}", trace.losses[-1], call.place),
        ),
        why="each step makes the loss larger",
        places=loss_calls.places(call.place),
        fix=Fix("subtract the gradient:", ("p -= lr * p.grad",)),
        not_this="a smaller learning rate: it only gets worse more slowly",
        cures=(Cure("scale_gradients", "sign flipped", {"factor": -1.0}),),
    )


def _turned_round(trace: Trace) -> bool:
    """At several steps, while a figure that is not the loss itself does not fall: with a cost for a return the same
    would be right, and the figure would fall."""
    seen = [each for each in trace.loss.turned_advantages if each.other_figure]
    return len(seen) >= _SEVERAL and course.end(trace) >= trace.losses[0]


def _advantage(trace: Trace) -> Suspicion:
    seen = [each for each in trace.loss.turned_advantages if each.other_figure]
    return Suspicion(
        statement="the policy is rewarded for what the critic's estimate is above the return, and not the other way",
        evidence=(
            Evidence(
                "log-probabilities are made larger by a weight that rises with the critic's estimate of the same "
                f"sample, and is 0 where that is right (all {wording.plural(len(seen), 'step')} examined)",
                float(len(seen)),
                seen[0].place,
            ),
            Evidence(f"what the step returns goes {_course(trace)}", trace.losses[-1]),
        ),
        why="actions that turn out better than expected become rarer; to the critic, which squares it, it is all one",
        places=loss_calls.places(seen[0].place),
        fix=Fix("the advantage is the return minus the estimate:", ("advantage = returns - values",)),
        not_this="a smaller learning rate, or more entropy: it still goes the wrong way",
        cures=(Cure("turned_advantages", "advantage turned round"),),
    )


def _turned(trace: Trace, call: LossCall) -> Suspicion:
    by_hand = call.function == "log-likelihood"
    summary = "the log-likelihood itself, without a minus" if by_hand else f"the negative of {call.function}"
    derivative = "1" if by_hand else "-1"
    return Suspicion(
        statement=f"backward() is called on {summary}",
        evidence=(
            Evidence(
                f"the loss has a derivative of {derivative} with respect to the {call.function}, and no other part",
                call.weight,
                call.place,
            ),
            Evidence(f"the loss goes {_course(trace)} while each step makes the model worse", trace.losses[-1]),
        ),
        why="making it smaller makes the errors larger",
        places=loss_calls.places(call.place),
        fix=Fix("put a minus in front of it" if by_hand else "remove the minus"),
        not_this="a smaller learning rate: it only gets worse more slowly",
        cures=(Cure("scale_gradients", "sign flipped", {"factor": -1.0, "tells": True}),),
    )


def _repelled(call: LossCall) -> Suspicion:
    function = "cross_entropy" if call.function == "cross_entropy" else "log_softmax"
    return Suspicion(
        statement=f"distances are given to {function} without a minus",
        evidence=(
            Evidence(
                f"the scores of shape {call.input.shape} are distances, and {function} makes the largest the likeliest",
                call.weight,
                call.place,
            ),
        ),
        why="each step pushes samples away from what they belong to",
        places=loss_calls.places(call.place),
        fix=Fix("near has to mean likely:", (f"F.{function}(-distances, ...)",)),
        not_this="another temperature or a smaller learning rate: it still goes the wrong way",
        cures=(Cure("output_activation", "distances negated", {"functions": [function], "apply": "neg"}),),
    )


def _made_unlike(trace: Trace, unlike: Similarity) -> Suspicion:
    what = loss_calls.SIMILARITIES[unlike.kind]
    return Suspicion(
        statement=f"the {what} of outputs and targets is minimised",
        evidence=(
            Evidence(
                f"the loss rises with the {what} of outputs and targets, and has no other part", 1.0, unlike.place
            ),
            Evidence(f"the loss goes {_course(trace)} while outputs and targets become unlike", trace.losses[-1]),
        ),
        why="each step makes the outputs less like their targets",
        places=loss_calls.places(unlike.place),
        fix=Fix("make the opposite small:", (f"loss = 1 - {'similarity.mean()' if 'cos' in what else 'dice'}",)),
        not_this="a smaller learning rate: it only gets worse more slowly",
        cures=(Cure("scale_gradients", "sign flipped", {"factor": -1.0, "tells": True}),),
    )


def _allied(alliance: HelpedCritic) -> Suspicion:
    critic, maker = alliance.critic, alliance.maker
    steps = wording.plural(len(alliance.steps), "step")
    return Suspicion(
        statement=f"the loss of {critic}, or that of {maker}, has the wrong sign",
        evidence=(
            Evidence(
                f"in its own turn {critic} pulls its scores of the data one way and those of {maker}'s samples the "
                f"other; in its turn {maker} pulls them the same way (all {steps} examined)",
                place=alliance.place,
            ),
        ),
        why="both push the same scores up or down without end, and nothing is imitated",
        places=loss_calls.places(alliance.place),
        fix=Fix(
            "flip the sign of one of them; for a Wasserstein critic:",
            ("loss_critic = critic(fake).mean() - critic(real).mean()", "loss_generator = -critic(fake).mean()"),
        ),
        not_this="clipping or smaller steps: they still run away together",
    )


def _without_bound(trace: Trace) -> Suspicion:
    return Suspicion(
        statement="the loss falls without bound: its sign is flipped",
        evidence=(
            Evidence(f"the loss goes {_course(trace)} in {trace.steps} steps, faster and faster", trace.losses[-1]),
            Evidence("no measure of an error can do so: an error is at least 0"),
        ),
        why="making it smaller makes the errors larger",
        fix=Fix(
            "put a minus in front of what should become large (a likelihood, a reward)", ("loss = -log_prob.mean()",)
        ),
        not_this="a smaller learning rate, or clipping: it still falls without bound",
        cures=(Cure("scale_gradients", "sign flipped", {"factor": -1.0, "tells": True}),),
    )


def _punished(trace: Trace, call: LossCall) -> Suspicion:
    return Suspicion(
        statement="the policy's objective is minimised: there is no minus in front of it",
        evidence=(
            Evidence(
                f"log-probabilities times rewards are part of the loss with a factor of "
                f"{wording.short(call.weight or 0.0)}, which has to be below 0",
                call.weight,
                call.place,
            ),
            Evidence(f"the loss goes {_course(trace)} as rewarded actions become rarer", trace.losses[-1]),
        ),
        why="each step makes rewarded actions less likely",
        places=loss_calls.places(call.place),
        fix=Fix("put a minus in front of it:", ("loss = -(log_prob * reward).mean()",)),
        not_this="a smaller learning rate, or clipping: it still goes the wrong way",
        cures=(Cure("scale_gradients", "sign flipped", {"factor": -1.0, "tells": True}),),
    )


def _rewarded(trace: Trace, call: LossCall) -> Suspicion:
    return Suspicion(
        statement="the KL term has the wrong sign",
        evidence=(
            Evidence(
                "the derivative of the loss with respect to the KL divergence is "
                f"{wording.short(call.weight or 0.0)} for each term",
                call.weight,
                call.place,
            ),
            Evidence(f"the loss goes {_course(trace)} while the latent variables leave their prior", trace.losses[-1]),
        ),
        why="a larger divergence makes the loss smaller, without bound",
        places=loss_calls.places(call.place),
        fix=Fix("add the KL divergence:", ("kl = -0.5 * (1 + log_var - mean**2 - log_var.exp())",)),
        not_this="a smaller weight for the KL term, or clipping: the loss still falls without bound",
        cures=(Cure("scale_divergence", "sign of the KL term flipped", {"factor": -1.0}),),
    )


def _course(trace: Trace) -> str:
    return wording.change(trace.losses[0], trace.losses[-1])
