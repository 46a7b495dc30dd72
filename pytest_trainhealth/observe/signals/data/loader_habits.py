"""What loaders do beside handing out samples: shared indices, random numbers that workers copy, random validation."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import ConcatDataset, DataLoader, IterableDataset, RandomSampler

from ....records.survey import SharedSamples, WorkerRandomness
from ....state.process import remember_random_numbers, seed_everything
from ....tensors.batches import tensors
from .bounded_reading import underlying

#: Attributes of attributes: a data set's transform, and those that it is composed of. By judgement: 3.
_DEEPEST = 3
#: Two seeds, as two workers have. By judgement: any would do, as long as they differ.
_ONE, _OTHER = 303, 404


def shared_indices(data: Any, val: Any) -> SharedSamples | None:
    """Where both loaders read one data set: which samples both do. None where they do not, or nobody knows."""
    if not isinstance(data, DataLoader) or not isinstance(val, DataLoader):
        return None
    (one, first), (other, second) = underlying(data.dataset), underlying(val.dataset)
    if one is not other or isinstance(one, IterableDataset) or not hasattr(one, "__len__"):
        return None
    if not _takes_all(data) or not _takes_all(val):
        return None
    indices = range(len(one)) if first is None else first
    others = range(len(one)) if second is None else second
    shared = np.isin(np.asarray(others), np.asarray(indices))
    found = SharedSamples(len(others), int(shared.sum()), by_index=True)
    if found.shared:
        at = int(np.asarray(others)[int(shared.argmax())])
        found.example = found.twin = (None, at)
    return found


def _takes_all(loader: DataLoader[Any]) -> bool:
    """A sampler of the user's own may hand out some of the indices only: a SubsetRandomSampler does."""
    sampler: Any = loader.sampler
    known = type(sampler).__name__ in ("SequentialSampler", "RandomSampler", "DistributedSampler")
    return known and not getattr(sampler, "replacement", False)


def repeats_are_meant(data: Any) -> bool:
    """Whether code says that samples are to come more than once, or the data are no finite set of samples at all."""
    if type(data) is list:
        return False
    if not isinstance(data, DataLoader) or isinstance(data.dataset, IterableDataset) or not _takes_all(data):
        return True
    dataset, indices = underlying(data.dataset)
    if isinstance(dataset, ConcatDataset) and len({id(each) for each in dataset.datasets}) < len(dataset.datasets):
        return True
    return indices is not None and len(set(indices)) < len(indices)


def same_in_every_worker(loader: Any) -> WorkerRandomness | None:
    """Random numbers from a generator that the data set keeps: each worker process gets a copy of it.

    A sample is read twice, and again with other seeds, as another worker has them, and with the kept generators put
    back, as another worker gets them. If a reading differs from the one before, and not from that of the other worker,
    what is random about it is the same in all of them.
    """
    if type(loader) is not DataLoader or loader.num_workers < 2 or loader.worker_init_fn is not None:
        return None
    dataset, _ = underlying(loader.dataset)
    if isinstance(dataset, IterableDataset) or not hasattr(dataset, "__getitem__"):
        return None
    kept = [(name, each) for name, each in _generators(dataset, "", _DEEPEST)]
    if not kept:
        return None
    states = [(each, _state(each)) for _, each in kept]
    put_back = remember_random_numbers()

    def worker(seed: int) -> list[list[Tensor]]:
        for each, state in states:
            _set_state(each, state)
        seed_everything(seed)
        return [_values(loader.dataset[0]) for _ in range(2)]

    try:
        one, other = worker(_ONE), worker(_OTHER)
        moved = [name for (name, each), (_, state) in zip(kept, states, strict=True) if _moved(each, state)]
    except Exception:  # a sample that cannot be read by itself shows nothing
        return None
    finally:
        for each, state in states:
            _set_state(each, state)
        put_back()
    if not moved or _equal(one[0], one[1]) or not (_equal(one[0], other[0]) and _equal(one[1], other[1])):
        return None
    return WorkerRandomness(type(dataset).__name__, moved[0], loader.num_workers)


def is_shuffled(loader: Any) -> bool:
    return isinstance(loader, DataLoader) and type(loader.sampler) is RandomSampler


def is_augmented(loader: Any) -> bool:
    """Whether two readings of a sample differ."""
    if not isinstance(loader, DataLoader) or isinstance(loader.dataset, IterableDataset):
        return False
    put_back = remember_random_numbers()
    try:
        seed_everything(_ONE)
        one = _values(loader.dataset[0])
        seed_everything(_OTHER)
        return bool(one) and not _equal(one, _values(loader.dataset[0]))
    except Exception:  # a sample that cannot be read by itself shows nothing
        return False
    finally:
        put_back()


def _values(sample: Any) -> list[Tensor]:
    found = [tensor.detach().clone() for _, tensor in tensors(sample)]
    return found + [torch.as_tensor(each.copy(), device="cpu") for each in _arrays(sample) if each.dtype.kind in "fiub"]


def _arrays(sample: Any) -> Iterator[Any]:
    if isinstance(sample, np.ndarray):
        yield sample
    elif isinstance(sample, (list, tuple)):
        for each in sample:
            yield from _arrays(each)
    elif isinstance(sample, dict):
        yield from _arrays(list(sample.values()))


def _equal(one: list[Tensor], other: list[Tensor]) -> bool:
    return len(one) == len(other) and all(
        a.shape == b.shape and bool(torch.equal(torch.nan_to_num(a), torch.nan_to_num(b)))
        for a, b in zip(one, other, strict=True)
    )


_KINDS = (np.random.Generator, np.random.RandomState, random.Random, torch.Generator)


def _generators(held: Any, name: str, depth: int) -> Iterator[tuple[str, Any]]:
    if isinstance(held, _KINDS):
        yield name, held
    elif depth and isinstance(held, (list, tuple)):
        for each in held:
            yield from _generators(each, name, depth - 1)
    elif depth and hasattr(held, "__dict__") and not isinstance(held, (type, Tensor)):
        for key, each in list(vars(held).items()):
            yield from _generators(each, f"{name}.{key}" if name else key, depth - 1)


def _state(generator: Any) -> Any:
    if isinstance(generator, np.random.Generator):
        return generator.bit_generator.state
    read: Callable[[], Any] = getattr(generator, "get_state", None) or generator.getstate
    return read()


def _set_state(generator: Any, state: Any) -> None:
    if isinstance(generator, np.random.Generator):
        generator.bit_generator.state = state
    else:
        (getattr(generator, "set_state", None) or generator.setstate)(state)


def _moved(generator: Any, state: Any) -> bool:
    now = _state(generator)
    return not torch.equal(now, state) if isinstance(now, Tensor) else repr(now) != repr(state)
