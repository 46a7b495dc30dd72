"""Whether the data in a trace has the scale that weights are initialised for. Used by several causes."""

from __future__ import annotations

from ..records.data import ScaleRecord
from ..records.trace import Trace

#: The inputs of the first weights in the 257 healthy programs: feature means of at most 1.2 and spreads of at most 2.2,
#: on average over the features. Ratings from 1 to 5 stay below, ages and degrees do not.
_INPUTS = 5.0
#: One feature of many. By judgement: ten times what the mean over the features may be.
_ONE_FEATURE = 50.0
#: Two healthy programs have targets around 50 with a spread of 5, the next a mean of 4.4 and a spread of 2.8.
_TARGET_MEAN = 60.0
#: Of the targets: twice the largest of the healthy programs, 5.
_TARGET_SPREAD = 10.0


def inputs_off_scale(trace: Trace) -> list[ScaleRecord]:
    return [
        s
        for s in trace.data.scales
        if not s.target and (s.mean > _INPUTS or s.std > _INPUTS or s.largest > _ONE_FEATURE)
    ]


def targets_off_scale(trace: Trace) -> list[ScaleRecord]:
    return [s for s in trace.data.scales if s.target and (s.mean > _TARGET_MEAN or s.std > _TARGET_SPREAD)]


def data_off_scale(trace: Trace) -> bool:
    return bool(inputs_off_scale(trace) or targets_off_scale(trace))
