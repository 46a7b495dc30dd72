"""Stands in for the engine, so that tests of the plugin take milliseconds and import no torch.

Copied as `conftest.py` beside the tests of an inner run. A `Training` here says itself how each check ends, and a
verdict tells in its figures what the plugin asked for, and in its steps the number of workers.
"""

from __future__ import annotations

import sys
import types
from dataclasses import replace
from typing import Any

import pytest_trainhealth
from pytest_trainhealth.engine.request import DoesNotApply
from pytest_trainhealth.engine.what_remains import judge_what_remains
from pytest_trainhealth.progress.standing import Standing
from pytest_trainhealth.records.advice import Advice
from pytest_trainhealth.records.recorded import Curve, Recorded
from pytest_trainhealth.records.verdict import Evidence, Finding, Rerun, Symptom, Verdict


class Training:
    def __init__(self, name: str | None = None, **outcomes: str) -> None:
        self.name = name
        self.outcomes = outcomes


class NotATraining(TypeError):
    pass


def examine(subject, request, shared=None):
    check, values = request.check, request.values
    built = subject() if callable(subject) else subject
    if built is None:
        built = Training()
    if not isinstance(built, Training):
        raise NotATraining(f"a test returns a Training or nothing, not {type(built).__name__}")
    if request.only_with_val_data and "generalizes" not in built.outcomes:
        raise DoesNotApply
    if request.timer is not None:
        request.timer._benchmark.pedantic(lambda: None, rounds=2)
    told = {
        "check": check,
        "training": built.name or request.name,
        "seed": request.seed,
        "seconds": 0.4,
        "figures": {k: v for k, v in values.items() if isinstance(v, (int, float))},
        "steps": request.workers,
        "recorded": Recorded(losses=Curve("the run", (0.0, 1.0, 2.0), (2.303, 2.2, 2.1))),
    }
    outcome = built.outcomes.get(check, "passed")
    if outcome == "slow" and request.show is not None:
        request.show.tell(Standing(check, request.name, "closer look", 12, 200, 1.2034, 40.0, 20.0))
        request.show.over()
    if outcome == "interrupt":
        raise KeyboardInterrupt
    if outcome == "failed":
        verdict = Verdict(outcome="failed", symptom=SYMPTOM, findings=(FINDING,), **told)
        return judge_what_remains(verdict, None, request.silencings, lambda _: verdict)
    if outcome == "could not judge":
        return Verdict(outcome="could not judge", reason="the data is too small", **told)
    return Verdict(outcome="passed", **told)


def advised(verdict, subject, request):
    asked = request.advice
    if asked.progress is not None:
        asked.progress("advice: 1 of 2 changes tried")
    where = "nowhere" if asked.kept_in is None else asked.kept_in.name
    gain = Advice(
        "learning rate x 10", "gain", f"with {verdict.check}, {asked.steps} steps, kept in {where}", ("lr = 1",)
    )
    return replace(verdict, advice=(gain, Advice("clipping", "no gain", "1 times as fast")))


SYMPTOM = Symptom("loss 2.303 -> 2.303 in 200 steps (has to fall below 0.230)", "not-learning", 2.303, 0.23)
FINDING = Finding(
    cause="parameters-not-in-optimizer",
    statement="the optimizer never updates head.weight and head.bias",
    certainty="confirmed",
    why="head was replaced after the optimizer was made",
    evidence=(Evidence("head.weight and head.bias are in no parameter group"),),
    reruns=(Rerun("head added to the optimizer", "2.303 -> 0.021", healthy=True, confirms=True),),
)


def _stand_in(name: str, **content: Any) -> None:
    module = _MADE.setdefault(name, types.ModuleType(f"{pytest_trainhealth.__name__}.{name}"))
    vars(module).update(content)
    sys.modules[module.__name__] = module


_MADE: dict[str, types.ModuleType] = {}
_stand_in("examine", examine=examine, advised=advised, NotATraining=NotATraining)
_stand_in(pytest_trainhealth._HOMES["Training"], Training=Training)
