"""Steps in the forms that people write them in, each healthy and with a planted fault: none of them returns its loss.

`head`: the last layer is left out of whatever updates. `zero`: gradients are never cleared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from pytest_trainhealth import Training

from .loops import Batch, pictures


@dataclass
class Form:
    model: nn.Module
    optimizer: Any
    step: Callable[..., Any]
    data: Any
    steps: int = 64

    def run(self) -> None:
        """The loop around it, as a published `train()` that returns nothing."""
        for number in range(self.steps):
            if self.data is None:
                self.step()
            else:
                self.step(self.data[number % len(self.data)])

    def training(self) -> Training:
        return Training(self.model, self.optimizer, step=self.step, data=self.data)


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body, self.head = nn.Sequential(nn.Linear(12, 32), nn.ReLU()), nn.Linear(32, 4)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.head(self.body(x))
        return out


def trained(model: Net, fault: str) -> list[nn.Parameter]:
    return list((model.body if fault == "head" else model).parameters())


def loss_of(model: nn.Module, batch: Batch) -> Tensor:
    return F.cross_entropy(model(batch[0]), batch[1])


def returns_nothing(fault: str) -> Form:
    model = Net()
    optimizer = torch.optim.Adam(trained(model, fault), 3e-3)

    def step(batch: Batch) -> None:
        if fault != "zero":
            optimizer.zero_grad()
        loss_of(model, batch).backward()
        optimizer.step()

    return Form(model, optimizer, step, pictures())


def returns_figures(fault: str) -> Form:
    """For a progress bar, and not the loss."""
    model = Net()
    optimizer = torch.optim.Adam(trained(model, fault), 3e-3)

    def step(batch: Batch) -> dict[str, float]:
        if fault != "zero":
            optimizer.zero_grad()
        out = model(batch[0])
        F.cross_entropy(out, batch[1]).backward()
        optimizer.step()
        return {"accuracy": float((out.argmax(1) == batch[1]).float().mean())}

    return Form(model, optimizer, step, pictures())


def by_hand(fault: str) -> Form:
    model = Net()
    updated = trained(model, fault)

    def step(batch: Batch) -> None:
        loss_of(model, batch).backward()
        with torch.no_grad():
            for each in updated:
                assert each.grad is not None
                each -= 0.1 * each.grad
        if fault != "zero":
            model.zero_grad()

    return Form(model, None, step, pictures())


class Foreign:
    """An optimizer that is none of torch's."""

    def __init__(self, parameters: list[nn.Parameter], rate: float) -> None:
        self.parameters, self.rate = parameters, rate
        self.momenta = [torch.zeros_like(each) for each in parameters]

    def zero_grad(self) -> None:
        for each in self.parameters:
            each.grad = None

    @torch.no_grad()
    def step(self) -> None:
        for each, momentum in zip(self.parameters, self.momenta, strict=True):
            if each.grad is not None:
                momentum.mul_(0.9).add_(each.grad)
                each -= self.rate * momentum


def foreign(fault: str) -> Form:
    model = Net()
    optimizer = Foreign(trained(model, fault), 0.02)

    def step(batch: Batch) -> None:
        if fault != "zero":
            optimizer.zero_grad()
        loss_of(model, batch).backward()
        optimizer.step()

    return Form(model, optimizer, step, pictures())


def closures(fault: str) -> Form:
    model = Net()
    optimizer = torch.optim.SGD(trained(model, fault), 0.1)

    def step(batch: Batch) -> None:
        def closure() -> Tensor:
            if fault != "zero":
                optimizer.zero_grad()
            loss = loss_of(model, batch)
            loss.backward()
            return loss

        optimizer.step(closure)  # type: ignore[arg-type]

    return Form(model, optimizer, step, pictures())


def searches(fault: str) -> Form:
    model = Net()
    optimizer = torch.optim.LBFGS(trained(model, fault), 0.3, max_iter=4)

    def step(batch: Batch) -> None:
        def closure() -> Tensor:
            if fault != "zero":
                optimizer.zero_grad()
            loss = loss_of(model, batch)
            loss.backward()
            return loss

        optimizer.step(closure)  # type: ignore[arg-type]

    return Form(model, optimizer, step, pictures(), steps=24)


def accumulates(fault: str) -> Form:
    """Over five steps: not a divisor of the number of batches."""
    model = Net()
    optimizer = torch.optim.Adam(trained(model, fault), 3e-3)
    taken = [0]

    def step(batch: Batch) -> None:
        (loss_of(model, batch) / 5).backward()
        taken[0] += 1
        if taken[0] % 5 == 0:
            optimizer.step()
            if fault != "zero":
                optimizer.zero_grad()

    return Form(model, optimizer, step, pictures(), steps=80)


def by_derivatives(fault: str) -> Form:
    model = Net()
    updated = trained(model, fault)

    def step(batch: Batch) -> None:
        found = torch.autograd.grad(loss_of(model, batch), updated)
        with torch.no_grad():
            for each, gradient in zip(updated, found, strict=True):
                each -= 0.1 * gradient

    return Form(model, None, step, pictures())


def without_data(fault: str) -> Form:
    """A bandit: the step draws its own states, acts and learns, and is given nothing."""
    model = Net()
    optimizer = torch.optim.Adam(trained(model, fault), 3e-3)

    def step() -> None:
        states = torch.randn(32, 12)
        policy = torch.distributions.Categorical(logits=model(states))
        actions = policy.sample()
        rewards = (actions == states[:, :4].argmax(1)).float()
        if fault != "zero":
            optimizer.zero_grad()
        (-policy.log_prob(actions) * (rewards - 0.25)).mean().backward()
        optimizer.step()

    return Form(model, optimizer, step, None, steps=96)


def after_a_warm_up(fault: str) -> Form:
    """Experience is collected for ten steps before anything is learnt."""
    model = Net()
    optimizer = torch.optim.Adam(trained(model, fault), 3e-3)
    seen: list[Tensor] = []

    def step() -> None:
        seen.append(torch.randn(8, 12))
        if len(seen) < 10:
            return
        states = torch.cat(seen[-10:])
        if fault != "zero":
            optimizer.zero_grad()
        F.cross_entropy(model(states), states[:, :4].argmax(1)).backward()
        optimizer.step()

    return Form(model, optimizer, step, None, steps=96)


SOURCE = """
import torch
from torch.nn import functional as F
def make(model, parameters, fault):
    optimizer = torch.optim.Adam(parameters, 3e-3)
    def step(batch):
        if fault != "zero":
            optimizer.zero_grad()
        F.cross_entropy(model(batch[0]), batch[1]).backward()
        optimizer.step()
    return optimizer, step
"""


def without_a_file(fault: str) -> Form:
    """As in a notebook, or run by `exec`."""
    model, names = Net(), dict[str, Any]()
    exec(SOURCE, names)
    optimizer, step = names["make"](model, trained(model, fault), fault)
    return Form(model, optimizer, step, pictures())


def generated(fault: str) -> Form:
    form = returns_nothing(fault)

    def stream() -> Iterator[Batch]:
        while True:
            yield from form.data

    generator = stream()
    made = Form(form.model, form.optimizer, form.step, generator, form.steps)
    made.run = lambda: [form.step(next(generator)) for _ in range(form.steps)] and None  # type: ignore[method-assign]
    return made


FORMS: tuple[Callable[[str], Form], ...] = (
    returns_nothing,
    returns_figures,
    by_hand,
    foreign,
    closures,
    searches,
    accumulates,
    by_derivatives,
    without_data,
    after_a_warm_up,
    without_a_file,
    generated,
)
