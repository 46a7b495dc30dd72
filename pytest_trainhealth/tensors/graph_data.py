"""Graphs as PyTorch Geometric holds them: `Data`, `HeteroData` and batches of these.

They are no mappings and no plain objects: what belongs to a graph stands in stores, one for all of it or one for each
kind of node and edge. Recognised by those stores, so that nothing has to be imported.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from typing import Any


def is_graph(batch: Any) -> bool:
    """Asked of the class: an object may answer to any name."""
    if not isinstance(getattr(type(batch), "stores", None), property):
        return False
    stores = batch.stores
    return isinstance(stores, list) and all(isinstance(each, Mapping) for each in stores)


def graph_parts(batch: Any) -> Iterator[tuple[str, Any]]:
    """By the names that users write: `.x`, and `['paper'].x` where there are several kinds."""
    for store in batch.stores:
        kind = getattr(store, "_key", None)
        prefix = "" if kind is None else f"[{kind!r}]"
        yield from ((f"{prefix}.{key}", value) for key, value in store.items())


def rebuilt_graph(batch: Any, values: list[Any]) -> Any:
    """A graph of the same kind with these values, in the order of its parts."""
    rebuilt, given = copy.copy(batch), iter(values)
    for store in rebuilt.stores:
        for key in list(store.keys()):
            store[key] = next(given)
    return rebuilt


def graphs_in(batch: Any) -> int | None:
    """How many graphs were joined into one; None for a single one, whose nodes are its samples."""
    count = getattr(batch, "num_graphs", None) if hasattr(type(batch), "num_graphs") else None
    return count if isinstance(count, int) else None
