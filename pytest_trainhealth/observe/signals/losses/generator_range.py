"""Whether the output range of a generator covers the data that its adversary compares it with.

An adversary gets the generator's output twice: in its own turn, mostly detached, and in the generator's turn. (A critic
that judges the actions of an actor next to those of the data gets them once: these may lie in different ranges.)
"""

from __future__ import annotations

from collections import Counter
from math import isfinite

import torch
from torch import Tensor, nn

from ....records.loss_functions import RANGES
from ....records.losses import GeneratorRange
from ....records.verdict import Place
from ....tensors.batches import tensors
from ....tensors.storage import memory_of
from ...calls.activation_origin import Made, Outputs
from ...calls.torch_calls import Call
from ...run.run import Run
from ...source.places import user_place

_LAYERS = {"linear", "conv1d", "conv2d", "conv3d"}
#: How far outside the range a value has to lie, as a share of the range: rounding and a little noise are not a fault.
#: By judgement: a twentieth.
_FAR = 0.05


class Imitations:
    def __init__(self, run: Run, outputs: Outputs) -> None:
        self._run, self._outputs = run, outputs
        self._memory: set[int] = set()
        #: By the weight of the adversary's layer that is given the output.
        self._made: dict[int, Made] = {}
        self._times: Counter[int] = Counter()
        self._real: dict[int, tuple[Tensor, Place | None]] = {}
        self._reported: set[int] = set()

    def know_data(self, batch: object) -> None:
        """Whatever shares memory with the batch is real data."""
        self._memory = {memory_of(t) for _, t in tensors(batch) if t.is_floating_point() and t.layout == torch.strided}

    def clear(self) -> None:
        self._memory.clear()
        self._made.clear()
        self._times.clear()
        self._real.clear()
        self._reported.clear()

    def note(self, call: Call) -> None:
        """To be called after each call that returned something with a graph."""
        weight = call.args[1] if call.name in _LAYERS and len(call.args) > 1 else None
        if not isinstance(weight, nn.Parameter) or id(weight) in self._reported:
            return
        given, key = call.args[0], id(weight)
        made = self._outputs.made(given)
        if made is not None:
            self._made[key] = made
            self._times[key] += 1
        elif not given.requires_grad and given.layout == torch.strided:
            if memory_of(given) in self._memory:
                self._real[key] = (given, user_place())
            elif self._outputs.holds(given):
                self._times[key] += 1
        if key in self._made and key in self._real and self._times[key] > 1:
            self._reported.add(key)
            self._record(call, weight, self._made[key], *self._real[key])

    def _record(self, call: Call, weight: nn.Parameter, made: Made, real: Tensor, place: Place | None) -> None:
        run, part = self._run, made.module.partition(".")[0]
        makers = {
            label for name, p in run.parameters.items() if name.startswith(f"{part}.") for label in run.held_by(p)
        }
        if not makers or not run.held_by(weight) or makers & set(run.held_by(weight)):
            return  # not adversaries: one optimizer holds both
        values = real.detach()
        low, high = RANGES[made.activation]
        width = high - low if isfinite(high - low) else float(values.abs().max())
        outside = (values < low - _FAR * width) | (values > high + _FAR * width)
        run.trace.loss.generator_ranges.append(
            GeneratorRange(
                run.step,
                call.module,
                made.activation,
                made.module,
                made.place,
                float(values.min()),
                float(values.max()),
                place,
                float(outside.float().mean()),
            )
        )
