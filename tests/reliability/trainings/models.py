"""Small models, one for each thing that a model may keep."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils import parametrizations
from torch.utils.checkpoint import checkpoint

_WIDTH, _CLASSES = 4, 3


def _plain() -> nn.Module:
    return nn.Sequential(nn.Linear(_WIDTH, 6), nn.ReLU(), nn.Linear(6, _CLASSES))


def _batchnorm() -> nn.Module:
    return nn.Sequential(nn.Linear(_WIDTH, 6), nn.BatchNorm1d(6), nn.ReLU(), nn.Linear(6, _CLASSES))


def _dropout() -> nn.Module:
    return nn.Sequential(nn.Linear(_WIDTH, 6), nn.Dropout(0.4), nn.Linear(6, _CLASSES))


def _conv() -> nn.Module:
    return nn.Sequential(
        nn.Unflatten(1, (1, 2, 2)), nn.Conv2d(1, 3, 2, padding=1), nn.BatchNorm2d(3), nn.Flatten(), nn.LazyLinear(3)
    )


class _Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.rnn = nn.GRU(1, 5, batch_first=True)
        self.head = nn.Linear(5, _CLASSES)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.rnn(x[..., None])[0][:, -1])  # type: ignore[no-any-return]


class _Embedded(nn.Module):
    """Sparse gradients; and a table that is frozen."""

    def __init__(self, sparse: bool = False) -> None:
        super().__init__()
        self.table = nn.Embedding(8, 5, sparse=sparse, padding_idx=0)
        self.fixed = nn.Embedding.from_pretrained(torch.randn(8, 5), freeze=True)
        self.head = nn.Linear(5, _CLASSES)

    def forward(self, x: Tensor) -> Tensor:
        ids = x.detach().mul(3).round().long().clamp(0, 7)
        return self.head((self.table(ids) + self.fixed(ids)).mean(1))  # type: ignore[no-any-return]


class _Tied(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(_WIDTH, _WIDTH), nn.Linear(_WIDTH, _WIDTH)
        self.second.weight = self.first.weight
        self.again = self.first  # a shared module
        self.head = nn.Linear(_WIDTH, _CLASSES)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(torch.tanh(self.again(torch.tanh(self.second(self.first(x))))))  # type: ignore[no-any-return]


def _weight_norm() -> nn.Module:
    return nn.Sequential(parametrizations.weight_norm(nn.Linear(_WIDTH, 6)), nn.Tanh(), nn.Linear(6, _CLASSES))


def _spectral_norm() -> nn.Module:
    return nn.Sequential(parametrizations.spectral_norm(nn.Linear(_WIDTH, 6)), nn.Tanh(), nn.Linear(6, _CLASSES))


def _old_weight_norm() -> nn.Module:
    with_hook = nn.utils.spectral_norm(nn.Linear(_WIDTH, 6))
    return nn.Sequential(with_hook, nn.Tanh(), nn.Linear(6, _CLASSES))


def _frozen() -> nn.Module:
    model = nn.Sequential(nn.Linear(_WIDTH, 6), nn.BatchNorm1d(6), nn.ReLU(), nn.Linear(6, _CLASSES))
    model[0].requires_grad_(False)
    model[1].eval()
    return model


class _Counting(nn.Module):
    """Buffers of all kinds, an attribute that counts, a cache of an output, layers in a plain list."""

    seen_by_all = 0

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("steps", torch.zeros((), dtype=torch.long))
        self.register_buffer("mean", torch.zeros(_WIDTH), persistent=False)
        self.register_buffer("later", None)
        self.mask = nn.Parameter(torch.ones(_WIDTH, dtype=torch.bool), requires_grad=False)
        self.calls, self.cache = 0, {}  # type: ignore[var-annotated]
        self.head = nn.Linear(_WIDTH, _CLASSES)
        self.double_scale = nn.Parameter(torch.ones((), dtype=torch.float64))

    def forward(self, x: Tensor) -> Tensor:
        if self.training:
            self.calls += 1
            type(self).seen_by_all += 1
            self.steps += 1
            with torch.no_grad():
                self.mean = 0.9 * self.mean + 0.1 * x.mean(0)
            self.later = x.detach().clone()
        self.cache["output"] = output = self.head((x - self.mean) * self.mask) * self.double_scale.float()
        return output  # type: ignore[no-any-return]


class _Checkpointed(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(_WIDTH, 6), nn.Dropout(0.2), nn.Tanh())
        self.head = nn.Linear(6, _CLASSES)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(checkpoint(self.body, x, use_reentrant=False))  # type: ignore[no-any-return]


def _note(module: nn.Module, inputs: Any, output: Any) -> None:
    module.outputs_seen = getattr(module, "outputs_seen", 0) + 1  # type: ignore[assignment]


def _hooked() -> nn.Module:
    model = _plain()
    model[0].register_forward_hook(_note)  # type: ignore[index]
    model[2].register_full_backward_hook(lambda module, into, out: None)  # type: ignore[index]
    model[2].weight.register_hook(lambda gradient: gradient * 0.5)  # type: ignore[index]
    model[0].bias.register_post_accumulate_grad_hook(lambda parameter: None)  # type: ignore[index]
    return model


def _transformer() -> nn.Module:
    layer = nn.TransformerEncoderLayer(_WIDTH, 2, 8, dropout=0.1, batch_first=True)
    return nn.Sequential(nn.Unflatten(1, (1, _WIDTH)), layer, nn.Flatten(), nn.Linear(_WIDTH, _CLASSES))


class _MakesItsHead(nn.Module):
    """Its head is made in the first forward pass."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Linear(_WIDTH, 5)
        self.head: nn.Module | None = None

    def forward(self, x: Tensor) -> Tensor:
        x = self.body(x)
        if self.head is None:
            self.head = nn.Linear(x.shape[1], _CLASSES)
        return self.head(x)  # type: ignore[no-any-return]


MODELS: dict[str, Callable[[], nn.Module]] = {
    "plain": _plain, "batchnorm": _batchnorm, "dropout": _dropout, "conv and lazy": _conv, "recurrent": _Recurrent,
    "embedding": _Embedded, "sparse embedding": lambda: _Embedded(sparse=True), "tied and shared": _Tied,
    "weight norm": _weight_norm, "spectral norm": _spectral_norm, "spectral norm by hook": _old_weight_norm,
    "frozen": _frozen, "buffers and counts": _Counting, "checkpointed": _Checkpointed, "hooked": _hooked,
    "transformer": _transformer, "makes its head": _MakesItsHead,
    "double": lambda: _plain().double(), "half": lambda: _plain().bfloat16(),
}  # fmt: skip
