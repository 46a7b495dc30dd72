"""Where a Lightning training has its data from, and how its loop gets them from somewhere else."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from torch.utils.data import DataLoader

from .needed import needed
from .stepwise_loop import StepwiseLoop

#: The optional dependency of this package that brings Lightning.
EXTRA = "lightning"

#: Batches. By judgement, as where schedulers are stepped: a test hands in a few batches of a data set whose epochs are
#: far longer.
_SHORTEST_EPOCH = 10
#: Batches, for one batch or data without a length: an epoch that does not end. Not infinity, as Lightning reads ahead
#: where a loader has no length. By judgement: no check gets that far.
_NO_END = 10**9


@dataclass(frozen=True)
class FoundData:
    train: Any
    validation: Any
    #: The datamodule or the module that makes its loaders itself; None where they were handed in.
    owner: Any = None
    datamodule: Any = None

    @contextmanager
    def handing_out(self, batches: EndlessEpochs) -> Iterator[None]:
        """The owner hands out these batches; and what was prepared already, it does not prepare again."""
        stand_ins: dict[str, Callable[..., Any]] = {
            "prepare_data": lambda: None,
            "setup": lambda stage=None: None,
            "train_dataloader": lambda: batches,
        }
        if self.validation is not None:
            stand_ins["val_dataloader"] = lambda: self.validation
        before = {name: vars(self.owner)[name] for name in stand_ins if name in vars(self.owner)}
        for name, stand_in in stand_ins.items():
            object.__setattr__(self.owner, name, stand_in)
        try:
            yield
        finally:
            for name in stand_ins:
                object.__delattr__(self.owner, name)
            for name, own in before.items():
                object.__setattr__(self.owner, name, own)


class EndlessEpochs:
    """What the Trainer takes for its loader: epochs of the length of the data, whose batches come from the run."""

    def __init__(self, loop: StepwiseLoop) -> None:
        self._loop = loop
        self.length = _epoch_length(loop.data)  # type: ignore[attr-defined]

    def __len__(self) -> int:
        return self.length

    def __iter__(self) -> Iterator[Any]:
        return _Epoch(self._loop, self.length)


class _Epoch:
    def __init__(self, loop: StepwiseLoop, length: int) -> None:
        self._loop, self._left = loop, length

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        if not self._left:
            raise StopIteration
        self._left -= 1
        return self._loop.next_batch()


def _epoch_length(data: Any) -> int:
    if not isinstance(data, (list, DataLoader, Together)) and not hasattr(data, "__iter__"):
        return _NO_END
    try:
        count = len(data)
    except TypeError:
        return _NO_END
    return max(count, _SHORTEST_EPOCH) if count > 1 and not isinstance(data, (Mapping, tuple)) else _NO_END


class Together:
    """Several loaders at once, as Lightning joins them: a batch has one of each."""

    def __init__(self, loaders: Any) -> None:
        self._loaders, self._apply = loaders, needed("lightning_utilities.core.apply_func", EXTRA).apply_to_collection
        found: list[Any] = []
        self._apply(loaders, DataLoader, found.append)
        self._each = found

    def __len__(self) -> int:
        return max(len(each) for each in self._each)

    def __iter__(self) -> Iterator[Any]:
        iterators = [iter(each) for each in self._each]
        for _ in range(len(self)):
            batches = []
            for at, loader in enumerate(self._each):
                batch = next(iterators[at], None)
                if batch is None:  # the shorter ones begin anew
                    iterators[at] = iter(loader)
                    batch = next(iterators[at])
                batches.append(batch)
            given = iter(batches)
            yield self._apply(self._loaders, DataLoader, lambda _, given=given: next(given))


def found_data(module: Any, data: Any, val_data: Any, trainer: Callable[[], Any], datamodule_kind: type) -> FoundData:
    """`trainer`: makes one, for those who ask theirs while they prepare their data."""
    if data is not None and not isinstance(data, datamodule_kind):
        return FoundData(_joined(data), val_data)
    owner: Any = module if data is None else data
    owner.trainer = trainer()
    try:
        owner.prepare_data()
        owner.setup("fit")
        train = _joined(owner.train_dataloader())
        validation = _handed_out(owner.val_dataloader) if val_data is None else val_data
    finally:
        owner.trainer = None
    return FoundData(train, validation, owner, data)


def _handed_out(val_dataloader: Callable[[], Any]) -> Any:
    """None where there are no data for validation: Lightning's own method raises then, or has nothing."""
    try:
        return val_dataloader()
    except Exception as error:
        if type(error).__name__ == "MisconfigurationException" or isinstance(error, NotImplementedError):
            return None
        raise


def _joined(data: Any) -> Any:
    several = data if isinstance(data, (list, tuple)) else list(data.values()) if isinstance(data, Mapping) else ()
    return Together(data) if any(isinstance(each, DataLoader) for each in several) else data
