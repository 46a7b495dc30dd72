"""What steps do besides training: they keep counts and copies, write into things, and switch things on.

A habit is called once in every step, after the update. It gets the bench, which holds all there is.
"""

from __future__ import annotations

import array
import collections
import contextvars
import copy
import functools
import gc
import itertools
import logging
import os
import random
import signal
import sys
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import nn

from .faults import Mortal

if TYPE_CHECKING:
    from .bench import Bench

_RECENT = contextvars.ContextVar("_RECENT", default=0)
_RECENT.set(0)  # once it is set, it cannot be unset
_module_count = 0
_history: list[float] = []


class Meter:
    """Counts in its class, in itself, and in a slot."""

    total = 0
    __slots__ = ("best", "values")

    def __init__(self) -> None:
        self.values: collections.deque[float] = collections.deque(maxlen=3)

    def update(self, value: float) -> None:
        type(self).total += 1
        self.values.append(value)
        self.best = min(value, getattr(self, "best", value))


def counts(bench: Bench, loss: float) -> None:
    global _module_count
    _module_count += 1
    _history.append(loss)
    _RECENT.set(_RECENT.get() + 1)
    bench.kept.setdefault("log", []).append(loss)
    bench.kept.setdefault("seen", set()).add(round(loss, 1))
    bench.kept.setdefault("numbers", array.array("d")).append(loss)
    bench.calls += 1


def meters(bench: Bench, loss: float) -> None:
    bench.kept.setdefault("meter", Meter()).update(loss)


def iterators(bench: Bench, loss: float) -> None:
    bench.kept["next"] = next(bench.ids), next(bench.words)


def averages(bench: Bench, loss: float) -> None:
    with torch.no_grad():
        for mine, theirs in zip(bench.average.parameters(), bench.model.parameters(), strict=False):
            if mine.is_floating_point() and not nn.parameter.is_lazy(mine):
                mine.lerp_(theirs, 0.1)


def keeps_the_best(bench: Bench, loss: float) -> None:
    if loss < bench.kept.get("best", float("inf")):
        bench.kept.update(best=loss, weights=copy.deepcopy(bench.model.state_dict()))


def goes_back_to_the_best(bench: Bench, loss: float) -> None:
    if "weights" in bench.kept:
        bench.model.load_state_dict(bench.kept["weights"], strict=False)
    keeps_the_best(bench, loss)


def draws(bench: Bench, loss: float) -> None:
    torch.rand((), generator=bench.generator), bench.numpy_random.random(), bench.python_random.random()
    random.random(), np.random.rand(), torch.rand(())


def switches_modes(bench: Bench, loss: float) -> None:
    bench.model.train(not bench.model.training)


def freezes(bench: Bench, loss: float) -> None:
    bench.parameters[0].requires_grad_(not bench.parameters[0].requires_grad)


def hooks_itself_in(bench: Bench, loss: float) -> None:
    bench.model.register_forward_hook(lambda module, inputs, output: None)
    bench.optimizer.register_step_post_hook(lambda optimizer, args, kwargs: None)
    if bench.parameters[-1].requires_grad:
        bench.parameters[-1].register_hook(lambda gradient: gradient)


def adds_a_group(bench: Bench, loss: float) -> None:
    if len(bench.optimizer.param_groups) < 3 and not isinstance(bench.optimizer, torch.optim.LBFGS):
        bench.optimizer.add_param_group({"params": [nn.Parameter(torch.zeros(2))]})


def moves_values(bench: Bench, loss: float) -> None:
    for parameter in bench.parameters:
        parameter.data = parameter.data.clone()


def clears_to_zero(bench: Bench, loss: float) -> None:
    bench.optimizer.zero_grad(set_to_none=bench.calls % 2 == 0)


def replaces_gradients(bench: Bench, loss: float) -> None:
    for parameter in bench.parameters:
        if parameter.grad is not None:
            parameter.grad = parameter.grad.clone() * 0.5


def changes_the_model(bench: Bench, loss: float) -> None:
    bench.model.register_buffer("made", torch.full((2,), loss))
    bench.model.extra = nn.Identity()
    bench.model.note = f"{loss}"  # type: ignore[assignment]


def replaces_a_parameter(bench: Bench, loss: float) -> None:
    for module in bench.model.modules():
        if type(module) is nn.Linear and "bias" in module._parameters and module.bias is not None:
            module.bias = nn.Parameter(module.bias.detach().clone())
            return


def replaces_a_method(bench: Bench, loss: float) -> None:
    bench.model.forward = functools.partial(type(bench.model).forward, bench.model)  # type: ignore[method-assign]


def schedules_by_hand(bench: Bench, loss: float) -> None:
    for group in bench.optimizer.param_groups:
        group["lr"] = group["lr"] * 0.9
        group["seen"] = group.get("seen", 0) + 1


def writes_into_its_batch(bench: Bench, loss: float) -> None:
    if bench.batch is not None and not bench.batch[0].requires_grad:
        bench.batch[0].mul_(1.01)


def drops_things(bench: Bench, loss: float) -> None:
    bench.kept["mortal"] = Mortal(bench.trip)


def keeps_graphs(bench: Bench, loss: float) -> None:
    bench.kept.setdefault("graphs", []).append(sum(p.float().sum() for p in bench.parameters))


def sets_flags(bench: Bench, loss: float) -> None:
    torch.set_grad_enabled(True)
    torch.autograd.set_detect_anomaly(True, check_nan=False)
    torch.use_deterministic_algorithms(True, warn_only=True)
    torch.set_float32_matmul_precision("high")
    torch.set_num_threads(2)


def sets_defaults(bench: Bench, loss: float) -> None:
    torch.set_default_dtype(torch.float64)


def leaves_gradients_off(bench: Bench, loss: float) -> None:
    torch.set_grad_enabled(False)


def leaves_autocast_on(bench: Bench, loss: float) -> None:
    torch.set_autocast_enabled("cpu", True)


def reseeds(bench: Bench, loss: float) -> None:
    torch.manual_seed(1), np.random.seed(1), random.seed(1)


#: Of the process beyond torch.
def sets_the_environment(bench: Bench, loss: float) -> None:
    os.environ["RELIABILITY_STEP"] = f"{loss}"


def filters_warnings(bench: Bench, loss: float) -> None:
    warnings.filterwarnings("ignore", message=f"of step {bench.calls}")


def changes_process_settings(bench: Bench, loss: float) -> None:
    os.chdir(os.path.dirname(os.getcwd()))
    sys.path.insert(0, "nowhere")
    sys.setrecursionlimit(sys.getrecursionlimit() + 1)
    gc.set_threshold(900 + bench.calls)
    signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    logging.disable(logging.INFO)
    np.seterr(all="ignore")
    torch.backends.cudnn.benchmark = True


def passes_time(bench: Bench, loss: float) -> None:
    """Nothing at all."""


_NOT_HABITS = ("Bench", "Meter", "Mortal")
HABITS: dict[str, Callable[[Any, float], None]] = {
    name: each for name, each in list(globals().items())
    if callable(each) and getattr(each, "__module__", "") == __name__ and not name.startswith("_")
    and name not in _NOT_HABITS
}  # fmt: skip
#: What habits keep in this module.
GLOBALS: dict[str, Any] = globals()


def ids() -> Any:
    return itertools.count(3)


def words() -> Any:
    return itertools.cycle("abc")
