"""What surrounds a loop: threads, warnings, settings, references, hooks and optimizers of one's own."""

from __future__ import annotations

import asyncio
import gc
import random
import threading
import warnings
import weakref
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from .loop import Classifier, Loop, also, batches, classifier, comparable, learns, program


@program
def random_numbers_are_drawn() -> Loop:
    def does(model: nn.Module, optimizer: Any, batch: Any) -> Any:
        return torch.rand(3), random.random(), float(np.random.rand())

    return also(does)


@program
def warnings_are_errors() -> Loop:
    model, optimizer = classifier()

    def step(batch: Any) -> Tensor:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            return learns(model, optimizer, batch)

    return Loop(model, optimizer, step, batches())


@program
def only_deterministic_algorithms() -> Loop:
    model, optimizer = classifier()

    def step(batch: Any) -> Tensor:
        torch.use_deterministic_algorithms(True)
        try:
            return learns(model, optimizer, batch)
        finally:
            torch.use_deterministic_algorithms(False)

    return Loop(model, optimizer, step, batches())


@program
def in_double_precision_by_default() -> Loop:
    model, optimizer = classifier()
    model.double()

    def step(batch: Any) -> Tensor:
        torch.set_default_dtype(torch.float64)
        try:
            return learns(model, optimizer, (batch[0].double(), batch[1]))
        finally:
            torch.set_default_dtype(torch.float32)

    return Loop(model, optimizer, step, batches())


@program
def anomalies_are_detected() -> Loop:
    model, optimizer = classifier()

    def step(batch: Any) -> Tensor:
        with torch.autograd.detect_anomaly(check_nan=True):
            return learns(model, optimizer, batch)

    return Loop(model, optimizer, step, batches())


@program
def in_a_thread() -> Loop:
    model, optimizer = classifier()

    def step(batch: Any) -> Any:
        found: list[Any] = []
        thread = threading.Thread(target=lambda: found.append(learns(model, optimizer, batch)))
        thread.start()
        thread.join()
        return found[0]

    return Loop(model, optimizer, step, batches())


@program
def in_an_event_loop() -> Loop:
    model, optimizer = classifier()

    async def learning(batch: Any) -> Tensor:
        await asyncio.sleep(0)
        return learns(model, optimizer, batch)

    return Loop(model, optimizer, lambda batch: asyncio.run(learning(batch)), batches())


@program
def what_is_let_go_is_gone() -> Loop:
    """Graphs, outputs and gradients must not live longer because of us."""
    model, optimizer = classifier()
    noted: list[Any] = []

    def step(batch: Any) -> Tensor:
        optimizer.zero_grad()
        out = model(batch[0])
        loss = F.cross_entropy(out, batch[1])
        loss.backward()
        gradient = weakref.ref(model.head.weight.grad)
        kept = loss.detach()
        gone = weakref.ref(out), weakref.ref(loss)
        del out, loss
        optimizer.step()
        optimizer.zero_grad()
        noted.append([each() is None for each in (*gone, gradient)])
        return kept

    return Loop(model, optimizer, step, batches(), noted)


@program
def versions_of_tensors() -> Loop:
    model, optimizer = classifier()
    noted: list[Any] = []

    def step(batch: Any) -> Tensor:
        loss = learns(model, optimizer, batch)
        noted.append([p._version for p in model.parameters()] + [b._version for b in model.buffers()])
        noted.append([batch[0]._version, batch[1]._version])
        return loss

    return Loop(model, optimizer, step, batches(), noted)


@program
def hooks_of_ones_own() -> Loop:
    model, optimizer = classifier()
    noted: list[Any] = []
    model.body.register_forward_hook(lambda module, args, out: noted.append(comparable(out.detach())))
    model.head.register_full_backward_hook(lambda module, before, after: noted.append(comparable(after)))
    model.head.weight.register_hook(lambda gradient: gradient * 0.5)
    model.head.bias.register_post_accumulate_grad_hook(lambda p: noted.append(comparable(p.grad)))

    def step(batch: Any) -> Tensor:
        loss = learns(model, optimizer, batch)
        noted.append(len(model.head.weight._backward_hooks))
        return loss

    return Loop(model, optimizer, step, batches(), noted)


@program
def hooks_on_what_a_step_computes() -> Loop:
    """Counted, read, and changed: on the output, on both parts of the loss, and on the loss itself."""
    model, optimizer = classifier()
    noted: list[Any] = []

    def step(batch: Any) -> Tensor:
        optimizer.zero_grad()
        scores = model(batch[0])
        right, even = F.cross_entropy(scores, batch[1]), scores.softmax(1).square().mean()
        loss = right + 0.1 * even
        for each in (scores, right, even, loss):
            each.register_hook(lambda gradient: noted.append(comparable(gradient)))
        loss.register_hook(lambda gradient: 0.5 * gradient)
        loss.backward()
        optimizer.step()
        return loss.detach()

    return Loop(model, optimizer, step, batches(), noted)


@program
def an_optimizer_inside_the_backward_pass() -> Loop:
    model = Classifier()
    each = {p: torch.optim.SGD([p], 0.05) for p in model.parameters()}

    def takes(p: Tensor) -> None:
        each[p].step()
        each[p].zero_grad()

    for p in model.parameters():
        p.register_post_accumulate_grad_hook(takes)

    def step(batch: Any) -> Tensor:
        loss = F.cross_entropy(model(batch[0]), batch[1])
        loss.backward()
        return loss.detach()

    return Loop(model, list(each.values()), step, batches())


class _Counting(Classifier):
    """Counts who asks for what, and refuses to be compared."""

    def __init__(self) -> None:
        super().__init__()
        vars(self)["asked"] = []

    @property
    def costly(self) -> int:
        self.asked.append("costly")
        return 1

    def __eq__(self, other: object) -> bool:
        raise TypeError("not comparable")

    def __len__(self) -> int:
        raise RuntimeError("no length yet")

    __hash__ = nn.Module.__hash__


@program
def a_model_with_a_mind_of_its_own() -> Loop:
    model = _Counting()
    optimizer = torch.optim.SGD(model.parameters(), 0.05)
    return Loop(model, optimizer, lambda batch: learns(model, optimizer, batch), batches(), model.asked)


@program
def a_step_that_raises_and_goes_on() -> Loop:
    """A batch that does not fit is skipped, as after running out of memory."""
    model, optimizer = classifier()
    noted: list[Any] = []

    def step(batch: Any) -> Tensor:
        try:
            optimizer.zero_grad()
            F.cross_entropy(model(batch[0][:, :3]), batch[1]).backward()
        except RuntimeError as error:
            noted.append(comparable(error))
            optimizer.zero_grad(set_to_none=True)
        return learns(model, optimizer, batch)

    return Loop(model, optimizer, step, batches(), noted)


@program
def a_backward_pass_that_raises() -> Loop:
    model, optimizer = classifier()
    noted: list[Any] = []

    def step(batch: Any) -> Tensor:
        loss = learns(model, optimizer, batch)
        try:
            loss.backward()
        except RuntimeError as error:
            noted.append(comparable(error))
        try:
            torch.autograd.grad(loss, list(model.parameters()))
        except RuntimeError as error:
            noted.append(comparable(error))
        return loss

    return Loop(model, optimizer, step, batches(), noted)


@program
def an_error_that_ends_the_loop() -> Loop:
    model, optimizer = classifier()
    count = iter(range(100))

    def step(batch: Any) -> Tensor:
        if next(count) == 3:
            raise KeyError("out of data")
        return learns(model, optimizer, batch)

    return Loop(model, optimizer, step, batches())


class _Foreign:
    """An optimizer of somebody's own: nothing of torch's."""

    def __init__(self, parameters: Any, rate: float) -> None:
        self.parameters, self.rate = list(parameters), rate

    def zero_grad(self) -> None:
        for each in self.parameters:
            each.grad = None

    @torch.no_grad()
    def step(self) -> None:
        for each in self.parameters:
            if each.grad is not None:
                each -= self.rate * each.grad


@program
def an_optimizer_that_is_none_of_torchs() -> Loop:
    model = Classifier()
    optimizer: Any = _Foreign(model.parameters(), 0.05)
    return Loop(model, None, lambda batch: learns(model, optimizer, batch), batches())


class _Bare(torch.optim.Optimizer):
    """Calls nothing of its base."""

    def __init__(self, parameters: Any) -> None:
        self.param_groups = [{"params": list(parameters)}]
        self.state: Any = {}

    def zero_grad(self, set_to_none: bool = True) -> None:
        for each in self.param_groups[0]["params"]:
            each.grad = None

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        for each in self.param_groups[0]["params"]:
            each -= 0.05 * each.grad


@program
def an_optimizer_that_calls_nothing_of_its_base() -> Loop:
    model = Classifier()
    optimizer = _Bare(model.parameters())
    loop = Loop(model, None, lambda batch: learns(model, optimizer, batch), batches())
    return loop


@program
def rates_that_are_tensors() -> Loop:
    model = Classifier()
    optimizer = torch.optim.Adam(model.parameters(), torch.tensor(1e-2), capturable=False, foreach=False)
    return Loop(model, optimizer, lambda batch: learns(model, optimizer, batch), batches())


@program
def loss_scaling() -> Loop:
    model, optimizer = classifier()
    scaler = torch.amp.GradScaler("cpu", init_scale=64.0)
    noted: list[Any] = []

    def step(batch: Any) -> Tensor:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(batch[0]), batch[1])
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        noted.append(comparable(torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5)))
        scaler.step(optimizer)
        scaler.update()
        return loss.detach()

    return Loop(model, optimizer, step, batches(), noted)


@program
def a_search_along_a_line() -> Loop:
    model = Classifier()
    optimizer = torch.optim.LBFGS(model.parameters(), 0.1, max_iter=3, line_search_fn="strong_wolfe")
    noted: list[Any] = []

    def step(batch: Any) -> Any:
        def closure() -> Tensor:
            optimizer.zero_grad()
            loss = F.cross_entropy(model(batch[0]), batch[1])
            loss.backward()
            noted.append(float(loss))
            return loss

        return optimizer.step(closure).detach()  # type: ignore[arg-type]

    return Loop(model, optimizer, step, batches(), noted)


@program
def collected_while_it_trains() -> Loop:
    def does(model: nn.Module, optimizer: Any, batch: Any) -> Any:
        gc.collect()
        return [type(each).__name__ for each in gc.get_referrers(model.head.bias) if type(each).__name__ == "Adam"]

    return also(does)
