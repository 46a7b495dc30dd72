"""Graph networks whose numbers leave the finite range."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.data import DataLoader

from pytest_trainhealth import Training

from . import fault
from .gnn import KINDS, EdgeBatch, Molecules, energy_loss, mean_over_nodes, molecules, rings


class EdgeAttention(nn.Module):
    """Attention over the edges that arrive at a node, its softmax by hand, edge by edge (GAT on an edge list)."""

    def __init__(self, width: int = 64) -> None:
        super().__init__()
        self.embed = nn.Embedding(KINDS, width)
        self.edge = nn.Linear(1, width)
        self.query, self.key, self.value = (nn.Linear(width, width, bias=False) for _ in range(3))
        self.head = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 1))

    def forward(self, batch: EdgeBatch) -> Tensor:
        h = self.embed(batch.nodes)
        sent = h[batch.source] + self.edge(batch.length)
        query, key = (F.layer_norm(part, part.shape[-1:]) for part in (self.query(h)[batch.target], self.key(sent)))
        score = (query * key).sum(-1)
        weight = torch.exp(score)  # guilty
        total = weight.new_zeros(len(h)).index_add(0, batch.target, weight)
        value = self.value(sent) * (weight / total[batch.target]).unsqueeze(-1)
        gathered = h + torch.zeros_like(h).index_add(0, batch.target, value.to(h.dtype))
        pooled = torch.zeros(len(batch.y), h.shape[1]).index_add(0, batch.graph, gathered)
        return self.head(pooled).squeeze(-1)


@fault("low-precision-overflow", operation="exp")
def gnn_edge_softmax_in_half(broken: bool) -> Training:
    """A softmax over edges by hand, of scores that are not divided by sqrt(d), under float16 autocast: exp of 12 is
    beyond 65504. In float32 the same scores do no harm."""
    model = EdgeAttention()

    def loss(model: nn.Module, batch: EdgeBatch) -> Tensor:
        with torch.autocast("cpu", dtype=torch.float16, enabled=broken):
            prediction = model(batch)
        return F.mse_loss(prediction.float(), batch.y)

    return Training(model, torch.optim.Adam(model.parameters(), lr=3e-3), loss, rings())


class NormalisedConv(nn.Module):
    """A graph convolution with the symmetric normalisation of Kipf and Welling: D^-1/2 A D^-1/2."""

    def __init__(self, inside: int, outside: int) -> None:
        super().__init__()
        self.own = nn.Linear(inside, outside)
        self.neighbours = nn.Linear(inside, outside, bias=False)

    def forward(self, x: Tensor, bonds: Tensor) -> Tensor:
        scale = bonds.sum(-1, keepdim=True).pow(-0.5)  # guilty
        return F.relu(self.own(x) + self.neighbours(scale * bonds * scale.mT @ x))


class NormalisedNet(nn.Module):
    def __init__(self, width: int = 48, *, self_loops: bool) -> None:
        super().__init__()
        self.self_loops = self_loops
        self.first, self.second = NormalisedConv(KINDS, width), NormalisedConv(width, width)
        self.head = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 1))

    def forward(self, batch: dict[str, Tensor]) -> Tensor:
        bonds = batch["bonds"]
        if self.self_loops:
            bonds = bonds + torch.eye(bonds.shape[-1])
        h = self.second(self.first(batch["atoms"], bonds), bonds)
        return self.head(mean_over_nodes(h, batch["mask"])).squeeze(-1)


@fault("unstable-operation", operation="pow")
def gnn_degree_of_zero(broken: bool) -> Training:
    """D^-1/2 A D^-1/2 without the self-loops that the paper adds: the degree of an isolated atom, and of padding, is 0,
    its root's inverse is Inf, and 0 * Inf is NaN."""
    model = NormalisedNet(self_loops=not broken)
    data = DataLoader(Molecules(isolated=True), batch_size=16, shuffle=True)
    return Training(model, torch.optim.Adam(model.parameters(), lr=5e-3), energy_loss, data)


class Rounds(nn.Module):
    """Rounds of messages with the same weights in each, divided by the root of the four bonds of an average atom."""

    def __init__(self, width: int = 32, rounds: int = 6) -> None:
        super().__init__()
        self.rounds = rounds
        self.embed = nn.Linear(KINDS, width)
        self.message = nn.Linear(width, width)
        self.head = nn.Linear(width, 1)

    def forward(self, batch: dict[str, Tensor]) -> Tensor:
        h = self.embed(batch["atoms"])
        for _ in range(self.rounds):
            h = h + F.relu(self.message(batch["bonds"] @ h / 2))
        return self.head(mean_over_nodes(h, batch["mask"])).squeeze(-1)


@fault("exploding-gradients")
def gnn_rounds_without_clipping(broken: bool) -> Training:
    """Six rounds of messages with shared weights, trained without the clipping they need: each round multiplies the
    gradient, each step makes the next gradient larger, and the third overflows."""
    model = Rounds()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

    def step(batch: dict[str, Tensor]) -> Tensor:
        optimizer.zero_grad()
        loss = energy_loss(model, batch)
        loss.backward()
        if not broken:
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        return loss

    return Training(model, optimizer, step=step, data=molecules())
