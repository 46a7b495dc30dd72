"""Stored values that change where nobody means them to: samples of a dataset, and tensors that a module keeps."""

from __future__ import annotations

import inspect
import random
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode
from torch.utils.data import DataLoader, IterableDataset, Subset

from ....records.data import KeptTensor, SampleChange
from ....records.verdict import Place
from ....tensors.batches import tensors
from ....tensors.module_paths import full_path
from ....tensors.norms import norms
from ....tensors.storage import memory_of
from ...run.run import Run
from ...source.authorship import package_of
from ...source.places import place_of, user_place

#: Larger stores are not looked at: comparing and copying them would take too long. By judgement: 16 MB of float32.
_MOST_VALUES = 4_000_000
#: In a list of samples. By judgement: a list of more is a large data set.
_MOST_TENSORS = 4096
#: How often a sample is shown, once it is known that something writes into the store. By judgement: three readings tell
#: a change that goes on from one that happened once.
_READS = 3
#: Other samples that are read in between. By judgement: 3 are enough to fill a buffer that is shared.
_BETWEEN = 3
#: A change that is no rounding, relative to the sample. By judgement: rounding is 1e-7 in float32.
_CLEAR = 1e-3
#: The least size of a sample, so that one of zeros has a limit, too: below any value that matters (1e-12).
_NO_ZERO = 1e-12


class Samples:
    """Whether a sample is another one each time that it is read. It is read again only where the store has changed."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._stored: list[Stored] = []

    def run_begins(self) -> None:
        dataset = dataset_of(self._run.feed.source) if self._run.feed is not None else None
        self._stored = [] if dataset is None else stored_in(dataset)

    def run_ends(self) -> None:
        changed = [s for s in self._stored if s.changed]
        dataset = dataset_of(self._run.feed.source) if changed else None
        if dataset is not None:
            with put_back_random_numbers() as again:
                self._run.trace.sample_change = _read_again(dataset, changed, again)
        self._stored.clear()


class Stored:
    """A tensor or array of a dataset's own that holds its samples, as it is now."""

    def __init__(self, name: str, values: Any) -> None:
        self.name, self.values = name, values
        self.value = values.detach().clone() if isinstance(values, Tensor) else values.copy()
        self._version = values._version if isinstance(values, Tensor) else 0

    @property
    def changed(self) -> bool:
        if isinstance(self.values, Tensor):
            return bool(self.values._version != self._version)
        return not np.array_equal(self.values, self.value, equal_nan=self.values.dtype.kind == "f")

    def put_back(self) -> None:
        if not self.changed:
            return
        if isinstance(self.values, Tensor):
            with torch.no_grad():
                self.values.copy_(self.value)
            self._version = self.values._version
        else:
            np.copyto(self.values, self.value)


def dataset_of(data: Any) -> Any:
    """The user's own dataset behind a loader that reads it in this process, or keeps its workers; None otherwise."""
    if not isinstance(data, DataLoader) or (data.num_workers and not data.persistent_workers):
        return None
    dataset: Any = data.dataset
    while isinstance(dataset, Subset):
        dataset = dataset.dataset
    if isinstance(dataset, IterableDataset) or not all(hasattr(dataset, n) for n in ("__dict__", "__len__")):
        return None
    return dataset if package_of(type(dataset)) == "user" else None


def stored_in(dataset: Any) -> list[Stored]:
    """What has a row, or an item, for each sample."""
    size, found = len(dataset), []
    for name, held in vars(dataset).items():
        if isinstance(held, (Tensor, np.ndarray)) and held.ndim and len(held) == size:
            found.append((name, held))
        elif isinstance(held, (list, tuple)) and len(held) == size <= _MOST_TENSORS:
            found.extend((name, each) for each in held if isinstance(each, (Tensor, np.ndarray)))
    if sum(int(np.prod(values.shape)) for _, values in found) > _MOST_VALUES:
        return []
    return [Stored(name, values) for name, values in found if _is_plain(values)]


def _is_plain(values: Any) -> bool:
    if isinstance(values, Tensor):
        return values.layout == torch.strided and not values.is_inference()
    return bool(values.flags.writeable) and values.dtype.kind in "fiub"


def _read_again(dataset: Any, changed: list[Stored], again: Callable[[], None]) -> SampleChange | None:
    """The same sample with the same random numbers: twice from the same store, then with others read in between."""
    before = [Stored(s.name, s.values) for s in changed]
    writes = Writes([s.values for s in changed])

    def read() -> list[Tensor]:
        again()
        with writes:
            return [t.detach().clone() for _, t in tensors(_as_tensors(dataset[0]))]

    def put_back() -> None:
        for stored in before:
            stored.put_back()

    try:
        first = read()
        put_back()
        found = [read()]
        if _differ(first, found[0]):
            return None  # it changes of itself: a schedule, or random numbers of its own
        for _ in range(_READS - 1):
            for _ in range(_BETWEEN):
                dataset[0]  # goes on with other random numbers
            found.append(read())
        culprit = sorted({stored.name for stored in before if stored.changed})
    except Exception:  # a sample that cannot be read by itself tells nothing
        return None
    finally:
        put_back()
    if not culprit or not _differ(found[0], found[-1]):
        return None
    means = tuple(float(values[0].double().mean()) for values in found)
    place = next(iter(writes.places.values()), None) or _place_of_getitem(dataset)
    return SampleChange(type(dataset).__name__, culprit[0], 0, means, place)


def _as_tensors(sample: Any) -> Any:
    if isinstance(sample, np.ndarray):
        return torch.from_numpy(sample.copy()) if sample.dtype.kind in "fiub" else None
    if isinstance(sample, (list, tuple)):
        return [_as_tensors(each) for each in sample]
    return {key: _as_tensors(each) for key, each in sample.items()} if isinstance(sample, dict) else sample


def _differ(one: list[Tensor], other: list[Tensor]) -> bool:
    """Some tensor of the sample changed by more than rounding."""
    for first, second in zip(one, other, strict=False):
        if first.shape == second.shape:
            change, size = norms([second.double() - first.double(), first.double()])
            if change > _CLEAR * max(size, _NO_ZERO):
                return True
    return False


def _place_of_getitem(dataset: Any) -> Place | None:
    try:
        file, line = inspect.getsourcefile(type(dataset).__getitem__), inspect.getsourcelines(type(dataset).__getitem__)
    except (OSError, TypeError):
        return None
    return None if file is None else place_of(file, line[1])


@contextmanager
def put_back_random_numbers() -> Iterator[Callable[[], None]]:
    """Hands out a function that makes the next numbers the same ones again."""
    ours, pythons, numpys = torch.get_rng_state(), random.getstate(), np.random.get_state()

    def again() -> None:
        torch.set_rng_state(ours)
        random.setstate(pythons)
        np.random.set_state(numpys)

    try:
        yield again
    finally:
        again()


class Writes(TorchFunctionMode):
    """Remembers the line that last wrote into each of these."""

    def __init__(self, values: list[Any]) -> None:
        super().__init__()
        self._pointers = {memory_of(v) for v in values if isinstance(v, Tensor)}
        self.places: dict[int, Place | None] = {}

    def __torch_function__(self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        name = getattr(func, "__name__", "")
        if name == "__setitem__" or _writes(name):
            written = args[0] if args else None
            if isinstance(written, Tensor) and memory_of(written) in self._pointers:
                self.places[memory_of(written)] = user_place()
        return result


def _writes(name: str) -> bool:
    return name.endswith("_") and not name.endswith("__")


class KeptTensors:
    """Buffers and other tensors that modules of the user's own keep, and how far they are from where they began."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._open: ExitStack | None = None
        self._places: dict[int, Place | None] = {}
        self._kept: dict[str, tuple[Tensor, Tensor]] = {}
        self._known = 0

    def run_begins(self) -> None:
        self._meet_models()

    def step_begins(self, batch: object) -> None:
        self._meet_models()
        if self._run.step < 2 and self._kept:
            self._open = ExitStack()
            self._places = self._open.enter_context(Writes([t for t, _ in self._kept.values()])).places

    def step_ends(self) -> None:
        self.run_ends()
        if not self._run.sampled:
            return
        for name, (tensor, start) in self._kept.items():
            change, size = norms([tensor.detach() - start, start])
            record = self._run.trace.kept_tensors.setdefault(name, KeptTensor(name))
            record.changes[self._run.step], record.size = change, size
            record.place = record.place or self._places.get(memory_of(tensor))

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


def kept_by(model: nn.Module) -> Iterator[tuple[str, Tensor]]:
    """Floats that classes of the user's own keep beside their parameters. What libraries keep is their business."""
    for path, module in model.named_modules():
        if package_of(type(module)) != "user":
            continue
        for name, held in (*module._buffers.items(), *vars(module).items()):
            if isinstance(held, Tensor) and _is_kept(held):
                yield full_path(path, name), held


def _is_kept(tensor: Tensor) -> bool:
    plain = tensor.layout == torch.strided and tensor.is_floating_point() and not tensor.is_inference()
    return plain and not tensor.requires_grad and tensor.numel() > 0
