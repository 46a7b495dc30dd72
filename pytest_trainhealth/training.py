"""`Training`: what the user passes in, checked at once, so that a mistake is reported where it was made."""

from __future__ import annotations

import dataclasses
import inspect
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import torch
from torch import Tensor, nn
from torch.optim import Optimizer
from torch.utils.data import DataLoader

from .state.call_shapes import takes
from .state.data_parts import DataPart
from .state.iterators import sources
from .state.their_checkpoints import can_load, can_save
from .tensors.batches import tensors
from .tensors.module_paths import full_path

if TYPE_CHECKING:
    from .frameworks.stepwise_loop import StepwiseLoop

#: pytest looks here, too: who hands in something wrong wants to see the own line, and not the lines that look at it.
__tracebackhide__ = True
_PRECISIONS = {"bfloat16": torch.bfloat16, "bf16": torch.bfloat16, "float16": torch.float16, "fp16": torch.float16}
#: Longest repr of a value that a message shows. By judgement: 40 letters fit into a message of one line.
_LONGEST_REPR = 40


class Training:
    """A model and everything that one training step needs.

    `data`: a list or a DataLoader is many batches; a tensor, tuple, dict or dataclass is one batch.
    Say how the loss is computed in exactly one way: `loss(model, batch)`; `criterion(output, target)` for
    `(inputs, target)` batches; `step(batch)`, your own complete training step, which returns its loss or calls
    `backward()` on it; or nothing at all if the model's output has a `.loss`.

    Only with a `step` of your own may `data` be left out, as in reinforcement learning: it is then called without a
    batch, or with None if it wants one. And only then may the optimizer be one of another package, or of your own.

    `scheduler`, one or several, is stepped `scheduler_every` "epoch" or "batch". An epoch is one pass over `data`, and
    at least 10 steps; data that are a single batch, or have no length, have no epochs. ReduceLROnPlateau gets the mean
    loss of the epoch. Without `scheduler_every` OneCycleLR, CyclicLR, schedules that begin with a warm-up and classes
    that are not torch's are stepped after every batch, all others after every epoch. Your own `step` steps its
    schedulers itself.

    `save(path)` and `load(path)` are those of your own loop, for `resumes_exactly`: `load` is called on a training that
    was built anew. A `save()` that takes no path returns a state, and `load(state)` takes it. `evaluate(val_data)` is
    your own whole evaluation, modes included, for `evaluates_cleanly`; it returns a number, or several. One that brings
    its own data takes no argument, and needs no `val_data`.

    `Training.from_lightning(module, data)` and `Training.from_hf_trainer(trainer)` run the loop of a framework instead.
    """

    #: The loop of a framework, whose steps this training takes; None if it has its own.
    framework_loop: StepwiseLoop | None = None

    def __init__(  # noqa: PLR0913 - a training has this many parts, each passed by name
        self,
        model: nn.Module | Mapping[str, nn.Module],
        optimizer: Optimizer | Sequence[Optimizer] | Mapping[str, Optimizer] | None = None,
        loss: Callable[[Any, Any], Any] | None = None,
        data: Any = None,
        *,
        criterion: Callable[[Any, Any], Any] | None = None,
        step: Callable[[Any], Any] | None = None,
        val_data: Any = None,
        scheduler: Any = None,
        scheduler_every: Literal["epoch", "batch"] | None = None,
        precision: torch.dtype | str | None = None,
        save: Callable[[Path], Any] | Callable[[], Any] | None = None,
        load: Callable[[Any], Any] | Callable[[], Any] | None = None,
        evaluate: Callable[[Any], Any] | Callable[[], Any] | None = None,
        name: str | None = None,
    ) -> None:
        self.model = model
        self.modules = _named_modules(model)
        self.loss = _callable_or_none(loss, "loss", "loss(model, batch)")
        self.criterion = _callable_or_none(criterion, "criterion", "criterion(output, target)")
        self.step = _callable_or_none(step, "step", "step(batch)")
        self._one_way_to_a_loss()
        #: Of other packages: only a step of the user's own knows what to do with them.
        self.other_optimizers = [] if step is None else _of_others(optimizer)
        self.optimizers = {} if self.other_optimizers else _named_optimizers(optimizer, needed=step is None)
        self.schedulers = _schedulers(scheduler)
        self.scheduler_every = self._pace(scheduler_every)
        self.read_from = [*_referred_to(data), *_referred_to(val_data)]
        own_step = step is not None
        self.data: Any = None if data is None and own_step else _checked_data(data, "data", own_step=own_step)
        self.val_data = None if val_data is None else _checked_data(val_data, "val_data")
        self.precision = _precision(precision)
        self.save = _callable_or_none(save, "save", "save(path)")
        self.load = _callable_or_none(load, "load", "load(path)")
        self._both_or_none()
        self.evaluate = _callable_or_none(evaluate, "evaluate", "evaluate(val_data)")
        self._can_be_evaluated()
        self.name = name

    @classmethod
    def from_lightning(
        cls, module: Any, data: Any = None, *, val_data: Any = None, name: str | None = None, **trainer_options: Any
    ) -> Training:
        """The real loop of Lightning: `Trainer(**trainer_options).fit(module, data)`, one batch after the other.

        `data`: a LightningDataModule, a DataLoader, several, or a list of batches; None if the module has a
        `train_dataloader`. Nothing is logged, saved or shown unless the options ask for it.
        """
        from .frameworks.lightning_loop import LightningLoop

        loop = LightningLoop(module, data, val_data, trainer_options)
        evaluate = loop.validate if loop.validates else None
        return cls._of_loop(loop, loop.model, loop.data, val_data=loop.val_data, evaluate=evaluate, name=name)

    @classmethod
    def from_hf_trainer(cls, trainer: Any, *, name: str | None = None) -> Training:
        """The real loop of a Hugging Face Trainer, or of TRL's: `trainer.train()`, one update after the other.

        Its model, data, collator, loss, optimizer and schedule are those of the Trainer, which is left as it was.
        Nothing is saved, reported or shown.
        """
        from .frameworks.hugging_face_loop import HuggingFaceLoop

        loop = HuggingFaceLoop(trainer)
        evaluate = None if loop.val_data is None else loop.evaluate
        return cls._of_loop(loop, loop.model, loop.data, val_data=loop.val_data, evaluate=evaluate, name=name)

    @classmethod
    def _of_loop(cls, loop: StepwiseLoop, model: Any, data: Any, **more: Any) -> Training:
        training = cls(model, step=loop.take, data=data, **more)
        training.framework_loop = loop
        return training

    @contextmanager
    def running(self) -> Iterator[None]:
        """Open while a run takes its steps. The loop of a framework makes its optimizers when it begins."""
        if self.framework_loop is None:
            yield
            return
        with self.framework_loop.running():
            self.optimizers = _named_optimizers(self.framework_loop.optimizers() or None, needed=False)
            self.schedulers = list(self.framework_loop.schedulers())
            try:
                yield
            finally:
                self.optimizers, self.schedulers = {}, []

    def _one_way_to_a_loss(self) -> None:
        given = [word for word in ("loss", "criterion", "step") if getattr(self, word) is not None]
        if len(given) > 1:
            raise ValueError(f"Training takes one of loss=, criterion= and step=, not {' and '.join(given)} together")
        if not given and not isinstance(self.model, nn.Module):
            raise ValueError("Training of several models needs loss= or step=: no single output carries a loss")

    def _both_or_none(self) -> None:
        if (self.save is None) != (self.load is None):
            given, missing = ("save", "load") if self.load is None else ("load", "save")
            raise TypeError(f"Training takes save= and load= together: {given}= was given, and no {missing}=")
        if self.save is None:
            return
        if not can_save(self.save):
            raise TypeError(f"Training: save has to be callable as save(path) or save(), not {_called_as(self.save)}")
        if not can_load(self.save, self.load):
            raise TypeError(
                f"Training: load has to be callable as load(path) or load(state), not {_called_as(self.load)}"
            )

    def _can_be_evaluated(self) -> None:
        if self.evaluate is None or takes(self.evaluate, 0):
            return
        if not takes(self.evaluate, 1):
            shapes = "evaluate(val_data) or evaluate()"
            raise TypeError(f"Training: evaluate has to be callable as {shapes}, not {_called_as(self.evaluate)}")
        if self.val_data is None:
            raise ValueError(
                "Training: evaluate= is called with val_data=, and none was given; one that brings its own data is to "
                "take no argument: evaluate=lambda: validate(model, batches)"
            )

    @property
    def evaluates_val_data(self) -> bool:
        """Whether `evaluate` is given `val_data`, or brings its own."""
        return self.evaluate is not None and self.val_data is not None and takes(self.evaluate, 1)

    def evaluated(self, val_data: Any) -> Any:
        """What `evaluate` returns, of these data if it takes any."""
        return self.evaluate(val_data) if self.evaluates_val_data else self.evaluate()

    def _pace(self, every: Any) -> Literal["epoch", "batch"] | None:
        if every is None:
            return None
        if every not in ("epoch", "batch"):
            raise ValueError(f'Training: scheduler_every has to be "epoch" or "batch", not {_described(every)}')
        if not self.schedulers:
            raise ValueError("Training: scheduler_every needs scheduler=")
        if self.step is not None:
            raise ValueError("Training: scheduler_every has no effect with step=, which steps its schedulers itself")
        return every  # type: ignore[no-any-return]

    def parameters(self) -> dict[str, nn.Parameter]:
        """All parameters by name; tied weights appear once, under their first name."""
        found: dict[str, nn.Parameter] = {}
        seen: set[int] = set()
        for prefix, module in self.modules.items():
            for name, parameter in module.named_parameters():
                if id(parameter) not in seen:
                    seen.add(id(parameter))
                    found[full_path(prefix, name)] = parameter
        return found

    @property
    def device(self) -> torch.device:
        return next(iter(self.parameters().values())).device

    def state_roots(self) -> list[Any]:
        """Objects from which everything can be reached that a step may change; for the data, all but the samples."""
        data = [DataPart(each) for each in (self.data, self.val_data) if each is not None and not is_one_batch(each)]
        steps = [self.loss, self.criterion, self.step, self.save, self.load, self.evaluate]
        return [
            *self.modules.values(),
            *self.optimizers.values(),
            *self.other_optimizers,
            *self.schedulers,
            *steps,
            *data,
        ]

    def __repr__(self) -> str:
        kinds = ", ".join(type(m).__name__ for m in self.modules.values())
        return f"Training({self.name or kinds})"


def is_one_batch(data: Any) -> bool:
    """A list, a DataLoader or another loader is many batches; anything else is one.

    Iterable objects are loaders, unless they have keys (a graph library's Data).
    """
    if isinstance(data, (list, DataLoader)) or hasattr(data, "__next__"):
        return False
    if isinstance(data, (Tensor, tuple, Mapping)) or dataclasses.is_dataclass(data) or hasattr(data, "keys"):
        return True
    return not isinstance(data, Iterable)


def last_batch_size(data: Any, steps: int) -> int | None:
    """The size of the incomplete batch at the end of an epoch, if this many steps do not reach it."""
    if not isinstance(data, DataLoader) or data.batch_size is None or data.drop_last:
        return None
    try:
        batches, samples = len(data), len(data.sampler)  # type: ignore[arg-type]
    except TypeError:  # the loader has no length
        return None
    return samples % data.batch_size or None if batches > steps else None


def _named_modules(model: Any) -> dict[str, nn.Module]:
    modules = dict(model) if isinstance(model, Mapping) else {"": model}
    if isinstance(model, nn.ModuleDict):
        modules = {"": model}
    for name, module in modules.items():
        if not isinstance(module, nn.Module):
            given = f"model[{name!r}]" if name else "model"
            hint = ": call it first" if inspect.isclass(module) or inspect.isfunction(module) else ""
            raise TypeError(f"Training: {given} has to be a torch.nn.Module, not {_described(module)}{hint}")
    if not modules or not any(True for m in modules.values() for _ in m.parameters()):
        raise ValueError("Training: the model has no parameters, so there is nothing to train")
    return modules


def _callable_or_none(value: Any, name: str, shape: str) -> Any:
    if value is not None and not callable(value):
        raise TypeError(f"Training: {name} has to be callable as {shape}, not {_described(value)}")
    return value


def _called_as(function: Callable[..., Any]) -> str:
    return f"{getattr(function, '__name__', type(function).__name__)}{inspect.signature(function)}"


def _of_others(optimizer: Any) -> list[Any]:
    """Optimizers that are none of torch's, if all that is given takes steps and none of it is torch's."""
    if optimizer is None or isinstance(optimizer, (Optimizer, Iterator)) or inspect.isclass(optimizer):
        return []
    several = optimizer.values() if isinstance(optimizer, Mapping) else optimizer
    each_of = list(several) if isinstance(optimizer, (Mapping, list, tuple)) else [optimizer]
    others = [each for each in each_of if callable(getattr(each, "step", None)) and not inspect.isclass(each)]
    return others if others and not any(isinstance(each, Optimizer) for each in each_of) else []


def _named_optimizers(optimizer: Any, *, needed: bool) -> dict[str, Optimizer]:
    if optimizer is None:
        if needed:
            raise ValueError("Training needs optimizer= (only a step= of your own may bring its own)")
        return {}
    if isinstance(optimizer, Mapping):
        named = {str(name): each for name, each in optimizer.items()}
    else:
        each_of = list(optimizer) if isinstance(optimizer, (list, tuple)) else [optimizer]
        kinds = [type(each).__name__ for each in each_of]
        named = {}
        for index, (kind, each) in enumerate(zip(kinds, each_of, strict=True)):
            named[kind if kinds.count(kind) == 1 else f"{kind}[{index}]"] = each
    for each in named.values():
        if not isinstance(each, Optimizer):
            hint = ": call it with the model's parameters" if inspect.isclass(each) else ""
            raise TypeError(
                "Training: optimizer has to be a torch.optim.Optimizer, several, or a dict of them, "
                f"not {_described(each)}{hint}"
            )
    if not named:
        raise ValueError("Training: optimizer is empty")
    return named


def _schedulers(scheduler: Any) -> list[Any]:
    if scheduler is None:
        return []
    each_of = list(scheduler) if isinstance(scheduler, (list, tuple)) else [scheduler]
    for each in each_of:
        if not callable(getattr(each, "step", None)):
            raise TypeError(f"Training: scheduler needs a step() method, {_described(each)} has none")
    return each_of


def _checked_data(data: Any, name: str, *, own_step: bool = False) -> Any:
    """`own_step`: whoever takes the step knows what a batch is, and it may be trees, texts or molecules."""
    if data is None:
        raise ValueError(f"Training needs {name}=: one batch, a list of batches or a DataLoader")
    if is_one_batch(data):
        if next(tensors(data), None) is None and not own_step:
            raise ValueError(f"Training: {name} is one batch without a tensor in it ({_described(data)})")
        return data
    if hasattr(data, "__next__"):
        # it can be read only once, and every run has to see the same batches
        data = _first_batches(data)
        if not data:
            raise ValueError(
                f"Training: {name} is an iterator that is used up: hand in a list, a DataLoader or a fresh one"
            )
        return data
    if _length(data) == 0:
        raise ValueError(f"Training: {name} is empty ({_described(data)})")
    if isinstance(data, list) and data[0] is None:
        out = "" if own_step else "hand that in as step=, and "
        raise ValueError(f"Training: {name}[0] is None: for a step that makes its own batches, {out}say data=None")
    if isinstance(data, list) and not own_step and next(tensors(data[0]), None) is None:
        raise ValueError(f"Training: {name}[0] is a batch without a tensor in it ({_described(data[0])})")
    return data


def _referred_to(data: Any) -> list[weakref.ref[Any]]:
    """The iterators that are read here, to tell whether another training reads from the same ones.

    They are not kept: workers of a loader end with the last that refers to its iterator.
    """
    found = []
    for each in sources(data) if hasattr(data, "__next__") else ():
        with suppress(TypeError):  # some kinds cannot be referred to, such as a `zip`; what it reads from can
            found.append(weakref.ref(each))
    return found


#: A generator may be endless. All checks but one look at fewer batches; the closer look takes 64 steps.
_KEPT_BATCHES = 64


def _first_batches(iterator: Iterator[Any]) -> list[Any]:
    return [batch for _, batch in zip(range(_KEPT_BATCHES), iterator, strict=False)]


def _length(data: Any) -> int | None:
    try:
        return len(data)
    except TypeError:
        return None


def _precision(precision: Any) -> torch.dtype | None:
    if precision is None or isinstance(precision, torch.dtype):
        if precision is not None and not precision.is_floating_point:
            raise ValueError(f"Training: precision has to be a floating point type, not {precision}")
        return precision
    if isinstance(precision, str) and precision in _PRECISIONS:
        return _PRECISIONS[precision]
    raise TypeError(
        f"Training: precision has to be a torch.dtype or one of {', '.join(_PRECISIONS)}, not {_described(precision)}"
    )


def _described(value: Any) -> str:
    if inspect.isclass(value):
        return f"the class {value.__name__}"
    text = repr(value)
    return f"{type(value).__name__} {text}" if len(text) <= _LONGEST_REPR else f"a {type(value).__name__}"
