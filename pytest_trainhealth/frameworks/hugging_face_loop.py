"""The loop of Hugging Face's Trainer, and of those that derive from it (TRL's SFTTrainer): `train()`, step by step.

Whatever the Trainer does in a step it does here: its collator, its loss, accumulation, clipping, precision, schedule,
and the callbacks that the user added. Three things are different. Batches come from the run, so that a check may give
the same one again. The loop has no end of its own. And nothing is written: no checkpoint, no log, no tracker, no
progress bar; nor is anything evaluated on the way, since a check is not the whole training.

After each run the Trainer is what it was: it keeps its optimizer and counts its steps otherwise, and would go on.
"""

from __future__ import annotations

import copy
import logging
import math
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from torch.optim import Optimizer

from .hugging_face_data import EndlessEpochs, batches_of
from .needed import needed
from .stepwise_loop import StepwiseLoop

_EXTRA = "huggingface"
#: Steps. A schedule that is made for the length of the whole training must not be over within a check. By judgement,
#: as for Lightning: no check takes more than a few hundred.
_SHORTEST_TRAINING = 1000
#: Steps that no run takes. By judgement: a billion.
_NO_END = 10**9
#: Attributes that accelerate puts on a model that is to compute in another precision.
_ON_THE_MODEL = ("forward", "_original_forward", "_is_accelerate_prepared")
#: What an evaluation tells about time, which is never the same twice.
_ABOUT_TIME = ("runtime", "per_second", "_time")


class HuggingFaceLoop(StepwiseLoop):
    NAME = "Trainer.train()"

    def __init__(self, trainer: Any) -> None:
        super().__init__(_EXTRA)
        transformers = needed("transformers", _EXTRA)
        needed("accelerate", _EXTRA)
        _is_a_trainer(trainer, transformers.Trainer)
        self._transformers = transformers
        self.trainer = trainer
        self.model: Any = trainer.model
        self._together = max(int(trainer.args.gradient_accumulation_steps), 1)
        with self.quietly():
            self.data = batches_of(trainer.get_train_dataloader(), self._together)
            self.val_data = self._validation()

    # -- the loop ----------------------------------------------------------------------------------------------------

    def fit(self) -> None:
        with self._as_it_was():
            trainer = self.trainer
            batches = EndlessEpochs(self, self.data, self._together)
            length = self._planned_length(len(batches) // self._together)
            trainer.args = _writing_nothing(trainer.args)
            trainer.callback_handler = self._own_callbacks()
            trainer.model_init = None  # the model is there, and the run follows this one
            trainer.get_train_dataloader = lambda: batches
            trainer.training_step = self._noting_the_loss(trainer.training_step)
            trainer.create_scheduler = _of_this_length(trainer.create_scheduler, length)
            trainer.train()

    def optimizers(self) -> Sequence[Optimizer]:
        return [getattr(self.trainer.optimizer, "optimizer", self.trainer.optimizer)]

    def schedulers(self) -> Sequence[Any]:
        scheduler = self.trainer.lr_scheduler
        return [] if scheduler is None else [getattr(scheduler, "scheduler", scheduler)]

    def ending(self) -> None:
        self.trainer.callback_handler.callbacks.clear()

    @contextmanager
    def quietly(self) -> Iterator[None]:
        """What a Trainer says about itself at the beginning of every run is not news the second time."""
        loggers = [logging.getLogger(name) for name in ("transformers", "accelerate", "trl", "peft")]
        before = [logger.level for logger in loggers]
        for logger in loggers:
            logger.setLevel(logging.ERROR)
        try:
            with warnings.catch_warnings():
                for kind in (DeprecationWarning, FutureWarning, UserWarning):  # about the packages' own calls
                    warnings.filterwarnings("ignore", category=kind, module=r"(transformers|accelerate|trl|peft)(\.|$)")
                yield
        finally:
            for logger, level in zip(loggers, before, strict=True):
                logger.setLevel(level)

    # -- the user's own validation -----------------------------------------------------------------------------------

    def _validation(self) -> Any:
        sets = self.trainer.eval_dataset
        if sets is None or isinstance(sets, dict):  # of several, each has its own figures
            return None
        return batches_of(self.trainer.get_eval_dataloader(), 1)

    def evaluate(self, _data: Any) -> dict[str, float]:
        """The Trainer's own evaluation, in the middle of its loop. Returns what it would have logged."""
        with self.quietly():
            figures = self.trainer.evaluate()
        known = {name: value for name, value in figures.items() if isinstance(value, (int, float))}
        return {name: float(v) for name, v in known.items() if not any(word in name for word in _ABOUT_TIME)}

    # -- the Trainer -------------------------------------------------------------------------------------------------

    @contextmanager
    def _as_it_was(self) -> Iterator[None]:
        trainer, model = self.trainer, self.model
        of_trainer = dict(vars(trainer))
        of_model = {name: vars(model)[name] for name in _ON_THE_MODEL if name in vars(model)}
        vars(trainer).update(state=copy.copy(trainer.state), control=copy.copy(trainer.control))
        try:
            yield
        finally:
            vars(trainer).clear()
            vars(trainer).update(of_trainer)
            for name in _ON_THE_MODEL:
                vars(model).pop(name, None)
            vars(model).update(of_model)

    def _planned_length(self, updates_per_epoch: int) -> int:
        args = self.trainer.args
        planned = args.max_steps if args.max_steps > 0 else math.ceil(args.num_train_epochs * updates_per_epoch)
        return max(int(planned), _SHORTEST_TRAINING)

    def _own_callbacks(self) -> Any:
        """The user's callbacks, and the one that says when to do what; not those that show, log or stop early."""
        handler = copy.copy(self.trainer.callback_handler)
        ours = self._transformers.trainer_callback
        kept = [
            each
            for each in handler.callbacks
            if isinstance(each, ours.DefaultFlowCallback) or not type(each).__module__.startswith("transformers.")
        ]
        handler.callbacks = [*kept, _going_on(ours.TrainerCallback)]
        return handler

    def _noting_the_loss(self, training_step: Any) -> Any:
        """The loss of an update is the sum over its batches: the Trainer has divided each by their number already."""
        losses: list[Any] = []

        def noted(*args: Any, **kwargs: Any) -> Any:
            if len(losses) == self._together:
                losses.clear()
            loss = training_step(*args, **kwargs)
            losses.append(loss)
            self.note_loss(sum(losses[1:], losses[0]))
            return loss

        return noted


def _is_a_trainer(trainer: Any, kind: Any) -> None:
    if not isinstance(trainer, kind):
        given = f"the class {trainer.__name__}: call it first" if isinstance(trainer, type) else type(trainer).__name__
        raise TypeError(f"Training.from_hf_trainer: trainer has to be a transformers.Trainer, not {given}")
    if trainer.train_dataset is None:
        raise ValueError("Training.from_hf_trainer: the Trainer has no train_dataset")
    if trainer.args.world_size > 1 or trainer.args.n_gpu > 1:
        raise ValueError(
            "Training.from_hf_trainer runs its Trainer in this process and on one device, and its arguments ask for "
            f"{max(trainer.args.world_size, trainer.args.n_gpu)}: use ranks_agree for several"
        )


def _writing_nothing(args: Any) -> Any:
    """A copy of the arguments for a loop that does not end, and that saves, reports and evaluates nothing."""
    made = copy.copy(args)
    kinds = {name: type(getattr(args, name)) for name in ("save_strategy", "eval_strategy", "logging_strategy")}
    values = {
        "max_steps": _NO_END,
        **{name: kind("no") for name, kind in kinds.items()},
        "report_to": [],
        "push_to_hub": False,
        "load_best_model_at_end": False,
        "disable_tqdm": True,
        "skip_memory_metrics": True,
        "eval_on_start": False,
        "auto_find_batch_size": False,
    }
    for name, value in values.items():
        object.__setattr__(made, name, value)
    return made


def _of_this_length(create_scheduler: Any, length: int) -> Any:
    def created(num_training_steps: int, optimizer: Any = None, **more: Any) -> Any:
        return create_scheduler(length, optimizer, **more)

    return created


def _going_on(base: type) -> Any:
    """A callback, called after all others, that forgets what they asked for: to stop, to save, to evaluate."""

    class GoingOn(base):  # type: ignore[misc]
        def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> Any:
            control.should_training_stop = control.should_epoch_stop = False
            control.should_save = control.should_evaluate = control.should_log = False
            return control

        on_substep_end = on_epoch_end = on_step_end

    return GoingOn()
