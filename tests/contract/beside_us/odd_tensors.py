"""Tensors of kinds that cannot be read like others: nested, sparse, complex, quantised, meta, fake, subclassed."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.nn import functional as F
from torch.nn.utils import parametrizations

from .loop import Loop, also, batches, classifier, comparable, learns, program


@program
def jagged_inputs() -> Loop:
    model = nn.Linear(6, 3)
    optimizer = torch.optim.SGD(model.parameters(), 0.05)
    lengths = [(3, 2, 5), (1, 4, 2), (2, 2, 2), (6, 1, 1)]
    data = [torch.nested.nested_tensor([torch.randn(n, 6) for n in each], layout=torch.jagged) for each in lengths]
    noted: list[Any] = []

    def step(batch: Any) -> Tensor:
        optimizer.zero_grad()
        out = model(batch)
        loss = torch.nested.to_padded_tensor(out, 0.0).square().mean()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        noted.append(comparable(out.values()))
        return loss.detach()

    return Loop(model, optimizer, step, data, noted)


@program
def nested_inputs_of_the_first_kind() -> Loop:
    model = nn.Linear(6, 3)
    optimizer = torch.optim.SGD(model.parameters(), 0.05)
    data = [torch.nested.nested_tensor([torch.randn(n, 6) for n in each]) for each in [(3, 2), (1, 4), (2, 6), (1, 1)]]

    def step(batch: Any) -> Tensor:
        optimizer.zero_grad()
        loss = torch.nested.to_padded_tensor(model(batch), 0.0).square().mean()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        return loss.detach()

    return Loop(model, optimizer, step, data)


@program
def jagged_tensors_inside_a_step() -> Loop:
    model, optimizer = nn.Sequential(nn.Linear(6, 8), nn.LayerNorm(8), nn.ReLU(), nn.Linear(8, 3)), None
    optimizer = torch.optim.Adam(model.parameters(), 1e-2)

    def step(batch: Any) -> Tensor:
        x = torch.nested.nested_tensor([batch[0][:3], batch[0][3:]], layout=torch.jagged)
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x).values(), batch[1])
        loss.backward()
        optimizer.step()
        return loss.detach()

    return Loop(model, optimizer, step, batches())


@program
def sparse_gradients() -> Loop:
    model = nn.Embedding(10, 4, sparse=True)
    optimizer = torch.optim.SparseAdam(list(model.parameters()), 1e-2)

    def step(batch: Any) -> Tensor:
        optimizer.zero_grad()
        loss = (model(batch) - 1).square().mean()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        return loss.detach()

    return Loop(model, optimizer, step, [torch.randint(0, 10, (8,)) for _ in range(6)])


def _sparse(change: Any) -> Loop:
    model, weight = nn.Linear(3, 3), nn.Parameter(torch.randn(6, 3))
    model.weight = weight
    model.bias = None  # type: ignore[assignment]
    optimizer = torch.optim.SGD([weight], 0.05)
    data = [(change((x * (x > 0)).contiguous()), y) for x, y in batches()]

    def step(batch: Any) -> Tensor:
        optimizer.zero_grad()
        loss = F.cross_entropy(torch.sparse.mm(batch[0], weight), batch[1])
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        return loss.detach()

    return Loop(model, optimizer, step, data)


@program
def sparse_inputs() -> Loop:
    return _sparse(Tensor.to_sparse)


@program
def sparse_rows() -> Loop:
    return _sparse(Tensor.to_sparse_csr)


class _Waves(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(6, 4, dtype=torch.complex64))
        self.register_buffer("phase", torch.randn(4, dtype=torch.complex64).conj())

    def forward(self, x: Tensor) -> Tensor:
        return torch.fft.fft(x.to(torch.complex64)) @ self.weight * self.phase


@program
def complex_parameters() -> Loop:
    model = _Waves()
    optimizer = torch.optim.Adam(model.parameters(), 1e-2)

    def step(batch: Any) -> Tensor:
        optimizer.zero_grad()
        loss = (model(batch[0]).conj() - 1j * batch[1][:, None]).abs().square().mean()
        loss.backward()
        optimizer.step()
        return loss.detach()

    return Loop(model, optimizer, step, batches())


@program
def complex_batches() -> Loop:
    model = _Waves()
    optimizer = torch.optim.SGD(model.parameters(), 1e-2)

    def step(batch: Any) -> Tensor:
        optimizer.zero_grad()
        loss = (batch.conj() @ model.weight).abs().mean()
        loss.backward()
        optimizer.step()
        return loss.detach()

    return Loop(model, optimizer, step, [torch.randn(8, 6, dtype=torch.complex64) for _ in range(6)])


@program
def quantised_inputs() -> Loop:
    model, optimizer = classifier()
    data = [(torch.quantize_per_tensor(x, 0.1, 0, torch.qint8), y) for x, y in batches()]
    return Loop(model, optimizer, lambda batch: learns(model, optimizer, (batch[0].dequantize(), batch[1])), data)


class _Kept(nn.Module):
    """Frozen weights in eight bits, and a small layer that learns on top of them."""

    def __init__(self, dtype: torch.dtype) -> None:
        super().__init__()
        weight = torch.randn(8, 6)
        self.scale = nn.Parameter(torch.tensor(0.1), requires_grad=False)
        self.weight = nn.Parameter((weight / 0.1).to(dtype), requires_grad=False)
        self.register_buffer("quantised", torch.quantize_per_tensor(weight, 0.1, 0, torch.qint8))
        self.head = nn.Linear(8, 3)

    def forward(self, x: Tensor) -> Tensor:
        hidden = x @ (self.weight.to(torch.float32) * self.scale).T + x @ self.quantised.dequantize().T
        out: Tensor = self.head(hidden.relu())
        return out


def _frozen_in(dtype: torch.dtype) -> Loop:
    model = _Kept(dtype)
    optimizer = torch.optim.Adam(model.head.parameters(), 1e-2)
    return Loop(model, optimizer, lambda batch: learns(model, optimizer, batch), batches())


@program
def weights_of_eight_bits() -> Loop:
    return _frozen_in(torch.int8)


@program
def weights_of_float8() -> Loop:
    return _frozen_in(torch.float8_e4m3fn)


@program
def trained_in_float8() -> Loop:
    """By hand: torch's optimizers cannot."""
    weight = nn.Parameter(torch.randn(6, 3).to(torch.float8_e5m2))
    model = nn.ParameterDict({"weight": weight})

    def step(batch: Any) -> Tensor:
        loss = F.cross_entropy(batch[0] @ weight.to(torch.float32), batch[1])
        loss.backward()
        assert weight.grad is not None
        with torch.no_grad():
            weight.copy_(weight.to(torch.float32) - 0.1 * weight.grad.to(torch.float32))
        weight.grad = None
        return loss.detach()

    return Loop(model, None, step, batches())


@program
def trained_on_meta() -> Loop:
    """As a dry run of a model that would not fit: there are no values at all."""
    with torch.device("meta"):
        model = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 3))
    optimizer = torch.optim.SGD(model.parameters(), 0.05)
    noted: list[Any] = []

    def step(batch: Any) -> float:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(batch[0].to("meta")), batch[1].to("meta"))
        loss.backward()
        optimizer.step()
        noted.append((tuple(loss.shape), str(loss.device)))
        return 1.0

    return Loop(model, optimizer, step, batches(), noted)


@program
def a_meta_model_beside_it() -> Loop:
    model, optimizer = classifier()
    with torch.device("meta"):
        shapes = nn.Linear(6, 8)
    noted: list[Any] = []

    def step(batch: Any) -> Tensor:
        noted.append(tuple(shapes(batch[0].to("meta")).shape))
        return learns(model, optimizer, batch)

    return Loop(model, optimizer, step, batches(), noted)


@program
def frozen_parts_left_on_meta() -> Loop:
    """As accelerate offloads them: a part of the model has no values at the moment."""
    model = nn.ModuleDict({"large": nn.Linear(64, 64, device="meta"), "small": nn.Linear(6, 3)})
    model["large"].requires_grad_(False)
    optimizer = torch.optim.SGD(model["small"].parameters(), 0.1)
    return Loop(model, optimizer, lambda batch: learns(model["small"], optimizer, batch), batches())


@program
def made_on_meta_and_filled_in() -> Loop:
    with torch.device("meta"):
        model = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 3))
    model.to_empty(device="cpu")
    for each in model:
        if isinstance(each, nn.Linear):
            each.reset_parameters()
    optimizer = torch.optim.SGD(model.parameters(), 0.05)
    return Loop(model, optimizer, lambda batch: learns(model, optimizer, batch), batches())


@program
def shapes_are_asked_of_fakes() -> Loop:
    def does(model: nn.Module, optimizer: Any, batch: Any) -> Any:
        with FakeTensorMode() as mode:
            fakes = {name: mode.from_tensor(p.detach()) for name, p in model.head.named_parameters()}  # type: ignore[union-attr]
            out = torch.func.functional_call(model.head, fakes, (torch.empty(4, 8),))  # type: ignore[arg-type]
            return type(out).__name__, tuple(out.shape)

    return also(does)


@program
def a_fake_loop_beside_it() -> Loop:
    """A whole training step in a mode where no tensor has values, as memory estimators take it."""

    def does(model: nn.Module, optimizer: Any, batch: Any) -> Any:
        with FakeTensorMode():
            small = nn.Linear(6, 3)
            steps = torch.optim.Adam(small.parameters(), 1e-2)
            loss = learns(small, steps, (torch.randn(4, 6), torch.randint(0, 3, (4,))))
            return type(loss).__name__, tuple(loss.shape)

    return also(does)


class _Noting(Tensor):
    """Notes what is done with it, as a user's own subclass may."""

    calls: list[str] = []  # noqa: RUF012 - shared on purpose

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        _Noting.calls.append(getattr(func, "__name__", str(func)))
        return super().__torch_function__(func, types, args, kwargs or {})


@program
def a_subclass_that_notes_its_calls() -> Loop:
    model, optimizer = classifier()
    _Noting.calls = noted = []
    data = [(x.as_subclass(_Noting), y) for x, y in batches()]

    steps = iter(range(100))

    def step(batch: Any) -> Tensor:
        if next(steps) == 0:
            noted.clear()  # of what was done with it when it was handed in
        loss = learns(model, optimizer, batch)
        return loss.as_subclass(Tensor)

    return Loop(model, optimizer, step, data, noted)


class _Strict(Tensor):
    """Knows a handful of functions and refuses everything else."""

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        known = ("linear", "__get__", "requires_grad_", "detach", "size", "dim", "as_subclass", "cross_entropy")
        if getattr(func, "__name__", "") not in known:
            raise TypeError(f"_Strict does not know {getattr(func, '__name__', func)}")
        return super().__torch_function__(func, types, args, kwargs or {})


@program
def a_subclass_that_refuses_what_it_does_not_know() -> Loop:
    model = nn.Linear(6, 3)
    optimizer = torch.optim.SGD(model.parameters(), 0.05)

    def step(batch: Any) -> Tensor:
        optimizer.zero_grad()
        out = model(batch[0].as_subclass(_Strict))
        loss = F.cross_entropy(out, batch[1]).as_subclass(Tensor)
        loss.backward()
        optimizer.step()
        return loss.detach()

    return Loop(model, optimizer, step, batches())


class _Wrapped(Tensor):
    """A wrapper without memory of its own, as DTensor and quantised weights are made."""

    inner: Tensor

    @staticmethod
    def __new__(cls, inner: Tensor) -> Any:
        made = Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype, requires_grad=inner.requires_grad)
        made.inner = inner
        return made

    def __init__(self, inner: Tensor) -> None:
        pass

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        return f"_Wrapped({self.inner})"

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        unwrap = lambda each: each.inner if isinstance(each, _Wrapped) else each  # noqa: E731
        wrap = lambda each: _Wrapped(each) if isinstance(each, Tensor) else each  # noqa: E731
        from torch.utils._pytree import tree_map

        out = func(*tree_map(unwrap, args), **tree_map(unwrap, kwargs or {}))
        if func in (torch.ops.aten.add_.Tensor, torch.ops.aten.zero_.default, torch.ops.aten.copy_.default):
            return args[0]
        return tree_map(wrap, out)


@program
def parameters_in_a_wrapper() -> Loop:
    model = nn.Linear(6, 3, bias=False)
    model.weight = nn.Parameter(_Wrapped(torch.randn(3, 6)))
    kinds: list[Any] = []

    def step(batch: Any) -> float:
        loss = F.cross_entropy(model(batch[0]), batch[1])
        loss.backward()
        assert model.weight.grad is not None
        with torch.no_grad():
            model.weight.add_(model.weight.grad, alpha=-0.1)
        model.weight.grad = None
        kinds.append((type(loss).__name__, comparable(model.weight.data.inner)))  # type: ignore[attr-defined]
        return float(loss.inner)  # type: ignore[attr-defined]

    loop = Loop(model, None, step, batches(), kinds)
    loop.left = lambda: comparable(kinds)  # type: ignore[method-assign]
    return loop


class _Halved(nn.Parameter):
    """A parameter of a class of its own."""


@program
def a_parameter_of_a_class_of_its_own() -> Loop:
    model, optimizer = classifier()
    model.head.weight = _Halved(model.head.weight.detach() / 2)
    optimizer = torch.optim.SGD(model.parameters(), 0.05)
    noted: list[Any] = []

    def step(batch: Any) -> Tensor:
        noted.append(type(model.head.weight).__name__)
        return learns(model, optimizer, batch)

    return Loop(model, optimizer, step, batches(), noted)


@program
def masked_tensors() -> Loop:
    from torch.masked import as_masked_tensor

    model, optimizer = classifier()

    def step(batch: Any) -> Tensor:
        optimizer.zero_grad()
        errors = F.cross_entropy(model(batch[0]), batch[1], reduction="none")
        loss = as_masked_tensor(errors, batch[1] > 0).mean().get_data()
        loss.backward()
        optimizer.step()
        return loss.detach()

    return Loop(model, optimizer, step, batches())


@program
def lazy_layers() -> Loop:
    model = nn.Sequential(nn.LazyLinear(8), nn.LazyBatchNorm1d(), nn.ReLU(), nn.LazyLinear(3))
    model(torch.randn(4, 6))
    optimizer = torch.optim.SGD(model.parameters(), 0.05)
    return Loop(model, optimizer, lambda batch: learns(model, optimizer, batch), batches())


@program
def lazy_layers_that_wait() -> Loop:
    model = nn.Sequential(nn.LazyLinear(8), nn.ReLU(), nn.LazyLinear(3))
    optimizer = torch.optim.SGD(model.parameters(), 0.05)
    return Loop(model, optimizer, lambda batch: learns(model, optimizer, batch), batches())


@program
def parametrised_layers() -> Loop:
    model = nn.Sequential(
        parametrizations.weight_norm(nn.Linear(6, 8)),
        nn.ReLU(),
        parametrizations.spectral_norm(nn.Linear(8, 8)),
        parametrizations.orthogonal(nn.Linear(8, 3)),
    )
    optimizer = torch.optim.SGD(model.parameters(), 0.05)
    return Loop(model, optimizer, lambda batch: learns(model, optimizer, batch), batches())


@program
def empty_and_inference_tensors() -> Loop:
    model, optimizer = classifier()
    model.register_parameter("empty", nn.Parameter(torch.empty(0, 4)))
    with torch.inference_mode():
        table = torch.randn(6)
    model.register_buffer("table", table)

    def step(batch: Any) -> Tensor:
        with torch.inference_mode():
            model.eval()(batch[0])
        model.train()
        return learns(lambda x: model(x + table.clone()), optimizer, batch)

    return Loop(model, optimizer, step, batches())


@program
def inference_tensors_as_batches() -> Loop:
    model, optimizer = classifier()
    with torch.inference_mode():
        data = batches()

    def step(batch: Any) -> Tensor:
        return learns(model, optimizer, (batch[0].clone(), batch[1].clone()))

    return Loop(model, optimizer, step, data)
