"""Metric learning: pairs, triplets, contrast, retrieval."""

from __future__ import annotations

import copy

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset

from pytest_trainhealth import Training

from ..healthy.toydata import blobs, loader
from . import fault


class Embedder(nn.Module):
    def __init__(self, inside: int = 16, width: int = 48, outside: int = 8) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(inside, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU())
        self.project = nn.Linear(width, outside)

    def forward(self, x: Tensor) -> Tensor:
        return self.project(self.body(x))


class Pairs(Dataset):
    """Two signatures and whether one hand wrote both; some pairs may be a signature with itself."""

    def __init__(self, n: int = 192, writers: int = 6, *, itself: float = 0.0) -> None:
        x, writer = blobs(2 * n, classes=writers)
        other = torch.arange(n, 2 * n)
        chosen = torch.rand(n) < 0.4  # more pairs of one hand than chance would give
        for i in range(n):
            if chosen[i]:
                matching = (writer[n:] == writer[i]).nonzero().squeeze(1) + n
                other[i] = matching[torch.randint(len(matching), ())]
        other = torch.where(torch.rand(n) < itself, torch.arange(n), other)
        self.left, self.right = x[:n], x[other]
        self.same = (writer[:n] == writer[other]).float()

    def __len__(self) -> int:
        return len(self.same)

    def __getitem__(self, index: int) -> tuple[Tensor, Tensor, Tensor]:
        return self.left[index], self.right[index], self.same[index]


def contrastive(distance: Tensor, same: Tensor, margin: float = 1.0) -> Tensor:
    return (same * distance**2 + (1 - same) * F.relu(margin - distance) ** 2).mean()


@fault("unstable-operation", operation="sqrt (backward)")
def siamese_distance_of_equal_pairs(broken: bool) -> Training:
    """A hand-written Euclidean distance: the root of 0, of a pair of equal samples, has no finite gradient."""

    def loss(model: nn.Module, batch: list[Tensor]) -> Tensor:
        left, right, same = batch
        squared = ((model(left) - model(right)) ** 2).sum(-1)
        distance = torch.sqrt(squared) if broken else torch.sqrt(squared + 1e-8)  # guilty
        return contrastive(distance, same)

    model = Embedder()
    data = DataLoader(Pairs(itself=0.125), batch_size=24, shuffle=True)
    return Training(model, torch.optim.Adam(model.parameters(), lr=3e-3), loss, data)


class SiameseNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.left = Embedder()
        self.right = self.left
        self.scale = nn.Parameter(torch.tensor(4.0))
        self.shift = nn.Parameter(torch.tensor(0.0))

    def forward(self, a: Tensor, b: Tensor) -> Tensor:
        alike = F.cosine_similarity(self.left(a), self.right(b))
        return self.scale * alike + self.shift


@fault("tied-weights-broken", hard=True)
def siamese_second_tower_is_a_copy(broken: bool) -> Training:
    """Both sides should share one tower; deepcopy makes two that drift apart, so (a, b) and (b, a) score otherwise."""
    model = SiameseNet()
    if broken:
        model.right = copy.deepcopy(model.left)
    return Training(
        model,
        torch.optim.Adam(model.parameters(), lr=3e-3),
        loss=lambda model, batch: F.binary_cross_entropy_with_logits(model(batch[0], batch[1]), batch[2]),
        data=DataLoader(Pairs(), batch_size=24, shuffle=True),
    )


@fault("duplicate-parameters", hard=True)
def siamese_shared_tower_listed_twice(broken: bool) -> Training:
    """The parameters of both towers go to the optimizer, which are the same ones: each step moves them twice."""
    model = SiameseNet()
    towers = [*model.left.parameters(), *(model.right.parameters() if broken else ())]
    optimizer = torch.optim.SGD([*towers, model.scale, model.shift], lr=0.05, momentum=0.9)
    return Training(
        model,
        optimizer,
        loss=lambda model, batch: F.binary_cross_entropy_with_logits(model(batch[0], batch[1]), batch[2]),
        data=DataLoader(Pairs(), batch_size=24, shuffle=True),
    )


@fault("frozen-parameters")
def siamese_encoder_left_frozen(broken: bool) -> Training:
    """The freezing of a pretrained encoder was kept when the weights were not: a random body, and nothing to learn."""

    class Classifier(nn.Module):
        def __init__(self, writers: int = 12) -> None:
            super().__init__()
            self.embed = Embedder(width=24, outside=2)
            self.prototypes = nn.Parameter(torch.randn(writers, 2))

        def forward(self, x: Tensor) -> Tensor:
            return -(torch.cdist(self.embed(x), self.prototypes) ** 2)

    model = Classifier()
    if broken:
        for parameter in model.embed.parameters():
            parameter.requires_grad = False
    optimizer = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=1e-2)
    data = loader(*blobs(192, classes=12), batch_size=24)
    return Training(model, optimizer, criterion=nn.CrossEntropyLoss(), data=data)


class Captions(Dataset):
    """Images and captions of four words each; the images are sums of their words' pictures."""

    def __init__(self, n: int = 768, *, mixed_up: bool = False) -> None:
        self.words = torch.randint(20, (n, 4))
        picture = torch.randn(20, 16)
        self.images = picture[self.words].sum(1) / 2 + 0.1 * torch.randn(n, 16)
        if mixed_up:  # the directory listing is not in the order of the table
            self.images = self.images[torch.randperm(n)]

    def __len__(self) -> int:
        return len(self.words)

    def __getitem__(self, index: int) -> dict[str, Tensor]:
        return {"image": self.images[index], "words": self.words[index]}


class CLIP(nn.Module):
    def __init__(self, width: int = 16) -> None:
        super().__init__()
        self.image = Embedder(outside=width)
        self.words = nn.EmbeddingBag(20, 32)
        self.text = nn.Sequential(nn.Linear(32, 48), nn.ReLU(), nn.Linear(48, width))
        self.log_scale = nn.Parameter(torch.tensor(2.0))

    def forward(self, image: Tensor, words: Tensor) -> Tensor:
        image, text = F.normalize(self.image(image), dim=-1), F.normalize(self.text(self.words(words)), dim=-1)
        return self.log_scale.exp() * image @ text.T


@fault("labels-not-aligned")
def siamese_captions_of_other_images(broken: bool) -> Training:
    """Images come in the order of the directory, captions in that of the table: no caption describes its image."""

    def loss(model: nn.Module, batch: dict[str, Tensor]) -> Tensor:
        logits = model(batch["image"], batch["words"])
        own = torch.arange(len(logits))
        return (F.cross_entropy(logits, own) + F.cross_entropy(logits.T, own)) / 2

    model = CLIP()
    data = DataLoader(Captions(mixed_up=broken), batch_size=48, shuffle=True)
    return Training(model, torch.optim.AdamW(model.parameters(), lr=3e-3), loss, data)


@fault("low-precision-overflow", operation="exp")
def siamese_exponentials_in_half(broken: bool) -> Training:
    """A hand-written NT-Xent on a float16 similarity matrix: exp(1 / 0.07) is 1.6 million, float16 ends at 65504."""

    def nt_xent(a: Tensor, b: Tensor, temperature: float = 0.07) -> Tensor:
        z = F.normalize(torch.cat([a, b]), dim=-1)
        if broken:
            z = z.half()
        similarity = torch.exp(z @ z.T / temperature)  # guilty
        n = len(a)
        others = similarity * (1 - torch.eye(2 * n, dtype=similarity.dtype))
        positive = torch.cat([similarity.diagonal(n), similarity.diagonal(-n)])
        return -torch.log(positive / others.sum(-1)).mean().float()

    def loss(model: nn.Module, batch: list[Tensor]) -> Tensor:
        (x,) = batch
        return nt_xent(model(x + 0.2 * torch.randn_like(x)), model(x + 0.2 * torch.randn_like(x)))

    model = Embedder()
    data = loader(torch.randn(192, 16), batch_size=24)
    return Training(model, torch.optim.Adam(model.parameters(), lr=3e-3), loss, data)


@fault("frozen-parameters-change", hard=True)
def siamese_frozen_backbone_statistics(broken: bool) -> Training:
    """The pretrained backbone is frozen by its flags only: its BatchNorm statistics drift to the new data's."""

    class Retrieval(nn.Module):
        def __init__(self, backbone: nn.Module) -> None:
            super().__init__()
            self.backbone = backbone.requires_grad_(False)
            self.project = nn.Sequential(nn.Linear(48, 48), nn.ReLU(), nn.Linear(48, 8))

        def train(self, mode: bool = True) -> Retrieval:
            super().train(mode)
            if not broken:
                self.backbone.eval()
            return self

        def forward(self, x: Tensor) -> Tensor:
            return self.project(self.backbone(x))

    def loss(model: nn.Module, batch: dict[str, Tensor]) -> Tensor:
        anchor, positive, negative = (model(batch[key]) for key in ("anchor", "positive", "negative"))
        return F.triplet_margin_loss(anchor, positive, negative, margin=1.0)

    backbone = nn.Sequential(nn.Linear(16, 48), nn.BatchNorm1d(48), nn.ReLU())
    with torch.no_grad():
        for _ in range(50):  # what pretraining has left in the statistics
            backbone(torch.randn(32, 16))
    x, y = blobs(240, classes=6)
    x = 1.5 * x + 0.5
    data = []
    for c in range(6):
        own, others = x[y == c], x[y != c]
        for part in (slice(0, 10), slice(10, 20)):
            negatives = others[torch.randperm(len(others))[:10]]
            data.append({"anchor": own[part], "positive": own[20:][part], "negative": negatives})
    model = Retrieval(backbone)
    model.train()
    return Training(model, torch.optim.Adam(model.project.parameters(), lr=3e-3), loss, data)


@fault("dead-activations")
def siamese_embeddings_behind_a_dead_relu(broken: bool) -> Training:
    """All biases start at -4 'for sparse codes' in front of their ReLUs: no unit ever fires, no gradient comes back."""

    class SparseEmbedder(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.hidden = nn.Linear(16, 64)
            self.code = nn.Linear(64, 32)
            self.classes = nn.Linear(32, 8)
            if broken:
                for layer in (self.hidden, self.code):
                    nn.init.constant_(layer.bias, -4.0)

        def forward(self, x: Tensor) -> Tensor:
            return self.classes(F.relu(self.code(F.relu(self.hidden(x)))))

    model = SparseEmbedder()
    data = loader(*blobs(192, classes=8), batch_size=24)
    return Training(model, torch.optim.Adam(model.parameters(), lr=5e-3), criterion=nn.CrossEntropyLoss(), data=data)


@fault("gradients-cleared-before-step")
def siamese_main_clears_before_the_step(broken: bool) -> None:
    """Watched: zero_grad() was moved to the end of the loop and ended up one line too early, before step()."""
    model = Embedder()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    data = DataLoader(Pairs(), batch_size=24, shuffle=True)
    for _ in range(8):
        for left, right, same in data:
            distance = F.pairwise_distance(model(left), model(right))
            loss = contrastive(distance, same)
            loss.backward()
            if broken:
                optimizer.zero_grad()
            optimizer.step()
            if not broken:
                optimizer.zero_grad()
