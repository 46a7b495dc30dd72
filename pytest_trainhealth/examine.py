"""The pipeline: a subject and a check in, a verdict out. `diagnose()` is the same outside pytest."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from .against.asked import Asked
from .against.comparing import compared
from .casebook import Casebook
from .checks import check as find_check
from .concluding import verdict_on
from .errand import Errand, current, sent_on
from .facts import Report, Verdict
from .judging import Examination, Program
from .keeping import kept
from .observe.flops import count_flops
from .observe.recording import Plan, TrainingProgram
from .observe.watching import WatchedProgram, watching
from .one_thread import with_one_thread
from .pace import operations
from .replaying import replayed
from .reproducer import Keeper
from .settings import (
    BATTERY,
    CHECKS,
    DATA,
    FLOW,
    INPUT,
    OVERFIT,
    SPEED,
    WrongSetting,
    check_names,
    keywords,
    near,
    read_keywords,
    setting,
)
from .starting import NotATraining as NotATraining
from .starting import Start
from .throughput import measured_by, note_speed
from .trace import Trace
from .training import Training
from .undisturbed import seed_everything, undisturbed

#: What these find explains the others: a wiring fault must not be taken for a matter of learning rates. And the run
#: of `learns_from_data` is one that `trains_without_nan` can judge.
_TURNS = (FLOW, INPUT, OVERFIT, DATA)


def examine(
    subject: Training | Callable[[], object],
    check: str,
    *,
    name: str,
    seed: int,
    values: Mapping[str, Any],
    benchmark: Any = None,
    asked: Asked | None = None,
    workers: int = 1,
    casebook: Casebook | None = None,
) -> Verdict:
    """One check. A callable is rebuilt for every run under the same seed; one that returns None is watched.

    `casebook`: what earlier checks of the same training have found; what this one finds is added. `asked`: how the
    process of another revision finds the same test.
    """
    casebook = casebook or Casebook()
    began = time.perf_counter()
    keeps_threads = check == SPEED  # the speed asked for is that of the user's own setting
    threads = 0 if keeps_threads else _threads(values.get("threads", 1), workers)
    errand = current()
    call = errand.call(check)
    saved = errand.replayed(check, call)
    keeper = None if errand.folder is None else Keeper()
    with undisturbed(threads):
        plan = replace(_plan(check, name, values, benchmark), keeps=keeper)
        comparison = None if saved else compared(subject, asked, values, seed, call, plan.deadline)
        with _program(subject, plan, check, seed if saved is None else saved.seed) as (program, trace):
            if saved is not None:
                return replace(replayed(saved, program, plan), seed=saved.seed, seconds=time.perf_counter() - began)
            examination = Examination(program, check, values, plan)
            if isinstance(program, TrainingProgram):
                trace = casebook.run_for(examination.check, values)
            verdict = verdict_on(examination, trace, name, casebook.known, comparison)
            if isinstance(program, TrainingProgram) and examination.first is not None:
                casebook.keep(examination.check, examination.first)
            if check == SPEED and examination.first is not None:
                verdict = with_one_thread(verdict, examination)
                if isinstance(program, TrainingProgram):
                    examination.first.speed.flops = count_flops(program, plan)
                verdict = replace(verdict, figures={**verdict.figures, **operations(examination.first)})
                if benchmark is not None:
                    note_speed(benchmark, examination.first, watched=not isinstance(program, TrainingProgram))
            verdict = replace(verdict, seed=seed)
            if keeper is not None:
                verdict = kept(verdict, keeper, examination, subject, errand, call)
    return replace(verdict, seconds=time.perf_counter() - began)


def _plan(check: str, name: str, values: Mapping[str, Any], benchmark: Any) -> Plan:
    module = find_check(check)
    return Plan(
        longest=module.longest(values),
        signals=module.SIGNALS,
        one_batch=module.ONE_BATCH,
        enough=lambda trace: module.enough(trace, values),
        deadline=time.monotonic() + values.get("budget", setting("budget").default),
        purpose=f"{check} on {name}",
        device=_device(values.get("device")),
        drive=None if benchmark is None else measured_by(benchmark, values.get("steps") or module.STEPS),
    )


@contextmanager
def _program(
    subject: Training | Callable[[], object], plan: Plan, check: str, seed: int
) -> Iterator[tuple[Program, Trace | None]]:
    """The subject as something that can be run again; a watched test's first run is already a trace."""
    factory = None if isinstance(subject, Training) else subject
    trace, made = None, None
    returned: object = subject
    if factory is not None:
        seed_everything(seed)
        with watching(plan) as run:
            returned = factory()
        trace, made = run.trace, run.made
    if isinstance(returned, Training):
        start = Start(returned, seed=seed, factory=factory, made=made, device=plan.device)
        try:
            yield TrainingProgram(start), None
        finally:
            start.close()
        return
    if returned is not None:
        raise NotATraining(
            f"the test returned {type(returned).__name__} {returned!r:.60}: return a Training, or nothing at all"
        )
    assert factory is not None and trace is not None
    if not trace.losses and not trace.update_count:
        raise NotATraining(f"nothing to check: the test returned nothing and trained nothing that {check} could watch")
    # with a clock to keep, the test runs once more, this time as what the clock times
    yield WatchedProgram(factory, seed), trace if plan.drive is None else None


def _threads(asked: int, workers: int) -> int:
    """0 leaves torch its own number. Workers share: too many threads on a busy machine are ten times slower."""
    if not asked and workers == 1:
        return 0
    return max(1, (asked or torch.get_num_threads()) // workers)


def _device(name: str | None) -> torch.device | None:
    if name is None:
        return None
    here = ["cpu"]
    if torch.accelerator.is_available():
        accelerator = torch.accelerator.current_accelerator()
        here.append(str(accelerator))
    if name.partition(":")[0] not in here:
        raise WrongSetting(f"--trainhealth-device: there is no {name!r} on this machine. Here: {', '.join(here)}")
    return torch.device(name)


def diagnose(
    subject: Training | Callable[[], object],
    checks: Iterable[str] | str | None = None,
    *,
    name: str | None = None,
    seed: int = 0,
    reproducers: str | os.PathLike[str] | None = None,
    **settings: Any,
) -> Report:
    """Run the battery outside pytest. `checks` takes names, or "all" for those too that otherwise need a marker.

    `reproducers`: a folder for files that `replay()` takes, one for each training that does not stay finite.
    """
    wanted = BATTERY if checks is None else tuple(CHECKS) if checks == "all" else checks
    wanted = check_names((wanted,) if isinstance(wanted, str) else wanted, "diagnose(checks=)")
    name = name or _name_of(subject)
    takes = {check: {s.name for s in keywords(check)} for check in wanted}
    for given in settings:
        if not any(given in names for names in takes.values()):
            raise WrongSetting(f"diagnose() takes no {given!r}{near(given, sorted(set().union(*takes.values())))}")
    verdicts = {}
    casebook = Casebook()
    for check in sorted(wanted, key=_turn):
        mine = {key: value for key, value in settings.items() if key in takes[check]}
        values = read_keywords(check, mine, "diagnose()")
        with sent_on(Errand(None if reproducers is None else Path(reproducers), run_seed=seed)):
            verdicts[check] = examine(subject, check, name=name, seed=seed, values=values, casebook=casebook)
    return Report(name, tuple(verdicts[check] for check in wanted))


def _turn(check: str) -> int:
    return _TURNS.index(check) if check in _TURNS else len(_TURNS)


def _name_of(subject: Any) -> str:
    if isinstance(subject, Training):
        return subject.name or ", ".join(type(m).__name__ for m in subject.modules.values())
    return str(getattr(subject, "__name__", type(subject).__name__))
