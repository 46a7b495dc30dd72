"""Models and optimizers that are copied, saved, pickled and taken apart while they are trained."""

from __future__ import annotations

import copy
import io
import multiprocessing.reduction
import pickle
from typing import Any

import torch
from torch import Tensor, fx, nn
from torch.nn import functional as F
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from .loop import Classifier, Loop, also, batches, classifier, comparable, learns, program


def _saved(thing: Any, **settings: Any) -> Any:
    file = io.BytesIO()
    torch.save(thing, file)
    file.seek(0)
    return torch.load(file, weights_only=False, **settings)


@program
def a_model_is_deep_copied() -> Loop:
    return also(lambda model, optimizer, batch: copy.deepcopy(model))


@program
def a_model_is_copied() -> Loop:
    return also(lambda model, optimizer, batch: copy.copy(model))


@program
def a_model_is_saved_whole() -> Loop:
    return also(lambda model, optimizer, batch: _saved(model))


@program
def a_model_is_pickled() -> Loop:
    return also(lambda model, optimizer, batch: pickle.loads(pickle.dumps(model)))


@program
def a_model_is_sent_to_another_process() -> Loop:
    return also(lambda model, optimizer, batch: len(multiprocessing.reduction.ForkingPickler.dumps(model)) > 0)


@program
def an_optimizer_is_deep_copied() -> Loop:
    return also(lambda model, optimizer, batch: copy.deepcopy(optimizer).state_dict())


@program
def an_optimizer_is_pickled() -> Loop:
    return also(lambda model, optimizer, batch: pickle.loads(pickle.dumps(optimizer)).state_dict())


@program
def a_checkpoint_is_saved_and_loaded() -> Loop:
    def does(model: nn.Module, optimizer: torch.optim.Optimizer, batch: Any) -> Any:
        saved = _saved({"model": model.state_dict(), "optimizer": optimizer.state_dict()})
        model.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])
        return saved

    return also(does)


@program
def a_checkpoint_is_assigned() -> Loop:
    return also(lambda model, optimizer, batch: _saved(model).load_state_dict(model.state_dict(), assign=True))


@program
def parameters_and_gradients_are_pickled() -> Loop:
    return also(lambda model, optimizer, batch: _saved([(p, p.grad) for p in model.parameters()]))


@program
def parameters_are_deep_copied() -> Loop:
    return also(lambda model, optimizer, batch: [copy.deepcopy(p) for p in model.parameters()])


@program
def an_output_is_deep_copied() -> Loop:
    """Which torch refuses."""
    return also(lambda model, optimizer, batch: copy.deepcopy(model(batch[0])))


@program
def a_scheduler_is_deep_copied() -> Loop:
    model, optimizer = classifier()
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 10)
    noted: list[Any] = []

    def step(batch: Any) -> Tensor:
        loss = learns(model, optimizer, batch)
        scheduler.step()
        noted.append(comparable(copy.deepcopy(scheduler).state_dict()))
        return loss

    return Loop(model, optimizer, step, batches(), noted)


@program
def an_average_of_the_weights() -> Loop:
    model, optimizer = classifier()
    average: list[Any] = []
    noted: list[Any] = []

    def step(batch: Any) -> Tensor:
        loss = learns(model, optimizer, batch)
        if not average:
            average.append(AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(0.9)))
        average[0].update_parameters(model)
        with torch.no_grad():
            noted.append(comparable([average[0], average[0].eval()(batch[0])]))
        return loss

    return Loop(model, optimizer, step, batches(), noted)


@program
def a_copy_is_trained_on() -> Loop:
    """The inner loop of a first-order MAML: a copy of the model takes two steps, and the model follows it."""
    model, optimizer = classifier()
    noted: list[Any] = []

    def step(batch: Any) -> Tensor:
        inner = copy.deepcopy(model)
        quick = torch.optim.SGD(inner.parameters(), 0.05)
        for _ in range(2):
            learns(inner, quick, batch)
        optimizer.zero_grad()
        for ours, theirs in zip(model.parameters(), inner.parameters(), strict=True):
            ours.grad = ours.detach() - theirs.detach()
        optimizer.step()
        noted.append(comparable(inner))
        return F.cross_entropy(model(batch[0]), batch[1]).detach()

    return Loop(model, optimizer, step, batches(), noted)


@program
def a_model_is_scripted() -> Loop:
    return also(lambda model, optimizer, batch: torch.jit.trace(copy.deepcopy(model).eval(), batch[0])(batch[0]))


@program
def a_model_is_traced_by_fx() -> Loop:
    def does(model: nn.Module, optimizer: Any, batch: Any) -> Any:
        return fx.symbolic_trace(model).code, fx.symbolic_trace(model).eval()(batch[0])

    return also(does)


@program
def hooks_are_counted() -> Loop:
    return also(
        lambda model, optimizer, batch: [
            (
                each,
                len(each._forward_hooks),
                len(each._forward_pre_hooks),
                len(each._backward_hooks),
                sorted(vars(each)),
            )
            for each in model.modules()
        ]
    )


class _Featurizer(Classifier):
    """Has a say in how it is pickled."""

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in vars(self).items() if key != "cache"}


@program
def a_model_that_says_how_it_is_pickled() -> Loop:
    model = _Featurizer()
    optimizer = torch.optim.SGD(model.parameters(), 0.05)
    noted: list[Any] = []

    def step(batch: Any) -> Tensor:
        loss = learns(model, optimizer, batch)
        vars(model)["cache"] = loss
        noted.append(comparable([_saved(model), copy.deepcopy(model)]))
        return loss

    return Loop(model, optimizer, step, batches(), noted)
