"""target-shape-mismatch: outputs of shape (N, 1) are compared with targets of shape (N,)

What happens
    Broadcasting makes an N by N table: every output is compared with every target. The best answer to that is the mean
    of all targets, whatever the input, and this is what the model learns. Or `view()` gives the output the target's
    shape where a transpose was meant: each target is compared with scores of other positions. Shapes that cannot be
    broadcast raise an error.

How severe it is
    High: every output is compared with every target, and the model learns the mean.

How it is recognised
    By the shapes of both sides of a loss function, or of a difference or product by hand, at the first steps: equal
    except for dimensions of size 1, and their result is larger than either. The re-run compares one with one. A
    `view()` between output and loss that swaps dimensions is reported by uses_its_input. A loss function that raises is
    seen with the shapes that it was given.

How to fix it
    Bring both to one shape: `output.squeeze(1)`, or `target.unsqueeze(1)`.

What not to do
    Look for more capacity or a better learning rate: the model has already found the best answer.

How to prevent it
    Assert `output.shape == target.shape` in front of every elementwise loss, and make the warning of torch an error
    (`-W error`). `overfits_one_batch` cannot be passed with it.

When this is wrong
    All pairs may be intended (ranking, contrastive losses). Then comparing one with one does not improve memorising.
"""

from __future__ import annotations

from .. import wording
from ..analysis import loss_calls, raised
from ..analysis.shapes import transposed
from ..records.intervention import Cure
from ..records.loss_functions import NAMES, WITH_CLASSES
from ..records.numbers import Crash
from ..records.probes import ScrambleRecord
from ..records.symptoms import CRASH, INSTABILITY, NOT_LEARNING, PLATEAU, SILENT
from ..records.trace import Trace
from ..records.verdict import Evidence, Fix, Symptom
from . import Suspicion
from ._groups import LOSS

GROUP = LOSS
ORDER = 8
EXPLAINS = (NOT_LEARNING, PLATEAU, INSTABILITY, SILENT, CRASH)


def look(trace: Trace, symptom: Symptom) -> Suspicion | None:
    if symptom.category == CRASH:
        return None if trace.crash is None else _refused(trace.crash)
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


def _refused(crash: Crash) -> Suspicion | None:
    """A loss function that raises: what it was given, and what it would have taken."""
    call = crash.seen.call
    if raised.about(crash) != raised.SHAPES or call is None or call.function not in NAMES:
        return None
    output, target = (next((g for g in call.given if g.argument == name), None) for name in ("input", "target"))
    if output is None or target is None:
        return None
    samples = [given.shape[0] if given.shape else 1 for given in (output, target)]
    statement = f"{call.function} gets outputs of shape {output.shape} and targets of shape {target.shape}"
    if samples[0] != samples[1]:
        statement = f"{samples[0]} outputs are compared with {wording.plural(samples[1], 'target')}"
        fix = Fix("take outputs and targets from the same samples of one batch")
    elif call.function in WITH_CLASSES and len(target.shape) > 1 and _size(target.shape) == target.shape[0]:
        fix = Fix("give one label for each sample:", ("target = target.squeeze(1)",))
    elif _size(output.shape) == _size(target.shape):
        fix = Fix("bring both to one shape:", ("target = target.reshape(output.shape)",))
    else:
        fix = Fix("give the model as many outputs as there are targets for each sample")
    named = "" if not target.name else f" ({target.name})"
    return Suspicion(
        statement=statement,
        evidence=(
            Evidence(
                f"{call.function} got outputs of shape {output.shape} and targets{named} of shape {target.shape}",
                place=crash.place,
            ),
        ),
        why=f"{crash.first_message[:1].lower()}{crash.first_message[1:].rstrip('.')}",
        places=loss_calls.places(crash.place),
        fix=fix,
        not_this="a reshape to whatever passes: outputs would be compared with targets of other samples",
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
