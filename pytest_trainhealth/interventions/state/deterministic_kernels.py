"""Operations that torch can compute in a fixed order are."""

from __future__ import annotations

from contextlib import ExitStack

import torch

from ...observe.run.events import Listener
from ...observe.run.run import Run


class DeterministicKernels(Listener):
    def __init__(self, run: Run, stack: ExitStack) -> None:
        warns = torch.is_deterministic_algorithms_warn_only_enabled()
        stack.callback(
            torch.use_deterministic_algorithms, torch.are_deterministic_algorithms_enabled(), warn_only=warns
        )
        torch.use_deterministic_algorithms(True, warn_only=True)
