"""One file per check, named like its marker; its docstring is its page. Checks read traces only: no torch here.

A check's module defines

``SIGNALS``       names of the signals that it needs (`observe/signals`)
``ONE_BATCH``     one batch again and again, or one after the other
``STEPS``         how many steps it takes as a rule
``BLAMES_RATES``  whether a learning rate may be what it has found
``judge``         ``(trace, settings, controls) -> Judgement``; `controls` are the traces requested so far, by label
``result``        ``(trace, failed_run) -> str``: a run in a few characters, for the table of re-runs: '2.303 -> 0.021'

and, where it differs from the others, what `Check` has a default for, in capitals: ``TURN``, ``TIMES_STEPS``,
``COMPARES_RUNS``, ``IN_RANKS``, ``READS_HISTORY``, ``KEEPS_BASELINE``, ``BESIDE_ANOTHER``, ``RIDES_ON``, ``RUNS``,
``FOLLOW_UP``, ``SECOND_OPINION``; or a function of that name: ``as_its_own``, ``clearly_better``, ``is_faster``,
``figures``, ``cured_steps``, ``remarks``, and

``max_steps``     ``(settings) -> int``: the most steps that a run may take; else those asked for, or ``STEPS``
``stop_when``     ``(trace, settings) -> bool``, called after every step: is the promise kept, or clearly not? Else
                  no run stops before its last step
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from ..records.judgement import FailedRun, Judgement
from ..records.trace import Trace

Settings = Mapping[str, Any]
Figures = Mapping[str, float | None]


@dataclass(frozen=True)
class Check:
    """What the engine knows about a check: everything specific to one check is here, and nowhere else."""

    name: str
    signals: tuple[str, ...]
    one_batch: bool
    steps: int
    blames_rates: bool
    max_steps: Callable[[Settings], int]
    stop_when: Callable[[Trace, Settings], bool]
    judge: Callable[[Trace, Settings, Mapping[str, Trace]], Judgement]
    result: Callable[[Trace, FailedRun | None], str]
    #: Its place in a battery: what an early one finds may explain what a later one sees.
    turn: int
    #: It is about the time of the steps, with the user's own number of threads.
    times_steps: bool = False
    #: It compares whole runs bit by bit: with the user's own number of threads, and generators of random numbers that
    #: lie anywhere in the process put back before each run.
    compares_runs: bool = False
    #: Its runs are those of several processes, each of which builds the training by itself.
    in_ranks: bool = False
    #: It runs nothing: it reads the log of a run that is over.
    reads_history: bool = False
    #: It compares a run with one that was recorded in a file.
    keeps_baseline: bool = False
    #: It runs another training, too, and says which is better.
    beside_another: bool = False
    #: The check whose run it can judge as well, if that is looked at with its signals; and what it makes of that run.
    rides_on: str | None = None
    as_its_own: Callable[[Trace, Settings], Trace | None] | None = None
    #: How many runs one judgement takes: the run and its controls.
    runs: int = 1
    #: The most steps of a run with a cure, where that is more than `max_steps`.
    cured_steps: Callable[[Settings], int] | None = None
    #: What comes after a run that passed, by its name in `examine.FOLLOW_UPS`.
    follow_up: str | None = None
    #: The second opinion on a verdict before it is given, by its name in `examine.SECOND_OPINIONS`.
    second_opinion: str | None = None
    #: A cured run that does not pass may still show what was wrong, where that is a matter of degree.
    clearly_better: Callable[[Trace, FailedRun], bool] | None = None
    #: And one that passes: is it better than the run without the cure at all?
    is_faster: Callable[[Trace, FailedRun], bool] | None = None
    #: Figures worth knowing even when it failed.
    figures: Callable[[Trace], Figures] | None = None
    #: What a failure says besides its symptom.
    remarks: Callable[[Trace, Settings], tuple[str, ...]] | None = None


#: The turn of a check that does not set one: after all that do. By judgement, 99 leaves room.
_LAST = 99


def _asked_for(usual: int, settings: Settings) -> int:
    return int(settings.get("steps") or usual)


def _takes_all(trace: Trace, settings: Settings) -> bool:
    return False


@functools.cache
def check(name: str) -> Check:
    module: Any = import_module(f".{name}", __name__)
    own = vars(module)
    return Check(
        name=name,
        signals=module.SIGNALS,
        one_batch=module.ONE_BATCH,
        steps=module.STEPS,
        blames_rates=module.BLAMES_RATES,
        max_steps=own.get("max_steps", functools.partial(_asked_for, module.STEPS)),
        stop_when=own.get("stop_when", _takes_all),
        judge=module.judge,
        result=module.result,
        turn=own.get("TURN", _LAST),
        times_steps=own.get("TIMES_STEPS", False),
        compares_runs=own.get("COMPARES_RUNS", False),
        in_ranks=own.get("IN_RANKS", False),
        reads_history=own.get("READS_HISTORY", False),
        keeps_baseline=own.get("KEEPS_BASELINE", False),
        beside_another=own.get("BESIDE_ANOTHER", False),
        rides_on=own.get("RIDES_ON"),
        as_its_own=own.get("as_its_own"),
        runs=own.get("RUNS", 1),
        cured_steps=own.get("cured_steps"),
        follow_up=own.get("FOLLOW_UP"),
        second_opinion=own.get("SECOND_OPINION"),
        clearly_better=own.get("clearly_better"),
        is_faster=own.get("is_faster"),
        figures=own.get("figures"),
        remarks=own.get("remarks"),
    )


def check_page(name: str) -> str:
    return inspect.getdoc(import_module(f".{name}", __name__)) or ""
