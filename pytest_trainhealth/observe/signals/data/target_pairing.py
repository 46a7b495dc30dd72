"""Whether an input keeps its target from one epoch to the next.

Inputs and targets that are drawn by two loaders, or permuted separately, are paired differently in every epoch. The
sign of this: the second epoch has the same inputs as the first and, overall, exactly the same targets. New labels that
are drawn at every step (in a smoke test, or an agent's actions) do not add up like that. In an epoch of a few samples,
one batch that is repeated for example, they may by accident: there all of many epochs have to.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from functools import wraps
from hashlib import blake2b
from typing import Any

import torch
from torch import Tensor, nn
from torch._C._functorch import is_functorch_wrapped_tensor
from torch.optim import Optimizer

from ....records.data import Repaired
from ....records.loss_functions import SAMPLE_BY_SAMPLE
from ....records.verdict import Place
from ....tensors.batches import tensors
from ....tensors.tracing import is_traced
from ...run.run import Run
from ...run.signal import Cost, Signal
from ...source.engine_frames import stand_in
from ...source.module_calls import Watching
from ...source.places import user_place
from .row_order import holds_order, keeps_order, same_rows

#: Fewest samples of an epoch: fewer may be the same by accident. By judgement: the same 48 as in alignment.
_FEWEST = 48
#: Epochs after the first, if they have fewer samples. Six labels of two classes that are drawn anew are the same,
#: overall, at most 1 time in 3: 16 times in a row, once in ten million.
_ROUNDS = 16
#: Most samples of an epoch. By judgement: 4,096, as a longer one does not repeat within 62 steps anyway.
_MOST = 4096
#: The closer look takes 64 steps.
_STEPS = 62
#: Values of a row that are compared. By judgement: rows that agree in 4,096 values are the same.
_VALUES = 4096
#: As a share of the pairs that random pairing would change. By judgement: a loader that shuffles changes all of them,
#: one that does not changes none.
_PLAIN = 0.5


class TargetPairing(Signal):
    NAME, COST = "target_pairing", Cost.CLOSE

    def __init__(self, run: Run) -> None:
        self._run = run
        self._patched = ExitStack()
        self._hooks: dict[int, list[Watching]] = {}
        self._output: Any = None
        self._inputs: list[Tensor] = []
        self._noted = False
        self._epochs: list[dict[bytes, bytes]] = [{}]
        self._before: list[bytes] = []
        self._rounds, self._changed, self._by_chance = 0, 0, 0.0
        self._over = False
        self._place: Place | None = None

    def run_begins(self) -> None:
        for name in SAMPLE_BY_SAMPLE:
            original = getattr(nn.functional, name)
            self._patched.callback(setattr, nn.functional, name, original)
            setattr(nn.functional, name, self._wrapped(original))
        self._hook_models()

    def step_begins(self, batch: object) -> None:
        # a model first seen in a watched test has just been called with this batch
        if self._hook_models() and self._run.feed is None and not self._inputs and not self._over:
            self._inputs = [t for _, t in tensors(batch)]

    def update_ends(self, optimizer: Optimizer, has_closure: bool) -> None:
        self._inputs, self._output, self._noted = [], None, False
        if self._run.step >= _STEPS:
            self._stop()

    def run_ends(self) -> None:
        self._stop()

    def _stop(self) -> None:
        self._over = True
        self._patched.close()
        for hook in (hook for hooks in self._hooks.values() for hook in hooks):
            hook.remove()
        self._epochs, self._inputs, self._output = [{}], [], None

    def _hook_models(self) -> bool:
        new = [m for m in self._run.models.values() if id(m) not in self._hooks and not self._over]
        for model in new:
            if not isinstance(model, torch.jit.ScriptModule):  # does not support hooks with keywords
                self._hooks[id(model)] = [
                    self._before_call(self._called, model, with_kwargs=True),
                    self._after_call(self._returned, model),
                ]
        return bool(new)

    def _called(self, module: Any, args: Any, kwargs: Any) -> None:
        if torch.is_grad_enabled() and not self._noted and not self._over:
            self._inputs += [t for _, t in tensors((args, kwargs))]

    def _returned(self, module: nn.Module, args: Any, output: Any) -> None:
        if torch.is_grad_enabled() and not self._noted and not self._over:
            self._output = output
            if holds_order((*self._inputs, output)) or not keeps_order(module):
                self._stop()

    def _wrapped(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(original)
        @stand_in
        def loss(*args: Any, **kwargs: Any) -> Any:
            if not self._noted and not self._over and not torch.compiler.is_compiling():
                output = args[0] if args else kwargs.get("input")
                target = args[1] if len(args) > 1 else kwargs.get("target")
                if isinstance(output, Tensor) and isinstance(target, Tensor) and not is_traced():
                    with self._reading(), torch.no_grad(), torch._C.DisableTorchFunction():
                        if output.requires_grad:
                            self._note(output, target)
            return original(*args, **kwargs)

        return loss

    def _note(self, output: Tensor, target: Tensor) -> None:
        self._noted = True
        rows = max((len(t) for t in self._inputs[:1] if t.ndim), default=0)
        readable = all(_readable(t) for t in (*self._inputs, target))
        if not rows or not readable or target.numel() % rows or not same_rows(self._output, output, rows):
            self._stop()  # the loss may be given another order than that of the inputs
            return
        # everything else that the models are given is part of the input
        keys = [b"".join(parts) for parts in zip(*(_rows(t, rows) for t in self._inputs), strict=True)]
        values = _rows(target.reshape(rows, -1), rows)
        if holds_order(target) or (values == self._before and not self._rounds):
            self._stop()  # targets are positions in the batch (as in a contrastive loss), not properties of samples
            return
        self._before = values
        self._place = self._place or user_place()
        for key, value in zip(keys, values, strict=True):
            self._add(key, value)
            if self._over:
                return

    def _add(self, key: bytes, value: bytes) -> None:
        now = self._epochs[-1]
        if key in now:
            if len(self._epochs) > 1:
                self._stop()  # drawn with replacement, or inputs that are not unique
                return
            now = {}
            self._epochs.append(now)
        elif len(self._epochs) > 1 and key not in self._epochs[0]:
            self._stop()
            return
        now[key] = value
        if len(self._epochs) > 1 and len(now) == len(self._epochs[0]):
            self._compare(*self._epochs)
        elif len(now) > _MOST:
            self._stop()

    def _compare(self, first: dict[bytes, bytes], other: dict[bytes, bytes]) -> None:
        """Of an epoch with the first one. A small one is followed by more, until there were enough."""
        counts = Counter(first.values())
        if counts != Counter(other.values()):
            self._stop()
            return
        self._rounds += 1
        self._changed += sum(other[key] != value for key, value in first.items())
        self._by_chance += len(first) - sum(n * n for n in counts.values()) / len(first)
        if len(first) < _FEWEST and (self._rounds < _ROUNDS or self._rounds * len(first) < _FEWEST):
            self._epochs[1] = {}
            return
        if self._by_chance >= self._rounds and self._changed >= _PLAIN * self._by_chance:
            self._run.trace.data.repaired = Repaired(len(first), self._changed, self._place, self._rounds)
        self._stop()


def _readable(tensor: Tensor) -> bool:
    plain: bool = tensor.layout == torch.strided and not tensor.is_complex() and not tensor.is_quantized
    return plain and not is_functorch_wrapped_tensor(tensor) and tensor.device.type != "meta"


def _rows(tensor: Tensor, rows: int) -> list[bytes]:
    """A hash of the bytes of each row; a tensor without a row per sample gives the same for all."""
    tensor = tensor.detach()
    shared = not tensor.ndim or len(tensor) != rows
    flat = tensor.reshape(1 if shared else rows, -1)
    flat = flat[:, :: flat.shape[1] // _VALUES + 1]
    flat = (flat.float() if flat.is_floating_point() else flat.long()).cpu().contiguous()
    # cut from one string of bytes: a tensor of its own for each row would take ten times as long
    every, size = flat.numpy().tobytes(), flat.shape[1] * flat.element_size()
    found = [blake2b(every[row * size : (row + 1) * size], digest_size=16).digest() for row in range(len(flat))]
    return found * rows if shared else found
