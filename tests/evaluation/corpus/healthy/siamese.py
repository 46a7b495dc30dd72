"""Metric learning: pairs, triplets, contrast, prototypes."""

from __future__ import annotations

import copy
import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from pytest_trainhealth import Training

from . import healthy
from .toydata import blobs, loader


def embedder(width: int = 8) -> nn.Sequential:
    return nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, width))


@healthy
def siamese_contrastive_margin() -> Training:
    """Both towers are one module, so its last bias cancels out of the distance; far pairs cost exactly 0."""

    def loss(model: nn.Module, batch: tuple[Tensor, Tensor, Tensor]) -> Tensor:
        left, right, same = batch
        distance = F.pairwise_distance(model(left), model(right))
        return (same * distance**2 + (1 - same) * F.relu(1.0 - distance) ** 2).mean()

    x, y = blobs(128)
    model = embedder()
    pairs = loader(x[:64], x[64:], (y[:64] == y[64:]).float())
    return Training(model, torch.optim.Adam(model.parameters(), lr=2e-3), loss, pairs)


@healthy
def triplet_loss_reaches_zero() -> Training:
    """Once all triplets keep the margin the loss is exactly 0 and so is every gradient: done, not dead."""

    def loss(model: nn.Module, batch: dict[str, Tensor]) -> Tensor:
        anchor, positive, negative = (model(batch[key]) for key in ("anchor", "positive", "negative"))
        return F.triplet_margin_loss(anchor, positive, negative, margin=1.0)

    x, y = blobs(96, classes=3)
    by_class = [x[y == c] for c in range(3)]
    batches = []
    for c in range(3):
        own, other = by_class[c], by_class[(c + 1) % 3]
        batches.append({"anchor": own[:16], "positive": own[16:], "negative": other[:16]})
    model = embedder()
    return Training(model, torch.optim.Adam(model.parameters(), lr=3e-3), loss, batches)


def two_views(x: Tensor) -> tuple[Tensor, Tensor]:
    return x + 0.3 * torch.randn_like(x), x + 0.3 * torch.randn_like(x)


def info_nce(a: Tensor, b: Tensor, temperature: float) -> Tensor:
    logits = F.normalize(a, dim=-1) @ F.normalize(b, dim=-1).T / temperature
    target = torch.arange(len(a))
    return (F.cross_entropy(logits, target) + F.cross_entropy(logits.T, target)) / 2


@healthy
def info_nce_cold() -> Training:
    """InfoNCE at temperature 0.07 on two noisy views, which are new in each step."""
    model = embedder(16)
    x, _ = blobs(128)
    return Training(
        model,
        torch.optim.Adam(model.parameters(), lr=2e-3),
        loss=lambda model, x: info_nce(*(model(view) for view in two_views(x)), temperature=0.07),
        data=list(x.split(32)),
    )


@healthy
def info_nce_warm() -> Training:
    """At temperature 0.5 the loss cannot fall far: cosines lie in -1..1, so its floor is about 1.6 for 32 samples."""
    model = embedder(16)
    x, _ = blobs(128)
    return Training(
        model,
        torch.optim.Adam(model.parameters(), lr=2e-3),
        loss=lambda model, x: info_nce(*(model(view) for view in two_views(x)), temperature=0.5),
        data=list(x.split(32)),
    )


class CLIP(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.image = nn.Sequential(nn.Linear(16, 32), nn.GELU(), nn.Linear(32, 16))
        self.text = nn.Sequential(nn.Embedding(20, 16), nn.Flatten(), nn.Linear(64, 16))
        self.log_scale = nn.Parameter(torch.tensor(math.log(1 / 0.07)))

    def forward(self, image: Tensor, text: Tensor) -> Tensor:
        image, text = F.normalize(self.image(image), dim=-1), F.normalize(self.text(text), dim=-1)
        return self.log_scale.exp().clamp(max=100) * image @ text.T


@healthy
def clip_learnable_temperature() -> Training:
    """Two encoders of different kinds and one scalar parameter, the temperature, with a much larger gradient."""

    def loss(model: nn.Module, batch: tuple[Tensor, Tensor]) -> Tensor:
        logits = model(*batch)
        target = torch.arange(len(logits))
        return (F.cross_entropy(logits, target) + F.cross_entropy(logits.T, target)) / 2

    text = torch.randint(0, 20, (96, 4))
    image = torch.randn(20, 4, 16)[text, torch.arange(4)].sum(1) / 2 + 0.1 * torch.randn(96, 16)
    model = CLIP()
    return Training(model, torch.optim.AdamW(model.parameters(), lr=2e-3), loss, loader(image, text, batch_size=24))


@healthy
def prototypical_few_shot() -> Training:
    """Episodes: classes have no head, their centres are computed from the support set within the step."""

    def loss(model: nn.Module, episode: dict[str, Tensor]) -> Tensor:
        prototypes = model(episode["support"]).mean(1)
        distances = torch.cdist(model(episode["query"].flatten(0, 1)), prototypes) ** 2
        target = torch.arange(len(prototypes)).repeat_interleave(episode["query"].shape[1])
        return F.cross_entropy(-distances, target)

    mixing = torch.randn(4, 16)
    episodes = []
    for _ in range(8):
        x = torch.randn(5, 1, 4) @ mixing + 1.5 * torch.randn(5, 8, 16)
        episodes.append({"support": x[:, :3] / 2, "query": x[:, 3:] / 2})
    model = embedder()
    return Training(model, torch.optim.Adam(model.parameters(), lr=1e-3), loss, episodes)


class BYOL(nn.Module):
    """The teacher is a submodule: trainable by its flags, run without gradients, moved by averaging only."""

    def __init__(self) -> None:
        super().__init__()
        self.student = embedder(16)
        self.predictor = nn.Sequential(nn.Linear(16, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 16))
        self.teacher = copy.deepcopy(self.student)

    def forward(self, a: Tensor, b: Tensor) -> Tensor:
        with torch.no_grad():
            target = self.teacher(b)
        return 1 - F.cosine_similarity(self.predictor(self.student(a)), target, dim=-1).mean()

    @torch.no_grad()
    def update_teacher(self, keep: float = 0.98) -> None:
        for theirs, own in zip(self.teacher.parameters(), self.student.parameters(), strict=True):
            theirs.lerp_(own, 1 - keep)


@healthy
def byol_ema_teacher() -> Training:
    """The teacher is in no optimizer on purpose and yet its parameters move."""

    def step(x: Tensor) -> Tensor:
        loss = model(*two_views(x))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        model.update_teacher()
        return loss

    model = BYOL()
    optimizer = torch.optim.Adam([*model.student.parameters(), *model.predictor.parameters()], lr=2e-3)
    return Training(model, optimizer, step=step, data=list(blobs(128)[0].split(32)))


class MoCo(nn.Module):
    """Negatives come from a queue of past keys, a buffer that is rewritten in each forward pass."""

    def __init__(self, queue: int = 128) -> None:
        super().__init__()
        self.query = embedder(16)
        self.key = copy.deepcopy(self.query).requires_grad_(False)
        self.register_buffer("queue", F.normalize(torch.randn(queue, 16), dim=-1))

    def forward(self, a: Tensor, b: Tensor) -> Tensor:
        q = F.normalize(self.query(a), dim=-1)
        with torch.no_grad():
            for theirs, own in zip(self.key.parameters(), self.query.parameters(), strict=True):
                theirs.lerp_(own, 0.01)
            k = F.normalize(self.key(b), dim=-1)
        logits = torch.cat([(q * k).sum(-1, keepdim=True), q @ self.queue.clone().T], -1) / 0.2
        self.queue = torch.cat([k, self.queue[: -len(k)]])
        return F.cross_entropy(logits, torch.zeros(len(q), dtype=torch.long))


@healthy
def moco_queue() -> Training:
    """The loss rises at first, as the queue's random vectors give way to real ones that are harder to tell apart."""
    model = MoCo()
    optimizer = torch.optim.SGD(model.query.parameters(), lr=0.1, momentum=0.9)
    x = torch.randn(256, 16)
    return Training(model, optimizer, lambda model, x: model(*two_views(x)), list(x.split(32)))


@healthy
def cosine_similarity_negative_loss() -> Training:
    """The loss is minus a cosine: it starts near 0 and ends near -1."""
    x = torch.randn(64, 16)
    target = torch.tanh(x @ torch.randn(16, 8))
    model = embedder()
    return Training(
        model,
        torch.optim.Adam(model.parameters(), lr=3e-3),
        criterion=lambda output, target: -F.cosine_similarity(output, target).mean(),
        data=loader(x, target),
    )


class ArcFace(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = embedder(8)
        self.classes = nn.Parameter(torch.randn(4, 8))

    def forward(self, x: Tensor, labels: Tensor) -> Tensor:
        cosine = F.normalize(self.embed(x), dim=-1) @ F.normalize(self.classes, dim=-1).T
        angle = torch.acos(cosine.clamp(-1 + 1e-6, 1 - 1e-6))
        return 16 * torch.where(F.one_hot(labels, 4).bool(), torch.cos(angle + 0.3), cosine)


@healthy
def arcface_angular_margin() -> Training:
    """The model is given the labels, to put a margin on the right class: its logits are not predictions."""
    model = ArcFace()
    return Training(
        model,
        torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=5e-4),
        loss=lambda model, batch: F.cross_entropy(model(*batch), batch[1]),
        data=loader(*blobs()),
    )
