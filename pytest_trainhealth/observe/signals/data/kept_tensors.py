"""Buffers and other tensors that the user's own modules keep, and how far they are from where they began."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

from torch import Tensor, nn

from ....records.data import KeptTensor
from ....tensors.module_paths import full_path
from ....tensors.norms import norms
from ....tensors.plain import is_given
from ....tensors.storage import memory_of
from ...run.run import Run
from ...run.signal import Cost, Signal
from ...source.authorship import package_of
from .stored_data import Writes


class KeptTensors(Signal):
    NAME, COST = "kept_tensors", Cost.CLOSE

    def __init__(self, run: Run) -> None:
        self._run = run
        self._open: ExitStack | None = None
        self._writes: Writes | None = None
        self._kept: dict[str, tuple[Tensor, Tensor]] = {}
        self._known = 0

    def run_begins(self) -> None:
        self._meet_models()

    def step_begins(self, batch: object) -> None:
        self._meet_models()
        if self._run.step < 2 and self._kept:
            self._open = ExitStack()
            self._writes = self._open.enter_context(Writes([t for t, _ in self._kept.values()]))

    def step_ends(self) -> None:
        self.run_ends()
        if not self._run.sampled:
            return
        for name, (tensor, start) in self._kept.items():
            moved = tensor.detach() - start
            if _is_one_number(moved) or self._is_assigned(tensor):
                continue
            change, size = norms([moved, start])
            record = self._run.trace.data.kept_tensors.setdefault(name, KeptTensor(name))
            record.changes[self._run.step], record.size = change, size
            record.place = record.place or (self._writes.places.get(memory_of(tensor)) if self._writes else None)

    def _is_assigned(self, tensor: Tensor) -> bool:
        """Set anew at each step, as from a counter: nothing adds up."""
        where = memory_of(tensor)
        return self._writes is not None and where in self._writes.places and where not in self._writes.changed

    def run_ends(self) -> None:
        if self._open is not None:
            self._open.close()
            self._open = None

    def _meet_models(self) -> None:
        for prefix, model in list(self._run.models.items())[self._known :]:
            for name, tensor in kept_by(model):
                full = full_path(prefix, name)
                self._kept[full] = (tensor, tensor.detach().clone())
        self._known = len(self._run.models)


def _is_one_number(moved: Tensor) -> bool:
    """A counter, or a weight that is annealed: a schedule, which is meant to go on, whatever the data are."""
    return bool(moved.any()) and float(moved.min()) == float(moved.max())


def kept_by(model: nn.Module) -> Iterator[tuple[str, Tensor]]:
    """Float tensors that the user's own classes keep in addition to parameters. Those of libraries do not count."""
    for path, module in model.named_modules():
        if package_of(type(module)) != "user":
            continue
        for name, held in (*module._buffers.items(), *vars(module).items()):
            if isinstance(held, Tensor) and is_given(held) and held.is_floating_point():
                yield full_path(path, name), held
