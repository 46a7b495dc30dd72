"""Starts every run from exactly the same point, and leaves everything as it was found."""

from __future__ import annotations

import sys
from collections.abc import Callable
from weakref import WeakSet

import torch
from torch.nn.parameter import is_lazy

from ..observe.run.feed import Feed
from ..observe.run.hanging import DidNotComeBack
from ..observe.source.creation_sites import CreationSites, loaded_batches_noted, record_creation_sites
from ..observe.source.engine_frames import engine_frame
from ..state.live_generators import before_building
from ..state.process import seed_everything, undisturbed
from ..state.process_settings import process_settings_kept
from ..state.snapshot import Snapshot
from ..tensors.readable import values_of
from ..training import Training

#: What factories have made, as long as anybody keeps it.
_made: WeakSet[Training] = WeakSet()


class NotATraining(TypeError):
    """A test or factory returned something that is not a `Training`."""


class CannotStartAgain(RuntimeError):
    """Another run would begin elsewhere than the first did; the message says why, in one line."""


class Start:
    """Where a training begins. A factory rebuilds it for each run with the same seed; else a snapshot is restored.

    If the factory does not return the same parameters twice (a fixture was used up, a file had changed), the snapshot
    of its first training is used instead; `remark` says so.
    """

    def __init__(
        self,
        training: Training,
        *,
        seed: int,
        factory: Callable[[], object] | None = None,
        creation_sites: CreationSites | None = None,
        device: torch.device | None = None,
    ) -> None:
        self.creation_sites = creation_sites or CreationSites()
        self.seed = seed
        self.remark = ""
        self._first, self._factory, self._device = training, factory, device
        if factory is not None:
            _made.add(training)
        self._original = self._snapshot = Snapshot(training.state_roots())
        try:
            if self._prepared(training):
                self._snapshot = Snapshot(training.state_roots())
        except BaseException:  # the user's own code: lazy modules need a batch, and take a forward pass
            self._original.give_back()
            raise
        #: Of the first training at its start; taken when there is another one to compare it with.
        self._print: dict[str, tuple[object, ...]] | None = None
        #: Parameters that begin with other values when the factory is called again.
        self.differing: tuple[str, ...] = ()
        self._given_up: tuple[str, ...] = ()
        self._rebuilds, self._prints = factory, dict[str, dict[str, tuple[object, ...]]]()
        self._used = False
        self._not_put_back: list[str] | None = None
        self._shared: list[str] | None = None

    def _prepared(self, training: Training) -> bool:
        """Moves it to the device and initialises lazy parameters. Whether there was anything to do."""
        if self._device is not None:
            for module in training.modules.values():
                module.to(self._device)
        return _initialise_lazy_modules(training) or self._device is not None

    @property
    def training(self) -> Training:
        return self._first

    @property
    def rebuilds(self) -> bool:
        """Whether another seed gives another start."""
        return self._factory is not None

    def begin(self, seed_offset: int = 0, holding: str = "") -> Training:
        """A training at its start. `seed_offset` gives other random numbers, to confirm a finding with another seed.

        `holding` names what is held still while it is built: it may begin elsewhere, but then each time.
        """
        if holding and self._rebuilds is not None:
            return self._built_while(holding, seed_offset)
        self.differing = self._given_up
        if not self._used and not seed_offset:
            self._used = True
            if self._snapshot.lends:
                self._snapshot.restore()
            seed_everything(self.seed + 1)
            return self._first
        self._not_put_back = self._snapshot.restore()
        rebuilt = self._rebuild(seed_offset) if self._factory is not None and self.repeatable else None
        if rebuilt is None and not self.repeatable:
            raise CannotStartAgain(self.why_not)
        # the random numbers of a run must not depend on how many the factory drew
        seed_everything(self.seed + 1 + seed_offset)
        return self._first if rebuilt is None else rebuilt

    def _rebuild(self, seed_offset: int) -> Training | None:
        assert self._factory is not None
        if self._print is None:
            self._print = _fingerprint(self._first)  # it was put back just now
        rebuilt, self.creation_sites = build(self._factory, self.seed + seed_offset)
        if not isinstance(rebuilt, Training):
            self._factory, self.remark = None, "the factory returned a Training only once: re-runs used a snapshot"
            return None
        self._prepared(rebuilt)
        now = _fingerprint(rebuilt)
        before = self._print if not seed_offset else self._prints.setdefault(str(seed_offset), now)
        self.differing = _differing(before, now)
        if not seed_offset and self.differing:
            self._factory, self.remark = None, "the factory starts differently each time: re-runs used a snapshot"
            self._given_up = self.differing
            self._snapshot.restore()
            return None
        if _read_from_the_same(self._first, rebuilt):
            self._factory, self.remark = None, "the factory reads on in the same iterator: re-runs used a snapshot"
            self._snapshot.restore()
            return None
        return rebuilt

    def _built_while(self, holding: str, seed_offset: int) -> Training:
        assert self._rebuilds is not None
        self._used, self._not_put_back = True, self._snapshot.restore()
        if self._factory is not None and not self.repeatable:
            raise CannotStartAgain(self.why_not)
        rebuilt, self.creation_sites = build(self._rebuilds, self.seed + seed_offset)
        if not isinstance(rebuilt, Training):
            raise CannotStartAgain("the factory returned a Training only once")
        if self._device is not None:
            for module in rebuilt.modules.values():
                module.to(self._device)
        _initialise_lazy_modules(rebuilt)
        now = _fingerprint(rebuilt)
        self.differing = _differing(self._prints.setdefault(f"{holding} {seed_offset}", now), now)
        seed_everything(self.seed + 1 + seed_offset)
        return rebuilt

    def close(self) -> list[str]:
        """Restores the user's objects to the state in which they were passed in. Returns what did not let itself."""
        one_way = self._original.one_way
        if one_way and self._factory is not None:
            shared = self._handed_out_again()
            one_way = [f"{name}, unless the factory makes it anew" for name in one_way] if shared is None else shared
        return [*self._original.give_back(), *one_way]

    def forget(self) -> None:
        """Once closed, of the training and the copies of its state, which the next check makes anew."""
        self._original.forget()
        self._snapshot.forget()

    def _handed_out_again(self) -> list[str] | None:
        """Generators that the factory does not make: the same ones are in every training, read on from run to run.

        Only another training shows it. It is built if there are generators that have been read, and once. None while
        nobody knows: an interrupt is on its way, or the factory raises.
        """
        if self._shared is None and self._factory is not None and isinstance(sys.exception(), Exception | None):
            self._shared = handed_out_again(self._original, self._factory, self.seed)
        return self._shared

    @property
    def repeatable(self) -> bool:
        if self._factory is not None:
            return not self._original.one_way or not self._handed_out_again()
        if self._used and self._not_put_back is None:  # the first run is over: try, so that nobody counts on it in vain
            self._not_put_back = self._snapshot.restore()
        return not self._snapshot.one_way and not self._not_put_back

    @property
    def why_not(self) -> str:
        refused = [f"{name} cannot be put back" for name in self._not_put_back or ()]
        if self._factory is not None:
            shared = "; ".join(self._handed_out_again() or ())
            return f"cannot start again: {shared}. The function that builds the training has to make it anew, too"
        reasons = [*self._snapshot.one_way, *refused]
        return f"cannot start again: {'; '.join(reasons)}. Hand in a function that builds the training"


def handed_out_again(first: Snapshot, factory: Callable[[], object], seed: int) -> list[str] | None:
    """What of the first training that cannot be rewound is in the next one, too. None if there is no next one."""
    with process_settings_kept(), undisturbed():
        try:
            second, _ = build(factory, seed)
        except (Exception, DidNotComeBack):  # whoever needs another run will hear of it
            return None
        return first.one_way_also_in(Snapshot(second.state_roots())) if isinstance(second, Training) else None


def some_are_left() -> bool:
    """Whether a training that a factory has made for a check is still somewhere: in a circle, if not the user's."""
    return bool(_made)


@engine_frame
def build(factory: Callable[[], object], seed: int) -> tuple[object, CreationSites]:
    """What the factory returns with this seed, and where it created its objects."""
    seed_everything(seed)
    before_building()
    with record_creation_sites() as creation_sites, loaded_batches_noted(creation_sites):
        made = factory()
    if isinstance(made, Training):
        _made.add(made)
    return made, creation_sites


def _read_from_the_same(first: Training, second: Training) -> bool:
    """A `Training` reads the batches from an iterator when it is made. The second one has others then, or none."""
    before = [iterator for iterator in (each() for each in first.read_from) if iterator is not None]
    return any(each() is iterator for each in second.read_from for iterator in before)


def _fingerprint(training: Training) -> dict[str, tuple[object, ...]]:
    """Enough to tell two initialisations apart, without copying them."""
    return {
        name: (tuple(p.shape), *(str(figure) for figure in _summary(p)))
        for name, p in training.parameters().items()
        if not is_lazy(p)
    }


def _differing(before: dict[str, tuple[object, ...]], now: dict[str, tuple[object, ...]]) -> tuple[str, ...]:
    return tuple(name for name in {**before, **now} if before.get(name) != now.get(name))


def _summary(tensor: torch.Tensor) -> tuple[float, float]:
    values = values_of(tensor)
    if values is None:  # all that can be compared is the shape
        return 0.0, 0.0
    parts = torch.view_as_real(values) if values.is_complex() else values
    parts = parts.double()
    return float(parts.sum()), float(parts.norm())


def _initialise_lazy_modules(training: Training) -> bool:
    """Whether there was anything to initialise."""
    lazy = [name for name, p in training.parameters().items() if is_lazy(p)]
    if not lazy:
        return False
    if training.step is not None:
        raise ValueError(
            f"Training: {lazy[0]} belongs to a lazy module that has seen no data yet, so its start cannot be "
            "remembered: run one batch through the model before you hand it in"
        )
    from ..observe.run.stepper import Stepper

    batch = Feed(training, one_batch=True).take()
    with torch.no_grad():
        Stepper(training).only_forward(batch)
    return True
