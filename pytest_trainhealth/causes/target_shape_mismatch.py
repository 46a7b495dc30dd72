"""target-shape-mismatch: outputs of shape (N, 1) are compared with targets of shape (N,)

What happens
    Broadcasting makes an N by N table: every output is compared with every target. The best answer to that is the mean
    of all targets, whatever the input, and this is what the model learns.

How it is recognised
    By the shapes of both sides of a loss function, or of a difference or product by hand, at the first steps: equal
    except for dimensions of size 1, and their result is larger than either. The re-run compares one with one.

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
from ..records.intervention import Cure
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
        return None
    output, target = call.input.shape, call.target.shape
    crossed = call.terms or call.samples**2
    what = f"a {call.function}" if " " in call.function or call.function == "product" else call.function
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


def _size(shape: tuple[int, ...]) -> int:
    size = 1
    for n in shape:
        size *= n
    return size
