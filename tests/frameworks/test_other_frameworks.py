"""Fabric, ignite, skorch, fastai, Keras on torch, PyTorch Geometric: programs that train by themselves are watched."""

from __future__ import annotations

from functools import partial

import pytest
import torch
import torch.nn.functional as F

from pytest_trainhealth import Training

from . import other_programs as programs
from .verdicts import alarms, said

pytestmark = pytest.mark.frameworks
FRAMEWORKS = ("fabric", "ignite", "skorch", "fastai", "keras", "pyg")


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_a_healthy_program_passes(framework: str) -> None:
    assert alarms(getattr(programs, framework)) == []


def test_layers_that_are_told_their_mode_are_asked_in_eval_mode() -> None:
    assert alarms(partial(programs.keras, "normalised")) == []


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_a_second_softmax_is_named(framework: str) -> None:
    found = said(partial(getattr(programs, framework), "softmax"), "overfits_one_batch")
    assert found == "double-softmax confirmed"


@pytest.mark.parametrize(
    ("framework", "fault", "cause"),
    [
        ("fabric", "left out", "parameters-not-in-optimizer confirmed"),
        ("fabric", "no zero_grad", "missing-zero-grad confirmed"),
        ("ignite", "left out", "parameters-not-in-optimizer confirmed"),
        ("ignite", "no zero_grad", "missing-zero-grad confirmed"),
        ("skorch", "rate of zero", "lr-too-low confirmed"),
        ("skorch", "detached", "disconnected-graph likely"),
        ("fastai", "left out", "parameters-not-in-optimizer confirmed"),
        ("fastai", "detached", "disconnected-graph likely"),
        ("keras", "no zero_grad", "missing-zero-grad confirmed"),
        ("keras", "detached", "disconnected-graph likely"),
        ("pyg", "left out", "parameters-not-in-optimizer confirmed"),
        ("pyg", "detached", "disconnected-graph likely"),
    ],
)
def test_faults_are_named(framework: str, fault: str, cause: str) -> None:
    assert said(partial(getattr(programs, framework), fault), "gradients_flow") == cause


class TestGraphsThatAreReturned:
    @staticmethod
    def training(fault: str = "") -> Training:
        model = programs.gcn(fault)
        optimizer = programs.gcn_optimizer(model, fault)
        return Training(model, optimizer, loss=programs.graph_loss, data=programs.graph_loader())

    def test_healthy(self) -> None:
        assert alarms(self.training) == []

    @pytest.mark.parametrize(
        ("fault", "check", "cause"),
        [
            ("left out", "gradients_flow", "parameters-not-in-optimizer confirmed"),
            ("softmax", "overfits_one_batch", "double-softmax confirmed"),
            ("detached", "gradients_flow", "disconnected-graph likely"),
            ("rate", "overfits_one_batch", "lr-too-high confirmed"),
        ],
    )
    def test_faults(self, fault: str, check: str, cause: str) -> None:
        assert said(partial(self.training, fault), check) == cause

    def test_one_graph_whose_nodes_are_the_samples(self) -> None:
        from torch_geometric.data import Data
        from torch_geometric.nn import GCNConv

        class Nodes(torch.nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.conv1, self.conv2 = GCNConv(20, 32), GCNConv(32, 4)

            def forward(self, data: Data) -> torch.Tensor:
                return self.conv2(F.relu(self.conv1(data.x, data.edge_index)), data.edge_index)

        def training() -> Training:
            features, labels = programs.points(64)
            of_one_class = (labels[:, None] == labels[None]).nonzero().T
            graph = Data(x=features, edge_index=of_one_class, y=labels, train_mask=torch.rand(64) < 0.5)
            model = Nodes()

            def loss(model: Nodes, data: Data) -> torch.Tensor:
                return F.cross_entropy(model(data)[data.train_mask], data.y[data.train_mask])

            return Training(model, torch.optim.Adam(model.parameters(), 1e-2), loss=loss, data=graph)

        assert alarms(training) == []

    def test_a_batch_of_several_kinds_of_nodes(self) -> None:
        from torch_geometric.data import Batch, HeteroData

        from pytest_trainhealth.tensors.batches import batch_size, map_tensors, tensors

        def graph() -> HeteroData:
            found = HeteroData()
            found["paper"].x, found["author"].x = torch.zeros(3, 2), torch.zeros(5, 2)
            found["author", "writes", "paper"].edge_index = torch.zeros(2, 4, dtype=torch.long)
            return found

        batch = Batch.from_data_list([graph(), graph()])
        assert batch_size(batch) == 2
        assert "['paper'].x" in dict(tensors(batch))
        changed = map_tensors(lambda _, tensor: tensor + 1, batch)
        assert type(changed) is type(batch)
        assert changed["author"].x.sum() == 20
        assert batch["author"].x.sum() == 0
