"""The fit loop of Lightning: a real `Trainer` with the user's options, one batch at a time.

Whatever the Trainer does around a batch, it does here: clipping, accumulation, precision, callbacks, schedulers,
validation at the end of an epoch. Three things are different. Batches come from the run, so that a check may give the
same one again. The loop has no end of its own: how long a check takes is the check's business. And nothing is written:
no logs, no checkpoints, no progress bar, unless the options ask for it.
"""

from __future__ import annotations

import logging
import math
import signal
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

from torch import Tensor
from torch.optim import Optimizer

from .lightning_data import EXTRA, EndlessEpochs, found_data
from .needed import needed
from .stepwise_loop import StepwiseLoop

#: Steps. A schedule that is made for the length of the whole training must not be over within a check. By judgement:
#: no check takes more than a few hundred.
_SHORTEST_TRAINING = 400
#: What Lightning calls the kinds of devices.
_ACCELERATORS = {"cuda": "gpu"}


class LightningLoop(StepwiseLoop):
    NAME = "Trainer.fit()"

    def __init__(self, module: Any, data: Any, val_data: Any, options: Mapping[str, Any]) -> None:
        self._lightning = _package_of(module)
        super().__init__(EXTRA)
        self.model: Any = module
        self._options = dict(options)
        self._trainer: Any = None
        with self.quietly():
            found = found_data(module, data, val_data, self._made_trainer, self._lightning.LightningDataModule)
            if not any(True for _ in module.parameters()):
                module.configure_model()
        self._found, self.data, self.val_data = found, found.train, found.validation

    # -- the loop ----------------------------------------------------------------------------------------------------

    def fit(self) -> None:
        found, batches = self._found, EndlessEpochs(self)
        self._trainer = trainer = self._made_trainer(batches.length)
        interrupts = signal.getsignal(signal.SIGINT)
        with ExitStack() as stack:
            try:
                if found.owner is None:
                    trainer.fit(self.model, train_dataloaders=batches, val_dataloaders=found.validation)
                else:
                    stack.enter_context(found.handing_out(batches))
                    trainer.fit(self.model, datamodule=found.datamodule)
            except SystemExit as end:
                # Lightning ends the process on Ctrl-C and ignores any other from then on; pytest has more to do
                if not isinstance(end.__context__, KeyboardInterrupt):
                    raise
                signal.signal(signal.SIGINT, interrupts)
                raise KeyboardInterrupt from None

    def optimizers(self) -> Sequence[Optimizer]:
        return list(self._trainer.optimizers)

    def schedulers(self) -> Sequence[Any]:
        return [each.scheduler for each in self._trainer.lr_scheduler_configs]

    def ending(self) -> None:
        self._trainer.callbacks.clear()  # one that handles exceptions would take our end for one

    @contextmanager
    def quietly(self) -> Iterator[None]:
        logger = logging.getLogger(self._lightning.__name__)
        before = logger.level
        logger.setLevel(max(before, logging.WARNING))
        try:
            with warnings.catch_warnings():
                # advice about real trainings: more workers, another logging interval
                warnings.simplefilter("ignore", self._possible_warning)
                for kind in (DeprecationWarning, FutureWarning):  # about Lightning's own calls of torch
                    warnings.filterwarnings("ignore", category=kind, module=r"(pytorch_)?lightning(\.|_|$)")
                yield
        finally:
            logger.setLevel(before)

    @property
    def _possible_warning(self) -> type[Warning]:
        fabric = "lightning" if self._lightning.__name__.startswith("lightning.") else "lightning_fabric"
        where = f"{fabric}.fabric.utilities.warnings" if fabric == "lightning" else f"{fabric}.utilities.warnings"
        return needed(where, EXTRA).PossibleUserWarning  # type: ignore[no-any-return]

    # -- the user's own validation -----------------------------------------------------------------------------------

    @property
    def validates(self) -> bool:
        overridden = type(self.model).validation_step is not self._lightning.LightningModule.validation_step
        return self.val_data is not None and overridden

    def validate(self, _data: Any) -> dict[str, float]:
        """The validation of the loop that runs, as at the end of an epoch. Returns what it has logged."""
        trainer = self._trainer
        trainer.validating = True
        try:
            trainer.fit_loop.epoch_loop.val_loop.run()
        finally:
            trainer.training = True
        return {name: float(value) for name, value in trainer.callback_metrics.items()}

    # -- the Trainer -------------------------------------------------------------------------------------------------

    def _made_trainer(self, epoch: int | None = None) -> Any:
        """`epoch`: batches of one."""
        options = {
            "enable_checkpointing": False,
            "enable_progress_bar": False,
            "enable_model_summary": False,
            "devices": 1,
            **self._options,
        }
        if "accelerator" not in options:
            device = next((p.device.type for p in self.model.parameters()), "cpu")
            options["accelerator"] = _ACCELERATORS.get(device, device)
        if "logger" not in options:  # not False: modules and callbacks count on one
            options["logger"] = needed(f"{self._lightning.__name__}.loggers.logger", EXTRA).DummyLogger()
        callbacks = options.get("callbacks") or []
        callbacks = list(callbacks) if isinstance(callbacks, (list, tuple)) else [callbacks]
        if not options["enable_checkpointing"]:
            callbacks = [each for each in callbacks if not isinstance(each, self._lightning.callbacks.Checkpoint)]
        options["callbacks"] = [*callbacks, _reporter(self, self._lightning.Callback)]
        if epoch is not None:
            _lengthen(options, epoch)
        trainer = self._lightning.Trainer(**options)
        if trainer.strategy.launcher is not None:
            raise ValueError(
                "Training.from_lightning runs its Trainer in this process, and these options start others "
                f"(devices={options['devices']!r}): leave devices= and strategy= out, and use ranks_agree for several"
            )
        return trainer


def _package_of(module: Any) -> Any:
    """`lightning.pytorch` or `pytorch_lightning`: they are the same twice, and their classes do not know each other."""
    kinds = [kind for kind in type(module).__mro__ if kind.__name__ == "LightningModule"]
    name = "pytorch_lightning" if kinds and kinds[0].__module__.startswith("pytorch_lightning") else "lightning.pytorch"
    package = needed(name, EXTRA)
    if not isinstance(module, package.LightningModule):
        given = f"the class {module.__name__}: call it first" if isinstance(module, type) else type(module).__name__
        raise TypeError(f"Training.from_lightning: module has to be a LightningModule, not {given}")
    return package


def _lengthen(options: dict[str, Any], epoch: int) -> None:
    """Not shorter than any check: a schedule that is made for the whole training reads its length from the Trainer."""
    per_batch = int(options.get("accumulate_grad_batches", 1) or 1)
    if options.get("max_steps", -1) not in (-1, None):
        options["max_steps"] = max(options["max_steps"], _SHORTEST_TRAINING)
    if options.get("max_epochs") not in (-1, None):
        options["max_epochs"] = max(options["max_epochs"], math.ceil(_SHORTEST_TRAINING * per_batch / epoch))


def _reporter(loop: StepwiseLoop, base: type) -> Any:
    """A callback that tells the loop its losses, and the Trainer to go on."""

    class Reporter(base):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self._passes: list[Tensor] = []

        def on_train_start(self, trainer: Any, module: Any) -> None:
            trainer.fit_loop.epoch_loop.min_steps = math.inf  # who asks to stop early asks in vain

        def on_train_batch_start(self, trainer: Any, module: Any, batch: Any, batch_idx: int) -> None:
            self._passes.clear()
            _go_on(trainer)

        def on_before_backward(self, trainer: Any, module: Any, loss: Tensor) -> None:
            self._passes.append(loss.detach())

        def on_train_batch_end(self, trainer: Any, module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
            returned = outputs.get("loss") if isinstance(outputs, Mapping) else outputs
            if isinstance(returned, Tensor):
                loop.note_loss(returned.detach())
            elif self._passes:  # manual optimization: one pass for each of several losses
                loop.note_loss(sum(self._passes))
            self._passes.clear()

    return Reporter()


def _go_on(trainer: Any) -> None:
    """Puts the end off that the Trainer is about to reach. Schedules that were made for that length are over then."""
    loop = trainer.fit_loop
    reached = False
    if loop.max_epochs not in (-1, None) and loop.epoch_progress.current.processed + 1 >= loop.max_epochs:
        loop.max_epochs, reached = loop.max_epochs + 1, True
    if loop.max_steps not in (-1, None) and loop.epoch_loop.global_step + 1 >= loop.max_steps:
        loop.epoch_loop.max_steps, reached = loop.max_steps + 1, True
    if reached:
        trainer.strategy.lr_scheduler_configs = []
