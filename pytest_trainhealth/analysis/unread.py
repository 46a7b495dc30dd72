"""What a check needs and nobody could read: then it has been shown nothing, neither health nor a fault."""

from __future__ import annotations

from collections.abc import Iterable

from ..records.trace import THE_RUN, Trace

#: What every check counts on, besides the signals that it names.
_FOR_ALL = (THE_RUN, "optimizers", "backwards")


def not_read(trace: Trace, signals: Iterable[str]) -> str:
    """Why the check cannot judge, in one line; empty if all that it needs was read.

    A signal that it does not name may be missing: that is one piece of evidence less.
    """
    for name in (*_FOR_ALL, *signals):
        if name in trace.not_read:
            return f"{name.replace('_', ' ')}: not read ({trace.not_read[name]})"
    for name, why in trace.unreadable.items():
        return f"{name}: not read ({why})"
    return ""
