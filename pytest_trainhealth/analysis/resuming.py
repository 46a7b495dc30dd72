"""A run that was resumed, beside the one that nothing interrupted."""

from __future__ import annotations

from .. import wording
from ..records.trace import Trace
from .same_runs import Difference, apart


def parts_ways(whole: Trace, resumed: Trace) -> Difference | None:
    """The first difference, counted in the steps of the uninterrupted run; None where there is none.

    A run from a checkpoint has only the steps after it; one that forgets on its way has them all.
    """
    offset = whole.steps - resumed.steps
    for number, loss in enumerate(resumed.losses):
        step = number + offset
        if not 0 <= step < whole.steps:
            break
        one, other = whole.state.batches, resumed.state.batches
        if step < len(one) and number < len(other) and one[step] != other[number]:
            return Difference("batch", step, f"step {step} gets another batch", 1.0)
        if whole.losses[step] != loss:
            measured = abs(whole.losses[step] - loss)
            return Difference("loss", step, f"step {step} has a loss of {apart(whole.losses[step], loss)}", measured)
    other_values = resumed.state.end
    differ = [name for name, value in whole.state.end.items() if other_values.get(name, value) != value]
    if differ:
        names = wording.names(differ)
        return Difference("values", whole.steps - 1, f"{names} end with other values", float(len(differ)))
    return None
