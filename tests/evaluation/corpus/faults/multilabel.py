"""Several answers for each sample: tags and tasks."""

from __future__ import annotations

from collections.abc import Iterator

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset

from pytest_trainhealth import Training

from ..healthy.toydata import loader
from . import fault

TAGS = 6


class Tagged(Dataset):
    """Articles as vectors, with six tags of which each holds for about a third of them."""

    def __init__(self, n: int = 384, features: int = 16) -> None:
        self.articles = torch.randn(n, features)
        score = self.articles @ torch.randn(features, TAGS) / features**0.5
        self.tags = (score + 0.3 * torch.sin(3 * score) > 0.45).float()

    def __len__(self) -> int:
        return len(self.articles)

    def __getitem__(self, index: int) -> dict[str, Tensor]:
        return {"article": self.articles[index], "tags": self.tags[index]}


def tagged(batch_size: int = 32) -> DataLoader:
    return DataLoader(Tagged(), batch_size=batch_size, shuffle=True)


class Tagger(nn.Module):
    def __init__(self, features: int = 16, width: int = 64) -> None:
        super().__init__()
        self.hidden = nn.Linear(features, width)
        self.out = nn.Linear(width, TAGS)

    def forward(self, x: Tensor) -> Tensor:
        return self.out(F.relu(self.hidden(x)))


@fault("wrong-output-activation", hard=True)
def multilabel_softmax_over_the_tags(broken: bool) -> Training:
    """A softmax where each tag needs a sigmoid: the scores of all tags add up to 1, so two tags cannot both be sure."""

    class Probabilities(Tagger):
        def forward(self, x: Tensor) -> Tensor:
            scores = super().forward(x)
            return scores.softmax(-1) if broken else scores.sigmoid()

    model = Probabilities()
    return Training(
        model,
        torch.optim.Adam(model.parameters(), lr=1e-2),
        loss=lambda model, batch: F.binary_cross_entropy(model(batch["article"]), batch["tags"]),
        data=tagged(),
    )


@fault("missing-activation-for-loss")
def multilabel_bce_of_raw_scores(broken: bool) -> Training:
    """`nn.BCELoss` gets the scores of a linear layer, which are no probabilities: it refuses with an error."""

    class Head(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.tagger = Tagger()

        def forward(self, x: Tensor) -> Tensor:
            scores = self.tagger(x)
            return scores if broken else torch.sigmoid(scores)

    data = Tagged()
    model = Head()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    return Training(model, optimizer, criterion=nn.BCELoss(), data=loader(data.articles, data.tags, batch_size=32))


@fault("wrong-loss-for-task", hard=True)
def multilabel_cross_entropy_on_several_tags(broken: bool) -> Training:
    """`F.cross_entropy` takes rows of several ones for probabilities: tags compete, and no score means yes or no."""

    def step(batch: dict[str, Tensor]) -> float:
        scores = model(batch["article"])
        if broken:
            loss = F.cross_entropy(scores, batch["tags"])
        else:
            loss = F.binary_cross_entropy_with_logits(scores, batch["tags"])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.item()

    model = Tagger()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    return Training(model, optimizer, step=step, data=tagged())


class TwoTasks(nn.Module):
    """A trunk with a head for the tags and one for the length of the article."""

    def __init__(self, width: int = 64) -> None:
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(16, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU())
        self.tags = nn.Linear(width, TAGS)
        self.length = nn.Linear(width, 1)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        h = self.trunk(x)
        return self.tags(h), self.length(h).squeeze(-1)


class TwoTargets(Tagged):
    def __init__(self) -> None:
        super().__init__()
        self.length = torch.tanh(self.articles @ torch.randn(16) / 4)

    def __getitem__(self, index: int) -> dict[str, Tensor]:
        return {**super().__getitem__(index), "length": self.length[index]}


@fault("duplicate-parameters", hard=True)
def multilabel_trunk_in_two_optimizers(broken: bool) -> Training:
    """One optimizer per task, and both hold the trunk: it is stepped twice on the same gradient."""

    def step(batch: dict[str, Tensor]) -> Tensor:
        for optimizer in optimizers:
            optimizer.zero_grad()
        scores, length = model(batch["article"])
        loss = F.binary_cross_entropy_with_logits(scores, batch["tags"]) + F.mse_loss(length, batch["length"])
        loss.backward()
        for optimizer in optimizers:
            optimizer.step()
        return loss

    model = TwoTasks()
    trunk = list(model.trunk.parameters())
    optimizers = [
        torch.optim.Adam([*trunk, *model.tags.parameters()], lr=3e-3),
        torch.optim.Adam([*(trunk if broken else ()), *model.length.parameters()], lr=3e-3),
    ]
    data = DataLoader(TwoTargets(), batch_size=32, shuffle=True)
    return Training(model, optimizers, step=step, data=data)


@fault("in-place-modification")
def multilabel_smoothing_in_place(broken: bool) -> Training:
    """Labels are smoothed with `mul_` and `add_` in slices of the stored tags: each epoch brings them nearer to 1/2."""

    def loss(model: nn.Module, batch: tuple[Tensor, Tensor]) -> Tensor:
        articles, tags = batch
        smooth = tags.mul_(0.9).add_(0.05) if broken else tags.mul(0.9).add(0.05)
        return F.binary_cross_entropy_with_logits(model(articles), smooth)

    class InMemory:
        def __init__(self, data: Tagged) -> None:
            self.articles, self.tags = data.articles, data.tags

        def __iter__(self) -> Iterator[tuple[Tensor, Tensor]]:
            for start in range(0, len(self.tags), 32):
                yield self.articles[start : start + 32], self.tags[start : start + 32]

    model = Tagger()
    return Training(model, torch.optim.Adam(model.parameters(), lr=1e-2), loss, InMemory(Tagged()))


@fault("disconnected-graph", hard=True)
def multilabel_chain_of_thresholds(broken: bool) -> Training:
    """The second stage reads what the first says after `> 0.5`, which has no gradient: the first never learns."""

    class Chain(nn.Module):
        def __init__(self, width: int = 48) -> None:
            super().__init__()
            self.first = nn.Sequential(nn.Linear(16, width), nn.ReLU(), nn.Linear(width, 12))
            self.second = nn.Sequential(nn.Linear(12, width), nn.ReLU(), nn.Linear(width, TAGS))

        def forward(self, x: Tensor) -> Tensor:
            topics = torch.sigmoid(self.first(x))
            if broken:
                topics = (topics > 0.5).float()
            return self.second(topics)

    model = Chain()
    return Training(
        model,
        torch.optim.Adam(model.parameters(), lr=1e-2),
        loss=lambda model, batch: F.binary_cross_entropy_with_logits(model(batch["article"]), batch["tags"]),
        data=tagged(),
    )


@fault("invalid-labels")
def multilabel_sections_counted_from_one(broken: bool) -> Training:
    """Beside the tags, each article has a section from 1 to 5, and the head has five classes: 5 is out of range."""

    class Sections(Tagged):
        def __init__(self) -> None:
            super().__init__()
            self.section = 1 + (self.articles @ torch.randn(16, 5)).argmax(1)
            if not broken:
                self.section -= 1

        def __getitem__(self, index: int) -> dict[str, Tensor]:
            return {**super().__getitem__(index), "section": self.section[index]}

    class SectionTagger(nn.Module):
        def __init__(self, width: int = 64) -> None:
            super().__init__()
            self.trunk = nn.Sequential(nn.Linear(16, width), nn.ReLU())
            self.tags, self.section = nn.Linear(width, TAGS), nn.Linear(width, 5)

        def forward(self, x: Tensor) -> dict[str, Tensor]:
            h = self.trunk(x)
            return {"tags": self.tags(h), "section": self.section(h)}

    def loss(model: nn.Module, batch: dict[str, Tensor]) -> Tensor:
        output = model(batch["article"])
        tags = F.binary_cross_entropy_with_logits(output["tags"], batch["tags"])
        return tags + F.cross_entropy(output["section"], batch["section"])

    model = SectionTagger()
    data = DataLoader(Sections(), batch_size=32, shuffle=True)
    return Training(model, torch.optim.Adam(model.parameters(), lr=1e-2), loss, data)


@fault("too-much-regularization")
def multilabel_weight_decay_of_ten(broken: bool) -> Training:
    """`weight_decay=10` in AdamW, found for a library with another unit: weights shrink faster than they grow."""
    model = Tagger()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2, weight_decay=10.0 if broken else 0.01)
    return Training(
        model,
        optimizer,
        loss=lambda model, batch: F.binary_cross_entropy_with_logits(model(batch["article"]), batch["tags"]),
        data=tagged(),
    )


@fault("accumulation-not-scaled")
def multilabel_eight_parts_added_up(broken: bool) -> Training:
    """Gradients of eight parts of a batch are added up and the sum is never divided: SGD steps eight times too far."""

    class Trainer:
        def __init__(self) -> None:
            self.model = Tagger(width=96)
            self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.3, momentum=0.9)

        def step(self, batch: dict[str, Tensor], parts: int = 8) -> float:
            self.optimizer.zero_grad()
            total = 0.0
            for article, tags in zip(batch["article"].chunk(parts), batch["tags"].chunk(parts), strict=True):
                loss = F.binary_cross_entropy_with_logits(self.model(article), tags)
                if not broken:
                    loss = loss / parts
                loss.backward()
                total += loss.item()
            self.optimizer.step()
            return total / parts if broken else total

    trainer = Trainer()
    return Training(trainer.model, trainer.optimizer, step=trainer.step, data=tagged())


@fault("frozen-parameters-change", hard=True)
def multilabel_frozen_trunk_decays(broken: bool) -> Training:
    """The pretrained trunk is 'frozen' by gradients set to zero, and the weight decay of AdamW shrinks it."""
    model = TwoTasks()
    source = TwoTargets()
    pretraining = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(40):
        scores, _ = model(source.articles)
        pretraining.zero_grad()
        F.binary_cross_entropy_with_logits(scores, source.tags).backward()
        pretraining.step()
    if not broken:
        model.trunk.requires_grad_(False)

    def step(batch: dict[str, Tensor]) -> Tensor:
        optimizer.zero_grad()
        scores, length = model(batch["article"])
        loss = F.binary_cross_entropy_with_logits(scores, batch["tags"]) + F.mse_loss(length, batch["length"])
        loss.backward()
        if broken:
            for parameter in model.trunk.parameters():  # frozen
                parameter.grad.zero_()
        optimizer.step()
        return loss

    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=0.1)
    data = DataLoader(source, batch_size=32, shuffle=True)
    return Training(model, optimizer, step=step, data=data)


@fault("double-softmax", second="frozen-parameters")
def multilabel_sigmoid_twice_on_a_frozen_trunk(broken: bool) -> Training:
    """Two faults: probabilities go into the loss for logits, and the trunk, which starts at random, is frozen."""

    class Probabilities(nn.Module):
        def __init__(self, width: int = 32) -> None:
            super().__init__()
            self.trunk = nn.Sequential(nn.Linear(16, width), nn.ReLU(), nn.Linear(width, 8), nn.ReLU())
            self.tags = nn.Linear(8, TAGS)

        def forward(self, x: Tensor) -> Tensor:
            scores = self.tags(self.trunk(x))
            return torch.sigmoid(scores) if broken else scores

    model = Probabilities()
    if broken:
        model.trunk.requires_grad_(False)
    optimizer = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=1e-2)
    data = Tagged()
    criterion = nn.BCEWithLogitsLoss()
    return Training(model, optimizer, criterion=criterion, data=loader(data.articles, data.tags, batch_size=32))


@fault("ignores-input", hard=True)
def multilabel_author_column_never_read(broken: bool) -> Training:
    """The columns on the author were split off from the text, but forward still cuts them out of the text alone."""

    class Newsroom(nn.Module):
        def __init__(self, width: int = 64) -> None:
            super().__init__()
            self.text = nn.Linear(12, width)
            self.author = nn.Linear(4, width)
            self.out = nn.Linear(width, TAGS)

        def forward(self, text: Tensor, author: Tensor) -> Tensor:
            about = text[:, -4:] if broken else author
            return self.out(F.relu(self.text(text) + self.author(about)))

    data = Tagged()
    rows = [{"text": a[:12], "author": a[12:], "tags": t} for a, t in zip(data.articles, data.tags, strict=True)]
    model = Newsroom()
    return Training(
        model,
        torch.optim.Adam(model.parameters(), lr=1e-2),
        loss=lambda model, b: F.binary_cross_entropy_with_logits(model(b["text"], b["author"]), b["tags"]),
        data=DataLoader(rows, batch_size=32, shuffle=True),
    )
