"""What a process does only once: it imports a package, compiles a function, wakes a device."""

from __future__ import annotations

import sys
from typing import Any


class FirstTimes:
    """Notices that something was done for the first time since it was last asked.

    Asked once a step, so it compares a few numbers; nothing is wrapped or hooked.
    """

    def __init__(self) -> None:
        self._seen = _done_so_far()

    def any_since(self) -> bool:
        before, self._seen = self._seen, _done_so_far()
        return any(now > then for now, then in zip(self._seen, before, strict=True))


def _done_so_far() -> tuple[int, int, int]:
    return len(sys.modules), _compiled(), _devices_awake()


def _compiled() -> int:
    """How often `torch.compile` has compiled something. Asked of torch only if it has been imported for that."""
    dynamo: Any = sys.modules.get("torch._dynamo.utils")
    metrics: Any = getattr(dynamo, "compilation_time_metrics", None)
    return sum(map(len, metrics.values())) if metrics else 0


def _devices_awake() -> int:
    cuda: Any = sys.modules.get("torch.cuda")
    initialised = getattr(cuda, "is_initialized", None)
    return int(initialised is not None and initialised())
