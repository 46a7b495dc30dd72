"""Mixing that is meant is noted where a probe proves it, and excuses nothing else."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from .trainings import Rows, Sequences, probe, series, table, train


def in_pairs(self: Rows, x: Tensor) -> Tensor:
    hidden = self.enter(x)
    others = torch.exp(-(hidden[:, None] - hidden[None]).abs()).mean(1)
    return self.leave(hidden + others)


def ranked(self: Rows, x: Tensor) -> Tensor:
    hidden = self.enter(x)
    least = hidden.topk(4, dim=0).values[-1]
    return self.leave(hidden * (hidden >= least))


def appended(self: Rows, x: Tensor) -> Tensor:
    hidden = self.enter(x)[:, :11]
    spread = hidden.std(0).mean().expand(len(x), 1)
    return self.leave(torch.cat([hidden, spread], 1))


def normalised(self: Rows, x: Tensor) -> Tensor:
    return self.leave(nn.functional.batch_norm(self.enter(x), None, None, training=True))


DESIGNS: dict[str, Callable[[Rows, Tensor], Tensor]] = {
    "in pairs": in_pairs,
    "ranked against each other": ranked,
    "appended": appended,
    "BatchNorm": normalised,
}


@pytest.mark.parametrize("why", DESIGNS)
def test_a_design_is_noted(why):
    found = probe(train(Rows(DESIGNS[why]), table()))
    assert found.mixing == []
    assert found.unproven == []
    assert why in found.designs[0]


class Linked(nn.Module):
    """Nodes of one graph, with its links kept by the model or given to it."""

    def __init__(self, links: Tensor | None, elsewhere: bool = False) -> None:
        super().__init__()
        self.enter, self.leave, self.elsewhere = nn.Linear(10, 12), nn.Linear(12, 3), elsewhere
        self.links = links

    def forward(self, x: Tensor, links: Tensor | None = None) -> Tensor:
        hidden = self.enter(x)
        hidden = (self.links if links is None else links) @ hidden
        return self.leave(hidden.softmax(0) if self.elsewhere else hidden)


def test_a_graph_is_one_if_nothing_mixes_without_its_links():
    links = (torch.rand(16, 16) < 0.3).float()
    assert "linked by links" in probe(train(Linked(links), table())).designs[0]
    assert "linked by links" in probe(train(Linked(None), table(), links)).designs[0]
    assert len(probe(train(Linked(links, elsewhere=True), table())).mixing) == 1


def test_a_sort_of_something_else_is_no_excuse():
    def forward(self: Sequences, x: Tensor) -> Tensor:
        best = self.enter(x).sort(1).values[:, -3:].mean(1)
        return self.leave(best.softmax(0))

    (found,) = probe(train(Sequences(forward), series())).mixing
    assert found.operation == "softmax"


def test_attention_that_takes_samples_for_positions_is_no_comparison():
    def forward(self: Sequences, x: Tensor) -> Tensor:
        hidden = self.enter(x).transpose(0, 1)
        weights = (hidden @ hidden.transpose(1, 2)).softmax(-1)
        return self.leave((weights @ hidden).mean(0))

    (found,) = probe(train(Sequences(forward), series())).mixing
    assert found.operation in ("matmul", "__matmul__")


def test_one_samples_values_for_all_are_no_statistic():
    def forward(self: Rows, x: Tensor) -> Tensor:
        hidden = self.enter(x)[:, :6]
        return self.leave(torch.cat([hidden, hidden[-1].expand(len(x), -1)], 1))

    (found,) = probe(train(Rows(forward), table())).mixing
    assert found.for_all == 15


def neighbours(nodes: int = 16) -> Tensor:
    """A ring of nodes, each linked to the next one and to itself."""
    ring = torch.eye(nodes) + torch.eye(nodes).roll(1, 0) + torch.eye(nodes).roll(-1, 0)
    return ring / 3


class Propagates(nn.Module):
    """The rows that it is given are the links themselves."""

    def __init__(self, over_all: bool) -> None:
        super().__init__()
        self.enter, self.leave, self.over_all = nn.Linear(16, 12), nn.Linear(12, 3), over_all

    def forward(self, links: Tensor) -> Tensor:
        hidden = self.enter(links)
        return self.leave(hidden.softmax(0) if self.over_all else links @ hidden)


def test_rows_that_are_links_are_nodes_if_only_neighbours_change():
    found = probe(train(Propagates(over_all=False), neighbours()))
    assert found.mixing == []
    assert "nodes of a graph" in found.designs[0]


def test_links_do_not_excuse_what_goes_beyond_them():
    found = probe(train(Propagates(over_all=True), neighbours()))
    assert found.designs == []
    assert found.mixing or found.unproven


@pytest.mark.parametrize("rows", [torch.randn(16, 16), torch.eye(16), (torch.rand(16, 16) < 0.3).float()])
def test_as_many_features_as_samples_are_no_links(rows):
    assert len(probe(train(Propagates(over_all=True), rows)).mixing) == 1
