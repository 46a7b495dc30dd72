"""Several answers for each sample: multi-label and multi-task."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from pytest_trainhealth import Training

from . import healthy
from .toydata import blobs, loader


def tagged(n: int = 128) -> tuple[Tensor, Tensor]:
    """Six tags, each on about one sample in seven."""
    x = torch.randn(n, 16)
    return x, (x @ torch.randn(16, 6) / 4 > 1.05).float()


@healthy
def multilabel_pos_weight() -> Training:
    """Rare positives weighted up by their odds, as is done against imbalance."""
    x, tags = tagged()
    share = tags.mean(0).clamp(0.05, 0.95)
    model = nn.Sequential(nn.Linear(16, 48), nn.ReLU(), nn.Linear(48, 6))
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    criterion = nn.BCEWithLogitsLoss(pos_weight=(1 - share) / share)
    return Training(model, optimizer, criterion=criterion, data=loader(x, tags))


@healthy
def multilabel_focal_loss() -> Training:
    """Focal loss: small from the start, since easy samples count for almost nothing."""

    def criterion(logits: Tensor, target: Tensor) -> Tensor:
        entropy = F.binary_cross_entropy_with_logits(logits, target, reduction="none")
        return (0.25 * (1 - torch.exp(-entropy)) ** 2 * entropy).mean()

    model = nn.Sequential(nn.Linear(16, 48), nn.ReLU(), nn.Linear(48, 6))
    nn.init.constant_(model[-1].bias, -2.0)
    return Training(model, torch.optim.Adam(model.parameters(), lr=3e-3), criterion=criterion, data=loader(*tagged()))


class MultiTask(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(16, 48), nn.ReLU())
        self.heads = nn.ModuleDict({"kind": nn.Linear(48, 4), "size": nn.Linear(48, 1), "odd": nn.Linear(48, 1)})
        self.log_variance = nn.ParameterDict({name: nn.Parameter(torch.zeros(())) for name in self.heads})

    def forward(self, x: Tensor) -> dict[str, Tensor]:
        h = self.trunk(x)
        return {name: head(h) for name, head in self.heads.items()}


@healthy
def multitask_uncertainty_weights() -> Training:
    """Three heads, weighted by learnt uncertainties (Kendall): the total becomes negative as they shrink."""

    def loss(model: MultiTask, batch: dict[str, Tensor | dict[str, Tensor]]) -> Tensor:
        output, target = model(batch["x"]), batch["targets"]
        losses = {
            "kind": F.cross_entropy(output["kind"], target["kind"]),
            "size": F.mse_loss(output["size"].squeeze(-1), target["size"]),
            "odd": F.binary_cross_entropy_with_logits(output["odd"].squeeze(-1), target["odd"]),
        }
        return sum(torch.exp(-s) * losses[name] + s for name, s in model.log_variance.items())

    x, kind = blobs()
    size = torch.tanh(x @ torch.randn(16) / 4)
    batches = []
    for i in range(0, 128, 16):
        part = slice(i, i + 16)
        targets = {"kind": kind[part], "size": size[part], "odd": (kind[part] % 2).float()}
        batches.append({"x": x[part], "targets": targets})
    model = MultiTask()
    return Training(model, torch.optim.Adam(model.parameters(), lr=3e-3), loss, batches)


@healthy
def multitask_one_task_a_batch() -> Training:
    """Each batch belongs to one task: the head of the other gets no gradient in that step, nor on that batch ever."""

    class TwoHeads(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.trunk = nn.Sequential(nn.Linear(16, 32), nn.ReLU())
            self.sentiment = nn.Linear(32, 2)
            self.topic = nn.Linear(32, 4)

        def forward(self, x: Tensor, task: str) -> Tensor:
            return getattr(self, task)(self.trunk(x))

    x, topic = blobs()
    batches = []
    for i in range(0, 128, 16):
        task = "topic" if i % 32 else "sentiment"
        y = topic[i : i + 16]
        batches.append({"task": task, "x": x[i : i + 16], "y": y if task == "topic" else y // 2})
    model = TwoHeads()
    return Training(
        model,
        torch.optim.Adam(model.parameters(), lr=2e-3),
        loss=lambda model, batch: F.cross_entropy(model(batch["x"], batch["task"]), batch["y"]),
        data=batches,
    )


@healthy
def multitask_scheduled_weights() -> Training:
    """The weight of the second task rises from 0: at first its head gets zero gradients, later the total rises."""

    class Curriculum:
        def __init__(self) -> None:
            self.model = MultiTask()
            del self.model.log_variance, self.model.heads["odd"]
            self.optimizer = torch.optim.Adam(self.model.parameters(), lr=2e-3)
            self.seen = 0

        def fit_batch(self, batch: list[Tensor]) -> float:
            x, kind, size = batch
            weight = min(1.0, self.seen / 60)
            self.seen += 1
            output = self.model(x)
            loss = F.cross_entropy(output["kind"], kind) + weight * F.mse_loss(output["size"].squeeze(-1), size)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            return loss.item()

    x, kind = blobs()
    curriculum = Curriculum()
    data = loader(x, kind, torch.tanh(x @ torch.randn(16) / 4))
    return Training(curriculum.model, curriculum.optimizer, step=curriculum.fit_batch, data=data)
