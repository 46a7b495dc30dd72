"""graph-used-twice: a backward pass goes through a graph that an earlier one has freed

What happens
    `backward()` frees what the forward pass had kept. A hidden state that is carried on to the next batch still hangs
    on the graph of the last one, a running average of the loss on all of them; the second of two losses shares its
    forward pass with the first. Torch raises "Trying to backward through the graph a second time".

How severe it is
    Critical, and loud: `backward()` raises.

How it is recognised
    The step that raises is run once more. Before its backward pass the graph is walked through: which part has been
    freed, which line made it, and whether this step has made another part after it.

How to fix it
    Cut what is carried on: `state = state.detach()`, `total += loss.item()`. Add losses that share a forward pass, and
    call `backward()` once. In a GAN the discriminator gets `fake.detach()`.

What not to do
    `retain_graph=True` for a state that is carried on: the graph grows with every step, and with it memory and time.

How to prevent it
    Carry values, not graphs, from step to step: `hidden = hidden.detach()` where a step begins. `trains_without_nan`
    takes the second step that shows it.

When this is wrong
    Where two passes through one graph are meant (a gradient penalty), the first needs `retain_graph=True`.
"""

from __future__ import annotations

from ..analysis import loss_calls, raised
from ..records.numbers import Crash
from ..records.symptoms import CRASH
from ..records.trace import Trace
from ..records.verdict import Evidence, Fix, Symptom
from . import Suspicion
from ._groups import WIRING

GROUP = WIRING
ORDER = 0
CURABLE = False
EXPLAINS = (CRASH,)


def look(trace: Trace, symptom: Symptom) -> Suspicion | None:
    crash = trace.crash
    if crash is None or raised.about(crash) != raised.FREED_GRAPH:
        return None
    if crash.seen.freed_earlier and not crash.seen.passes_before:
        return _of_an_earlier_step(crash) if crash.step else None
    return _again(crash)


def _of_an_earlier_step(crash: Crash) -> Suspicion:
    evidence = [
        Evidence(f"step {crash.step} calls backward() for the first time, and part of its graph has been freed before")
    ]
    evidence += [Evidence(f"{place} made that part") for place in crash.seen.freed_at[:1]]
    return Suspicion(
        statement=f"step {crash.step} goes back through a graph that an earlier step has freed",
        evidence=tuple(evidence),
        why="something that is kept from step to step still hangs on the graph that it was made with",
        places=loss_calls.places(*crash.seen.freed_at[:1], crash.place),
        fix=Fix("cut what is kept from its graph:", ("state = state.detach()  # for a total of losses: loss.item()",)),
        not_this="retain_graph=True: the graph grows with every step, and with it memory and time",
    )


def _again(crash: Crash) -> Suspicion:
    number = crash.seen.passes_before + 1
    words = f"this is backward pass {number} of step {crash.step}" if number > 1 else "nothing was computed in between"
    evidence = [Evidence(words, float(number), crash.place)]
    evidence += [Evidence(f"{place} made what an earlier pass has freed") for place in crash.seen.freed_at[:1]]
    if crash.seen.freed_earlier:  # there is a part of its own: two losses that share the beginning
        fix = Fix(
            "detach what the first loss must not reach, or add the losses and call backward() once:",
            ("(first + second).backward()  # in a GAN: discriminator(fake.detach())",),
        )
    else:
        fix = Fix("call backward() once for each forward pass, on the sum of the losses:", ("loss.backward()",))
    return Suspicion(
        statement="backward() is called a second time, through the same graph",
        evidence=tuple(evidence),
        why="the pass before it has freed what the forward pass had kept",
        places=loss_calls.places(*crash.seen.freed_at[:1], crash.place),
        fix=fix,
        not_this="retain_graph=True without need: it keeps the whole graph in memory",
    )
