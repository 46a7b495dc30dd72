"""Code that was passed to torch.compile runs as it was written."""

from __future__ import annotations

from contextlib import ExitStack

import torch

from ...observe.run.events import Listener
from ...observe.run.run import Run


class Uncompiled(Listener):
    def __init__(self, run: Run, stack: ExitStack) -> None:
        stack.enter_context(torch.compiler.set_stance("force_eager"))
