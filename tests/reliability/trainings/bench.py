"""A case put together: the training, and all that its user can see of it."""

from __future__ import annotations

import functools
import itertools
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.parameter import is_lazy

from pytest_trainhealth import Training

from . import habits as habits_of_steps
from .faults import Trip
from .habits import HABITS
from .loaders import LOADERS, WITH_WORKERS
from .models import MODELS
from .optimizers import OPTIMIZERS, SCHEDULES, SPARSE

FORMS = ("loss", "criterion", "function", "partial", "method", "callable", "generator", "closure")
SUBJECTS = ("training", "factory", "shared model", "watched")


@dataclass(frozen=True)
class Case:
    """Printed as it is, it makes the same case again."""

    model: str = "plain"
    optimizer: str = "sgd"
    schedule: str = "none"
    data: str = "list"
    form: str = "loss"
    habits: tuple[str, ...] = ()
    #: Steps that its user has taken already.
    warm: int = 0
    scaler: bool = False
    precision: str | None = None
    subject: str = "training"
    fault: str | None = None
    point: str = "step begins"
    at: int = 1
    stays: bool = False
    check: str = "trains_without_nan"
    steps: int = 3
    seed: int = 0


class Bench:
    def __init__(self, case: Case, trip: Trip) -> None:
        torch.manual_seed(case.seed)
        np.random.seed(case.seed)
        random.seed(case.seed)
        self.case, self.trip = case, trip
        self.model = MODELS[case.model]()
        self.dtype = (
            torch.float64 if case.model == "double" else torch.bfloat16 if case.model == "half" else torch.float32
        )
        self.data = {**LOADERS, **WITH_WORKERS}[case.data](trip, self.dtype)
        if hasattr(self.data, "__next__") and case.subject == "shared model":
            self.data = list(itertools.islice(self.data, 3))  # it can be read only once
        self._own_step = case.form not in ("loss", "criterion")
        if self._own_step or case.optimizer not in ("sgd", "momentum") or case.warm:
            with torch.no_grad():  # lazy layers
                self.model(torch.randn(6, 4, dtype=self.dtype))
        self.parameters = [p for p in self.model.parameters() if p.requires_grad]
        kind = "sgd" if case.model == "sparse embedding" and case.optimizer not in SPARSE else case.optimizer
        self.optimizer = OPTIMIZERS[kind](self.parameters)
        make = SCHEDULES[case.schedule]
        self.scheduler = None if make is None else make(self.optimizer, trip)
        scaled = case.scaler and case.model != "sparse embedding"  # which has no norm to clip
        self.scaler = torch.amp.GradScaler("cpu", enabled=True, init_scale=8.0) if scaled else None
        lazy = any(is_lazy(p) for p in self.parameters)
        self.average = nn.Linear(4, 4) if lazy else MODELS[case.model]()
        self.kept: dict[str, Any] = {}
        self.calls = 0
        self.batch: Any = None
        self.generator = torch.Generator().manual_seed(3)
        self.numpy_random, self.python_random = np.random.default_rng(5), random.Random(6)
        self.ids, self.words = habits_of_steps.ids(), habits_of_steps.words()
        self._at_work = False
        for _ in range(case.warm):
            self._quietly()
        self.model.register_forward_pre_hook(functools.partial(_on_forward, trip))
        self.model.register_forward_hook(functools.partial(_after_forward, trip))
        self.optimizer.register_step_pre_hook(functools.partial(_on_update, trip))
        self.step = self._in_form(case.form)

    def _quietly(self) -> None:
        """A step as the user has taken it before: without faults and habits."""
        pair = torch.randn(6, 4, dtype=self.dtype), torch.randint(0, 3, (6,))
        held, self.trip, self._at_work = self.trip, Trip("RuntimeError", "nowhere", 1, False), True
        self._update(lambda: self._loss(self.model, pair))
        self.trip, self._at_work = held, False

    def build(self) -> Training:
        case = self.case
        common: dict[str, Any] = {"data": self.data, "optimizer": self.optimizer, "precision": case.precision}
        if self._own_step:
            return Training(self.model, step=self.step, **common)
        if case.form == "loss":
            return Training(self.model, loss=self._loss, scheduler=self.scheduler, **common)
        return Training(self.model, criterion=self._criterion, scheduler=self.scheduler, **common)

    # -- what is seen ----------------------------------------------------------------------------------

    def roots(self) -> dict[str, Any]:
        names = habits_of_steps.GLOBALS
        bench = {name: value for name, value in vars(self).items() if name not in ("case", "trip", "step")}
        kept = {name: names[name] for name in ("_module_count", "_history", "Meter")}
        return {**bench, **kept, "recent": names["_RECENT"].get()}

    # -- steps -----------------------------------------------------------------------------------------

    def take(self, batch: Any, *, seen: list[int] | None = None) -> Tensor:
        """The user's own step."""
        self.trip("step begins")
        self.batch = batch
        if seen is not None:
            seen.append(1)
        loss = self._update(lambda: self._loss(self.model, batch))
        if self.scheduler is not None:
            value = float(loss.detach())
            self.scheduler.step(value) if self.case.schedule == "plateau" else self.scheduler.step()
        self._behave(float(loss.detach()))
        return loss

    def _behave(self, loss: float) -> None:
        for name in self.case.habits:
            HABITS[name](self, loss)

    def _update(self, compute: Callable[[], Tensor]) -> Tensor:
        if isinstance(self.optimizer, torch.optim.LBFGS):

            def closure() -> Tensor:
                self.optimizer.zero_grad()
                loss = compute()
                self._backward(loss)
                return loss

            return self.optimizer.step(closure)  # type: ignore[arg-type, return-value]
        self.optimizer.zero_grad()
        loss = compute()
        if self.scaler is None:
            self._backward(loss)
            self.optimizer.step()
        else:
            self._backward(self.scaler.scale(loss))
            self.scaler.unscale_(self.optimizer)
            nn.utils.clip_grad_norm_(self.parameters, 1.0)
            self.scaler.step(self.optimizer)
            self.scaler.update()
        self.trip("after update")
        return loss

    def _backward(self, loss: Tensor) -> None:
        loss.backward()  # type: ignore[no-untyped-call]
        self.trip("after backward")

    def _loss(self, model: Any, batch: Any) -> Tensor:
        if not self._own_step:
            self.trip("step begins")
        return self._criterion(model(batch[0]), batch[1])

    def _criterion(self, output: Tensor, target: Tensor) -> Tensor:
        self.trip("after forward")
        if output.requires_grad:
            output.register_hook(functools.partial(_on_backward, self.trip))
        loss = F.cross_entropy(output.float(), target)
        if not self._own_step and not self._at_work:
            self._at_work = True
            try:
                self._behave(float(loss.detach()))
            finally:
                self._at_work = False
        return loss

    def _in_form(self, form: str) -> Callable[[Any], Any]:
        if form == "partial":
            return functools.partial(Bench.take, self, seen=[])
        if form == "callable":
            return _Callable(self)
        if form == "generator":
            steps = _generated(self)
            next(steps)
            return steps.send
        if form == "closure":
            total, count = torch.zeros(()), 0

            def step(batch: Any) -> Tensor:
                nonlocal total, count
                loss = self.take(batch)
                total, count = total + loss.detach(), count + 1
                step.average = total / count  # type: ignore[attr-defined]
                return loss

            return step
        if form == "function":
            return lambda batch, seen=[]: self.take(batch, seen=seen)
        return self.take


class _Callable:
    taken = 0

    def __init__(self, bench: Bench) -> None:
        self.bench, self.own = bench, 0

    def __call__(self, batch: Any) -> Any:
        type(self).taken += 1
        self.own += 1
        return {"loss": self.bench.take(batch), "taken": self.own}


def _generated(bench: Bench) -> Iterator[Any]:
    loss: Any = None
    while True:
        batch = yield loss
        loss = bench.take(batch)


def _on_forward(trip: Trip, module: nn.Module, inputs: Any) -> None:
    trip("forward")


def _after_forward(trip: Trip, module: nn.Module, inputs: Any, output: Any) -> None:
    trip("forward hook")


def _on_update(trip: Trip, optimizer: Any, args: Any, kwargs: Any) -> None:
    trip("optimizer hook")


def _on_backward(trip: Trip, gradient: Tensor) -> Tensor:
    trip("backward")
    return gradient


def trains_itself(bench: Bench, steps: int) -> None:
    """What a test does that returns nothing."""
    taken, before = 0, -1
    while before < taken < steps:  # an iterator ends for good
        before = taken
        for batch in [bench.data] if isinstance(bench.data, tuple) else bench.data:
            bench.take(batch)
            taken += 1
            if taken >= steps:
                return
