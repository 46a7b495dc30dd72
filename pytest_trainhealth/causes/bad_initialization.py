"""bad-initialization: weights start where training cannot begin

What happens
    Units of a layer that start equal get equal gradients and stay equal: a layer of a hundred units acts like a layer
    of one. With zeros everywhere there is no gradient at all. Weights far too large saturate or blow up the layers
    after them, weights far too small leave nothing of the input.

How severe it is
    High: the start is so far off that training does not begin, or begins by undoing it.

How it is recognised
    The weights are looked at before the first step and again later. Units that were equal at the start *and still
    are*, after steps that should have told them apart, are the surest sign (gates of recurrent layers are compared
    one by one, embeddings by their columns); factors of normalisation layers that start at 0 and never get a
    gradient are another, and so are two weights that start at 0 and wait for each other; the spread of the weights
    compared with 1/sqrt(inputs of the unit) is the third. The re-run draws new weights, scaled layer by layer so
    that each layer's outputs have unit variance. Where no weight is odd by itself and the first loss of a
    classification is many times that of a guess (an embedding drawn with a spread of 1 that serves as the output
    layer as well), the re-run divides the outputs by their spread at the start.

How to fix it
    Leave the initialisation to the layers, which have their own, or use `nn.init.kaiming_normal_` (ReLU) or
    `nn.init.xavier_uniform_` (tanh) for weights; constants are for biases and normalisation layers only. Parameters of
    your own: `torch.randn(inputs, outputs) / inputs ** 0.5`. `torch.empty` and `torch.Tensor(n)` hold whatever was in
    memory.

What not to do
    Another learning rate or more units: equal units stay equal at any rate and in any number.

How to prevent it
    Keep the defaults of torch unless a paper says otherwise, and compare the first loss with chance (`log(classes)`).
    `overfits_one_batch` does.

When this is wrong
    A last layer, a residual branch or an adapter that starts at 0 is healthy: its units diverge at the first step. Only
    units that stay equal count.
"""

from __future__ import annotations

import math

from .. import wording
from ..analysis import chance, singularities, wiring
from ..records.intervention import Cure
from ..records.symptoms import EXPLOSION, INSTABILITY, NOT_LEARNING, PLATEAU
from ..records.trace import Trace
from ..records.verdict import Evidence, Fix, Symptom
from ..records.wiring import ParameterRecord
from . import Suspicion
from ._groups import NUMBERS

GROUP = NUMBERS
ORDER = 1
EXPLAINS = (NOT_LEARNING, PLATEAU, INSTABILITY, EXPLOSION)

#: Spread between units against their size. Of the 257 healthy programs 21 weights start at 0 (heads, adapters, LoRA,
#: coupling layers), but after four steps none is below 7e-3.
_EQUAL = 1e-4
#: Spread times sqrt(inputs of a unit), of 1,684 weights of Linear and Conv layers in the 257 healthy programs: at most
#: 3.0, and at least 0.036, but for policy heads at 0.01, which are last layers. torch's own is 0.58.
_LARGE, _SMALL = 4.0, 0.02
#: With fewer inputs of a unit a spread says little. By judgement: 4 inputs are a toy.
_FEWEST_INPUTS = 4
#: Mean times inputs of a unit: what a layer makes of a constant input. Weights that are drawn around 0 stay below 1.
_SHIFTED = 8.0
#: Times the loss of a guess, when weights are too large. By judgement: it is evidence, and decides no verdict.
_FAR_ABOVE_CHANCE = 3

#: Spread times sqrt(inputs) as torch draws the weights of Linear and Conv layers: 1/sqrt(3).
_OF_TORCH = 0.577
#: Half or twice as large is no difference; Kaiming's and Xavier's are up to 2.5 times as large. By judgement.
_TWICE, _LARGER = 2.0, 2.5
#: Below any spread that matters: 1e-12.
_NO_ZERO = 1e-12


def look(trace: Trace, symptom: Symptom) -> Suspicion | None:
    weights = [p for p in wiring.weights(trace) if p.fan_in is not None or p.units is not None]
    equal = stay_equal(trace)
    if equal:
        return _units_equal(equal, weights, trace)
    zeros = wiring.zero_products(trace)
    if zeros:
        return _zero_times_zero(zeros, trace)
    muted = _muted(trace)
    if muted:
        return _scaled_by_zero(muted, trace)
    if symptom.category == EXPLOSION and singularities.at_its_own_singularity(trace.numbers.culprit):
        return None  # smaller weights only change the step at which the operation gets to the end of its domain
    weights = [p for p in weights if p.fan_in is not None]
    large = [p for p in weights if _scale(p) > _LARGE]
    if not large:
        shifted = [p for p in weights if _shift(p) > _SHIFTED]
        if shifted:
            return _all_of_one_sign(shifted, weights)
    small = [p for p in weights[:-1] if 0 < _scale(p) < _SMALL]
    odd = large or small
    if not odd:
        return _sure_from_the_start(trace)
    worst = (max if large else min)(odd, key=_scale)
    size = "large" if large else "small"
    usual = 1 / math.sqrt(worst.fan_in or 1)
    return Suspicion(
        statement=f"the weights of {worst.name} start far too {size}",
        evidence=(
            Evidence(
                f"{worst.name} starts with a spread of {wording.short(worst.std or 0.0)}; for units with "
                f"{wording.plural(worst.fan_in or 1, 'input')}, about {wording.short(usual)} is usual",
                _scale(worst),
            ),
            *_others(odd, weights, f"too {size}"),
            *_first_loss(trace),
        ),
        why=(
            "the outputs of such layers are far too large, and so is the gradient"
            if large
            else "hardly any of the input gets through such layers, or of the gradient"
        ),
        fix=Fix(_FIX, ("nn.init.kaiming_normal_(layer.weight)",)),
        not_this="another learning rate: it would have to fit each layer",
        cures=(_cure(odd),),
    )


def _sure_from_the_start(trace: Trace) -> Suspicion | None:
    """No weight is odd by itself, but the outputs are: an embedding that is used as the output layer as well."""
    if not chance.too_sure_at_first(trace):
        return None
    given = next(call.input for call in trace.loss.calls if call.step == 0)
    return Suspicion(
        statement="the model's outputs start far too large: it is sure of its answers before it has learnt anything",
        evidence=(
            Evidence(
                f"the outputs that the loss is given spread by {wording.short(given.std)} at step 0 (from "
                f"{wording.short(given.low)} to {wording.short(given.high)}); about 1 or less is usual",
                given.std,
            ),
            *_first_loss(trace),
        ),
        why="the first part of the training only takes that back",
        fix=Fix(
            "start the layer that makes the outputs smaller, also where its weights are an embedding's:",
            ("nn.init.normal_(embedding.weight, std=0.02)",),
        ),
        not_this="another learning rate: it would have to undo the start first as well",
        cures=(Cure("calmed_output", "outputs divided by their spread at the start"),),
    )


def _all_of_one_sign(shifted: list[ParameterRecord], weights: list[ParameterRecord]) -> Suspicion:
    worst = max(shifted, key=_shift)
    inputs = wording.plural(worst.fan_in or 1, "input")
    return Suspicion(
        statement=f"the weights of {worst.name} start around {wording.short(worst.mean)}, not around 0",
        evidence=(
            Evidence(
                f"{worst.name} starts with a mean of {wording.short(worst.mean)} and a spread of "
                f"{wording.short(worst.std or 0.0)}: a unit adds up {inputs} that do not cancel",
                worst.mean,
            ),
            *_others(shifted, weights, "far from 0 on average"),
        ),
        why="each such layer makes its input many times larger",
        fix=Fix(_FIX, ("nn.init.kaiming_normal_(layer.weight)",)),
        not_this="another learning rate: the values are too large before the first step",
        cures=(_cure(shifted),),
    )


def stay_equal(trace: Trace) -> list[ParameterRecord]:
    """Weights whose units were equal at the start and still are, after steps that should have told them apart.

    What gets a gradient that no optimizer uses stays as it is, however it began.
    """
    unused = {p.name for p in wiring.orphaned(trace)}
    return [p for p in wiring.weights(trace) if _stays_equal(p) and p.name not in unused]


def _muted(trace: Trace) -> list[ParameterRecord]:
    """Factors of normalisation layers that start at 0 and never get a gradient: nothing goes on behind them.

    One at the end of a residual branch starts at 0, too, and gets a gradient at the first step.
    """
    factors = [p for p in trace.trainable if "Norm" in p.module_class and p.name.rpartition(".")[2] == "weight"]
    return [p for p in factors if p.norm == 0 and p.gradients and not p.has_gradient]


_FIX = "leave the initialisation to the layers, or draw the weights at a scale that fits:"


def _scaled_by_zero(muted: list[ParameterRecord], trace: Trace) -> Suspicion:
    first = muted[0]
    names = wording.names([p.name for p in muted])
    start = "starts at 0 and stays" if len(muted) == 1 else "start at 0 and stay"
    silent = [p.name for p in trace.trainable if p.gradients and not p.has_gradient]
    return Suspicion(
        statement=f"{first.module_class} multiplies by 0: {names} {start} so",
        evidence=(
            Evidence(f"{names}: all 0 at the start, and no gradient other than 0 at any step", 0.0),
            Evidence(f"{wording.plural(len(silent), 'parameter')} without a gradient: {wording.names(silent)}"),
        ),
        why="what goes on is 0 for every sample, and no gradient comes back through a product with 0",
        fix=Fix("start the factors of normalisation layers at 1:", ("nn.init.ones_(norm.weight)",)),
        not_this="another learning rate: there is no gradient to follow",
        cures=(Cure("reinitialise", "normalisations and weights re-initialised", {"names": [p.name for p in muted]}),),
    )


def _zero_times_zero(zeros: list[ParameterRecord], trace: Trace) -> Suspicion:
    names = wording.names([p.name for p in zeros])
    return Suspicion(
        statement=f"{names} start at 0, and none of them ever gets a gradient",
        evidence=(
            Evidence(f"{names}: all 0 at the start, and a gradient of exactly 0 at every step", 0.0),
            Evidence(f"other weights move: {wording.names(moved)}")
            if (moved := [p.name for p in trace.trainable if p.moved])
            else Evidence("nothing moves"),
        ),
        why="in a product of two zeros, each one's gradient is a multiple of the other: neither ever begins",
        fix=Fix("let all of them but one start with small random values:", ("nn.init.normal_(table.weight, std=0.1)",)),
        not_this="another learning rate: there is no gradient to follow",
        cures=(_cure(zeros),),
    )


def _units_equal(equal: list[ParameterRecord], weights: list[ParameterRecord], trace: Trace) -> Suspicion:
    first = equal[0]
    zero = all(not p.norm for p in equal)
    units = wording.plural(first.units or first.shape[0], "unit")
    last = max(step for p in equal for step in p.unit_spread)
    start = "0" if zero else "equal"
    return Suspicion(
        statement=f"all {units} of {first.name} start {start} and stay equal",
        evidence=(
            Evidence(
                f"{first.name}: {units} equal at the start, still equal after {wording.plural(last, 'step')}", 0.0
            ),
            *_others(equal, weights, f"{'0' if zero else 'constant'} from the start"),
            *_first_loss(trace),
        ),
        why=(
            "with weights of 0 before and after it, a layer gets no gradient"
            if zero
            else "equal units get equal gradients, so they work as one"
        ),
        fix=Fix(_FIX, ("nn.init.kaiming_normal_(layer.weight)",)),
        not_this="more units or another learning rate: equal units stay equal",
        cures=(_cure(equal),),
    )


def _cure(odd: list[ParameterRecord]) -> Cure:
    return Cure("reinitialise", "weights re-initialised", {"names": [p.name for p in odd]})


def _others(odd: list[ParameterRecord], weights: list[ParameterRecord], how: str) -> list[Evidence]:
    if len(odd) < 2:
        return []
    return [Evidence(f"{len(odd)} of {wording.plural(len(weights), 'weight')} are {how}", float(len(odd)))]


def _first_loss(trace: Trace) -> list[Evidence]:
    """Against that of a guess, where the loss is a cross-entropy whose classes are known."""
    classes = next((call.classes for call in trace.loss.calls if call.classes), None)
    if not classes or classes < 2 or not trace.losses or not math.isfinite(trace.losses[0]):
        return []
    by_chance = math.log(classes)
    if trace.losses[0] < _FAR_ABOVE_CHANCE * by_chance:
        return []
    return [
        Evidence(
            f"the first loss is {wording.loss(trace.losses[0])}; guessing among {classes} classes gives "
            f"{wording.loss(by_chance)}",
            trace.losses[0],
        )
    ]


def _stays_equal(parameter: ParameterRecord) -> bool:
    """From the start to the last look, with updates in between."""
    looks = parameter.unit_spread
    if len(looks) < 2 or 0 not in looks or (parameter.units or parameter.shape[0]) < 2:
        return False
    if parameter.units is None and parameter.fan_in is None:
        return False  # nobody knows whether its rows are units
    if parameter.units is not None and parameter.never_reached:
        return False  # a table that this run does not use
    if (
        parameter.units is None
        and parameter.std
        and parameter.fan_in == parameter.shape[0] != parameter.size // parameter.shape[0]
    ):
        return False  # used the other way round: rows are no units
    return max(looks.values()) < _EQUAL


def _shift(parameter: ParameterRecord) -> float:
    return abs(parameter.mean) * (parameter.fan_in or 0)


def _scale(parameter: ParameterRecord) -> float:
    """Spread of the weights relative to 1/sqrt(inputs); 1 where it is unknown."""
    if parameter.std is None or parameter.fan_in is None or parameter.fan_in < _FEWEST_INPUTS:
        return 1.0
    return parameter.std * math.sqrt(parameter.fan_in)


def swap(trace: Trace, symptom: Symptom) -> Suspicion | None:
    """Weights that torch would have drawn at another scale, or around another mean."""
    # what an installed package draws is its own business
    weights = [p for p in wiring.weights(trace) if p.fan_in is not None and p.made_by == "user"]
    odd = [p for p in weights if not 1 / _TWICE < _scale(p) / _OF_TORCH < _LARGER * _TWICE or _shift(p) > 1]
    if not odd:
        return None
    worst = max(odd, key=lambda p: abs(math.log(max(_scale(p), _NO_ZERO) / _OF_TORCH)))
    usual = _OF_TORCH / math.sqrt(worst.fan_in or 1)
    return Suspicion(
        statement=f"{worst.name} starts with weights that do not fit the layer",
        evidence=(
            Evidence(
                f"{worst.name} starts with a mean of {wording.short(worst.mean)} and a spread of "
                f"{wording.short(worst.std or 0.0)}; torch draws them around 0 with a spread of {wording.short(usual)}",
                worst.std,
            ),
            *_others(odd, weights, "unlike torch's own"),
        ),
        why="with the initialisation that torch gives these layers the same training learns",
        fix=Fix("leave the initialisation to the layers"),
        not_this="another learning rate: it would have to fit each layer",
        cures=(Cure("default_initialisation", "torch's own initialisation"),),
    )
