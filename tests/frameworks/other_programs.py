"""Programs in the style of other frameworks' own examples. Each trains when called, and takes the name of a fault.

Every framework is imported where it is used: the tests of one need not have the others.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

EPOCHS = 15


def points(count: int = 256) -> tuple[torch.Tensor, torch.Tensor]:
    """Points of four classes in twenty dimensions, well apart from one another."""
    generator = torch.Generator().manual_seed(3)
    centres = torch.randn(4, 20, generator=generator)
    labels = torch.randint(4, (count,), generator=generator)
    return centres[labels] + 0.5 * torch.randn(count, 20, generator=generator), labels


def loader() -> DataLoader[Any]:
    return DataLoader(TensorDataset(*points()), batch_size=16, shuffle=True)


class Net(nn.Module):
    def __init__(self, fault: str = "") -> None:
        super().__init__()
        self.fault = fault
        self.body = nn.Sequential(nn.Linear(20, 64), nn.ReLU())
        self.head = nn.Linear(64, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        hidden = self.body(x)
        out = self.head(hidden.detach() if self.fault == "detached" else hidden)
        return out.softmax(dim=-1) if self.fault == "softmax" else out

    def trained(self) -> Any:
        return (self.body if self.fault == "left out" else self).parameters()


def fabric(fault: str = "") -> None:
    """The five lines of Fabric's documentation."""
    from lightning.fabric import Fabric

    launcher = Fabric(accelerator="cpu", devices=1)
    launcher.launch()
    model = Net(fault)
    optimizer = torch.optim.Adam(model.trained(), lr=1e-2)
    model, optimizer = launcher.setup(model, optimizer)
    batches = launcher.setup_dataloaders(loader())
    model.train()
    for _ in range(EPOCHS):
        for inputs, target in batches:
            if fault != "no zero_grad":
                optimizer.zero_grad()
            loss = F.cross_entropy(model(inputs), target)
            launcher.backward(loss)
            optimizer.step()


def ignite(fault: str = "") -> None:
    """The quickstart of PyTorch-Ignite."""
    from ignite.engine import Engine, Events, create_supervised_evaluator, create_supervised_trainer
    from ignite.metrics import Accuracy, Loss

    model, criterion = Net(fault), nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.trained(), lr=1e-2)
    if fault == "no zero_grad":

        def train_step(engine: Engine, batch: Any) -> float:
            model.train()
            inputs, target = batch
            loss = criterion(model(inputs), target)
            loss.backward()
            optimizer.step()
            return loss.item()

        trainer = Engine(train_step)
    else:
        trainer = create_supervised_trainer(model, optimizer, criterion)
    evaluator = create_supervised_evaluator(model, metrics={"accuracy": Accuracy(), "loss": Loss(criterion)})
    held_out = loader()

    @trainer.on(Events.EPOCH_COMPLETED(every=5))
    def log_validation_results(engine: Engine) -> None:
        evaluator.run(held_out)

    trainer.run(loader(), max_epochs=EPOCHS)


def skorch(fault: str = "") -> None:
    """The example of skorch's README; its history is not printed."""
    from skorch import NeuralNetClassifier

    inputs, labels = points()
    net = NeuralNetClassifier(
        Net,
        module__fault=fault,
        criterion=nn.CrossEntropyLoss,
        optimizer=torch.optim.Adam,
        max_epochs=EPOCHS,
        batch_size=16,
        lr=1e-2,
        iterator_train__shuffle=True,
        verbose=0,
        **({"optimizer__param_groups": [("head.*", {"lr": 0.0})]} if fault == "rate of zero" else {}),
    )
    net.fit(inputs.numpy(), labels.numpy())


def keras(fault: str = "") -> None:
    """The first example of Keras 3, with torch as its backend. Its optimizer is not torch's."""
    import keras as k

    class Detached(k.layers.Layer):
        def call(self, inputs: Any) -> Any:
            return k.ops.stop_gradient(inputs)

    class WithoutClearing(k.Sequential):
        """A step of one's own, as the guide for torch writes it, but for `self.zero_grad()`."""

        def train_step(self, data: Any) -> Any:
            x, y = data
            loss = self.compute_loss(y=y, y_pred=self(x, training=True))
            loss.backward()
            weights = list(self.trainable_weights)
            gradients = [weight.value.grad for weight in weights]
            with torch.no_grad():
                self.optimizer.apply(gradients, weights)
            return {"loss": loss.detach()}

    model = (WithoutClearing if fault == "no zero_grad" else k.Sequential)(
        [
            k.Input((20,)),
            k.layers.Dense(64, activation="relu"),
            *([k.layers.BatchNormalization(), k.layers.Dropout(0.1)] if fault == "normalised" else []),
            *([Detached()] if fault == "detached" else []),
            k.layers.Dense(4, activation="softmax" if fault == "softmax" else None),
        ]
    )
    loss = k.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(optimizer=k.optimizers.Adam(learning_rate=1e-2), loss=loss)
    inputs, labels = points()
    model.fit(inputs.numpy(), labels.numpy(), batch_size=16, epochs=EPOCHS, verbose=0)


def fastai(fault: str = "") -> None:
    """A Learner as fastai's documentation makes one from a model of torch. Its optimizer is not torch's either."""
    from fastai.callback import schedule as schedule  # it adds methods to the Learner
    from fastai.data.core import DataLoaders
    from fastai.data.load import DataLoader as FastLoader
    from fastai.learner import Learner

    inputs, labels = points()
    batches = FastLoader(TensorDataset(inputs, labels), bs=16, shuffle=True)
    held_out = FastLoader(TensorDataset(inputs[:32], labels[:32]), bs=16)
    model = Net(fault)
    parts = {"splitter": lambda model: [list(model.body.parameters())]} if fault == "left out" else {}
    learn = Learner(DataLoaders(batches, held_out), model, loss_func=nn.CrossEntropyLoss(), **parts)
    with learn.no_bar(), learn.no_logging():
        learn.fit_one_cycle(EPOCHS, 1e-2)


def graphs(count: int = 64) -> list[Any]:
    """Small rings of four kinds: the mean of the features of their nodes tells which."""
    from torch_geometric.data import Data

    generator = torch.Generator().manual_seed(5)
    centres = torch.randn(4, 8, generator=generator)
    found = []
    for at in range(count):
        nodes = 4 + at % 5
        ring = torch.arange(nodes)
        edges = torch.stack([torch.cat([ring, ring.roll(1)]), torch.cat([ring.roll(1), ring])])
        features = centres[at % 4] + 0.5 * torch.randn(nodes, 8, generator=generator)
        found.append(Data(x=features, edge_index=edges, y=torch.tensor([at % 4])))
    return found


def gcn(fault: str = "") -> nn.Module:
    from torch_geometric.nn import GCNConv, global_mean_pool

    class GCN(nn.Module):
        """The network of PyG's introduction by example, for whole graphs."""

        def __init__(self) -> None:
            super().__init__()
            self.conv1 = GCNConv(8, 32)
            self.conv2 = GCNConv(32, 32)
            self.lin = nn.Linear(32, 4)

        def forward(self, x: torch.Tensor, edge_index: torch.Tensor, batch: torch.Tensor) -> torch.Tensor:
            x = F.relu(self.conv1(x, edge_index))
            x = self.conv2(x, edge_index)
            x = self.lin(global_mean_pool(x.detach() if fault == "detached" else x, batch))
            return x.softmax(dim=-1) if fault == "softmax" else x

    return GCN()


def gcn_optimizer(model: Any, fault: str = "") -> torch.optim.Optimizer:
    held = [*model.conv1.parameters(), *model.conv2.parameters()] if fault == "left out" else model.parameters()
    return torch.optim.Adam(held, lr=1.0 if fault == "rate" else 1e-2)


def graph_loss(model: Any, data: Any) -> torch.Tensor:
    return F.cross_entropy(model(data.x, data.edge_index, data.batch), data.y)


def graph_loader() -> Any:
    from torch_geometric.loader import DataLoader as GraphLoader

    return GraphLoader(graphs(), batch_size=16, shuffle=True)


def pyg(fault: str = "") -> None:
    model, batches = gcn(fault), graph_loader()
    optimizer = gcn_optimizer(model, fault)
    model.train()
    for _ in range(3 * EPOCHS):
        for data in batches:
            optimizer.zero_grad()
            loss = graph_loss(model, data)
            loss.backward()
            optimizer.step()
