"""A batch is anything with tensors in it: tuple, dict, dataclass, model input, or a nesting of these."""

from __future__ import annotations

import copy
import dataclasses
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch
from torch import Tensor
from torch.nn.utils.rnn import PackedSequence

from .graph_data import graph_parts, graphs_in, is_graph, rebuilt_graph

#: Deeper than any batch; stops at structures that contain themselves. The deepest of 457 programs has 5 levels. By
#: judgement more than twice that.
_DEEPEST = 12
#: Words in the names of arguments and fields that are not inputs. These are compared with by the loss:
_TARGETS = ("label", "target")
#: These say how much of the inputs counts, and are not data themselves. Zeros would hide everything, or leave nothing
#: of the loss; other values would make sequences longer than they are.
_EXTENTS = ("mask", "length", "weight")
#: Bookkeeping: which sample it is, how far the training has come, in which form to answer. A model may rightly ignore
#: it; but one that looks up users by their index has no other input.
_BOOKS = ("index", "len", "meta", "epoch", "return")


def is_input_name(name: str) -> bool:
    """Whether something with this name is data to learn from, whose values may be replaced or zeroed."""
    return not _has_word(name, (*_TARGETS, *_EXTENTS))


def has_to_matter(name: str) -> bool:
    """Whether an output has to depend on something with this name: an input that is not there for bookkeeping."""
    return is_input_name(name) and not _has_word(name, _BOOKS)


def _has_word(name: str, words: tuple[str, ...]) -> bool:
    return any(word in name.lower() for word in words)


def tensors(batch: Any, name: str = "", depth: int = 0) -> Iterator[tuple[str, Tensor]]:
    """Every tensor with the name by which the user knows it: `[0]`, `['image']`, `.labels`."""
    if isinstance(batch, Tensor):
        yield name, batch
        return
    if depth < _DEEPEST:
        for key, value in _parts(batch):
            yield from tensors(value, name + key, depth + 1)


def _parts(batch: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(batch, PackedSequence):
        yield ".data", batch.data
    elif isinstance(batch, Mapping):
        yield from ((f"[{key!r}]", value) for key, value in batch.items())
    elif isinstance(batch, tuple) and hasattr(batch, "_fields"):
        yield from ((f".{key}", getattr(batch, key)) for key in batch._fields)
    elif isinstance(batch, (list, tuple)):
        yield from ((f"[{index}]", value) for index, value in enumerate(batch))
    elif dataclasses.is_dataclass(batch) and not isinstance(batch, type):
        yield from ((f".{f.name}", getattr(batch, f.name)) for f in dataclasses.fields(batch))
    elif is_graph(batch):
        yield from graph_parts(batch)
    elif _is_plain_object(batch):
        yield from ((f".{key}", value) for key, value in vars(batch).items())


def _is_plain_object(batch: Any) -> bool:
    """Attributes that are tensors, and no behaviour that matters here."""
    return hasattr(batch, "__dict__") and not callable(batch) and not isinstance(batch, (type, torch.nn.Module))


def map_tensors(change: Callable[[str, Tensor], Tensor], batch: Any, name: str = "", depth: int = 0) -> Any:
    """A batch of the same structure with changed tensors; parts without tensors are passed on as they are."""
    if isinstance(batch, Tensor):
        return change(name, batch)
    if depth >= _DEEPEST or next(tensors(batch), None) is None:
        return batch
    changed = {key: map_tensors(change, value, name + key, depth + 1) for key, value in _parts(batch)}
    values = list(changed.values())
    if isinstance(batch, PackedSequence):
        return batch._replace(data=values[0])
    if isinstance(batch, Mapping):
        return _rebuilt_mapping(batch, values)
    if isinstance(batch, tuple):
        return type(batch)(*values) if hasattr(batch, "_fields") else type(batch)(values)
    if isinstance(batch, list):
        return type(batch)(values)
    if is_graph(batch):
        return rebuilt_graph(batch, values)
    rebuilt = copy.copy(batch)
    for key, value in changed.items():
        object.__setattr__(rebuilt, key[1:], value)  # frozen dataclasses too
    return rebuilt


def fresh_containers(batch: Any) -> Any:
    """The same tensors in new containers, so that a step may pop from its batch or add to it."""
    return map_tensors(lambda _, tensor: tensor, batch)


def _rebuilt_mapping(batch: Mapping[Any, Any], values: list[Any]) -> Any:
    pairs = dict(zip(batch.keys(), values, strict=True))
    if type(batch) is dict:
        return pairs
    rebuilt: Any
    before = dict(batch.items())
    try:
        rebuilt = copy.copy(batch)
        for key, value in pairs.items():
            rebuilt[key] = value
    except Exception:  # it is read-only, or takes no values of another shape
        rebuilt = None
    written: Any = batch
    for key in [key for key, value in before.items() if written[key] is not value]:
        written[key], rebuilt = before[key], None  # the copy keeps its values in the same place as the original
    return _made_anew(batch, pairs) if rebuilt is None else rebuilt


def _made_anew(batch: Mapping[Any, Any], pairs: dict[Any, Any]) -> Any:
    """A mapping of the same kind, by its constructor; a plain dict if that takes something else.

    A TensorDict knows how many of its first dimensions are those of samples (`batch_size`), and wants to be told.
    """
    kind: Any = type(batch)
    leading = len(getattr(batch, "batch_size", ()) or ())
    shape = next((value.shape[:leading] for value in pairs.values() if isinstance(value, Tensor)), None)
    for settings in ({"batch_size": shape}, {}):
        try:
            return kind(pairs, **settings)
        except Exception:
            continue
    return pairs


def batch_size(batch: Any) -> int | None:
    """The size of the first dimension that most tensors share; of graphs, their number. None if nothing tells."""
    if is_graph(batch) and (graphs := graphs_in(batch)) is not None:
        return graphs
    sizes = Counter(t.size(0) for _, t in tensors(batch) if t.dim())  # nested tensors have no shape
    if not sizes:
        return None
    most = max(sizes.values())
    return next(size for size, count in sizes.items() if count == most)


def to_device(batch: Any, device: torch.device) -> Any:
    return map_tensors(lambda _, t: t if t.device == device else t.to(device, non_blocking=True), batch)
