"""Whether targets that cannot be told from their inputs can be in another order of the samples.

Inputs and targets are often two lists, and each has its own order. Off by one, where a header was skipped in one of
them; turned round; or sorted by names of files, in which `10` comes before `2`, against a table in the order of
numbers. A right order is unmistakable: in it most of what there is to tell can be told, in the one used nothing. Where
neighbours resemble each other, as in a series, shifts prove nothing and are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.utils.data import DataLoader, IterableDataset

from ....records.survey import OtherOrder
from ....state.process import remember_random_numbers
from ....tensors.batches import batch_size, tensors
from .alignment import at_chance, is_plain, moved
from .bounded_reading import stored_tensors, underlying
from .ridge import Teller, chance

#: Samples that are compared, and the fewest that are conclusive: 256 and 48, as in alignment.
_MOST, _FEWEST = 256, 48

#: Inputs and targets of the samples at these places, in the order of the data set.
Read = Callable[[Sequence[int]], tuple[Tensor, Tensor]]


def other_order(
    data: Any, inputs: str, targets: str, classes: bool, tokens: bool, over: Callable[[], bool]
) -> OtherOrder | None:
    """`over`: whether the time for it has run out."""
    source = _reader(data, inputs, targets)
    if source is None or source[0] < _FEWEST:
        return None
    put_back = remember_random_numbers()
    try:
        return _found(*source, targets, classes, tokens, over)
    except Exception:  # a data set of the user's own may not bear being read like this
        return None
    finally:
        put_back()


def _found(
    size: int, read: Read, name: str, classes: bool, tokens: bool, over: Callable[[], bool]
) -> OtherOrder | None:
    first = list(range(min(size, _MOST)))
    rows, aims = read(first)
    base = chance(aims, classes)
    if base is None or not bool(torch.isfinite(rows).all() and torch.isfinite(aims).all()):
        return None
    teller = Teller(rows, tokens)
    used = teller.score(aims, classes, lambda score: not at_chance(score, base, len(rows), classes))
    if not at_chance(used, base, len(rows), classes):
        return None
    for best, order in _tried(teller, size, first, aims, read, classes):
        if over():
            return None
        if is_plain(best, base, len(rows), classes):
            return OtherOrder(name, len(rows), "classes" if classes else "values", base, used, best, order)
    return None


def _tried(
    teller: Teller, size: int, first: list[int], aims: Tensor, read: Read, classes: bool
) -> Iterator[tuple[float, str]]:
    for best, order, _ in moved(teller, aims, classes, [len(aims)]):
        yield best, order
    for begin in (0, 1):
        by_name = sorted(range(begin, begin + size), key=str)
        place = [0] * size
        for at, number in enumerate(by_name):
            place[number - begin] = at
        for order, places in (("inputs", [by_name[each] - begin for each in first]), ("targets", place)):
            chosen = places[: len(first)]
            if chosen != first:
                whose = f"the same place, if {order} are sorted by name (10 before 2) and the others by number"
                found = read(chosen)[1]
                if chance(found, classes) is not None:
                    yield teller.score(found, classes), whose


def _reader(data: Any, inputs: str, targets: str) -> tuple[int, Read] | None:
    """How many samples there are, and a way to read some of them in the order of the data set."""
    if type(data) is list:
        return _of_a_list(data, inputs, targets)
    if not isinstance(data, DataLoader) or isinstance(data.dataset, IterableDataset):
        return None
    dataset: Any = data.dataset
    collate: Any = data.collate_fn
    if not hasattr(dataset, "__len__") or not hasattr(dataset, "__getitem__") or collate is None:
        return None
    whole, indices = underlying(dataset)
    dataset = whole if indices is not None else dataset  # a split may have put its samples in any order
    if stored_tensors(data) is not None:
        stored = {f"[{at}]": each for at, each in enumerate(whole.tensors)}

        def stored_rows(at: Sequence[int]) -> tuple[Tensor, Tensor]:
            chosen = torch.as_tensor(at, device="cpu")
            return _rows(stored[inputs][chosen]), _rows(stored[targets][chosen])

        return len(whole), stored_rows

    def read(at: Sequence[int]) -> tuple[Tensor, Tensor]:
        batch = dict(tensors(collate([dataset[each] for each in at])))
        return _rows(batch[inputs]), _rows(batch[targets])

    return len(dataset), read


def _of_a_list(data: list[Any], inputs: str, targets: str) -> tuple[int, Read] | None:
    ends, parts = 0, []
    for batch in list.__iter__(data):
        fields, size = dict(tensors(batch)), batch_size(batch) or 0
        if inputs not in fields or targets not in fields:
            return None
        parts.append((ends, ends + size, fields))
        ends += size

    def read(at: Sequence[int]) -> tuple[Tensor, Tensor]:
        found: list[tuple[Tensor, Tensor]] = []
        for each in at:
            begin, _, fields = next(part for part in parts if part[0] <= each < part[1])
            found.append((fields[inputs][each - begin], fields[targets][each - begin]))
        return _rows(torch.stack([one for one, _ in found])), _rows(torch.stack([two for _, two in found]))

    return ends, read


def _rows(tensor: Tensor) -> Tensor:
    return tensor.detach().reshape(tensor.shape[0], -1).double().cpu()
