"""Ends the worker processes of a loader: patiently, or at once if an interrupt is on its way.

torch waits 5 s for each worker before it ends one that hangs. xdist gives an interrupted process some 5 s before it
kills it, and what a killed process has not ended runs on for ever.
"""

from __future__ import annotations

import sys
from typing import Any

from torch.utils.data import _utils

#: Seconds that a worker has to end by itself after an interrupt. By judgement: one that waits for work needs
#: milliseconds, and sixteen that hang must not take the 5 s of xdist.
_AFTER_AN_INTERRUPT = 0.1


def end_workers(iterator: Any) -> None:
    """Nothing happens to iterators without workers, and to workers that have ended."""
    shut_down = getattr(iterator, "_shutdown_workers", None)
    if shut_down is None:
        return
    if isinstance(sys.exception(), Exception | None):
        shut_down()
        return
    patience = _utils.MP_STATUS_CHECK_INTERVAL
    _utils.MP_STATUS_CHECK_INTERVAL = _AFTER_AN_INTERRUPT
    try:
        shut_down()
    finally:
        _utils.MP_STATUS_CHECK_INTERVAL = patience
        for worker in getattr(iterator, "_workers", ()):
            if worker.is_alive():  # it does not listen to SIGTERM
                worker.kill()
