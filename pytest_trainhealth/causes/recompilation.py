"""recompilation: torch.compile starts again and again

What happens
    A compiled graph holds for the shapes, Python values and modes that it was made with. When one of them changes with
    every batch, the compiler runs with every batch, which takes hundreds of times as long as the step; after some
    attempts (`recompile_limit`) it gives up and leaves the code as it is.

How it is recognised
    New graphs are made after the warm-up, or at more than half of the steps before. The compiler's own reason is told.
    The re-run does without torch.compile.

How to fix it
    `torch.compile(model, dynamic=True)` or `torch._dynamo.mark_dynamic()` where shapes change; pad batches to a few
    lengths, and drop the incomplete last one (`drop_last=True`); keep numbers that change (a temperature, a step count)
    in tensors rather than in Python attributes. `TORCH_LOGS=recompiles` tells each reason.

What not to do
    A larger `recompile_limit`: that is more compiling.

When this is wrong
    The first steps of a healthy training compile, too: one graph for training, one for another shape. These are
    warm-up.
"""

from __future__ import annotations

from statistics import median

from .. import figures, pace
from ..facts import Cure, Evidence, Fix, Symptom
from ..symptoms import PERFORMANCE
from ..trace import Trace
from . import Suspicion

RANK = 20
EXPLAINS = (PERFORMANCE,)

#: Once for a new shape happens to the healthiest; three steps are a habit.
_OFTEN = 3


def look(trace: Trace, symptom: Symptom) -> Suspicion | None:
    times, warm = pace.step_times(trace), pace.warm_up(pace.step_times(trace))
    late = [step for step in trace.speed.compiled if step >= pace.LEAST_WARM_UP]
    if warm is None or len(late) < _OFTEN or not pace.is_about_gates(trace, symptom):
        return None
    compiling = median(times[step] for step in late if step < len(times))
    others = [seconds for step, seconds in enumerate(times) if step not in trace.speed.compiled]
    beside = f", steps without {_ms(median(others))} ms" if others else ""
    evidence = [
        Evidence(
            f"new graphs at {len(late)} of {len(times) - pace.LEAST_WARM_UP} steps after the first "
            f"{pace.LEAST_WARM_UP}; these take {_ms(compiling)} ms{beside}",
            float(len(late)),
        )
    ]
    if trace.speed.compiled_because:
        evidence.append(Evidence(f"the compiler's reason: {trace.speed.compiled_because}"))
    return Suspicion(
        statement=f"torch.compile makes a new graph at {len(late)} of {len(times) - pace.LEAST_WARM_UP} steps",
        evidence=tuple(evidence),
        why="a graph holds for the shapes and Python values that it was made with, and these change",
        fix=Fix("let it expect other shapes, or give it the same ones:", ("torch.compile(model, dynamic=True)",)),
        not_this="a larger recompile_limit: that is more compiling",
        cures=(Cure("uncompiled", "without torch.compile"),),
    )


def _ms(seconds: float) -> str:
    return figures.short(1e3 * seconds)
