"""Programs that are compiled, exported, differentiated as functions, vectorised or checkpointed."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call, grad, grad_and_value, hessian, jacrev, jvp, stack_module_state, vmap
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

from .loop import Classifier, Loop, also, batches, classifier, comparable, learns, program


def _compiled(**settings: Any) -> Loop:
    torch._dynamo.reset()
    model, optimizer = classifier()
    compiled = torch.compile(model, **settings)
    return Loop(model, optimizer, lambda batch: learns(compiled, optimizer, batch), batches())


@program
def compiled_as_a_whole() -> Loop:
    return _compiled(backend="eager", fullgraph=True)


@program
def compiled_with_its_backward() -> Loop:
    return _compiled(backend="aot_eager")


@program
def compiled_in_place() -> Loop:
    torch._dynamo.reset()
    model, optimizer = classifier()
    model.compile(backend="eager", fullgraph=True)
    return Loop(model, optimizer, lambda batch: learns(model, optimizer, batch), batches())


@program
def a_compiled_loss() -> Loop:
    torch._dynamo.reset()
    model, optimizer = classifier()

    @torch.compile(backend="eager", fullgraph=True)
    def loss_of(x: Tensor, y: Tensor) -> Tensor:
        return F.cross_entropy(model(x), y) + 0.01 * model.head.weight.square().sum()

    def step(batch: Any) -> Tensor:
        optimizer.zero_grad()
        loss = loss_of(*batch)
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        return loss.detach()

    return Loop(model, optimizer, step, batches())


@program
def a_compiled_optimizer_step() -> Loop:
    torch._dynamo.reset()
    model, optimizer = classifier()
    take = torch.compile(lambda: optimizer.step(), backend="eager")

    def step(batch: Any) -> Tensor:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(batch[0]), batch[1])
        loss.backward()  # type: ignore[no-untyped-call]
        take()
        return loss.detach()

    return Loop(model, optimizer, step, batches())


@program
def a_whole_compiled_step() -> Loop:
    torch._dynamo.reset()
    model, optimizer = classifier()
    return Loop(
        model,
        optimizer,
        torch.compile(lambda batch: learns(model, optimizer, batch), backend="eager"),
        batches(),
    )


@program
def exported() -> Loop:
    def does(model: nn.Module, optimizer: Any, batch: Any) -> Any:
        program = torch.export.export(model, (batch[0],))
        return [str(node.target) for node in program.graph.nodes], sorted(program.state_dict)

    return also(does)


@program
def exported_strictly() -> Loop:
    def does(model: nn.Module, optimizer: Any, batch: Any) -> Any:
        program = torch.export.export(model, (batch[0],), strict=True)
        return [str(node.target) for node in program.graph.nodes], sorted(program.state_dict)

    return also(does)


def _functional(model: nn.Module) -> Any:
    def loss_of(parameters: Any, buffers: Any, x: Tensor, y: Tensor) -> Tensor:
        return F.cross_entropy(functional_call(model, (parameters, buffers), (x,)), y)

    return loss_of


class _Plain(nn.Sequential):
    def __init__(self) -> None:
        super().__init__(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 3))


@program
def functions_of_parameters() -> Loop:
    """A loop in the style of JAX: nothing of the model changes, and no optimizer is there."""
    model = _Plain()
    parameters = {name: p.detach().clone() for name, p in model.named_parameters()}
    noted: list[Any] = []

    def step(batch: Any) -> Tensor:
        gradients, loss = grad_and_value(_functional(model))(parameters, {}, *batch)
        for name in parameters:
            parameters[name] = parameters[name] - 0.1 * gradients[name]
        noted.append(comparable(parameters))
        return loss

    return Loop(model, None, step, batches(), noted)


@program
def func_grad_for_an_optimizer() -> Loop:
    model = _Plain()
    optimizer = torch.optim.Adam(model.parameters(), 1e-2)

    def step(batch: Any) -> Tensor:
        named = dict(model.named_parameters())
        gradients, loss = grad_and_value(_functional(model))(named, {}, *batch)
        for name, parameter in named.items():
            parameter.grad = gradients[name]
        optimizer.step()
        return loss.detach()

    return Loop(model, optimizer, step, batches())


@program
def gradients_of_each_sample() -> Loop:
    model = _Plain()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    each = vmap(grad(lambda p, x, y: _functional(model)(p, {}, x[None], y[None])), in_dims=(None, 0, 0))

    def step(batch: Any) -> Tensor:
        named = dict(model.named_parameters())
        gradients = each(named, *batch)
        for name, parameter in named.items():
            parameter.grad = gradients[name].clamp(-0.5, 0.5).mean(0) + 0.01 * torch.randn_like(parameter)
        optimizer.step()
        return F.cross_entropy(model(batch[0]), batch[1]).detach()

    return Loop(model, optimizer, step, batches())


@program
def an_ensemble_by_vmap() -> Loop:
    models = [_Plain() for _ in range(3)]
    parameters, buffers = stack_module_state(models)  # type: ignore[arg-type]
    optimizer = torch.optim.Adam(parameters.values(), 1e-2)
    base = models[0]
    noted: list[Any] = []

    def step(batch: Any) -> Tensor:
        optimizer.zero_grad()
        loss = vmap(_functional(base), (0, 0, None, None))(parameters, buffers, *batch).sum()
        loss.backward()
        optimizer.step()
        noted.append(comparable(parameters))
        return loss.detach()

    return Loop(base, optimizer, step, batches(), noted)


@program
def derivatives_of_derivatives() -> Loop:
    model = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 1))
    optimizer = torch.optim.Adam(model.parameters(), 1e-2)

    def step(batch: Any) -> Tensor:
        optimizer.zero_grad()
        curved = vmap(hessian(lambda x: model(x).squeeze()))(batch[0])
        sloped = vmap(jacrev(lambda x: model(x).squeeze()))(batch[0])
        loss = curved.square().mean() + (sloped - 1).square().mean()
        loss.backward()
        optimizer.step()
        return loss.detach()

    return Loop(model, optimizer, step, batches())


@program
def forward_mode_gradients() -> Loop:
    model = _Plain()
    noted: list[Any] = []

    def step(batch: Any) -> Tensor:
        named = {name: p.detach() for name, p in model.named_parameters()}
        tangents = {name: torch.randn_like(p) for name, p in named.items()}
        loss, slope = jvp(lambda p: _functional(model)(p, {}, *batch), (named,), (tangents,))
        with torch.no_grad():
            for name, parameter in model.named_parameters():
                parameter -= 0.01 * slope * tangents[name]
        noted.append(comparable(slope))
        return loss

    return Loop(model, None, step, batches(), noted)


@program
def dual_numbers() -> Loop:
    from torch.autograd import forward_ad

    def does(model: nn.Module, optimizer: Any, batch: Any) -> Any:
        with forward_ad.dual_level():
            dual = forward_ad.make_dual(batch[0], torch.ones_like(batch[0]))
            return forward_ad.unpack_dual(model.eval()(dual)).tangent

    return also(does)


@program
def checkpointed_both_ways() -> Loop:
    model, optimizer = classifier()

    def step(batch: Any) -> Tensor:
        optimizer.zero_grad()
        x = batch[0].clone().requires_grad_()
        hidden = checkpoint(model.body, x, use_reentrant=True)
        loss = F.cross_entropy(checkpoint(model.head, hidden, use_reentrant=False), batch[1])
        loss.backward()
        optimizer.step()
        return loss.detach()

    return Loop(model, optimizer, step, batches())


class _Straight(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:  # type: ignore[override]
        ctx.save_for_backward(x)
        return x.sign()

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:  # type: ignore[override]
        (x,) = ctx.saved_tensors
        return gradient * (x.abs() < 1)


@program
def functions_with_a_backward_of_their_own() -> Loop:
    model, optimizer = classifier()
    noted: list[Any] = []

    def packed(tensor: Tensor) -> Any:
        noted.append(comparable(tensor.detach()))
        return tensor.double()

    def step(batch: Any) -> Tensor:
        optimizer.zero_grad()
        with torch.autograd.graph.saved_tensors_hooks(packed, lambda kept: kept.to(torch.float32)):
            hidden = _Straight.apply(model.body[0](batch[0]))
        loss = F.cross_entropy(model.head(hidden), batch[1])
        loss.backward()
        optimizer.step()
        return loss.detach()

    return Loop(model, optimizer, step, batches(), noted)


@program
def a_scripted_model() -> Loop:
    """Without its optimiser, which makes other numbers once it has seen a few calls."""
    model: Any = torch.jit.script(_Plain())
    optimizer = torch.optim.Adam(model.parameters(), 1e-2)

    def step(batch: Any) -> Tensor:
        with torch.jit.optimized_execution(False):
            return learns(model, optimizer, batch)

    return Loop(model, optimizer, step, batches())


@program
def gradients_by_autograd_grad() -> Loop:
    model = Classifier()

    def step(batch: Any) -> Tensor:
        loss = F.cross_entropy(model(batch[0]), batch[1])
        found = torch.autograd.grad(loss, list(model.parameters()), create_graph=True)
        penalty = sum(each.square().sum() for each in found)
        second = torch.autograd.grad(loss + 0.01 * penalty, list(model.parameters()))
        with torch.no_grad():
            for parameter, each in zip(model.parameters(), second, strict=True):
                parameter -= 0.1 * each
        return loss.detach()

    return Loop(model, None, step, batches())
