"""Graph networks, on dense padded batches and on edge lists."""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset

from pytest_trainhealth import Training

from . import fault

KINDS = 5


class Molecules(Dataset):
    """Graphs of five to ten atoms, padded to ten; the target is a sum over the bonds, by the kinds of both ends."""

    def __init__(self, n: int = 128, padded_to: int = 10, *, smallest: int = 5, isolated: bool = False) -> None:
        energy = torch.randn(KINDS, KINDS)
        size = torch.randint(smallest, padded_to + 1, (n, 1))
        self.mask = torch.arange(padded_to) < size
        kind = torch.randint(KINDS, (n, padded_to))
        self.atoms = F.one_hot(kind, KINDS).float() * self.mask[..., None]
        bonds = torch.rand(n, padded_to, padded_to) < 0.3
        if not isolated:  # a chain holds every molecule together
            bonds |= torch.eye(padded_to, dtype=torch.bool).roll(1, 1)
        bonds = (bonds | bonds.mT) & self.mask[:, :, None] & self.mask[:, None] & ~torch.eye(padded_to).bool()
        self.bonds = bonds.float()
        pairs = (energy + energy.T)[kind[:, :, None], kind[:, None]]
        y = (pairs * bonds).sum((1, 2)) / bonds.sum((1, 2)).clamp(min=1)
        self.y = (y - y.mean()) / y.std()

    def __len__(self) -> int:
        return len(self.y)

    def __getitem__(self, index: int) -> dict[str, Tensor]:
        return {
            "atoms": self.atoms[index],
            "bonds": self.bonds[index],
            "mask": self.mask[index],
            "energy": self.y[index],
        }


def molecules(batch_size: int = 16) -> DataLoader:
    return DataLoader(Molecules(), batch_size=batch_size, shuffle=True)


def mean_over_nodes(h: Tensor, mask: Tensor) -> Tensor:
    return (h * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)


class GraphConv(nn.Module):
    """A node's own features and the mean of its neighbours'."""

    def __init__(self, inside: int, outside: int) -> None:
        super().__init__()
        self.own = nn.Linear(inside, outside)
        self.neighbours = nn.Linear(inside, outside, bias=False)

    def forward(self, x: Tensor, bonds: Tensor) -> Tensor:
        degree = bonds.sum(-1, keepdim=True).clamp(min=1)
        return F.relu(self.own(x) + self.neighbours(bonds @ x / degree))


class EnergyNet(nn.Module):
    def __init__(self, width: int = 48) -> None:
        super().__init__()
        self.first = GraphConv(KINDS, width)
        self.second = GraphConv(width, width)
        self.head = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 1))

    def forward(self, batch: dict[str, Tensor]) -> Tensor:
        h = self.second(self.first(batch["atoms"], batch["bonds"]), batch["bonds"])
        return self.head(mean_over_nodes(h, batch["mask"])).squeeze(-1)


def energy_loss(model: nn.Module, batch: dict[str, Tensor]) -> Tensor:
    return F.mse_loss(model(batch), batch["energy"])


@fault("parameters-not-in-optimizer", hard=True)
def gnn_layers_in_a_plain_list(broken: bool) -> Training:
    """The graph layers stand in a Python list, so `model.parameters()` holds the head alone and only that learns."""

    class ListNet(nn.Module):
        def __init__(self, width: int = 32) -> None:
            super().__init__()
            layers = [GraphConv(KINDS, width), GraphConv(width, width)]
            self.layers = layers if broken else nn.ModuleList(layers)
            self.head = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 1))

        def forward(self, batch: dict[str, Tensor]) -> Tensor:
            h = batch["atoms"]
            for layer in self.layers:
                h = layer(h, batch["bonds"])
            return self.head(mean_over_nodes(h, batch["mask"])).squeeze(-1)

    model = ListNet()
    return Training(model, torch.optim.Adam(model.parameters(), lr=1e-2), energy_loss, molecules())


@fault("unstable-operation", operation="softmax")
def gnn_attention_of_isolated_atoms(broken: bool) -> Training:
    """Attention over the neighbours, absent ones at -inf: a node without any has a softmax over nothing, NaN."""

    class AttentionNet(nn.Module):
        def __init__(self, width: int = 32) -> None:
            super().__init__()
            self.embed = nn.Linear(KINDS, width)
            self.query, self.key, self.value = (nn.Linear(width, width) for _ in range(3))
            self.head = nn.Sequential(nn.Linear(2 * width, width), nn.ReLU(), nn.Linear(width, 1))

        def forward(self, batch: dict[str, Tensor]) -> Tensor:
            bonds = batch["bonds"].bool()
            if not broken:
                bonds = bonds | torch.eye(bonds.shape[-1], dtype=torch.bool)
            h = self.embed(batch["atoms"])
            scores = self.query(h) @ self.key(h).mT / h.shape[-1] ** 0.5
            attention = scores.masked_fill(~bonds, -torch.inf).softmax(-1)  # guilty
            h = torch.cat([h, attention @ self.value(h)], -1)
            return self.head(mean_over_nodes(h, batch["mask"])).squeeze(-1)

    model = AttentionNet()
    data = DataLoader(Molecules(isolated=True), batch_size=16, shuffle=True)
    return Training(model, torch.optim.Adam(model.parameters(), lr=1e-2), energy_loss, data)


@fault("batch-mixing", hard=True)
def gnn_attention_across_molecules(broken: bool) -> Training:
    """`nn.MultiheadAttention` without batch_first=True: atoms attend to those of the other molecules in the batch."""

    class GraphTransformer(nn.Module):
        def __init__(self, width: int = 32) -> None:
            super().__init__()
            self.embed = GraphConv(KINDS, width)
            self.attention = nn.MultiheadAttention(width, 2, batch_first=not broken)
            self.norm = nn.LayerNorm(width)
            self.head = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 1))

        def forward(self, atoms: Tensor, bonds: Tensor) -> Tensor:
            h = self.embed(atoms, bonds)
            mixed, _ = self.attention(h, h, h, need_weights=False)
            return self.head(self.norm(h + mixed).mean(1)).squeeze(-1)

    crystals = Molecules(smallest=10)  # cells of ten atoms each: no padding
    model = GraphTransformer()
    return Training(
        model,
        torch.optim.AdamW(model.parameters(), lr=3e-3),
        loss=lambda model, batch: F.mse_loss(model(batch["atoms"], batch["bonds"]), batch["energy"]),
        data=DataLoader(crystals, batch_size=16, shuffle=True),
    )


@fault("mask-ignored", hard=True)
def gnn_padding_in_the_pooling(broken: bool) -> Training:
    """Padded atoms have features of their own after the first bias, and the mean over a molecule takes them in."""

    class PaddedNet(EnergyNet):
        def forward(self, batch: dict[str, Tensor]) -> Tensor:
            h = self.second(self.first(batch["atoms"], batch["bonds"]), batch["bonds"])
            pooled = h.mean(1) if broken else mean_over_nodes(h, batch["mask"])
            return self.head(pooled).squeeze(-1)

    model = PaddedNet()
    return Training(model, torch.optim.Adam(model.parameters(), lr=3e-3), energy_loss, molecules())


@fault("bad-initialization")
def gnn_weights_left_at_zero(broken: bool) -> Training:
    """Layers made by hand of `torch.zeros`, and `reset_parameters` was never written: only the last bias moves."""

    class HandMadeConv(nn.Module):
        def __init__(self, inside: int, outside: int) -> None:
            super().__init__()
            self.weight = nn.Parameter(torch.zeros(2 * inside, outside))
            self.bias = nn.Parameter(torch.zeros(outside))
            if not broken:
                nn.init.xavier_uniform_(self.weight)

        def forward(self, x: Tensor, bonds: Tensor) -> Tensor:
            degree = bonds.sum(-1, keepdim=True).clamp(min=1)
            return torch.cat([x, bonds @ x / degree], -1) @ self.weight + self.bias

    class HandMadeNet(nn.Module):
        def __init__(self, width: int = 64) -> None:
            super().__init__()
            self.first = HandMadeConv(KINDS, width)
            self.second = HandMadeConv(width, width)
            self.third = HandMadeConv(width, 1)

        def forward(self, batch: dict[str, Tensor]) -> Tensor:
            h = torch.relu(self.first(batch["atoms"], batch["bonds"]))
            h = torch.relu(self.second(h, batch["bonds"]))
            return mean_over_nodes(self.third(h, batch["bonds"]), batch["mask"]).squeeze(-1)

    model = HandMadeNet()
    return Training(model, torch.optim.Adam(model.parameters(), lr=5e-3), energy_loss, molecules())


@dataclass
class EdgeBatch:
    """Several graphs as one: nodes, edges between them with a length each, and the graph of each node."""

    nodes: Tensor
    source: Tensor
    target: Tensor
    length: Tensor
    graph: Tensor
    y: Tensor


def rings(batches: int = 8, graphs: int = 16) -> list[EdgeBatch]:
    """Rings of four to eight nodes; the target weighs each edge's length by the kind of its source."""
    weight = torch.randn(KINDS)
    made = []
    for _ in range(batches):
        sizes = torch.randint(4, 9, (graphs,))
        graph = torch.arange(graphs).repeat_interleave(sizes)
        nodes = torch.randint(KINDS, (len(graph),))
        source = torch.arange(len(graph))
        starts = (sizes.cumsum(0) - sizes)[graph]
        target = starts + (source - starts + 1) % sizes[graph]
        length = torch.rand(len(source), 1)
        y = torch.zeros(graphs).index_add(0, graph, weight[nodes] * length.squeeze(1))
        made.append(EdgeBatch(nodes, source, target, length, graph, y))
    return made


class RingNet(nn.Module):
    def __init__(self, width: int = 32, *, uses_lengths: bool = True) -> None:
        super().__init__()
        self.uses_lengths = uses_lengths
        self.embed = nn.Embedding(KINDS, width)
        self.edge = nn.Sequential(nn.Linear(1, width), nn.ReLU(), nn.Linear(width, width))
        self.message = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width))
        self.head = nn.Linear(width, 1)

    def forward(self, batch: EdgeBatch) -> Tensor:
        h = self.embed(batch.nodes)
        sent = h[batch.source]
        if self.uses_lengths:
            sent = sent * self.edge(batch.length)
        h = h + torch.zeros_like(h).index_add(0, batch.target, self.message(sent))
        return self.head(torch.zeros(len(batch.y), h.shape[1]).index_add(0, batch.graph, h)).squeeze(-1)


@fault("unused-parameters", hard=True)
def gnn_edge_network_never_called(broken: bool) -> Training:
    """The network for the lengths of the edges is made in __init__ and forgotten in forward."""
    model = RingNet(uses_lengths=not broken)
    return Training(
        model,
        torch.optim.Adam(model.parameters(), lr=5e-3),
        loss=lambda model, batch: F.mse_loss(model(batch), batch.y),
        data=rings(),
    )


@fault("labels-not-aligned")
def gnn_molecules_sorted_labels_not(broken: bool) -> Training:
    """The step sorts the molecules of a batch by size, to pad less, and leaves the energies where they are."""

    def loss(model: nn.Module, batch: dict[str, Tensor]) -> Tensor:
        size = batch["mask"].sum(1)
        order, largest = size.argsort(descending=True), int(size.max())
        molecules = {
            "atoms": batch["atoms"][order, :largest],
            "bonds": batch["bonds"][order, :largest, :largest],
            "mask": batch["mask"][order, :largest],
        }
        energy = batch["energy"] if broken else batch["energy"][order]
        return F.mse_loss(model(molecules), energy)

    model = EnergyNet()
    data = DataLoader(Molecules(256), batch_size=16, shuffle=True)
    return Training(model, torch.optim.Adam(model.parameters(), lr=3e-3), loss, data)


@fault("exploding-gradients")
def gnn_sums_over_many_neighbours(broken: bool) -> Training:
    """Five layers that add up some twenty neighbours each: values and gradients grow by that factor per layer."""

    class SocialNet(nn.Module):
        def __init__(self, width: int = 32) -> None:
            super().__init__()
            self.embed = nn.Linear(8, width)
            self.layers = nn.ModuleList(nn.Linear(width, width) for _ in range(5))
            self.head = nn.Linear(width, 1)

        def forward(self, x: Tensor, adjacency: Tensor) -> Tensor:
            h = self.embed(x)
            for layer in self.layers:
                gathered = adjacency @ h
                if not broken:
                    gathered = gathered / adjacency.sum(-1, keepdim=True)
                h = h + F.relu(layer(gathered))
            return self.head(h).squeeze(-1)

    batches = []
    teacher = F.normalize(torch.randn(8), dim=0)
    for _ in range(6):
        adjacency = ((torch.rand(40, 40) < 0.5) | torch.eye(40).bool()).float()
        x = torch.randn(40, 8)
        neighbourhood = adjacency @ x / adjacency.sum(-1, keepdim=True)
        batches.append((x, adjacency, torch.tanh(2 * x @ teacher) + 2 * neighbourhood @ teacher))
    model = SocialNet()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    return Training(model, optimizer, lambda model, b: F.mse_loss(model(b[0], b[1]), b[2]), batches)


@fault("missing-zero-grad", second="unused-parameters")
def gnn_no_zero_grad_and_no_lengths(broken: bool) -> Training:
    """Two faults: gradients are never cleared, and the network for the edges' lengths is never called."""

    def step(batch: EdgeBatch) -> float:
        if not broken:
            optimizer.zero_grad()
        loss = F.smooth_l1_loss(model(batch), batch.y)
        loss.backward()
        optimizer.step()
        return loss.item()

    model = RingNet(uses_lengths=not broken)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
    return Training(model, optimizer, step=step, data=rings())
