"""What a rank does: builds the training as the test does, takes steps on its own data, and tells the parent."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import torch

from ..interventions import install
from ..observe.run.hooks import listening
from ..observe.run.run import Run
from ..observe.run.stepper import Stepper
from ..observe.source.spawned import note_spawning
from ..records.intervention import Cure
from ..revisions.protocol import Message
from ..state.process import seed_everything
from ..tensors.batches import fresh_containers, to_device
from ..training import Training, is_one_batch
from .joint_batch import keep_batch, keep_weights, load_batches, load_weights
from .link import Link
from .process_group import ProcessGroup
from .rank_observer import RankObserver

#: Between the seeds of two ranks: nobody seeds the processes of a job alike, unless the user's code does. By judgement:
#: a prime far from any seed in use.
_BETWEEN_RANKS = 104729


class RankRun:
    """One rank of one run. `order`: what the parent wants."""

    def __init__(self, link: Link, order: Message, group: ProcessGroup) -> None:
        self._link, self._order, self._group = link, order, group
        self._folder, self._rank = Path(order["meeting"]), order["rank"]
        self.observer = RankObserver(link, order["steps"])

    def give(self, subject: Any) -> None:
        order, joint = self._order, self._order["joint"]
        torch.set_num_threads(order["threads"])
        if joint:
            self._link.send(waiting=True)
            if self._link.wait() is None:
                return
        self._group.make()
        seed_everything(order["seed"] + _BETWEEN_RANKS * self._rank)
        run, spawned = Run(), note_spawning()
        with ExitStack() as stack, listening(run), spawned as starts:
            for cure in order["cures"]:
                run.subscribe(install(Cure(**cure), run, stack))
            run.subscribe(self.observer)
            if not isinstance(subject, Training):
                self.observer.find_models()
            built = subject if isinstance(subject, Training) else _called(subject)
            if isinstance(built, Training):
                self._train(built, run)
            elif built is not None:
                self._link.send(unfit=f"the test returned a {type(built).__name__}: return a Training, or nothing")
                return
            elif not self.observer.count:
                place = f" ({starts[0]})" if starts else ""
                own = f"this test starts processes of its own{place}: mark what each of them runs"
                nothing = "nothing to check: the test returned nothing and trained nothing that ranks_agree could watch"
                self._link.send(unfit=f"nothing to check: {own}" if starts else nothing)
                return
            distributed = self._group.asked_for or self.observer.knows_of_ranks
            self._link.send(done=True, taken=self.observer.count, watched=built is None, distributed=distributed)
            self._link.wait()

    def _train(self, training: Training, run: Run) -> None:
        with training.running():
            self._take_steps(training, run)

    def _take_steps(self, training: Training, run: Run) -> None:
        run.training = training
        run.add_models(training.modules)
        for label, optimizer in training.optimizers.items():
            run.add_optimizer(optimizer, label)
        run.emit("run_begins")
        self.observer.add_models(training.modules)
        stepper = Stepper(training)
        if self._order["joint"]:
            load_weights(training, self._folder, self._order["world"])
            for batch in load_batches(self._folder, self._order["world"]):
                stepper.take(to_device(batch, training.device))
            return
        self._link.send(ready=True, batches=_length(training.data))
        go = self._link.wait()
        if go is None:
            return
        if self._order["keeps"]:
            keep_weights(training, self._folder, self._rank)
        for index, batch in enumerate(_batches(training, self._order["steps"], go["shortest"])):
            if self._order["keeps"] and not self.observer.count:
                keep_batch(batch, self._folder, self._rank, index)
            self.observer.batch_taken(batch)
            stepper.take(to_device(fresh_containers(batch), training.device))
            self._link.send(step=index)


def _called(factory: Callable[[], Any]) -> Any:
    return factory()


def _batches(training: Training, steps: int, shortest: int | None) -> Iterator[Any]:
    """As many as there are steps; where ranks have epochs of different lengths, also the end of the first epoch."""
    data = training.data
    if is_one_batch(data):
        yield from (data for _ in range(steps))
        return
    if shortest is not None:
        for index, batch in enumerate(data):
            if index < steps or index >= shortest - 1:
                yield batch
        return
    left = steps
    while left > 0:
        before = left
        for batch in data:
            yield batch
            left -= 1
            if not left:
                return
        if left == before:
            raise ValueError("Training: data gave this rank no batch")


def _length(data: Any) -> int | None:
    if is_one_batch(data):
        return None
    try:
        return len(data)
    except TypeError:
        return None
