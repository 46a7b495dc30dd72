"""What a step begins with: its batch, parameters, gradients, buffers, optimizers and random numbers.

The state is copied into plain containers that `torch.load(weights_only=True)` accepts, and put back into a newly built
training. What the user's own code remembers elsewhere (a counter in a closure, say) is not part of it.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.parameter import is_lazy

from ..observe.run.run import Run
from ..programs.training_program import TrainingRun
from ..settings import WrongSetting
from ..tensors.batches import map_tensors, tensors
from ..tensors.module_paths import full_path

#: Bytes, 256 MB: the most that one reproducer may take up on the disk. By judgement.
LARGEST = 256 * 2**20
#: Values that are no tensors: numbers, and strings for each eight bytes of them. By judgement: what a file with them
#: takes is less than `untrusted.py` reads.
_MOST_PLAIN = 400_000
#: What schedulers change from step to step. A replay takes all other settings of a group from the training of today.
_SCHEDULED = ("lr", "initial_lr", "momentum", "betas")


class NotKept(Exception):
    """There is no copy; the message says why, in one line."""


class _NotPlain(NotKept):
    """A value that cannot go into a file that is safe to load."""


class DoesNotFit(WrongSetting):
    """The training is no longer the one that was copied; the message names the difference."""


def copied(run: TrainingRun) -> dict[str, Any]:
    """The state of the run right before its step. Raises `NotKept`."""
    copy = _Copies()
    parameters = {name: p for name, p in run.parameters.items() if not is_lazy(p)}
    scaler = run.stepper.scaler
    return {
        "batch": _batch(run.batch, copy),
        "parameters": {name: copy.tensor(p, name) for name, p in parameters.items()},
        "gradients": {name: copy.tensor(p.grad, name) for name, p in parameters.items() if p.grad is not None},
        "buffers": {name: copy.tensor(b, name) for name, b in _named_buffers(run)},
        "optimizers": {label: _optimizer(o, label, copy) for label, o in run.optimizers.items()},
        "scaler": None if scaler is None else copy(scaler.state_dict(), "the loss scaler"),
        "random": _random_numbers(),
    }


def _named_buffers(run: Run) -> Iterator[tuple[str, Tensor]]:
    for prefix, model in run.models.items():
        for name, buffer in model.named_buffers():
            yield full_path(prefix, name), buffer


def _batch(batch: Any, copy: _Copies) -> dict[str, Any]:
    """The whole batch if it consists of plain containers, else its tensors, which a replay puts into another batch."""
    before = copy.size
    try:
        return {"whole": copy(batch, "the batch")}
    except _NotPlain:
        copy.size = before
        return {"parts": {name: copy.tensor(t, f"the batch{name}") for name, t in tensors(batch)}}


def _optimizer(optimizer: torch.optim.Optimizer, label: str, copy: _Copies) -> dict[str, Any]:
    """Keeps only the plain values of each group: schedulers change numbers, and the training builds the rest anew."""
    whole = optimizer.state_dict()
    groups = []
    for group in whole["param_groups"]:
        kept = {}
        for key, value in group.items():
            with suppress(_NotPlain):
                kept[key] = copy(value, label)
        groups.append(kept)
    return {"state": copy(dict(whole["state"]), f"the state of {label}"), "param_groups": groups}


class _Copies:
    """Makes plain copies on the CPU. Raises `NotKept` once they are too large altogether."""

    def __init__(self) -> None:
        self.size = self._plain = 0

    def __call__(self, value: Any, name: str) -> Any:
        if isinstance(value, Tensor):
            return self.tensor(value, name)
        if value is None or type(value) in (bool, int, float, str):
            self._plain += 1 + (len(value.encode("utf-8", "replace")) // 8 if isinstance(value, str) else 0)
            if self._plain > _MOST_PLAIN:
                raise NotKept(f"{name} holds more than {_MOST_PLAIN:,} values outside of tensors")
            return value
        if type(value) in (list, tuple):
            return type(value)(self(each, name) for each in value)
        if type(value) is dict and all(type(key) in (bool, int, float, str) for key in value):
            return {self(key, name): self(each, name) for key, each in value.items()}
        raise _NotPlain(f"{name} holds a {type(value).__name__}")

    def tensor(self, tensor: Tensor, name: str) -> Tensor:
        if type(tensor) not in (Tensor, torch.nn.Parameter):
            raise NotKept(f"{name} is a {type(tensor).__name__}")
        if tensor.layout != torch.strided or tensor.is_quantized or tensor.is_meta:
            raise NotKept(f"{name} is a tensor without plain values ({tensor.layout}, {tensor.dtype})")
        self.size += tensor.numel() * tensor.element_size()
        if self.size > LARGEST:
            raise NotKept(f"batch and state take more than {LARGEST / 2**20:,.0f} MB")
        # keep `requires_grad`: a gradient penalty needs the gradient at its inputs
        return tensor.detach().to("cpu", copy=True).requires_grad_(tensor.requires_grad)


def _random_numbers() -> dict[str, Any]:
    python, (kind, keys, *rest) = random.getstate(), np.random.get_state(legacy=True)
    return {
        "torch": torch.get_rng_state(),
        "python": [python[0], list(python[1]), python[2]],
        "numpy": [str(kind), [int(key) for key in keys], *(n if isinstance(n, float) else int(n) for n in rest)],
    }


def _set_random_numbers(state: dict[str, Any]) -> None:
    torch.set_rng_state(state["torch"])
    version, numbers, gauss = state["python"]
    random.setstate((version, tuple(numbers), gauss))
    kind, keys, *rest = state["numpy"]
    np.random.set_state((kind, np.array(keys, dtype=np.uint32), *rest))


# -- and back ------------------------------------------------------------------------------------------------


def put_back(run: TrainingRun, state: Mapping[str, Any]) -> Any:
    """Brings the run to right before the step, and returns the batch of that step. Raises `DoesNotFit`."""
    own = run.feed.take()
    try:
        return _put_back(run, state, own)
    except DoesNotFit:
        raise
    except Exception as error:  # a gradient of another shape, say: nobody vouches for the state
        raise DoesNotFit(f"{type(error).__name__}: {' '.join(str(error).split()):.200}") from None


def _put_back(run: TrainingRun, state: Mapping[str, Any], own: Any) -> Any:
    batch = _batch_for(own, state["batch"])
    parameters = {name: p for name, p in run.parameters.items() if not is_lazy(p)}
    _write_all("parameter", state["parameters"], parameters)
    _write_all("buffer", state["buffers"], dict(_named_buffers(run)))
    for name, parameter in parameters.items():
        gradient = state["gradients"].get(name)
        parameter.grad = None if gradient is None else gradient.to(parameter.device, copy=True)
    _same_names("optimizer", state["optimizers"], run.optimizers)
    for label, optimizer in run.optimizers.items():
        _load(optimizer, label, state["optimizers"][label])
    if state["scaler"] and run.stepper.scaler is not None:
        run.stepper.scaler.load_state_dict(state["scaler"])
    _set_random_numbers(state["random"])
    return batch


def _batch_for(own: Any, kept: Mapping[str, Any]) -> Any:
    """The batch on the device of the training's own batches. One of these gives the structure if it was not kept."""
    now = dict(tensors(own))
    for name, tensor in tensors(kept["whole"]) if "whole" in kept else kept["parts"].items():
        if name in now and now[name].dtype != tensor.dtype:  # shapes may differ from one batch to the next
            raise DoesNotFit(f"batch{name} was {_kind(tensor)} and is {_kind(now[name])} now")
    device = next(tensor.device for tensor in now.values())
    if "whole" in kept:
        return map_tensors(lambda _, tensor: _placed(tensor, device), kept["whole"])
    parts = kept["parts"]
    _same_names("part of the batch", parts, now)
    return map_tensors(lambda name, _: _placed(parts[name], device), own)


def _placed(tensor: Tensor, device: torch.device) -> Tensor:
    """A copy, because a step may write into its batch, and the content of the file may be needed again."""
    return tensor.detach().to(device, copy=True).requires_grad_(tensor.requires_grad)


def _write_all(what: str, kept: Mapping[str, Tensor], now: Mapping[str, Tensor]) -> None:
    _same_names(what, kept, now)
    for name, tensor in now.items():
        was, is_now = (f"{tuple(t.shape)} {_kind(t)}" for t in (kept[name], tensor))
        if was != is_now:
            raise DoesNotFit(f"{what} {name} was {was} and is {is_now} now")
    with torch.no_grad():
        for name, tensor in now.items():
            tensor.copy_(kept[name])


def _kind(tensor: Tensor) -> str:
    return str(tensor.dtype).removeprefix("torch.")


def _same_names(what: str, kept: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    for name in kept:
        if name not in now:
            raise DoesNotFit(f"the training no longer has {what} {name}")
    for name in now:
        if name not in kept:
            raise DoesNotFit(f"the training had no {what} {name}, and has one now")


def _load(optimizer: torch.optim.Optimizer, label: str, kept: Mapping[str, Any]) -> None:
    now = optimizer.state_dict()["param_groups"]
    was, is_now = ([len(group["params"]) for group in groups] for groups in (kept["param_groups"], now))
    if was != is_now:
        raise DoesNotFit(f"the groups of {label} held {was} parameters and hold {is_now} now")
    groups = [
        {**new, **{key: old[key] for key in _SCHEDULED if key in old and key in new}}
        for new, old in zip(now, kept["param_groups"], strict=True)
    ]
    try:
        optimizer.load_state_dict({"state": kept["state"], "param_groups": groups})
    except Exception as error:
        raise DoesNotFit(f"{label} does not accept its saved state: {' '.join(str(error).split())}") from None
