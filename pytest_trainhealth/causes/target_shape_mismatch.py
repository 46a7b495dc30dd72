"""target-shape-mismatch: outputs of shape (N, 1) are compared with targets of shape (N,)

What happens
    Broadcasting makes an N by N table: every output is compared with every target. The best answer to that is the mean
    of all targets, whatever the input, and this is what the model learns. Or `view()` gives the output the target's
    shape where a transpose was meant: each target is compared with scores of other positions.

How it is recognised
    By the shapes of both sides of a loss function, or of a difference or product by hand, at the first steps: equal
    except for dimensions of size 1, and their result is larger than either. The re-run compares one with one. A
    `view()` between output and loss that swaps dimensions is reported by uses_its_input.

How to fix it
    Bring both to one shape: `output.squeeze(1)`, or `target.unsqueeze(1)`.

What not to do
    Look for more capacity or a better learning rate: the model has already found the best answer.

When this is wrong
    All pairs may be intended (ranking, contrastive losses). Then comparing one with one does not improve memorising.
"""

from __future__ import annotations

from .. import wording
from ..analysis import loss_calls
from ..analysis.shapes import transposed
from ..records.intervention import Cure
from ..records.loss_functions import NAMES
from ..records.probes import ScrambleRecord
from ..records.symptoms import INSTABILITY, NOT_LEARNING, PLATEAU, SILENT
from ..records.trace import Trace
from ..records.verdict import Evidence, Fix, Symptom
from . import Suspicion
from ._groups import LOSS

GROUP = LOSS
ORDER = 8
EXPLAINS = (NOT_LEARNING, PLATEAU, INSTABILITY, SILENT)


def look(trace: Trace, symptom: Symptom) -> Suspicion | None:
    call = next((c for c in trace.loss.calls if loss_calls.broadcasts(c)), None)
    if call is None:
        torn = [r for r in (trace.probe.scrambles if trace.probe is not None else []) if r.in_loss]
        return _torn(torn[0]) if torn else None
    output, target = call.input.shape, call.target.shape
    crossed = call.terms or call.samples**2
    what = f"a {call.function}" if call.function not in NAMES else call.function
    fix = (
        Fix("bring both to one shape:", (f"output = output.squeeze({output.index(1)})",))
        if len(output) > len(target)
        else Fix("bring both to one shape:", (f"target = target.squeeze({target.index(1)})",))
        if len(target) > len(output)
        else Fix("bring both to one shape:", ("target = target.reshape(output.shape)",))
    )
    return Suspicion(
        statement=f"outputs of shape {output} are compared with targets of shape {target}",
        evidence=(
            Evidence(
                f"{what} of {output} and {target} has {wording.count(crossed)} terms, "
                f"not {wording.count(_size(output))}",
                float(crossed),
                call.place,
            ),
        ),
        why="every output is compared with every target, and the mean of all targets is the best answer",
        places=loss_calls.places(call.place),
        fix=fix,
        not_this="more capacity or another learning rate",
        cures=(Cure("matching_shapes", "one output with one target"),),
    )


def _torn(record: ScrambleRecord) -> Suspicion:
    return Suspicion(
        statement=f"{record.operation}() reads {record.given} as {record.result}: targets get scores of others",
        evidence=(
            Evidence(
                "dimensions change places, and the values stay in their old order: what is compared with one target "
                "was computed for several",
                place=record.place,
            ),
        ),
        why=f"{record.operation}() only renames the dimensions, and a transpose was meant",
        places=loss_calls.places(record.place),
        fix=transposed(record),
        not_this="more capacity or another learning rate",
    )


def _size(shape: tuple[int, ...]) -> int:
    size = 1
    for n in shape:
        size *= n
    return size
