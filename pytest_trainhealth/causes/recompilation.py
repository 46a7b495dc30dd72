"""recompilation: torch.compile recompiles again and again

What happens
    A compiled graph is valid for the shapes, Python values and modes that it was made with. When one of them changes
    with every batch, the compiler runs for every batch, which takes hundreds of times as long as the step; after some
    attempts (`recompile_limit`) it gives up and leaves the code uncompiled.

How severe it is
    Low for the model: minutes are lost compiling.

How it is recognised
    New graphs are made at three or more steps after the first five. The compiler's own reason is shown. The re-run does
    without torch.compile.

How to fix it
    `torch.compile(model, dynamic=True)` or `torch._dynamo.mark_dynamic()` where shapes change; pad batches to a few
    lengths, and drop the incomplete last one (`drop_last=True`). Neither helps where a Python value changes (a
    temperature, a step count, the length of a list, a mode): keep numbers in tensors rather than in Python attributes,
    and everything else out of the compiled function. `TORCH_LOGS=recompiles` shows each reason.

What not to do
    A larger `recompile_limit`: that means more compiling.

How to prevent it
    Mark dimensions that vary as dynamic, pad to few sizes, and set `torch._dynamo.config.error_on_recompile` in a test.
    `keeps_throughput` counts them.

When this is wrong
    The first steps of a healthy training also compile: one graph for training, one for another shape. These are
    warm-up.
"""

from __future__ import annotations

import re
from statistics import median

from .. import wording
from ..analysis import timing
from ..records.intervention import Cure
from ..records.symptoms import PERFORMANCE
from ..records.trace import Trace
from ..records.verdict import Evidence, Fix, Symptom
from . import Suspicion
from ._groups import KEEPS_THROUGHPUT

GROUP = KEEPS_THROUGHPUT
ORDER = 20
EXPLAINS = (PERFORMANCE,)

#: Once for a new shape happens to the healthiest; three steps are a habit. By judgement: torch itself gives up after 8.
_OFTEN = 3

#: What torch 2.13 says of a tensor: "tensor 'x' size mismatch at index 1. expected 15, actual 16", or the same of its
#: stride; "2 <= x.size()[0] <= 5" where it has compiled for any size already.
_SHAPE = re.compile(r"\b(size|stride) mismatch|\.(size|stride)\(")
#: "tensor 'x' rank mismatch", dtype, requires_grad: another kind of tensor, whatever its size.
_KIND = re.compile(r"\bmismatch\b")
#: "self.temperature == 0.5". Other values are reported the same way: "len(self.seen) == 8", "self.mode == 'warm'".
_NUMBER = re.compile(r"(self\.\w+) == (-?\d[\w.+-]*)")
#: Columns, so that a line of the chart stays below 100.
_LONGEST_CODE = 60


def look(trace: Trace, symptom: Symptom) -> Suspicion | None:
    times, warm = timing.step_times(trace), timing.warm_up(timing.step_times(trace))
    late = [step for step in trace.speed.compiled if step >= timing.LEAST_WARM_UP]
    if warm is None or len(late) < _OFTEN or not timing.compares_no_revision(trace):
        return None
    compiling = median(times[step] for step in late if step < len(times))
    others = [seconds for step, seconds in enumerate(times) if step not in trace.speed.compiled]
    others_text = f", other steps {_ms(median(others))} ms" if others else ""
    evidence = [
        Evidence(
            f"new graphs at {len(late)} of {len(times) - timing.LEAST_WARM_UP} steps after the first "
            f"{timing.LEAST_WARM_UP}; these take {_ms(compiling)} ms{others_text}",
            float(len(late)),
        )
    ]
    reason, code = _describe(trace.speed.compiled_because)
    if reason:
        evidence.append(Evidence(f"the compiler's reason: {reason}{f', in: {code}' if code else ''}"))
    return Suspicion(
        statement=f"torch.compile makes a new graph at {len(late)} of {len(times) - timing.LEAST_WARM_UP} steps",
        evidence=tuple(evidence),
        why="a graph is valid for the shapes and Python values it was made with, and these change",
        fix=_fix(reason),
        not_this="a larger recompile_limit: that means more compiling",
        cures=(Cure("uncompiled", "without torch.compile"),),
    )


def _describe(because: str) -> tuple[str, str]:
    """What has changed, and the line of code that it is used in. The compiler puts a table and hints around them."""
    reason, _, rest = because.partition("  # ")
    code = rest.partition("  # ")[0].strip()
    return reason.strip(), code if len(code) <= _LONGEST_CODE else ""


def _fix(reason: str) -> Fix:
    dynamic, tensor = "torch.compile(model, dynamic=True)", "# a tensor may change, a Python number is compiled in"
    if not reason:
        return Fix(
            "let it expect changing shapes, and keep Python values that change out of it, or in a tensor:",
            (dynamic, f"self.step = torch.tensor(0)  {tensor}"),
        )
    if _SHAPE.search(reason):
        return Fix("let it expect changing shapes, or give it the same ones:", (dynamic,))
    if _KIND.search(reason):
        return Fix("give it tensors of the same rank, dtype and requires_grad at every step")
    number = _NUMBER.fullmatch(reason)
    name, value = number.groups() if number else ("self.step", "0")
    return Fix(
        "keep what changes out of the compiled function, or in a tensor:",
        (f"{name} = torch.tensor({value})  {tensor}",),
    )


def _ms(seconds: float) -> str:
    return wording.short(1e3 * seconds)
