"""shape-mismatch: tensors meet whose shapes do not fit

What happens
    A layer is made for 8 features and gets 16, a convolution for 3 channels gets 1, samples of different lengths are to
    be stacked to one batch, a `view` asks for a shape that the values do not fill. Torch raises an error with two
    numbers in it, and does not say which layer it was.

How severe it is
    Critical, and loud: the step raises.

How it is recognised
    The step that raises is run once more, and the call that raised is seen with the shapes it was given and with the
    layer that made it: what the layer takes, and what it got.

How to fix it
    Change the layer to what it is given, or what comes before it. Images are (samples, channels, height, width): those
    that have their channels last need a `permute`. Samples of different lengths are padded by the `collate_fn` of their
    DataLoader.

What not to do
    A `reshape` to whatever passes: the values keep their order, and belong to other samples or positions afterwards.

How to prevent it
    Run one batch of the real loader through the real step before merging: any of the markers does. Write shapes into
    the docstring of what returns a tensor.

When this is wrong
    Where only some batches raise, the data differ and not the layer: look at the sample before changing the model.
"""

from __future__ import annotations

import re

from .. import wording
from ..analysis import loss_calls, raised
from ..records.errors import ErrorContext, FailedCall, GivenTensor, RunningModule
from ..records.loss_functions import NAMES
from ..records.numbers import Crash
from ..records.symptoms import CRASH
from ..records.trace import Trace
from ..records.verdict import Evidence, Fix, Place, Symptom
from . import Suspicion
from ._groups import WIRING

GROUP = WIRING
ORDER = 0
CURABLE = False
EXPLAINS = (CRASH,)

#: What a layer says it takes: in which dimension of its input, and of what.
_TAKES = {
    "in_features": (-1, "feature"),
    "in_channels": (1, "channel"),
    "num_features": (1, "channel"),
    "num_channels": (1, "channel"),
    "input_size": (-1, "feature"),
    "embed_dim": (-1, "feature"),
    "normalized_shape": (-1, "feature"),
}
_JOINED = ("cat", "stack", "concat", "concatenate", "hstack", "vstack")
_LAID_OUT = ("view", "reshape", "unflatten")
_NOT = "a reshape to whatever passes: values would belong to other samples or positions"


def look(trace: Trace, symptom: Symptom) -> Suspicion | None:
    crash = trace.crash
    if crash is None or raised.about(crash) != raised.SHAPES:
        return None
    call, module = crash.seen.call, crash.seen.module
    if call is not None and call.function in NAMES:
        return None  # of a loss and its targets
    if crash.seen.reading_data:
        return _samples(crash, call)
    if module is not None and (refused := _refused(module, call)):
        made = trace.wiring.modules.get(module.path)
        return _layer(crash, module, refused, None if made is None else made.place)
    if call is None:
        return None
    if call.function in _LAID_OUT:
        return _laid_out(crash, call)
    return _operation(crash, call)


def _refused(module: RunningModule, call: FailedCall | None) -> tuple[GivenTensor, int, str, int] | None:
    """The input of a layer that says what it takes, the number it takes and of what, and the number that it got."""
    given = next((each for each in (call.given if call is not None else ()) if _is_input(each)), None)
    if given is None:
        return None
    for name, (dim, what) in _TAKES.items():
        if name not in module.sizes:
            continue
        takes = module.sizes[name][-1]
        if dim == 1 and len(given.shape) == len(module.sizes.get("kernel_size", ())) + 1:
            dim = 0  # one sample without a batch
        if -len(given.shape) <= dim < len(given.shape) and given.shape[dim] != takes:
            return given, takes, what, given.shape[dim]
    return None


def _is_input(given: GivenTensor) -> bool:
    return given.argument in ("input", "query", "first")


def _layer(
    crash: Crash, module: RunningModule, refused: tuple[GivenTensor, int, str, int], made: Place | None
) -> Suspicion:
    given, takes, what, got = refused
    turned = what == "channel" and len(given.shape) > 2 and given.shape[-1] == takes
    if turned:
        last = ", ".join(map(str, (0, len(given.shape) - 1, *range(1, len(given.shape) - 1))))
        fix = Fix("the channels come last, and belong behind the samples:", (f"x = x.permute({last})",))
    else:
        setting = next(name for name in _TAKES if name in module.sizes)
        fix = Fix(f"make {module.spoken} for what it gets ({setting}={got}), or change what comes before it")
    return Suspicion(
        statement=f"{module.spoken} takes {wording.plural(takes, what)}, and gets {wording.count(got)}",
        evidence=(
            Evidence(f"its input{_known(given)} has the shape {given.shape}", float(got), crash.place),
            Evidence(f"it was made for {wording.plural(takes, what)}", float(takes)),
        ),
        why="the layer and what comes before it do not fit",
        places=loss_calls.places(crash.place, made),
        fix=fix,
        not_this=_NOT,
    )


def _samples(crash: Crash, call: FailedCall | None) -> Suspicion | None:
    found = _entries(crash.first_message) if call is None else dict(enumerate(each.shape for each in call.given))
    different = list(dict.fromkeys(found.values()))
    if len(different) < 2:
        return None
    first, other = different[:2]
    at = {shape: next(entry for entry in found if found[entry] == shape) for shape in (first, other)}
    return Suspicion(
        statement=f"samples of one batch have different shapes: {first} and {other}",
        evidence=(
            Evidence(
                f"number {at[first]} of the batch has the shape {first}, and number {at[other]} the shape {other}",
                float(len(different)),
                crash.place,
            ),
        ),
        why="a batch is one tensor, and has one length",
        places=loss_calls.places(crash.place),
        fix=Fix(
            "pad them to one length where batches are made:",
            ("DataLoader(..., collate_fn=lambda batch: pad_sequence(batch, batch_first=True))",),
        ),
        not_this="batches of one sample: slow, and BatchNorm has nothing to take its statistics from",
    )


def _entries(message: str) -> dict[int, tuple[int, ...]]:
    """Of samples that a worker process has tried to stack, only the message is left."""
    found = re.findall(r"\[([\d, ]*)\] at entry (\d+)", message)
    return {int(entry): tuple(int(n) for n in shape.split(",") if n.strip()) for shape, entry in found}


def _laid_out(crash: Crash, call: FailedCall) -> Suspicion | None:
    given = call.given[0]
    return Suspicion(
        statement=f"{call.function} of a tensor of shape {given.shape}{_inside(crash.seen)} does not come out even",
        evidence=(
            Evidence(f"{crash.first_message}, as {_product(given.shape)}", float(_size(given.shape)), crash.place),
        ),
        why="the values do not fill the shape that is asked for",
        places=loss_calls.places(crash.place),
        fix=Fix("keep the samples, and lay out the rest:", ("x = x.view(x.size(0), -1)  # or x.flatten(1)",)),
        not_this=_NOT,
    )


def _operation(crash: Crash, call: FailedCall) -> Suspicion | None:
    given = call.given
    if len(given) < 2:
        return None
    one = given[0]
    # of several that are joined, the first that differs
    other = next((each for each in given[1:] if each.shape != one.shape), given[1])
    fix = Fix(f"bring both to shapes that fit before {call.function}")
    if call.function in _JOINED:
        fix = Fix(f"give all tensors the same shape but for the dimension that {call.function} joins them in")
    return Suspicion(
        statement=f"{call.function}{_inside(crash.seen)} is given shapes {one.shape} and {other.shape}",
        evidence=(
            Evidence(f"{_spoken(one, 'the first')} has the shape {one.shape}", place=crash.place),
            Evidence(f"{_spoken(other, 'the other')} has the shape {other.shape}"),
        ),
        why=_reason(crash),
        places=loss_calls.places(crash.place),
        fix=fix,
        not_this=_NOT,
    )


def _reason(crash: Crash) -> str:
    message = crash.first_message
    return message[:1].lower() + message[1:].rstrip(".")


def _known(given: GivenTensor) -> str:
    return f", {given.name}," if given.name else ""


def _spoken(given: GivenTensor, otherwise: str) -> str:
    return given.name or (given.argument if given.argument.startswith("tensor ") else otherwise)


def _inside(seen: ErrorContext) -> str:
    return "" if seen.module is None else f" in {seen.module.spoken}"


def _product(shape: tuple[int, ...]) -> str:
    return f"{' x '.join(map(str, shape)) or '1'} = {wording.count(_size(shape))}"


def _size(shape: tuple[int, ...]) -> int:
    size = 1
    for each in shape:
        size *= each
    return size
