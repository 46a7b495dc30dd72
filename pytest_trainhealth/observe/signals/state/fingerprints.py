"""Fingerprints of batches and random numbers at each step, and of all values at the end."""

from __future__ import annotations

import random

import numpy as np
import torch

from ....tensors.batches import tensors
from ....tensors.fingerprint import fingerprint
from ....tensors.module_paths import full_path
from ...run.run import Run
from ...run.signal import Cost, Signal


class Fingerprints(Signal):
    NAME, COST = "fingerprints", Cost.STATE

    def __init__(self, run: Run) -> None:
        super().__init__(run)
        run.trace.state.threads = torch.get_num_threads()
        run.trace.state.from_training = run.training is not None

    def step_begins(self, batch: object) -> None:
        self._run.trace.state.batches.append(fingerprint([tensor for _, tensor in tensors(batch)]))

    def step_ends(self) -> None:
        self._run.trace.state.draws.append(
            (
                fingerprint(torch.get_rng_state()),
                fingerprint(list(np.random.get_state())),
                fingerprint(random.getstate()),
            )
        )

    def run_ends(self) -> None:
        end = self._run.trace.state.end
        for name, parameter in self._run.parameters.items():
            end[name] = fingerprint(parameter)
        for prefix, model in self._run.models.items():
            for name, buffer in model.named_buffers():
                end[full_path(prefix, name)] = fingerprint(buffer)
