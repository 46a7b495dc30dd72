"""memory-growth: something keeps the graphs of past steps alive

What happens
    A tensor that was computed keeps its whole graph, and the graph keeps the activations of every layer, until
    backward() has used them. A validation loss or a metric that is kept (`losses.append(loss)`, `total += loss`) never
    sees a backward(), so it keeps those of every step: memory grows until the training ends with "out of memory", hours
    later, and nothing points at the line. After a backward() the emptied graph is still kept, which is little.

How severe it is
    High: it ends hours later, out of memory.

How it is recognised
    Memory in use grows from step to step. Or, in `gradients_flow`, each graph gets a mark that goes when it goes: after
    128 steps and two passes through the data not a single one has gone, though updates have changed the weights, so
    that none of them is of use any more. After two steps some distance apart, Python's garbage collector is searched
    for tensors that still have a `grad_fn`, and for what holds them: whatever holds more of them, or a longer graph,
    each time is named, with the line after which it had grown. The re-run detaches whatever outlives its step.

How to fix it
    Keep numbers, not tensors: `losses.append(loss.item())`, `total += loss.item()`; or `loss.detach()` where reading
    the value would make Python wait for the device. What is not trained on belongs under `torch.no_grad()`. State that
    is carried from step to step: `hidden.detach()`.

What not to do
    A smaller batch, `torch.cuda.empty_cache()` or `gc.collect()`: they only delay the end.

How to prevent it
    Keep numbers, not tensors: `losses.append(loss.item())`. `keeps_throughput(max_memory_growth=...)` measures it in a
    few steps.

When this is wrong
    A list of losses that is emptied at the end of an epoch keeps graphs only until then: where that end is not seen, it
    is a note. A cache that is filled in the first epoch also grows, but stops. Measure for longer (`steps=`), or allow
    more with `max_memory_growth=`.
"""

from __future__ import annotations

import ast

from .. import wording
from ..analysis import lasting_graphs
from ..records.intervention import Cure
from ..records.speed import KeptGraph
from ..records.symptoms import MEMORY
from ..records.trace import Trace
from ..records.verdict import Evidence, Fix, Symptom
from . import Suspicion
from ._groups import KEEPS_THROUGHPUT

GROUP = KEEPS_THROUGHPUT
ORDER = 10
EXPLAINS = (MEMORY,)
_ADDING = {"append", "add", "appendleft"}
_DETACHED = Cure("detached", "tensors that outlive their step, detached")


def look(trace: Trace, symptom: Symptom) -> Suspicion | None:
    growing = [kept for kept in trace.speed.kept_graphs if kept.grows]
    if not growing:
        return _by_nobody_known(trace) if lasting_graphs.all_kept(trace) else None
    worst = max(growing, key=lambda kept: kept.nodes_after - kept.nodes_before)
    named = f"{worst.kind} {worst.name}".strip()
    evidence = [
        Evidence(_seen(worst, named), float(worst.nodes_after - worst.nodes_before), worst.place),
        _lasting(trace)
        if lasting_graphs.all_kept(trace)
        else Evidence(f"memory grows by {wording.short(symptom.measured)} MB with every step", symptom.measured),
    ]
    return Suspicion(
        statement=f"{named} keeps the graph of every step",
        evidence=tuple(evidence),
        why="a tensor with a grad_fn keeps all the activations its backward pass would need",
        places=() if worst.place is None else (worst.place,),
        fix=_fix(worst),
        not_this="a smaller batch or empty_cache(): they only delay the end",
        cures=(_DETACHED,),
    )


def _by_nobody_known(trace: Trace) -> Suspicion:
    return Suspicion(
        statement="something keeps the graph of every step",
        evidence=(_lasting(trace),),
        why="a tensor with a grad_fn keeps its whole graph; after backward() it is emptied, and still there",
        fix=_fix(None),
        not_this="a smaller batch or empty_cache(): they only delay the end",
        cures=(_DETACHED,),
    )


def _lasting(trace: Trace) -> Evidence:
    kept = trace.wiring.lasting_graphs.steps
    return Evidence(f"after {kept} steps not a single graph was let go of, though each outlived an update", float(kept))


def _seen(kept: KeptGraph, named: str) -> str:
    if kept.after > kept.before:
        return f"{named} holds {kept.before:,} tensors with a grad_fn, {kept.after:,} after {kept.steps - 1} more steps"
    more = f"{kept.nodes_after:,} after {kept.steps - 1} more steps"
    return f"the graph behind {named} has {kept.nodes_before:,} operations, {more}"


def _fix(kept: KeptGraph | None) -> Fix:
    fixed = _fixed("" if kept is None or kept.place is None else kept.place.code)
    if fixed:
        return Fix("keep the value, not its graph:", (fixed,))
    return Fix(
        "keep the value, not its graph:", ("loss.item()  # a number", "outputs.detach()  # a tensor without graph")
    )


def _fixed(code: str) -> str:
    """The user's own line where it is of a kind that can be rewritten without understanding it."""
    try:
        (line,) = ast.parse(code).body
    except (SyntaxError, ValueError):
        return ""
    match line:
        case ast.AugAssign(target, ast.Add(), added):
            before, after = f"{ast.unparse(target)} += ", ""
        case ast.Assign([target], ast.BinOp(left, ast.Add(), added)) if ast.unparse(target) == ast.unparse(left):
            before, after = f"{ast.unparse(target)} = {ast.unparse(left)} + ", ""
        case ast.Expr(ast.Call(ast.Attribute(attr=method) as called, [added], [])) if method in _ADDING:
            before, after = f"{ast.unparse(called)}(", ")"
        case _:
            return ""
    valued = _valued(added)
    return f"{before}{valued}{after}" if valued else ""


def _valued(kept: ast.expr) -> str:
    """A loss is one number; of anything else that is not known. Nothing where there may be more than tensors in it."""
    if isinstance(kept, ast.List) and len(kept.elts) == 1:
        return f"[{_valued(kept.elts[0])}]" if _valued(kept.elts[0]) else ""
    code = ast.unparse(kept)
    if isinstance(kept, (ast.BinOp, ast.UnaryOp)):
        code = f"({code})"
    elif not isinstance(kept, (ast.Name, ast.Call, ast.Attribute, ast.Subscript)):
        return ""
    return f"{code}.item()" if "loss" in code or "cross_entropy" in code else f"{code}.detach()"
