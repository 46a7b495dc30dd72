"""insufficient-capacity: the model cannot express what it should learn

What happens
    Everything works, and the loss still stops far above zero even on one batch: there is no set of weights that fits.
    Layers without an activation function between them are one linear layer, however many there are; a layer of one or
    two units lets through one or two numbers.

How severe it is
    High: no setting will help.

How it is recognised
    All other causes were ruled out, and the model shows it: only linear functions inside, a layer of one or two units
    before a wider one, kernels of one pixel throughout, or fewer trainable values than targets in the batch. In a
    re-run, layers without an activation function get one, a rectifier after each but the last; a single unit before
    three or more outputs gets a bypass; kernels of one pixel get neighbours. The rest cannot be tried.

How to fix it
    An activation function after each hidden layer, more units, or more layers.

What not to do
    Other learning rates or optimizers, or more epochs: none of them adds what the model lacks.

How to prevent it
    Memorise one batch before tuning anything: `overfits_one_batch`.

When this is wrong
    "The model is too small" is a favourite guess and mostly wrong: data, wiring and regularisation are the usual
    causes. A linear model that learns what a linear model can is healthy, and nothing is reported.
"""

from __future__ import annotations

from itertools import pairwise

from .. import wording
from ..analysis import wiring
from ..records.intervention import Cure
from ..records.symptoms import NOT_LEARNING, PLATEAU
from ..records.trace import Trace
from ..records.verdict import Evidence, Fix, Symptom
from ..records.wiring import ParameterRecord
from . import Suspicion, lr_too_low
from ._groups import NUMBERS

GROUP = NUMBERS
ORDER = 19
EXPLAINS = (NOT_LEARNING, PLATEAU)

#: Functions that keep a model linear (in its inputs); anything else may be what bends it.
_LINEAR = {
    "linear", "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "matmul", "mm",
    "__matmul__", "addmm", "add", "__add__", "__radd__", "sub", "__sub__", "flatten", "view", "reshape", "permute",
    "transpose", "squeeze", "unsqueeze", "contiguous", "cat", "stack", "mean", "sum", "dropout", "avg_pool1d",
    "avg_pool2d", "adaptive_avg_pool1d", "adaptive_avg_pool2d", "shape", "size", "ndim", "dtype", "device", "pad",
    "detach", "cpu", "layout", "is_complex", "is_quantized", "double", "isfinite", "all", "dim", "numel",
    "to", "float", "__get__", "__getitem__", "T", "mT", "t", "requires_grad", "is_floating_point",
}  # fmt: skip
_LAYERS = {
    "linear", "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "matmul", "mm",
    "__matmul__", "addmm",
}  # fmt: skip
#: Functions that look at one pixel at a time.
_PER_PIXEL = {
    "conv2d", "relu", "relu_", "leaky_relu", "gelu", "silu", "tanh", "sigmoid", "elu", "softplus", "add", "__add__",
    "batch_norm", "dropout", "cat", "clone",
    # what looking at tensors takes
    "detach", "shape", "size", "ndim", "dtype", "device", "to", "float", "__get__", "cpu", "layout", "numel", "reshape",
    "is_complex", "is_floating_point", "is_quantized", "double", "isfinite", "all", "dim", "requires_grad",
}  # fmt: skip
#: Units. By judgement: two are what one draws, three may be a colour.
_BOTTLENECK = 2
#: Units of a recurrent layer, for a re-run with a wide path, which decides. By judgement: eight numbers can hold what
#: there is to remember of a short sequence.
_NARROW = 8
_OF_UNITS, _RECURRENT = ("Linear",), ("LSTM", "GRU", "RNN")
#: A floor shows after some steps only. By judgement: a quarter of the 200 steps that a healthy training needs.
_FEWEST_STEPS = 50


def look(trace: Trace, symptom: Symptom) -> Suspicion | None:
    weights = [p for p in wiring.weights(trace) if p.fan_in is not None]
    if not weights or trace.frozen or not all(p.moved for p in weights) or len(trace.losses) < _FEWEST_STEPS:
        return None
    if lr_too_low.look(trace, symptom) is not None:
        return None  # what a model can do at a crawl says nothing about what it can do
    evidence: list[Evidence] = []
    cures: tuple[Cure, ...] = ()
    statement = fix = ""
    if trace.numbers.operations and trace.numbers.operations <= _LINEAR:
        layers = wording.plural(len(weights), "layer")
        statement = (
            f"no activation function between {layers}" if len(weights) > 1 else "the model is a single linear layer"
        )
        done = wording.names(sorted(trace.numbers.operations & _LAYERS), most=3)
        evidence.append(Evidence(f"the model only computes {done}, and nothing nonlinear", float(len(weights))))
        fix = "put an activation function after each hidden layer:"
        if len(weights) > 1 and not _low_rank(weights):
            cures = (Cure("rectified_layers", "a rectifier after each hidden layer", {"layers": len(weights)}),)
    narrow = _bottleneck(weights)
    if narrow is not None:
        units = wording.plural(narrow.shape[0], "unit")
        statement = statement or f"everything goes through {units} in {narrow.module or narrow.name}"
        evidence.append(Evidence(f"{narrow.name} has {units}; the widest layer has {_widest(weights)}"))
        fix = fix or "give that layer more units"
        if narrow is wiring.one_unit_bottleneck(trace):
            options = {"start": narrow.module, "end": weights[-1].module}
            cures = (*cures, Cure("bypass", f"a bypass around {narrow.module or 'that layer'}", options))
    if _single_pixels(trace, weights):
        first = weights[0].module
        statement = statement or "no pixel knows its neighbours: all kernels are 1 x 1"
        evidence.append(Evidence(f"{wording.plural(len(weights), 'convolution')}, all of one pixel, and nothing else "
                                 "looks beyond one", float(len(weights))))  # fmt: skip
        fix = fix or "give the convolutions kernels as large as what they should see, 3 x 3 or more:"
        wider = {"start": first, "end": first, "kernel": 3}
        cures = (*cures, Cure("bypass", f"3 x 3 pixels for {first or 'the first one'}", wider))
    values = sum(p.size for p in trace.trainable)
    targets = max((call.terms for call in trace.loss.calls if call.step == 0), default=0)
    if 0 < values < targets:
        statement = statement or f"{wording.count(values)} trainable values for {wording.count(targets)} targets"
        evidence.append(
            Evidence(f"{wording.count(values)} trainable values, {wording.count(targets)} targets in the batch")
        )
        fix = fix or "use wider or more layers"
    if not evidence:
        return None
    code: tuple[str, ...] = ()
    if "activation" in fix:
        code = ("nn.Sequential(nn.Linear(n, 64), nn.ReLU(), nn.Linear(64, k))",)
    elif "convolutions" in fix:
        code = ("nn.Conv2d(channels, width, kernel_size=3, padding=1)",)
    return Suspicion(
        statement=statement,
        evidence=tuple(evidence),
        why="no weights of this model fit these targets",
        fix=Fix(fix, code),
        not_this="other learning rates or optimizers, or more epochs: the model lacks something they cannot add",
        cures=cures,
    )


SWAPS = "model"


def swap(trace: Trace, symptom: Symptom) -> Suspicion | None:
    """The narrowest place between a model's inputs and its outputs, wherever it is, gets a wide path beside it.

    Of a layer's outputs only a single unit counts: two are what people plot, and an autoencoder squeezes on purpose.
    """
    weights = [p for p in trace.trainable if p.is_weight and p.module_class in (*_OF_UNITS, *_RECURRENT)]
    if trace.frozen or len(weights) < 2 or weights[-1].module_class not in _OF_UNITS:
        return None
    narrow = min(_followed(weights), key=_width, default=None)
    if narrow is None:
        return None
    units, last = _width(narrow), weights[-1]
    if units > (_NARROW if narrow.module_class in _RECURRENT else 1) or units >= _width(last) > 1:
        return None
    counted = wording.plural(units, "unit")
    options = {"start": narrow.module, "end": last.module, "weight": narrow.name}
    return Suspicion(
        statement=f"everything goes through {counted} in {narrow.module or narrow.name}",
        evidence=(
            Evidence(f"{narrow.module or narrow.name} has {counted}; the output has {_width(last)}", float(units)),
        ),
        why="no weights of this model fit these targets",
        fix=Fix("give that layer more units"),
        not_this="other learning rates or optimizers, or more epochs: the model lacks something they cannot add",
        cures=(Cure("wide_path", f"a path of 64 units beside {narrow.module or 'it'}", options),),
    )


def _followed(weights: list[ParameterRecord]) -> list[ParameterRecord]:
    """Those whose units are what the next layer gets: others are outputs themselves."""
    return [
        each for each, after in pairwise(weights) if after.module != each.module and after.shape[-1] == _width(each)
    ]


def _width(parameter: ParameterRecord) -> int:
    return parameter.shape[-1] if parameter.module_class in _RECURRENT else parameter.shape[0]


def _bottleneck(weights: list[ParameterRecord]) -> ParameterRecord | None:
    """A layer of one or two units followed by a layer that is not as narrow."""
    for position, each in enumerate(weights[:-1]):
        behind = weights[position + 1]
        narrow = each.shape[0] <= _BOTTLENECK and behind.fan_in == each.shape[0]
        if narrow and max(p.shape[0] for p in weights[position + 1 :]) > each.shape[0]:
            return each
    return None


def _single_pixels(trace: Trace, weights: list[ParameterRecord]) -> bool:
    return (
        bool(trace.numbers.operations)
        and trace.numbers.operations <= _PER_PIXEL
        and all(p.module_class == "Conv2d" and p.shape[2:] == (1, 1) for p in weights)
    )


def _low_rank(weights: list[ParameterRecord]) -> bool:
    """A layer narrower than what goes in and what comes out makes two linear layers another thing than one.

    So do a linear autoencoder, a factorised head, an adapter, all by intention; without it the second layer adds
    nothing.
    """
    first, last = weights[0].fan_in or 0, weights[-1].shape[0]
    return any(p.shape[0] < min(first, last) for p in weights[:-1])


def _widest(weights: list[ParameterRecord]) -> int:
    return max(p.shape[0] for p in weights)
