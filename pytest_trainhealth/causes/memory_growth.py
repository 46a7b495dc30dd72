"""memory-growth: something keeps the graphs of past steps alive

What happens
    A tensor that was computed carries its whole graph, and the graph the activations of every layer, until backward()
    has used them. A validation loss or a metric that is kept (`losses.append(loss)`, `total += loss`) never sees a
    backward(), so it keeps those of every step: memory grows until the training ends with "out of memory", hours after
    it began, and nothing points at the line. After a backward() the emptied graph is still kept, which is little.

How it is recognised
    Memory in use grows from step to step. After two steps some way apart, Python's garbage collector is asked for
    tensors that still have a `grad_fn`, and for what holds them: what has more of them, or a longer graph, each time,
    is named, with the line after which it had grown. The re-run cuts off whatever outlives its step.

How to fix it
    Keep numbers, not tensors: `losses.append(loss.item())`, `total += loss.item()`; or `loss.detach()` where reading
    the value would make Python wait for the device. What is not trained on belongs under `torch.no_grad()`. State that
    is carried from step to step: `hidden.detach()`.

What not to do
    A smaller batch, `torch.cuda.empty_cache()` or `gc.collect()`: they put the end off.

When this is wrong
    A cache that is filled in the first epoch grows, too, and stops. Measure for longer (`steps=`), or allow more with
    `max_memory_growth=`.
"""

from __future__ import annotations

from .. import figures
from ..facts import Cure, Evidence, Fix, Symptom
from ..records.speed import KeptGraph
from ..symptoms import MEMORY
from ..trace import Trace
from . import Suspicion

RANK = 10
EXPLAINS = (MEMORY,)


def look(trace: Trace, symptom: Symptom) -> Suspicion | None:
    growing = [kept for kept in trace.speed.kept_graphs if kept.grows]
    if not growing:
        return None
    worst = max(growing, key=lambda kept: kept.nodes_after - kept.nodes_before)
    named = f"{worst.kind} {worst.name}".strip()
    evidence = [
        Evidence(_seen(worst, named), float(worst.nodes_after - worst.nodes_before), worst.place),
        Evidence(f"memory grows by {figures.short(symptom.measured)} MB with every step", symptom.measured),
    ]
    return Suspicion(
        statement=f"{named} keeps the graph of every step",
        evidence=tuple(evidence),
        why="a tensor with a grad_fn keeps all activations that its backward pass would need",
        places=() if worst.place is None else (worst.place,),
        fix=_fix(worst),
        not_this="a smaller batch or empty_cache(): that only puts the end off",
        cures=(Cure("detached", "what outlives its step, detached"),),
    )


def _seen(kept: KeptGraph, named: str) -> str:
    if kept.after > kept.before:
        return f"{named} holds {kept.before:,} tensors with a grad_fn, {kept.after:,} after {kept.steps - 1} more steps"
    more = f"{kept.nodes_after:,} after {kept.steps - 1} more steps"
    return f"the graph behind {named} has {kept.nodes_before:,} operations, {more}"


def _fix(kept: KeptGraph) -> Fix:
    return Fix("keep the number, not the tensor:", (_mended(kept),))


def _mended(kept: KeptGraph) -> str:
    """The user's own line where it is of a kind that can be rewritten without understanding it."""
    code = "" if kept.place is None else kept.place.code
    before, separator, value = code.partition(".append(")
    if separator and value.endswith(")") and value[:-1].isidentifier():
        return f"{before}.append({value[:-1]}.item())"
    before, separator, value = code.partition(" += ")
    if separator and value.isidentifier():
        return f"{before} += {value}.item()"
    return f"{kept.name or 'losses'}.append(loss.item())  # or loss.detach()"
