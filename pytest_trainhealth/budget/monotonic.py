"""The one clock that budgets go by. Tests put another in its place, and come to the same verdicts.

The speed of a training is measured with `time.perf_counter` where it is measured; nothing else asks for the time.
"""

from __future__ import annotations

import time


def now() -> float:
    """Seconds, of a clock that never goes back. Call it as `monotonic.now()`, so that it can be exchanged."""
    return time.monotonic()
