"""Parts that never learn: weights that are lost, classes that are left out, parameters that never move."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.utils import parametrizations, weight_norm

from ..loops import Batch, Loop, mlp, pictures


def plain(
    model: nn.Module, optimizer: torch.optim.Optimizer, data: list[Batch], epochs: int = 8, **options: Any
) -> Loop:
    def step(batch: Batch) -> Tensor:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(batch[0]), batch[1], **options)
        loss.backward()
        optimizer.step()
        return loss

    return Loop({"model": model}, {"optimizer": optimizer}, step, data, epochs)


class Temporal(nn.Module):
    """A temporal convolutional net, whose layers are normalised and then initialised."""

    def __init__(self, how: str) -> None:
        super().__init__()
        self.first, self.second = nn.Conv1d(1, 16, 3, padding=1), nn.Conv1d(16, 16, 3, padding=2, dilation=2)
        self.head = nn.Linear(16, 4)
        layers = (self.first, self.second)
        if how == "none":
            for layer in layers:
                nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
        for layer in layers:
            if how == "parametrized":
                parametrizations.weight_norm(layer)
            else:
                weight_norm(layer)
        if how in ("hook", "data"):
            for layer in layers:
                if how == "data":
                    layer.weight.data.normal_(0, 0.01)
                else:
                    with torch.no_grad():
                        nn.init.xavier_uniform_(layer.weight)
        for layer in layers:
            if how == "parametrized":
                nn.init.kaiming_normal_(layer.weight)
            elif how == "its parameters":  # as the last layer of DINO's head
                layer.weight_g.data.fill_(1)
                nn.init.normal_(layer.weight_v)

    def forward(self, x: Tensor) -> Tensor:
        x = F.relu(self.first(x.unsqueeze(1)))
        return self.head(F.relu(self.second(x)).mean(2))


def weight_normed(fault: str) -> Loop:
    model = Temporal(fault)
    return plain(model, torch.optim.Adam(model.parameters(), 3e-3), pictures())


def tagged(batches: int, padded: bool) -> list[Batch]:
    """Words, and for each whether it is larger than the one before; padding is of another kind."""
    found = []
    for _ in range(batches):
        words = torch.randint(1, 12, (8, 10))
        labels = torch.zeros_like(words)
        labels[:, 1:] = (words[:, 1:] > words[:, :-1]).long()
        if padded:
            beyond = torch.arange(10) >= torch.randint(5, 11, (8, 1))
            words, labels = words.masked_fill(beyond, 0), (labels + 1).masked_fill(beyond, 0)
        found.append((words, labels))
    return found


class Tagger(nn.Module):
    def __init__(self, classes: int) -> None:
        super().__init__()
        self.words = nn.Embedding(12, 16, padding_idx=0)
        self.rnn, self.head = nn.LSTM(16, 24, batch_first=True), nn.Linear(24, classes)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.rnn(self.words(x))[0]).transpose(1, 2)


def ignored_class(fault: str) -> Loop:
    """`none`: 0 is padding, 1 and 2 are the classes. The fault: 0 is one of two classes."""
    model = Tagger(3 if fault == "none" else 2)
    optimizer = torch.optim.Adam(model.parameters(), 5e-3)
    return plain(model, optimizer, tagged(8, fault == "none"), epochs=10, ignore_index=0)


def ignored_picture_class(fault: str) -> Loop:
    """Whether a picture shows the thing or not. The twin has no `ignore_index`."""
    model = mlp(12, 32, 2)
    data = [(x, (y > 1).long()) for x, y in pictures()]
    optimizer = torch.optim.SGD(model.parameters(), 0.05, momentum=0.9)
    return plain(model, optimizer, data, **({} if fault == "none" else {"ignore_index": 0}))


class Skips(torch.optim.SGD):
    """Steps only with what has two dimensions."""

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is not None and p.ndim > 1:
                    p.add_(p.grad, alpha=-group["lr"])


def never_moves(fault: str) -> Loop:
    model = mlp(12, 32, 24, 4)
    body, middle, head = model[0], model[2], model[4]
    optimizer: torch.optim.Optimizer = torch.optim.SGD(model.parameters(), 0.1)
    if fault == "skipped":
        optimizer = Skips(model.parameters(), 0.1)
    elif fault == "no rate":
        groups = [{"params": [*body.parameters(), *head.parameters()]}, {"params": middle.parameters(), "lr": 0.0}]
        optimizer = torch.optim.SGD(groups, 0.1)
    elif fault == "restored":
        kept = middle.weight.detach().clone()

        def restore(*_: Any) -> None:
            middle.weight.data.copy_(kept)

        optimizer.register_step_post_hook(restore)
    loop = plain(model, optimizer, pictures())
    rising = (
        torch.optim.lr_scheduler.LambdaLR(optimizer, lambda count: min(1.0, count / 6)) if fault == "warm-up" else None
    )
    state = {name: value.clone() for name, value in head.state_dict().items()}
    inner = loop.step

    def step(batch: Batch) -> Tensor:
        if fault == "reloaded":
            head.load_state_dict(state)
        loss = inner(batch)
        if rising is not None:
            rising.step()
        return loss

    loop.step = step
    return loop


def never_thawed(fault: str) -> Loop:
    """Gradual unfreezing: the body is thawed from the third epoch on; or something else is."""
    model = mlp(12, 32, 24, 4)
    for parameter in model[:4].parameters():
        parameter.requires_grad_(False)
    optimizer = torch.optim.Adam(model.parameters(), 3e-3)
    loop, seen = plain(model, optimizer, pictures()), 0
    inner = loop.step

    def step(batch: Batch) -> Tensor:
        nonlocal seen
        seen += 1
        if seen == 5:
            for name, parameter in model.named_parameters():
                if fault == "none" or name.startswith("layer"):
                    parameter.requires_grad_(True)
                elif fault == "typo":
                    parameter.require_grad = True
        return inner(batch)

    loop.step = step
    return loop


def empty_steps(fault: str) -> Loop:
    """Accumulates over four batches; the fault steps at every batch and scatters its backward passes."""
    model = mlp(12, 32, 4)
    optimizer, seen = torch.optim.SGD(model.parameters(), 0.1), 0

    def step(batch: Batch) -> Tensor:
        nonlocal seen
        seen += 1
        loss = F.cross_entropy(model(batch[0]), batch[1])
        if fault == "none" or seen % 4 == 0:
            loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return loss

    return Loop({"model": model}, {"sgd": optimizer}, step, pictures())


PAIRS = {
    weight_normed: ("none", "its parameters", "parametrized", "hook", "data"),
    ignored_class: ("none", "a class"),
    ignored_picture_class: ("none", "a class"),
    never_moves: ("none", "warm-up", "skipped", "no rate", "restored", "reloaded"),
    never_thawed: ("none", "typo", "other names"),
    empty_steps: ("none", "scattered"),
}
