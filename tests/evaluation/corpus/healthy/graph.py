"""Graph networks and sets."""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from pytest_trainhealth import Training

from . import healthy
from .toydata import loader


class DenseGCN(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(8, 32)
        self.second = nn.Linear(32, 3)

    def forward(self, x: Tensor, adjacency: Tensor) -> Tensor:
        return adjacency @ self.second(F.dropout(F.relu(adjacency @ self.first(x)), 0.3, self.training))


@healthy
def gcn_dense_half_labelled() -> Training:
    """One graph is the whole data set; only half of its nodes have a label, the others enter through the edges."""
    community = torch.arange(40) % 3
    edges = torch.rand(40, 40) < torch.where(community[:, None] == community, 0.3, 0.02)
    adjacency = (edges | edges.T | torch.eye(40, dtype=torch.bool)).float()
    degree = adjacency.sum(1)
    graph = {
        "x": torch.randn(3, 8)[community] + torch.randn(40, 8),
        "adjacency": adjacency / (degree[:, None] * degree).sqrt(),
        "labels": community,
        "labelled": torch.arange(40) < 20,
    }

    def loss(model: nn.Module, graph: dict[str, Tensor]) -> Tensor:
        logits = model(graph["x"], graph["adjacency"])
        return F.cross_entropy(logits[graph["labelled"]], graph["labels"][graph["labelled"]])

    model = DenseGCN()
    return Training(model, torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4), loss, graph)


@dataclass
class GraphBatch:
    """Several graphs as one: nodes of all of them, edges between them, and the graph each node belongs to."""

    nodes: Tensor
    source: Tensor
    target: Tensor
    graph: Tensor
    y: Tensor


class MessagePassing(nn.Module):
    def __init__(self, width: int = 24) -> None:
        super().__init__()
        self.embed = nn.Embedding(5, width)
        self.message = nn.Sequential(nn.Linear(2 * width, width), nn.SiLU())
        self.update = nn.GRUCell(width, width)
        self.head = nn.Linear(width, 1)

    def forward(self, batch: GraphBatch) -> Tensor:
        h = self.embed(batch.nodes)
        for _ in range(3):
            messages = self.message(torch.cat([h[batch.source], h[batch.target]], -1))
            h = self.update(torch.zeros_like(h).index_add(0, batch.target, messages), h)
        pooled = torch.zeros(len(batch.y), h.shape[1]).index_add(0, batch.graph, h)
        return self.head(pooled).squeeze(-1)


@healthy
def message_passing_index_add() -> Training:
    """A dataclass as batch whose tensors all have different lengths; the block is used three times."""

    def batch_of_graphs() -> GraphBatch:
        sizes = torch.randint(4, 9, (10,))
        graph = torch.arange(10).repeat_interleave(sizes)
        nodes = torch.randint(0, 5, (len(graph),))
        source = torch.arange(len(graph))
        starts = (sizes.cumsum(0) - sizes)[graph]
        target = starts + (source - starts + 1) % sizes[graph]  # a ring in each graph
        y = torch.zeros(10).index_add(0, graph, (nodes == nodes[target]).float())
        return GraphBatch(nodes, source, target, graph, y)

    model = MessagePassing()
    return Training(
        model,
        torch.optim.Adam(model.parameters(), lr=5e-3),
        loss=lambda model, batch: F.mse_loss(model(batch), batch.y),
        data=[batch_of_graphs() for _ in range(6)],
    )


class GraphAttention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.project = nn.Linear(8, 16, bias=False)
        self.towards = nn.Linear(16, 1, bias=False)
        self.back = nn.Linear(16, 1, bias=False)
        self.head = nn.Linear(16, 3)

    def forward(self, x: Tensor, edges: Tensor) -> Tensor:
        h = self.project(x)
        scores = F.leaky_relu(self.towards(h) + self.back(h).transpose(-1, -2), 0.2)
        return self.head(F.elu(scores.masked_fill(~edges, -torch.inf).softmax(-1) @ h))


@healthy
def graph_attention_masked_with_inf() -> Training:
    """Scores of absent edges are -inf before the softmax, which is legitimate: each node has at least itself."""
    community = torch.arange(36)[torch.randperm(36)] % 3
    edges = (torch.rand(36, 36) < torch.where(community[:, None] == community, 0.3, 0.03)) | torch.eye(36).bool()
    x = torch.randn(3, 8)[community] + torch.randn(36, 8)
    model = GraphAttention()
    return Training(
        model,
        torch.optim.Adam(model.parameters(), lr=5e-3),
        loss=lambda model, batch: F.cross_entropy(model(batch[0], batch[1]), batch[2]),
        data=(x, edges, community),
    )


class DeepSet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Sequential(nn.Linear(2, 32), nn.ReLU(), nn.Linear(32, 32))
        self.outer = nn.Sequential(nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, points: Tensor) -> Tensor:
        return self.outer(self.inner(points).amax(1))


@healthy
def deep_set_max_pooling() -> Training:
    """Only the winners of the maximum get a gradient; the targets are spans, all positive."""
    points = torch.randn(64, 10, 2)
    model = DeepSet()
    return Training(
        model,
        torch.optim.Adam(model.parameters(), lr=3e-3),
        criterion=nn.SmoothL1Loss(),
        data=loader(points, points[..., 0].amax(1, keepdim=True) - points[..., 0].amin(1, keepdim=True)),
    )
