"""disconnected-graph: a module runs, but no gradient comes back to it

What happens
    Somewhere between the module and the loss the graph ends: `.detach()`, `.data`, `.item()`, a trip through numpy, an
    `argmax` or the index of a `max()`, a distribution's `sample()`, a block under `torch.no_grad()`. Everything before
    that place never learns.

How severe it is
    High: a part never learns, silently.

How it is recognised
    The module ran, its parameters need gradients, and none ever arrives. One step is replayed and each operation that
    ends a graph is noted with your line. For `Normal.sample()`: the gradient of the mean points along the mean itself,
    so only a penalty (a KL term) reaches it; the re-run draws with `rsample()`. `torch.normal(mean, std)` is the same.
    A row of a table that `argmin()` has chosen, and that goes on into the model, shows in the same way: the gradient of
    what it was chosen for points to that row, and nothing else of the loss reaches it. Rounding and the like keep the
    graph, but their derivative is 0: what is behind them gets a gradient of exactly 0. A loss that is a plain number,
    after `.item()`, has no `backward()`, and Python says so. Of several optimizers, one whose steps each come after a
    backward pass that reached nothing it holds is noted, too: what another's passes leave there is not its own.

How to fix it
    Remove the operation, or move it after the loss. Where a hard choice is needed (`argmax`, rounding), use a
    differentiable stand-in: softmax, Gumbel-softmax, a straight-through estimator.

What not to do
    More steps, another optimizer: there is no way back for the gradient.

How to prevent it
    No `.data`, `.detach()`, `.item()`, `no_grad` or NumPy between inputs and loss; write `with torch.no_grad():` around
    whole functions with a name that says so. `gradients_flow` names the part.

When this is wrong
    A target network or teacher is run without a graph on purpose; it is not reported when no optimizer holds it.
"""

from __future__ import annotations

from .. import wording
from ..analysis import raised, unmoved, unreached, wiring
from ..records.intervention import Cure
from ..records.numbers import Crash
from ..records.symptoms import CRASH, NOT_LEARNING, PLATEAU, SILENT
from ..records.trace import Trace
from ..records.verdict import Evidence, Fix, Symptom
from ..records.wiring import CHOICES, DRAWS, FLAT, NO_GRAD, DetachedSample, GraphEnd, ParameterRecord
from . import Suspicion
from ._groups import WIRING

GROUP = WIRING
ORDER = 6
CURABLE = False  # but for sample(), which rsample() can stand in for
EXPLAINS = (NOT_LEARNING, PLATEAU, SILENT, CRASH)

_WITH_GRAPH = Cure("draw_with_graph", "drawn with the graph")
_REPARAMETERISED = ("z = mean + std * torch.randn_like(std)",)


def look(trace: Trace, symptom: Symptom) -> Suspicion | None:
    if symptom.category == CRASH:
        return None if trace.crash is None else _plain_number(trace.crash)
    draw = wiring.drawn_without_gradient(trace)
    if draw is not None and not wiring.without_gradient(trace):
        return _chosen(draw) if draw.choice else _drawn(draw)
    if symptom.category == SILENT:
        return None
    if not trace.loss_connected:
        cut = trace.trainable
    else:
        cut = [p for p in wiring.without_gradient(trace) if p.never_reached and not wiring.did_not_run(p, trace)]
        cut = [p for p in cut if not _merely_unused(p, trace) and p.frozen_since is None]
    passed = [] if cut else unmoved.passed_by(trace)
    cut = cut or passed
    if not cut:
        return _flattened(trace)
    modules = list(dict.fromkeys(p.module or p.name for p in cut))
    end = _end_for(cut, trace)
    evidence = [_passed_by(passed, trace) if passed else _got_none(cut, trace)]
    without_graph = [m for m in modules if m in trace.wiring.modules and not trace.wiring.modules[m].grad_enabled]
    if without_graph:
        evidence.append(Evidence(f"{wording.names(without_graph)} ran while torch recorded no graph (no_grad)"))
    if end is not None and not (without_graph and end.operation == NO_GRAD):
        where = f" in {end.module}" if end.module else ""
        evidence.append(Evidence(f"the graph ends at {end.operation}{where}", place=end.place))
    return Suspicion(
        statement=f"no gradient comes back to {wording.names(modules)}",
        evidence=tuple(evidence),
        why="the graph ends before the loss" if end is None else _why(end),
        places=(end.place,) if end is not None and end.place is not None else (),
        fix=_fix(end),
        not_this="more steps or another optimizer: the gradient has no way back",
    )


def _got_none(cut: list[ParameterRecord], trace: Trace) -> Evidence:
    steps = wording.plural(max(trace.steps, 1), "step")
    return Evidence(f"{wording.names([p.name for p in cut])} ran in forward and got no gradient in {steps}", 0.0)


def _passed_by(passed: list[ParameterRecord], trace: Trace) -> Evidence:
    """Only another optimizer's passes reach them."""
    label = passed[0].held_by[0]
    steps = wording.plural(trace.wiring.empty_updates.missed[label], "step")
    names = wording.names([p.name for p in passed])
    return Evidence(f"{label} took {steps}, each after a backward pass that had brought no gradient to {names}", 0.0)


def _plain_number(crash: Crash) -> Suspicion | None:
    if raised.about(crash) != raised.NO_GRAPH:
        return None
    return Suspicion(
        statement="the loss is a plain number, and no gradient comes back from that",
        evidence=(Evidence(crash.first_message, place=crash.place),),
        why=".item() and float() leave the graph behind",
        places=() if crash.place is None else (crash.place,),
        fix=Fix(
            "call backward() on the tensor, and take the number afterwards:",
            ("loss.backward()", "total += loss.item()"),
        ),
        not_this="torch.tensor(loss, requires_grad=True): it has no graph either, and nothing would learn",
    )


def _flattened(trace: Trace) -> Suspicion | None:
    """The graph goes on, but through a function of steps or a draw, whose derivative is 0 everywhere."""
    zero = [p for p in wiring.without_gradient(trace) if not p.never_reached]
    names = {p.name for p in zero}
    end = next((e for e in trace.wiring.graph_ends if e.operation in FLAT | DRAWS and e.parameters & names), None)
    if end is None:
        return None
    behind = [p.name for p in zero if p.name in end.parameters]
    where = f" in {end.module}" if end.module else ""
    return Suspicion(
        statement=f"no gradient comes back to {wording.names(behind)} through {end.operation}",
        evidence=(
            Evidence(
                f"{wording.names(behind)} got a gradient of exactly 0 in {wording.plural(max(trace.steps, 1), 'step')}",
                0.0,
            ),
            Evidence(f"the way to the loss leads through {end.operation}{where}", place=end.place),
        ),
        why=f"{end.operation} draws: torch gives it a derivative of 0"
        if end.operation in DRAWS
        else f"{end.operation} is a function of steps: its derivative is 0 everywhere",
        places=() if end.place is None else (end.place,),
        fix=_fix_of_flat(end),
        not_this="more steps or another optimizer: the gradient has no way back",
        cures=(_WITH_GRAPH,) if end.operation == "torch.normal()" else (),
    )


def _fix_of_flat(end: GraphEnd) -> Fix:
    if end.operation == "torch.normal()":
        return Fix("draw the noise alone, and let mean and deviation act on it:", _REPARAMETERISED)
    if end.operation in DRAWS:
        return Fix("use a draw that has a gradient, such as gumbel_softmax(), or learn by the draw's log_prob()")
    return Fix("let the gradient pass as if nothing had been rounded:", ("q = z + (torch.round(z) - z).detach()",))


def _why(end: GraphEnd) -> str:
    return "it runs under no_grad()" if end.operation == NO_GRAD else f"{end.operation} ends the graph"


def _fix(end: GraphEnd | None) -> Fix:
    if end is None:
        return Fix("let everything from these parameters to the loss run with gradients")
    if end.operation == NO_GRAD:
        return Fix("take what has to learn out of the block without gradients")
    if end.operation in CHOICES:
        return Fix(
            "multiply what was chosen by its score, which has a gradient, or choose softly (softmax, gumbel_softmax):",
            ("y = chosen * score",),
        )
    return Fix(f"remove {end.operation} from the path between the parameters and the loss")


def _drawn(draw: DetachedSample) -> Suspicion:
    torch_normal = draw.function == "torch.normal()"
    return Suspicion(
        statement=f"no gradient comes back through {draw.function}",
        evidence=(
            Evidence(
                "the gradient of the mean is a multiple of the mean itself: only a penalty reaches it",
                float(len(draw.steps)),
                draw.place,
            ),
            Evidence(f"this was seen at steps {', '.join(map(str, draw.steps[:4]))}, and no rsample() was called"),
        ),
        why="torch gives torch.normal() a derivative of 0, so the loss of the sample teaches its mean nothing"
        if torch_normal
        else "sample() draws without a graph, so the loss of the sample teaches its distribution nothing",
        places=() if draw.place is None else (draw.place,),
        fix=Fix("draw with the graph:", _REPARAMETERISED if torch_normal else ("z = distribution.rsample()",)),
        not_this="another weight for the penalty, or more steps: the gradient has no way back",
        cures=(_WITH_GRAPH if torch_normal else Cure("draw_with_graph", "rsample() instead of sample()"),),
    )


def _chosen(choice: DetachedSample) -> Suspicion:
    return Suspicion(
        statement=f"no gradient comes back through the row that {choice.function} chooses",
        evidence=(
            Evidence(
                "the gradient of what it was chosen for is a multiple of its distance to that row: only the pull "
                "towards the row reaches it",
                float(len(choice.steps)),
                choice.place,
            ),
            Evidence(f"the row goes on into the model; this was seen at steps {', '.join(map(str, choice.steps[:4]))}"),
        ),
        why=f"{choice.function} ends the graph, so the loss of all that follows teaches what comes before it nothing",
        places=() if choice.place is None else (choice.place,),
        fix=Fix("let the gradient pass as if nothing had been chosen:", ("q = z + (q - z).detach()",)),
        not_this="another weight for that pull, or more steps: the gradient has no way back",
    )


def _merely_unused(parameter: ParameterRecord, trace: Trace) -> bool:
    """Nothing uses what it computes; or its module ran and other parameters of the module learn."""
    siblings = any(p.has_gradient for p in trace.trainable if p.module == parameter.module)
    aside = parameter.outside_model and parameter.in_graph is False and not unreached.graph_ends_of(parameter, trace)
    return siblings or aside or unreached.thrown_away(parameter, trace)


def _end_for(cut: list[ParameterRecord], trace: Trace) -> GraphEnd | None:
    """Where the graph of these parameters ends: a `detach()` elsewhere in the model may be as it should be.

    If several do, then values that are taken out for a log or a mask are the least likely culprits.
    """
    names = {p.name for p in cut}
    ends = [end for end in trace.wiring.graph_ends if end.parameters & names]
    blind = [m for p in cut if (m := trace.wiring.modules.get(p.module)) is not None and not m.grad_enabled]
    if blind:
        return GraphEnd(NO_GRAD, blind[0].path, blind[0].no_grad_at, frozenset(names))
    ranked = sorted(ends, key=lambda end: (not end.module, _likelihood(end.operation), -len(end.parameters & names)))
    return next(iter(ranked), None)


def _likelihood(operation: str) -> int:
    if operation in (".item()", ".bool()", "a comparison"):
        return 2
    return 0 if operation in (NO_GRAD, ".detach()", ".detach_()", ".data", ".numpy()", ".tolist()") else 1
