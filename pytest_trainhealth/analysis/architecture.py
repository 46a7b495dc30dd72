"""Remarks on how a model is built: evidence for whoever looks for more, and nothing that was measured.

None of it is a fault by itself. Each remark says what was seen, with the figure from which on it is mentioned.
"""

from __future__ import annotations

from collections.abc import Iterator

from .. import wording
from ..records.advice import Advice
from ..records.architecture import ArchitectureRecord
from ..records.trace import Trace
from .chance import chance_loss

#: Layers one after the other. KNOWLEDGE: residuals for networks deeper than about 10 layers.
_DEEP = 10
#: Layers with sigmoid or tanh. By judgement: 5, as each takes at least a quarter (sigmoid) of a gradient.
_SATURATING = 5
#: KNOWLEDGE: more than 10 parameters per training sample.
_PER_SAMPLE = 10
#: Values for a mean and a variance. By judgement: with 8 the variance is off by half of itself in one batch of six.
_FEW_VALUES = 8
#: Times the loss of a guess. Healthy: 1.02 by median, 186 of 194 programs below 3 (analysis/chance.py).
_FAR_ABOVE = 3.0
#: Of the spread of values, by one layer. torch's own initialisation gives 0.58 with inputs of mean 0. By judgement:
#: ten times as much or as little is no initialisation for this layer.
_HIGH, _LOW = 10.0, 0.06
#: Of the spread, through all layers but the last. By judgement: a thousandth is lost beside any bias.
_LOST = 1e-3
#: The functions that have ends.
_WITH_ENDS = {"sigmoid", "tanh"}


def remarks(trace: Trace) -> Iterator[Advice]:
    """`trace`: a run with the signals architecture, activations, batch_norms and loss_calls."""
    built = trace.wiring.architecture
    if built is None:
        return
    for topic, words in (
        *_depth(built),
        *_activations(trace),
        *_normalisation(trace),
        *_size(trace, built),
        *_weight_decay(trace),
        *_first_loss(trace),
        *_initialisation(built),
    ):
        yield Advice(topic, "not measured", words)


def _depth(built: ArchitectureRecord) -> Iterator[tuple[str, str]]:
    longest, shortest = built.longest or 0, built.shortest or 0
    if longest <= _DEEP or shortest < longest / 2:
        return
    layers = f"{longest} layers with weights one after the other"
    if not built.normalisations:
        yield "depth", f"{layers}, with neither normalisation nor shortcuts (beyond {_DEEP}, nets have both)"
    else:
        yield "depth", f"{layers}, and no shortcuts around them (beyond {_DEEP}, residual connections help)"


def _activations(trace: Trace) -> Iterator[tuple[str, str]]:
    bounded = [each for each in trace.numbers.activations.values() if each.function in _WITH_ENDS]
    built = trace.wiring.architecture
    if built is None or built.recurrent or built.normalisations or len(bounded) < _SATURATING:
        return
    kinds = wording.names(sorted({each.function for each in bounded}))
    yield (
        "activations",
        f"{len(bounded)} layers with {kinds} and no normalisation: gradients shrink at each (from {_SATURATING} on; "
        "ReLU and its kin do not)",
    )


def _normalisation(trace: Trace) -> Iterator[tuple[str, str]]:
    few = {path: count for path, count in trace.numbers.values_per_channel.items() if count < _FEW_VALUES}
    if few:
        path = min(few, key=few.__getitem__)
        yield (
            "normalisation",
            f"BatchNorm {path} takes mean and variance from {wording.plural(few[path], 'value')} per channel (fewer "
            f"than {_FEW_VALUES} are noise): GroupNorm, LayerNorm or larger batches do not depend on it",
        )


def _size(trace: Trace, built: ArchitectureRecord) -> Iterator[tuple[str, str]]:
    values = sum(p.size for p in trace.trainable)
    if built.samples and values > _PER_SAMPLE * built.samples:
        each = wording.short(values / built.samples)
        yield (
            "size",
            f"{wording.count(values)} trained values for {wording.plural(built.samples, 'sample')}: {each} for each "
            f"(beyond {_PER_SAMPLE}, watch the validation loss)",
        )


def _weight_decay(trace: Trace) -> Iterator[tuple[str, str]]:
    decay = max((each.weight_decay for each in trace.wiring.optimizers.values()), default=0.0)
    vectors = [p for p in trace.trainable if p.held_by and len(p.shape) <= 1]
    if decay and vectors:
        yield (
            "weight decay",
            f"{wording.short(decay)}, also on biases and scales of normalisations such as {vectors[0].name} (usual: on "
            "matrices only)",
        )


def _first_loss(trace: Trace) -> Iterator[tuple[str, str]]:
    known = chance_loss(trace)
    if known and trace.losses and trace.losses[0] > _FAR_ABOVE * known:
        times = wording.short(trace.losses[0] / known)
        yield (
            "first loss",
            f"{wording.loss(trace.losses[0])}, where a guess has {wording.loss(known)}: {times} times as much (up to "
            f"{_FAR_ABOVE:g} is usual); a smaller last layer, or scaled targets, begin nearer",
        )


def _initialisation(built: ArchitectureRecord) -> Iterator[tuple[str, str]]:
    """The last layer is left out: one that begins small is on purpose."""
    inner = [(layer, layer.gain) for layer in built.layers[:-1] if layer.gain is not None]
    if not inner:
        return
    layer, gain = max(inner, key=lambda each: max(each[1] or 1e-9, 1 / (each[1] or 1e-9)))
    if gain is not None and (gain > _HIGH or gain < _LOW):
        yield (
            "initialisation",
            f"{layer.path} turns a spread of {wording.short(layer.spread_in)} into {wording.short(layer.spread_out)} "
            f"(between {_LOW:g} and {_HIGH:g} times is usual)",
        )
    elif inner[-1][0].spread_out < _LOST * inner[0][0].spread_in and len(inner) > 2:
        yield (
            "initialisation",
            f"the spread of values falls from {wording.short(inner[0][0].spread_in)} to "
            f"{wording.short(inner[-1][0].spread_out)} through {len(inner)} layers (below {_LOST:g} of it is lost)",
        )
