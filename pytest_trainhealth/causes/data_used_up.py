"""data-used-up: the step takes batches from an iterator that has come to its end

What happens
    `next(iterator)` raises StopIteration when there is nothing left. A generator and `iter(loader)` can be gone through
    once: the second epoch, or a loop that takes more steps than there are batches, finds them empty. In a loop that
    is itself a generator, Python turns this into "generator raised StopIteration".

How severe it is
    Critical, and loud: the loop ends early, or raises.

How it is recognised
    The step raises StopIteration, at the same step when it is run once more.

How to fix it
    Loop over the loader itself, which begins anew each time: `for batch in loader`. Where batches are taken one by one,
    begin anew when they end.

What not to do
    Catch it and go on with the last batch: the model sees that one again and again.

How to prevent it
    Iterate over the loader, not over `iter(loader)` that is kept; make an iterator where an epoch begins. A marker
    whose steps outnumber the batches of an epoch shows it.

When this is wrong
    A stream that really ends says how many steps there are: stop there.
"""

from __future__ import annotations

from .. import wording
from ..analysis import loss_calls, raised
from ..records.symptoms import CRASH
from ..records.trace import Trace
from ..records.verdict import Evidence, Fix, Symptom
from . import Suspicion
from ._groups import DATA

GROUP = DATA
ORDER = 1
CURABLE = False
EXPLAINS = (CRASH,)


def look(trace: Trace, symptom: Symptom) -> Suspicion | None:
    crash = trace.crash
    if crash is None or raised.about(crash) != raised.USED_UP or crash.place is None:
        return None
    taken = f"after {wording.plural(crash.step, 'step')}" if crash.step else "at the first step"
    return Suspicion(
        statement=f"an iterator that the step takes from has come to its end {taken}",
        evidence=(
            Evidence(f"step {crash.step} finds nothing left", float(crash.step), crash.place),
            Evidence("run once more from the start, it ends at the same step"),
        ),
        why="an iterator can be gone through once",
        places=loss_calls.places(crash.place),
        fix=Fix(
            "loop over the loader, or begin anew when it ends:",
            ("batch = next(batches, None)", "if batch is None:", "    batches = iter(loader); batch = next(batches)"),
        ),
        not_this="going on with the last batch: the model sees that one again and again",
    )
