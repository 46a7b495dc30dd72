"""A training that is examined again and again goes on exactly as its twin that nobody looks at.

The user trains, freezes, changes rates and modes, loads and saves; only one of the two is examined in between, with
and without an error. At no time may anybody be able to tell them apart.
"""

from __future__ import annotations

import copy
import os
from contextlib import suppress

import torch
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from pytest_trainhealth import diagnose
from pytest_trainhealth.settings import BATTERY
from pytest_trainhealth.state.process import undisturbed

from .seen_in_objects import seen_in_objects
from .seen_in_process import differences
from .trainings.bench import Bench, Case
from .trainings.faults import Trip
from .trainings.loaders import LOADERS
from .trainings.models import MODELS
from .trainings.optimizers import OPTIMIZERS, SCHEDULES

_FORMS = ("function", "partial", "method", "callable", "closure")
_HABITS = ("meters", "iterators", "averages", "keeps_the_best", "draws", "replaces_gradients")
_CASES = int(os.environ.get("RELIABILITY_CASES", "0")) // 100


class Twins(RuleBasedStateMachine):
    @initialize(
        model=st.sampled_from([name for name in MODELS if name != "makes its head"]),
        optimizer=st.sampled_from(list(OPTIMIZERS)),
        schedule=st.sampled_from(list(SCHEDULES)),
        data=st.sampled_from([name for name in LOADERS if name not in ("generator", "cycle", "zip")]),
        form=st.sampled_from(_FORMS),
        habits=st.lists(st.sampled_from(_HABITS), max_size=2, unique=True).map(tuple),
    )
    def made(self, model: str, optimizer: str, schedule: str, data: str, form: str, habits: tuple[str, ...]) -> None:
        case = Case(model, optimizer, schedule, data, form, habits)
        self.trip = Trip("RuntimeError", "nowhere", 1, False)
        self.looked_at = Bench(case, self.trip)
        self.twin = Bench(case, Trip("RuntimeError", "nowhere", 1, False))
        self.training = self.looked_at.build()

    @rule(check=st.sampled_from(BATTERY), seed=st.integers(0, 3))
    def examined(self, check: str, seed: int) -> None:
        diagnose(self.training, [check], seed=seed, budget=2)

    @rule(
        check=st.sampled_from(BATTERY), at=st.integers(1, 9), fault=st.sampled_from(["KeyError", "KeyboardInterrupt"])
    )
    def examined_with_an_error(self, check: str, at: int, fault: str) -> None:
        trip = Trip(fault, "after backward", at, True)
        held, self.looked_at.trip = self.looked_at.trip, trip
        with suppress(KeyError, KeyboardInterrupt):
            diagnose(self.training, [check], budget=2)
        self.looked_at.trip = held

    @rule(seed=st.integers(0, 99))
    def trained(self, seed: int) -> None:
        losses = []
        for bench in (self.looked_at, self.twin):
            with undisturbed():
                torch.manual_seed(seed)
                pair = torch.randn(6, 4, dtype=bench.dtype), torch.randint(0, 3, (6,))
                returned = bench.step(pair)
                loss = returned["loss"] if isinstance(returned, dict) else returned
                losses.append(float(loss.detach()))
        assert losses[0] == losses[1] or losses[0] != losses[0]

    @rule(mode=st.booleans())
    def mode_set(self, mode: bool) -> None:
        for bench in (self.looked_at, self.twin):
            bench.model.train(mode)

    @rule(factor=st.sampled_from([0.5, 2.0]))
    def rate_changed(self, factor: float) -> None:
        for bench in (self.looked_at, self.twin):
            for group in bench.optimizer.param_groups:
                group["lr"] = group["lr"] * factor

    @rule()
    def frozen_or_not(self) -> None:
        for bench in (self.looked_at, self.twin):
            bench.parameters[-1].requires_grad_(not bench.parameters[-1].requires_grad)

    @rule()
    def saved_and_loaded(self) -> None:
        for bench in (self.looked_at, self.twin):
            bench.model.load_state_dict(copy.deepcopy(bench.model.state_dict()))
            bench.optimizer.load_state_dict(copy.deepcopy(bench.optimizer.state_dict()))

    @invariant()
    def cannot_be_told_apart(self) -> None:
        if hasattr(self, "twin"):
            one, other = (
                seen_in_objects({**_without_globals(bench), "step": bench.step}, identity=False)
                for bench in (self.looked_at, self.twin)
            )
            assert differences(one, other) == []


def _without_globals(bench: Bench) -> dict[str, object]:
    """What both share is counted twice."""
    return {name: value for name, value in bench.roots().items() if name in vars(bench)}


TestTwins = Twins.TestCase
TestTwins.settings = settings(
    max_examples=_CASES or 6, stateful_step_count=8, derandomize=not _CASES, deadline=None, database=None,
    suppress_health_check=list(HealthCheck),
)  # fmt: skip
