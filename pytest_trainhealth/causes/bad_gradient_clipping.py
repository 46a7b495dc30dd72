"""bad-gradient-clipping: clipping leaves almost nothing of the gradients, or comes too early or too late

What happens
    Clipped to a norm of 1e-3, say, every step is tiny and the loss creeps. Clipped before a loss scaler, torch's or one
    of your own, removes its factor, the scaled gradients are cut to the norm and then divided by the factor: almost
    nothing is left. Clipped after the step, nothing is clipped at all: the optimizer has already used the gradients.
    Before `backward()`, or among the parameters of another model (the actor's, where the critic steps), there is
    nothing to clip; nor is there in an iterator that is used up: `params = filter(..., model.parameters())` yields its
    parameters once, to whoever comes first.

How severe it is
    High: every step has the same tiny size, or clipping does nothing on the day it is needed.

How it is recognised
    The norm of all gradients right after `backward()` is compared with what the optimizer gets, and what it gets with
    what is left when they are cleared; and a clipping function may find no gradient at all, or be given an iterator
    that it was given before and that yields nothing, or gradients that are cleared before any optimizer has used them,
    while another one steps with what nobody clips. Or many gradients are exactly at a limit on one side of 0, and those
    on the other side go far beyond it. The line is named. The re-run steps with the gradients as
    `backward()` gave them, clips them before the step where clipping came too early or too late, or on both sides.

How to fix it
    `backward()`, then `scaler.unscale_(optimizer)` if there is a loss scaler, then
    `clip_grad_norm_(model.parameters(), 1.0)`, then `step()`. A norm of 1 to 5 leaves healthy gradients alone.

What not to do
    A higher learning rate to make up for tiny gradients: the first batch that is not clipped blows the training up.

How to prevent it
    Clip between `backward()` and `step()`, after `unscale_`, and log the norm that `clip_grad_norm_` returns: a limit
    that acts in every step is a learning rate. `learns_from_data` shows it.

When this is wrong
    Adam and similar optimizers divide by the size of the gradients: clipping hardly matters to them. Clipping too much
    is reported only when a training fails, never by itself; clipping too early or too late, or before unscaling, is
    wrong whatever the loss does. An infinite limit is a way to measure the norm, and is never reported.
"""

from __future__ import annotations

from statistics import median

from .. import wording
from ..analysis import wiring
from ..records.intervention import Cure
from ..records.symptoms import EXPLOSION, INSTABILITY, NOT_LEARNING, PLATEAU, SILENT
from ..records.trace import Trace
from ..records.verdict import Evidence, Fix, Symptom
from ..records.wiring import ClipCalls, GradientPath
from . import Suspicion
from ._groups import WIRING

GROUP = WIRING
ORDER = 13
EXPLAINS = (NOT_LEARNING, PLATEAU, INSTABILITY, EXPLOSION, SILENT)

#: What clipping leaves, at most: a tenth of the gradient, and a norm of 0.1. Usual clipping is at norms of 0.1 to 10.
_SHARE = 0.1
#: The norm. By judgement: nobody clips below it on purpose.
_NORM = 0.1
#: Of the gradient: less is left, so something was taken off. By judgement: rounding takes 1e-7.
_LESS = 0.99
#: Those that divide by the size of the gradients do not mind until it is near their eps.
_SCALE_FREE = ("Adam", "NAdam", "RAdam", "AdamW", "Adamax", "Adagrad", "RMSprop", "Lion", "Rprop")
#: A norm for these. By judgement: torch's eps is 1e-8 for each value, and a small model has a thousand of them.
_NEXT_TO_EPS = 1e-5

_BY_SCALER = "scaler.unscale_(optimizer)"
_BY_HAND = "for p in model.parameters(): p.grad /= scale"
_ORDER = ("loss.backward()", "torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)", "optimizer.step()")


def look(trace: Trace, symptom: Symptom) -> Suspicion | None:
    found = _too_late(trace) or _after_use(trace) or _used_up(trace) or _aside(trace) or _in_vain(trace)
    scaled = wiring.clipped_while_scaled(trace)
    if found is not None or scaled:
        return found or _too_much(trace, scaled)
    return None if symptom.category == SILENT else _on_one_side(trace) or _too_much(trace, [])


def _on_one_side(trace: Trace) -> Suspicion | None:
    paths = trace.wiring.gradient_paths
    cut = [p for p in paths if p.cut_at is not None]
    if not cut or 2 * len(cut) <= len(paths):
        return None
    first = cut[0]
    assert first.cut_at is not None
    cut_ones, spared = ("positive", "negative") if first.cut_at > 0 else ("negative", "positive")
    limit = wording.short(abs(first.cut_at))
    return Suspicion(
        statement=f"only {cut_ones} gradients are clipped, at {limit}: the direction is wrong",
        evidence=(
            Evidence(
                f"no gradient lies beyond {wording.short(first.cut_at)} when {first.optimizer} gets it, many are "
                f"exactly there, and {spared} ones go far beyond {limit} (step {first.step})",
                first.cut_at,
                first.changed_at,
            ),
            Evidence(f"this was seen at {len(cut)} of {wording.plural(len(paths), 'step')} examined", float(len(cut))),
        ),
        why=f"{spared} gradients keep their size and outweigh all others: every step leads the same way",
        places=() if first.changed_at is None else (first.changed_at,),
        fix=Fix("clip on both sides of 0:", (f"p.grad.clamp_(-{limit}, {limit})",)),
        not_this="a lower learning rate: the direction stays wrong",
        cures=(Cure("clip_both_ways", f"clipped at {limit} on both sides", {"limit": abs(first.cut_at)}),),
    )


def _too_much(trace: Trace, scaled_ones: list[GradientPath]) -> Suspicion | None:
    paths = [p for p in trace.wiring.gradient_paths if p.after_backward > 0]
    small = [p for p in paths if p.at_update <= _SHARE * p.after_backward and p.at_update <= _most(trace, p)]
    cut = scaled_ones or small
    # gradients may be small enough by themselves at some steps
    if not cut or 2 * len(cut) <= len(paths) or not any(p.changed_at for p in cut):
        return None
    return _clipped(cut, trace)


def _clipped(cut: list[GradientPath], trace: Trace) -> Suspicion:
    paths = [p for p in trace.wiring.gradient_paths if p.after_backward > 0]
    first = next(p for p in cut if p.changed_at)
    scaled = any(p.unscaled_later for p in cut)
    evidence = [
        Evidence(
            f"the gradient's norm is {wording.short(first.after_backward)} after backward(), and "
            f"{wording.short(first.at_update)} when {first.optimizer} gets it (step {first.step})",
            first.at_update,
            first.changed_at,
        ),
        Evidence(f"this was seen at {len(cut)} of {wording.plural(len(paths), 'step')} examined", float(len(cut))),
    ]
    if scaled:
        evidence.append(Evidence("the loss scaler divides the gradients by its factor after they were clipped"))
    left = wording.share(first.at_update / first.after_backward)
    return Suspicion(
        statement=f"clipping leaves {left} of the gradients"
        + (", because it comes before unscaling" if scaled else f", a norm of {wording.short(first.at_update)}"),
        evidence=tuple(evidence),
        why="the clipped gradients are still multiplied by the loss scale"
        if scaled
        else "the limit is far below the size of the gradients here",
        places=() if first.changed_at is None else (first.changed_at,),
        fix=Fix("remove the scale first, then clip:", (_BY_HAND if first.by_hand else _BY_SCALER, *_ORDER[1:2]))
        if scaled
        else Fix("clip at a norm that only outliers reach:", _ORDER[1:2]),
        not_this="a higher learning rate: the first gradient that is not clipped would blow the training up",
        cures=(Cure("unclipped_gradients", "no clipping"),),
    )


def _most(trace: Trace, path: GradientPath) -> float:
    record = trace.wiring.optimizers.get(path.optimizer)
    return _NEXT_TO_EPS if record is not None and record.kind in _SCALE_FREE else _NORM


def _in_vain(trace: Trace) -> Suspicion | None:
    call = wiring.clipped_in_vain(trace)
    if call is None:
        return None
    if wiring.of_unheld(call):
        return _at_another_time(
            call,
            "clipping has no effect: no optimizer holds what it clips",
            _seen(call, call.unheld, "what is clipped at {limit} is in no optimizer, and nothing else moves it"),
            why="it is given other parameters than those that are trained",
            fix="clip the parameters that the optimizer holds:",
            not_this="a lower limit: nothing uses what is clipped",
        )
    return _at_another_time(
        call,
        "clipping has no effect: it finds no gradient",
        _seen(call, call.looks, "the parameters that are clipped at {limit} have no gradient then"),
        why="it comes before backward(), or is given other parameters than those that are trained",
        fix="clip between backward() and step(), the parameters that the optimizer holds:",
        not_this="a lower limit: there is nothing to clip",
    )


def _used_up(trace: Trace) -> Suspicion | None:
    call = wiring.clipped_with_nothing(trace)
    if call is None:
        return None
    steps = wording.plural(len(call.steps), "step")
    return Suspicion(
        statement="clipping has no effect: its iterator of parameters is used up",
        evidence=(
            Evidence(
                f"what is clipped at {wording.short(call.limit)} is an iterator that was handed in before and yields "
                f"nothing, at {steps} examined",
                float(len(call.steps)),
                call.place,
            ),
        ),
        why="filter(), map() and generators yield each parameter once, to whoever comes first",
        places=(call.place,),
        fix=Fix("keep the parameters in a list:", ("trainable = [p for p in model.parameters() if p.requires_grad]",)),
        not_this="a lower limit: there is nothing to clip",
        cures=_clipped_in_its_place(call.limit),
    )


def _aside(trace: Trace) -> Suspicion | None:
    call = wiring.clipped_aside(trace)
    if call is None:
        return None
    return _at_another_time(
        call,
        "clipping has no effect: it is given parameters of another optimizer",
        _seen(call, call.aside, "what is clipped at {limit} is not what the next optimizer steps with, and is cleared"),
        why="the optimizer that steps next holds other parameters, and nothing clips those",
        fix="clip the parameters that the optimizer holds:",
        not_this="a lower limit: nothing uses what is clipped",
    )


def _after_use(trace: Trace) -> Suspicion | None:
    call = wiring.clipped_after_use(trace)
    if call is None:
        return None
    return _at_another_time(
        call,
        "gradients are clipped after the optimizer has stepped with them",
        _seen(call, call.late, "what is clipped at {limit} has been used and is cleared next"),
        why="clipping comes too late: no update ever sees what it does",
        fix="clip between backward() and step():",
        not_this="a lower limit: it changes nothing either",
    )


def _seen(call: ClipCalls, times: int, what: str) -> Evidence:
    text = what.format(limit=wording.short(call.limit))
    return Evidence(f"{text}, at {times} of {wording.plural(call.looks, 'step')} examined", float(times), call.place)


def _at_another_time(
    call: ClipCalls, statement: str, evidence: Evidence, *, why: str, fix: str, not_this: str
) -> Suspicion:
    return Suspicion(
        statement=statement,
        evidence=(evidence,),
        why=why,
        places=(call.place,),
        fix=Fix(fix, _ORDER),
        not_this=not_this,
        cures=_clipped_in_its_place(call.limit) if call.by_norm else (),
    )


def _clipped_in_its_place(limit: float) -> tuple[Cure, ...]:
    label = f"clipped at {wording.short(limit)} before the step"
    return (Cure("clip_gradients", label, {"max_norm": limit}),)


def _too_late(trace: Trace) -> Suspicion | None:
    late = wiring.clipped_too_late(trace)
    if not late:
        return None
    first = late[0]
    assert first.left is not None
    norm = median(p.left for p in late if p.left is not None)
    return Suspicion(
        statement=f"gradients are clipped after {first.optimizer} has stepped with them",
        evidence=(
            Evidence(
                f"{first.optimizer} steps with a gradient of norm {wording.short(first.at_update)}; it is "
                f"clipped to {wording.short(first.left)} after that (step {first.step})",
                first.at_update,
                first.changed_later_at,
            ),
            Evidence(
                f"this was seen at {len(late)} of {wording.plural(len(trace.wiring.gradient_paths), 'step')} examined",
                float(len(late)),
            ),
        ),
        why="clipping comes too late: the optimizer has already used the gradients",
        places=() if first.changed_later_at is None else (first.changed_later_at,),
        fix=Fix("clip between backward() and step():", _ORDER),
        not_this="a lower learning rate for every step, because of a few large gradients",
        cures=(Cure("clip_gradients", f"clipped at {wording.short(norm)} before the step", {"max_norm": norm}),),
    )


def swap(trace: Trace, symptom: Symptom) -> Suspicion | None:
    """Any clipping that takes something off, however usual its limit."""
    cut = [p for p in trace.wiring.gradient_paths if 0 < p.at_update < _LESS * p.after_backward and p.changed_at]
    return _clipped(cut, trace) if cut else None
