"""Every parameter starts one rounding error away: what rounding alone does to a training, in each of its figures."""

from __future__ import annotations

from contextlib import ExitStack

import torch

from ...observe.run.events import Listener
from ...observe.run.run import Run
from ...tensors.readable import is_ordinary


class NudgedStart(Listener):
    """Relative, and up or down by chance: zeros stay zeros, as they do for whoever writes a sum in another order."""

    def __init__(self, run: Run, stack: ExitStack, seed: int = 1) -> None:
        self._run, self._seed = run, seed

    @torch.no_grad()
    def step_begins(self, batch: object) -> None:
        if self._run.step:
            return
        draw = torch.Generator().manual_seed(self._seed)
        for parameter in self._run.parameters.values():
            if is_ordinary(parameter) and parameter.is_floating_point() and parameter.layout is torch.strided:
                up = torch.randint(2, parameter.shape, generator=draw, device="cpu")
                up = up.to(parameter.device, parameter.dtype)
                parameter.mul_(1 + (2 * up - 1) * torch.finfo(parameter.dtype).eps)
