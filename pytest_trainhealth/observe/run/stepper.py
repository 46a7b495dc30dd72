"""The built-in training step, and the user's own; both return the loss as a float."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext, suppress
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import LBFGS

from ...tensors.batches import fresh_containers
from ...training import Training
from ...wording import with_article
from ..source.engine_frames import engine_frame
from .scheduler_steps import SchedulerSteps
from .seen_losses import SeenLosses

_AS_IT_IS = nullcontext()
#: Calls of a step that returns nothing and learns nothing, until it learns. By judgement: as many as a buffer of
#: experience usually holds before it is learnt from.
_MOST_CALLS = 1000


class BadLoss(TypeError):
    """The returned value cannot be a loss."""


class NotConnected(Exception):
    """The loss does not depend on any trainable parameter: a symptom, not a mistake in how the user called us."""


class Stepper:
    """Takes one step after the other. Each run has a new one, because a loss scaler and a schedule have state."""

    def __init__(self, training: Training) -> None:
        self._training = training
        half = training.precision == torch.float16
        self.scaler = torch.amp.GradScaler(training.device.type) if half and training.step is None else None
        self._optimizers = list(training.optimizers.values())
        #: Where the loss comes from, for the message about one that is invalid.
        self._source = (
            "loss(model, batch)" if training.loss is not None
            else "criterion" if training.criterion is not None
            else "model(batch)"
        )  # fmt: skip
        self._scheduler_steps = SchedulerSteps(training)
        #: Asked for the loss of a step that returns none. Whoever takes steps and hears of backward passes sets it.
        self.seen: SeenLosses | None = None
        #: The latest step neither returned a loss nor showed one.
        self.unseen = False
        self._takes_a_batch = training.step is None or takes_a_batch(training.step, training.data)
        self._needs_closure = any(isinstance(optimizer, LBFGS) for optimizer in self._optimizers)
        if training.step is None:
            for module in training.modules.values():
                if not module.training:  # from_pretrained() returns models in eval mode
                    module.train()
                for each in module.modules():
                    if type(each).train is not nn.Module.train:  # it may keep frozen parts in eval mode
                        each.train(each.training)

    @engine_frame
    def take(self, batch: Any) -> float:
        training = self._training
        if training.step is not None:
            with self._autocast():
                return self._own_step(training.step, batch)
        if self._needs_closure:
            return self._closure_step(batch)
        for optimizer in self._optimizers:
            optimizer.zero_grad()
        loss = self._backward(batch)
        for optimizer in self._optimizers:
            if self.scaler is None:
                optimizer.step()
            else:
                self.scaler.step(optimizer)
        if self.scaler is not None:
            self.scaler.update()
        self._scheduler_steps.step_taken(loss)
        return loss

    @engine_frame
    def _own_step(self, step: Callable[..., Any], batch: Any) -> float:
        """The user's step and its loss: what it returns or, if that is none, what it was seen to learn from."""
        for _ in range(_MOST_CALLS):
            returned = step(batch) if self._takes_a_batch else step()
            # one that collects experience before it learns is called until it does
            if returned is not None or self.seen is None or self.seen.learnt:
                break
        try:
            return as_number(_loss_in(returned, "step(batch)"), "step(batch)")
        except BadLoss:
            if self.seen is None or not self.seen.learnt or (self.seen.latest is None and returned is not None):
                raise
        self.unseen = self.seen.latest is None
        return math.nan if self.seen.latest is None else self.seen.latest

    def only_forward(self, batch: Any) -> None:
        """For lazy modules, which get their shapes when they first see data."""
        with suppress(NotConnected):
            self._loss(batch)

    def _closure_step(self, batch: Any) -> float:
        first: list[float] = []
        for optimizer in self._optimizers:

            def closure(optimizer: torch.optim.Optimizer = optimizer) -> Tensor:
                optimizer.zero_grad()
                # the closure is called several times, and the loss may pop items from its batch
                loss, value = self._loss(fresh_containers(batch))
                loss.backward()  # type: ignore[no-untyped-call]
                first.append(value)
                return loss

            optimizer.step(closure)  # type: ignore[arg-type]
        self._scheduler_steps.step_taken(first[0])
        return first[0]

    @engine_frame
    def _backward(self, batch: Any) -> float:
        loss, value = self._loss(batch)
        scaled = loss if self.scaler is None else self.scaler.scale(loss)
        scaled.backward()  # type: ignore[no-untyped-call]
        return value

    @engine_frame
    def _loss(self, batch: Any) -> tuple[Tensor, float]:
        """The loss and its value, which is read only once: on an accelerator each reading waits for the device."""
        with self._autocast():
            found = self._forward(batch)
        if not isinstance(found, Tensor):
            without = ", before .item()" if isinstance(found, (int, float)) else ""
            raise BadLoss(
                f"{self._source} returned {type(found).__name__} {found!r}: "
                f"a scalar tensor is needed for backward(){without}"
            )
        value = as_number(found, self._source)
        if not found.requires_grad:
            raise NotConnected
        return found, value

    def _forward(self, batch: Any) -> Any:
        training = self._training
        if training.loss is not None:
            return _loss_in(training.loss(training.model, batch), self._source)
        if training.criterion is not None:
            inputs, target = _pair(batch)
            return _loss_in(training.criterion(_output(training.model, inputs), target), self._source)
        try:
            output = _output(training.model, batch)
        except Exception as error:
            if isinstance(batch, (list, tuple)):
                error.add_note(_WHOLE_BATCH)
            raise
        return _loss_in(output, self._source, carried=True)

    def _autocast(self) -> AbstractContextManager[Any]:
        if self._training.precision is None:
            return _AS_IT_IS
        return torch.autocast(self._training.device.type, dtype=self._training.precision)


#: For whoever forgot to say what the loss is.
_WHOLE_BATCH = (
    "Training has no loss=, criterion= or step=, so the model is called with the whole batch, and its output has to "
    "carry the loss: hand in criterion= for (inputs, target) batches, or loss=lambda model, batch: ..."
)


def takes_a_batch(step: Any, data: Any) -> bool:
    """A loop without data, as in reinforcement learning, may have a step that takes nothing."""
    if data is not None:
        return True
    try:
        inspect.signature(step).bind(None)
    except TypeError:
        return False
    except ValueError:  # a builtin that does not tell
        return True
    return True


def _output(model: Any, inputs: Any) -> Any:
    if isinstance(inputs, Tensor) or not isinstance(inputs, Mapping) or not _takes_keywords(model, inputs):
        return model(inputs)
    return model(**inputs)


def _takes_keywords(model: Any, inputs: Mapping[str, Any]) -> bool:
    """Whether `forward` has parameters named like these keys, as in Hugging Face models, or takes the dict as it is."""
    parameters = inspect.signature(model.forward).parameters
    named = all(key in parameters for key in inputs)
    return named or any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters.values())


def _pair(batch: Any) -> tuple[Any, Any]:
    if isinstance(batch, (list, tuple)) and len(batch) == 2:
        return batch[0], batch[1]
    raise BadLoss(
        f"criterion= needs (inputs, target) batches, this one is a {type(batch).__name__}"
        f"{f' of {len(batch)}' if isinstance(batch, (list, tuple)) else ''}: use loss= instead"
    )


def _loss_in(returned: Any, wanted_from: str, *, carried: bool = False) -> Any:
    """A loss may be returned by itself, under the key 'loss', or as the attribute `.loss`."""
    if isinstance(returned, Tensor) and not carried:
        return returned
    if returned is None:
        or_shown = ", or call backward() on it" if wanted_from == "step(batch)" else ""
        raise BadLoss(f"{wanted_from} returned None: return the loss from it{or_shown}")
    if isinstance(returned, Mapping) and "loss" in returned:
        return returned["loss"]
    if not isinstance(returned, Tensor) and getattr(returned, "loss", None) is not None:
        return returned.loss
    if carried or isinstance(returned, (Mapping, nn.Module)):
        raise BadLoss(
            f"{wanted_from} returned {_kind(returned)} without a loss in it: hand in loss=, criterion= or step="
        )
    return returned


def as_number(loss: Any, wanted_from: str) -> float:
    if isinstance(loss, Tensor):
        if loss.numel() != 1:
            raise BadLoss(
                f"{wanted_from} returned a tensor of shape {tuple(loss.shape)}, a scalar is needed: take its mean()"
            )
        value = loss.item()
        if isinstance(value, complex):
            raise BadLoss(f"{wanted_from} returned a complex number, a real one is needed")
        return float(value)
    if isinstance(loss, bool):
        raise BadLoss(f"{wanted_from} returned {loss!r}, a number is needed: return the loss from it")
    try:
        return float(loss)
    except (TypeError, ValueError):
        raise BadLoss(f"{wanted_from} returned {_kind(loss)}, a scalar tensor or a number is needed") from None


def _kind(value: Any) -> str:
    return with_article(type(value).__name__)
