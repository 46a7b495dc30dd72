"""Loops in which gradients are never cleared, in the forms that accumulate, call closures, or update by hand."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ..loops import Batch, Loop, mlp, pictures


def letters(batches: int, size: int = 4, length: int = 16, words: int = 12) -> list[Batch]:
    """Counting upwards from a random place, with a few mistakes."""
    found = []
    for _ in range(batches):
        start = torch.randint(0, words, (size, 1))
        text = (start + torch.arange(length + 1)) % words
        text = torch.where(torch.rand(text.shape) < 0.1, torch.randint(0, words, text.shape), text)
        found.append((text[:, :-1], text[:, 1:]))
    return found


class Block(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attend, self.project = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = self.attend(self.first(x)).chunk(3, -1)
        x = x + self.project(F.scaled_dot_product_attention(q, k, v, is_causal=True))
        return x + self.mlp(self.second(x))


class Gpt(nn.Module):
    def __init__(self, words: int = 12, length: int = 16, width: int = 16) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(length, width)
        self.blocks = nn.Sequential(Block(width))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, words, bias=False)
        nn.init.normal_(self.words.weight, std=0.1)
        self.head.weight = self.words.weight

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        x = self.blocks(self.words(x) + self.places.weight[: x.shape[1]])
        return F.cross_entropy(self.head(self.norm(x)).flatten(0, 1), y.flatten())


def _accumulated(fault: str, passes: int, batches: int, epochs: int) -> Loop:
    """As nanoGPT does it: a step takes its micro-batches itself."""
    model = Gpt()
    optimizer = torch.optim.AdamW(model.parameters(), 3e-3, betas=(0.9, 0.95))
    data = letters(batches, length=8)
    stream: Iterator[Batch] = iter(())

    def following() -> Batch:
        nonlocal stream
        found = next(stream, None)
        if found is None:
            stream = iter(data)
            found = next(stream)
        return found

    def step(batch: Batch) -> Tensor:
        total = torch.zeros(())
        for number in range(passes):
            loss = model(*(batch if number == 0 else following())) / passes
            loss.backward()
            total += loss.detach()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if fault == "none":
            optimizer.zero_grad(set_to_none=True)
        return total

    return Loop({"model": model}, {"adamw": optimizer}, step, data, epochs)


def twelve_passes(fault: str) -> Loop:
    return _accumulated(fault, 12, 6, 5)


def forty_passes(fault: str) -> Loop:
    return _accumulated(fault, 40, 4, 3)


def _over_calls(fault: str, passes: int, epochs: int) -> Loop:
    """A loop over batches that updates at every so-manieth of them."""
    model = nn.Sequential(nn.Unflatten(1, (1, 12)), nn.Conv1d(1, 8, 3), nn.ReLU(), nn.Flatten(), nn.Linear(80, 4))
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    seen = 0

    def step(batch: Batch) -> Tensor:
        nonlocal seen
        loss = F.cross_entropy(model(batch[0]), batch[1])
        (loss / passes).backward()
        seen += 1
        if seen % passes == 0:
            optimizer.step()
            if fault == "none":
                optimizer.zero_grad()
        return loss

    return Loop({"model": model}, {"sgd": optimizer}, step, pictures(20, 8), epochs)


def over_twelve_calls(fault: str) -> Loop:
    return _over_calls(fault, 12, 15)


def over_forty_calls(fault: str) -> Loop:
    return _over_calls(fault, 40, 30)


def lbfgs(fault: str) -> Loop:
    model = mlp(12, 16, 4)
    optimizer = torch.optim.LBFGS(model.parameters(), lr=0.1, max_iter=4)

    def step(batch: Batch) -> Tensor:
        def closure() -> Tensor:
            if fault == "none":
                optimizer.zero_grad()
            loss = F.cross_entropy(model(batch[0]), batch[1])
            loss.backward()
            return loss

        if fault == "cleared outside":
            optimizer.zero_grad()
        return optimizer.step(closure)

    return Loop({"model": model}, {"lbfgs": optimizer}, step, pictures(4, 32), epochs=6)


def by_hand(fault: str) -> Loop:
    """`p.data -= lr * p.grad`, as tutorials do it."""
    model = mlp(12, 24, 4)

    def step(batch: Batch) -> Tensor:
        if fault == "none":
            model.zero_grad()
        loss = F.cross_entropy(model(batch[0]), batch[1])
        loss.backward()
        for parameter in model.parameters():
            parameter.data -= 0.05 * parameter.grad
        return loss

    return Loop({"model": model}, {}, step, pictures())


def by_hand_under_no_grad(fault: str) -> Loop:
    """Two matrices and no module's help: a parameter list, `torch.no_grad()`, and a mean that is subtracted."""
    weights = nn.ParameterList([torch.randn(12, 32) / 4, torch.zeros(32), torch.randn(32, 4) / 6, torch.zeros(4)])

    def step(batch: Batch) -> Tensor:
        hidden = torch.tanh(batch[0] @ weights[0] + weights[1])
        loss = F.cross_entropy(hidden @ weights[2] + weights[3], batch[1])
        loss.backward()
        with torch.no_grad():
            for weight in weights:
                weight -= 0.1 * weight.grad
                if fault == "none":
                    weight.grad.zero_()
        return loss

    return Loop({"weights": weights}, {}, step, pictures())


class MyAdam:
    """Not one of torch's."""

    def __init__(self, parameters: Iterable[Tensor], rate: float) -> None:
        self.parameters, self.rate, self.count = list(parameters), rate, 0
        self.first = [torch.zeros_like(p) for p in self.parameters]
        self.second = [torch.zeros_like(p) for p in self.parameters]

    @torch.no_grad()
    def step(self) -> None:
        self.count += 1
        for p, m, v in zip(self.parameters, self.first, self.second, strict=True):
            if p.grad is None:
                continue
            m.mul_(0.9).add_(p.grad, alpha=0.1)
            v.mul_(0.999).addcmul_(p.grad, p.grad, value=0.001)
            rate = self.rate * math.sqrt(1 - 0.999**self.count) / (1 - 0.9**self.count)
            p.addcdiv_(m, v.sqrt().add_(1e-8), value=-rate)

    def zero_grad(self) -> None:
        for p in self.parameters:
            p.grad = None


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(12, 32), nn.LayerNorm(32), nn.SiLU())
        self.head = nn.Linear(32, 4)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.encoder(x))


def own_adam(fault: str) -> Loop:
    model = Net()
    optimizer = MyAdam(model.encoder.parameters() if fault == "not held" else model.parameters(), 3e-3)

    def step(batch: Batch) -> Tensor:
        loss = F.cross_entropy(model(batch[0]), batch[1])
        loss.backward()
        optimizer.step()
        if fault == "not held":
            model.zero_grad()
        elif fault == "none":
            optimizer.zero_grad()
        return loss

    return Loop({"model": model}, {}, step, pictures())


PAIRS = {
    twelve_passes: ("none", "not cleared"),
    forty_passes: ("none", "not cleared"),
    over_twelve_calls: ("none", "not cleared"),
    over_forty_calls: ("none", "not cleared"),
    lbfgs: ("none", "not cleared", "cleared outside"),
    by_hand: ("none", "not cleared"),
    by_hand_under_no_grad: ("none", "not cleared"),
    own_adam: ("none", "not cleared", "not held"),
}
