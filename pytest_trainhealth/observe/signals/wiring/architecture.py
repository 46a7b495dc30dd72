"""How the model is built, at the first step: which layers run, what they do to the spread of values, and how deep
the graph is behind the loss."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn
from torch.nn.modules.batchnorm import _NormBase
from torch.nn.modules.conv import _ConvNd

from ....records.architecture import ArchitectureRecord, LayerRecord
from ....tensors.batches import tensors
from ....tensors.graph import weights_on_the_way
from ...run.run import Run
from ...run.signal import Cost, Signal
from ...source.module_calls import Watching

_NORMALISATIONS = (_NormBase, nn.LayerNorm, nn.GroupNorm, nn.RMSNorm, nn.LocalResponseNorm)


class Architecture(Signal):
    NAME, COST = "architecture", Cost.BRIEF

    def __init__(self, run: Run) -> None:
        super().__init__(run)
        self._handle: Watching | None = None
        self._paths: dict[int, str] = {}
        self._normalised: set[int] = set()

    def step_begins(self, batch: object) -> None:
        if self._run.step or self._handle is not None:
            return
        record = self._run.trace.wiring.architecture = ArchitectureRecord()
        self._paths = {id(module): path for path, module in self._run.named_modules()}
        record.recurrent = any(isinstance(m, nn.RNNBase | nn.RNNCellBase) for _, m in self._run.named_modules())
        record.samples = self._samples()
        self._handle = self._after_call(self._ran)

    def backward_begins(self, roots: list[Tensor]) -> None:
        record = self._run.trace.wiring.architecture
        if record is not None and record.longest is None and not self._run.step and not record.recurrent:
            record.longest, record.shortest = weights_on_the_way(roots) or (None, None)

    def step_ends(self) -> None:
        self.run_ends()

    def run_ends(self) -> None:
        if self._handle is not None:
            self._handle.remove()
            self._handle = None

    def _ran(self, module: nn.Module, inputs: Any, output: Any) -> None:
        record = self._run.trace.wiring.architecture
        if record is None or id(module) not in self._paths:
            return
        # by name as well: large models bring normalisations of their own (LlamaRMSNorm)
        if isinstance(module, _NORMALISATIONS) or type(module).__name__.endswith("Norm"):
            record.normalisations += id(module) not in self._normalised
            self._normalised.add(id(module))
        if not isinstance(module, nn.Linear | _ConvNd):
            return
        path, given = self._paths[id(module)], next((t for _, t in tensors(inputs)), None)
        if isinstance(output, Tensor) and given is not None and path not in {each.path for each in record.layers}:
            record.layers.append(LayerRecord(path, type(module).__name__, _spread(given), _spread(output)))

    def _samples(self) -> int | None:
        feed = self._run.feed
        dataset = None if feed is None else getattr(feed.source, "dataset", None)
        try:
            return len(dataset)  # type: ignore[arg-type]
        except TypeError:
            count, size = self._run.trace.batches, self._run.trace.batch_size
            return count * size if count and size else None


def _spread(tensor: Tensor) -> float:
    values = tensor.detach()
    return float(values.float().std(correction=0)) if values.numel() > 1 and not values.is_complex() else 0.0
