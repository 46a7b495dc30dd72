"""batch-too-small: BatchNorm takes its statistics from one or two samples

What happens
    BatchNorm subtracts the mean of the batch and divides by its spread. With one value per channel nothing is left, and
    torch raises an error; with two values +1 and -1 are left, whatever they were. The samples of a batch decide each
    other's outputs, and the running statistics are noise.

How severe it is
    High: statistics of two samples are noise, and differ from those in use.

How it is recognised
    A BatchNorm layer in training mode that is given one or two values per channel (samples times positions); the
    error "Expected more than 1 value per channel when training". The re-run joins 16 batches into one. Or a step cuts
    its batch, which is large enough, into pieces of one or two samples for the model (micro-batches): then no BatchNorm
    ever gets more, and the re-run normalises each sample by itself. Or every batch is one sample, an image with many
    positions, and nothing is learnt of what a sample as a whole is like: the re-run takes the same batches, and
    normalises them by the running statistics of many.

How to fix it
    Larger batches; `drop_last=True` where only the last batch of an epoch is that small; or GroupNorm or LayerNorm,
    which do not look at other samples.

What not to do
    Another learning rate. Accumulated gradients: BatchNorm still sees the small batch.

How to prevent it
    GroupNorm or LayerNorm where batches are small; `drop_last=True` where the last one is. `trains_without_nan` tries
    the last batch.

When this is wrong
    Convolutions have many positions per sample, so a batch of two images is enough: positions are counted, and no alarm
    is raised. A batch of one image is one only where running statistics make the difference.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from .. import wording
from ..analysis import wiring
from ..records.intervention import Cure
from ..records.symptoms import CRASH, INSTABILITY, NOT_LEARNING, PLATEAU, SILENT
from ..records.trace import Trace
from ..records.verdict import Evidence, Fix, Place, Symptom
from . import Suspicion
from ._groups import DATA, Stage

GROUP = DATA
#: A matter of degree, as numbers are: noisy statistics alone do not acquit the learning rate.
STAGE = Stage.NUMBERS
ORDER = 12
EXPLAINS = (CRASH, NOT_LEARNING, PLATEAU, INSTABILITY, SILENT)

_FEW = wiring.FEW_VALUES
#: Values of a channel, for a swap, which decides. By judgement: of four values the spread is known to a third.
_RATHER_FEW = 4
#: Nothing is learnt, or no more than a part.
_NO_COURSE = (NOT_LEARNING, PLATEAU)
_MESSAGE = "more than 1 value per channel"


def look(trace: Trace, symptom: Symptom) -> Suspicion | None:
    few = {path: count for path, count in trace.numbers.values_per_channel.items() if count <= _FEW}
    crash = trace.crash
    pieces = wiring.batch_norms_in_pieces(trace)
    if not few and crash is None and symptom.category in _NO_COURSE and wiring.batch_norms_of_one_sample(trace):
        return _of_one_sample(trace)
    if not few or (crash is None and not pieces and not wiring.batch_norms_starved(trace)):
        return None
    if symptom.category == SILENT:  # that batches are cut shows in the calls themselves, which no cure changes
        return replace(_suspicion(trace, few), cures=()) if pieces else None
    if symptom.category == CRASH and (crash is None or _MESSAGE not in crash.message):
        return None
    return _suspicion(trace, few)


def _of_one_sample(trace: Trace) -> Suspicion:
    """Many positions of one picture: the layer takes away what the picture as a whole is like.

    Larger batches would prove nothing, as they also see more samples. So the same batches are normalised by the running
    statistics, which are those of many samples.
    """
    found = _suspicion(trace, trace.numbers.values_per_channel)
    path = min(trace.numbers.values_per_channel, key=lambda path: trace.numbers.values_per_channel[path])
    record = trace.wiring.modules.get(path)
    name = f"{record.kind if record is not None else 'BatchNorm'} {path}".strip()
    return replace(
        found,
        statement=f"{name} takes its statistics from one sample at a time",
        why="what a sample as a whole is like is its own mean and spread, which the layer takes away",
        cures=(Cure("running_statistics", "the same batches, normalised by running statistics"),),
    )


SWAPS = "model"


def swap(trace: Trace, symptom: Symptom) -> Suspicion | None:
    """BatchNorms that see few values, wherever those come from: a step may cut its batch into small pieces."""
    few = {path: count for path, count in trace.numbers.values_per_channel.items() if count <= _RATHER_FEW}
    return _suspicion(trace, few) if few and trace.crash is None else None


def _suspicion(trace: Trace, few: Mapping[str, int]) -> Suspicion:
    crash = trace.crash
    path, count = min(few.items(), key=lambda item: item[1])
    record = trace.wiring.modules.get(path)
    name = f"{record.kind if record is not None else 'BatchNorm'} {path}".strip()
    size = trace.batch_size or 0
    evidence = [Evidence(f"{name} gets {wording.plural(count, 'value')} per channel", float(count))]
    places: tuple[Place, ...] = ()
    last = crash is not None and size > _FEW
    if crash is not None:
        where = f"after {crash.step} batches of {size}" if last else f"in batch {crash.step}"
        evidence[0] = Evidence(f"{name} gets {wording.plural(count, 'value')} per channel {where}", float(count))
        places = () if crash.place is None else (crash.place,)
    elif size:
        evidence.append(Evidence(f"a batch holds {wording.plural(size, 'sample')}", float(size)))
    if record is not None and record.place is not None:
        places = (record.place,)
    fix = Fix("leave out the incomplete batch at the end of an epoch:", ("DataLoader(..., drop_last=True)",))
    if not last:
        fix = Fix("make batches larger, or use a norm that does not look at other samples:",
                  ("GroupNorm(num_groups, num_channels)  # or LayerNorm",))  # fmt: skip
    return Suspicion(
        statement=f"{name} takes its statistics from {wording.plural(count, 'value')} per channel",
        evidence=tuple(evidence),
        why="the mean and spread of so few values leave nothing but the sign"
        if count > 1
        else "one value is its own mean, and nothing is left of it",
        places=places,
        fix=fix,
        not_this="another learning rate, or accumulated gradients: BatchNorm still sees the small batch",
        cures=(
            Cure("larger_batches", "16 batches joined into one", {"count": 16}),
            Cure("group_norms", "each sample normalised by itself"),
        ),
    )
