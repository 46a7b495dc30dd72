"""The run goes on from a checkpoint: a training that was built anew loads what the user's `save` has written.

Without `save` and `load`, the run forgets at that step what no `state_dict()` holds: attributes and non-persistent
buffers of modules, and attributes of optimizers, are what they were in the beginning.
"""

from __future__ import annotations

import copy
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.parameter import is_lazy

from ...observe.run.events import Listener
from ...observe.run.run import Run
from ...records.state import LostRecord
from ...state.checkpoints import kept
from ...state.generator_states import GENERATORS, set_state
from ...state.loop_state import attributes_of, copied, parts_of, settings_of
from ...state.their_checkpoints import load_from, words_of_load
from ...tensors.batches import map_tensors, tensors
from ...tensors.fingerprint import NoFingerprint, fingerprint
from ...tensors.module_paths import full_path

#: Longest text of a value. By judgement: a line of a report holds two of them.
_LONGEST = 24


class Resumed(Listener):
    def __init__(self, run: Run, stack: ExitStack, at: int, path: str = "") -> None:
        self._run, self._at, self._path = run, at, path
        self._first: dict[str, Any] = {}
        run.trace.applied.resumed = True
        if path:
            run.batch_changes.append(self._batch)

    def run_begins(self) -> None:
        run = self._run
        if self._path:
            self._load()
            run.step = self._at
        else:
            self._first = {name: _read(holder, key) for name, holder, key in self._slots()}

    # -- with save and load --------------------------------------------------------------------------

    def _batch(self, batch: Any) -> Any:
        """Ours is the loop, so ours is the position in the data; but one that the data keep themselves is theirs."""
        checkpoint, parts = kept(self._path), parts_of(self._run.training)
        number = self._run.step - self._at
        if number == 0:
            self._own_loop(checkpoint)
        if any(part.kind == "data" for part in parts.values()) and "data" not in self._carried():
            return batch
        if number >= len(checkpoint.batches):
            return batch
        return map_tensors(lambda _, tensor: tensor.detach().clone(), checkpoint.batches[number])

    def _own_loop(self, checkpoint: Any) -> None:
        """What belongs to the built-in step, which no `save` can reach; and what reading the batch has drawn."""
        stepper: Any = self._run.stepper  # type: ignore[attr-defined]
        stepper._scheduler_steps._losses[:] = checkpoint.epoch
        if stepper.scaler is not None and checkpoint.scaler is not None:
            stepper.scaler.load_state_dict(checkpoint.scaler)
        if not any(each.kind == "random numbers" for each in self._run.trace.state.lost):
            parts_of(self._run.training)["random numbers "].write(checkpoint.random)

    def _carried(self) -> set[str]:
        return set(self._run.trace.applied.carried_over)

    def _load(self) -> None:
        training, state, checkpoint = self._run.training, self._run.trace.state, kept(self._path)
        assert training is not None
        assert training.save is not None
        assert training.load is not None
        state.saved_at = self._at
        try:
            load_from(Path(self._path), training.save, training.load)
        except Exception as error:
            raised = f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"
            state.failure = f"{words_of_load(training.save, training.load)} raises {raised}"
        parts, carried = parts_of(training), self._carried()
        for name, part in parts.items():
            if part.kind in carried and name in checkpoint.values:
                part.write(checkpoint.values[name])
        for name, part in parts.items():
            if checkpoint.prints.get(name, part.print()) != part.print():
                state.lost.append(LostRecord(part.kind, part.name, words_of(checkpoint.values[name], part.read())))

    # -- without -------------------------------------------------------------------------------------

    def step_begins(self, batch: object) -> None:
        if self._path or self._run.step != self._at:
            return
        held: list[tuple[Any, Any]] = [
            *((model, _of_module(model)) for model in self._run.models.values()),
            *((optimizer, copy.deepcopy(optimizer.state_dict())) for optimizer in self._run.optimizers.values()),
        ]
        for name, holder, key in self._slots():
            before, now = self._first.get(name), _read(holder, key)
            # what a package notes for itself on the way (that hooks are in place) is not made anew here
            noted = name not in self._first and key.startswith("_")
            if noted or name in self._run.trace.applied.carried_over or _same(before, now):
                continue
            self._run.trace.state.lost.append(LostRecord("attributes", name, words_of(now, before)))
            _write(holder, key, before, exists=name in self._first)
        try:
            for each, values in held:
                each.load_state_dict(values)
        except Exception as error:
            words = f"load_state_dict() of {type(each).__name__} raises {type(error).__name__}"
            self._run.trace.state.failure = f"{words}: {str(error).partition(chr(10))[0]}"

    def _slots(self) -> list[tuple[str, Any, str]]:
        """By name: who holds it, and under which key."""
        found: list[tuple[str, Any, str]] = []
        shared = {_storage(tensor) for model in self._run.models.values() for tensor in _stored(model)} - {None}
        for prefix, model in self._run.models.items():
            for path, module in model.named_modules():
                for key, value in attributes_of(module).items():
                    if not any(_storage(tensor) in shared for _, tensor in tensors(value)):
                        found.append((full_path(prefix, full_path(path, key)), module, key))
        for label, optimizer in self._run.optimizers.items():
            found.extend((f"{label}.{key}", optimizer, key) for key in settings_of(optimizer))
        return found


def _stored(model: nn.Module) -> list[Tensor]:
    lasting: list[Tensor] = [*model.parameters()]
    for module in model.modules():
        if isinstance(module, torch.jit.ScriptModule):
            lasting += list(module.buffers(recurse=False))
            continue
        kept_here = set(module._buffers) - module._non_persistent_buffers_set
        lasting += [b for name, b in module._buffers.items() if name in kept_here and b is not None]
    return lasting


def _storage(tensor: Tensor) -> int | None:
    """Where its values lie; None where there are none, or in more than one place."""
    plain = tensor.layout is torch.strided and not tensor.is_meta and not is_lazy(tensor)
    return tensor.untyped_storage().data_ptr() or None if plain else None


def _of_module(model: nn.Module) -> Any:
    return {key: value.detach().clone() if isinstance(value, Tensor) else copy.deepcopy(value)
            for key, value in model.state_dict().items()}  # fmt: skip


def _read(holder: Any, key: str) -> Any:
    return copied(getattr(holder, key, None))


def _write(holder: Any, key: str, value: Any, *, exists: bool) -> None:
    now = getattr(holder, key)
    if isinstance(now, GENERATORS):
        if exists:
            set_state(now, value)
    elif isinstance(holder, nn.Module) and key in holder._buffers:
        with torch.no_grad():
            now.copy_(value)
    elif exists:
        setattr(holder, key, copied(value))
    else:
        delattr(holder, key)


def _same(before: Any, now: Any) -> bool:
    try:
        return fingerprint(before) == fingerprint(now)
    except NoFingerprint:
        return True


def words_of(before: Any, after: Any) -> str:
    """'7 -> 0' for what is short enough to be shown."""
    short = (bool, int, float, str, type(None))
    if isinstance(before, short) and isinstance(after, short) and len(f"{before}{after}") <= _LONGEST:
        return f"{before} -> {after}"
    return ""
