"""The pipeline: a subject and a check in, a verdict out."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import torch

from .analysis.timing import operations
from .checks import check as find_check
from .compare.compare import compared
from .compare.test_locator import TestLocator
from .engine.conclude import FollowUp, conclude
from .engine.errand import current
from .engine.examination import Examination
from .engine.one_thread import with_one_thread
from .engine.shared_results import SharedResults
from .observe.source.engine_frames import engine_frame
from .plugin.benchmark import measured_by, note_speed
from .programs.flops import count_flops
from .programs.plan import RunPlan
from .programs.program import Program
from .programs.start import NotATraining as NotATraining
from .programs.start import Start
from .programs.training_program import TrainingProgram
from .programs.watched_program import WatchedProgram, watching
from .records.trace import Trace
from .records.verdict import Verdict
from .replay.attach import attach_reproducer
from .replay.replay import replayed
from .replay.reproducer import StepCapture
from .settings import KEEPS_THROUGHPUT, TRAINS_WITHOUT_NAN, WrongSetting, setting
from .state.process import seed_everything, undisturbed
from .stress.follow_up import follow_up
from .training import Training

#: What comes after a check that passed.
FOLLOW_UPS: dict[str, FollowUp] = {TRAINS_WITHOUT_NAN: follow_up}


def examine(
    subject: Training | Callable[[], object],
    check: str,
    *,
    name: str,
    seed: int,
    values: Mapping[str, Any],
    benchmark: Any = None,
    locator: TestLocator | None = None,
    workers: int = 1,
    shared: SharedResults | None = None,
) -> Verdict:
    """One check. A callable is rebuilt for every run under the same seed; one that returns None is watched.

    `casebook`: what earlier checks of the same training have found; what this one finds is added. `asked`: how the
    process of another revision finds the same test.
    """
    shared = shared or SharedResults()
    began = time.perf_counter()
    keeps_threads = check == KEEPS_THROUGHPUT  # the speed asked for is that of the user's own setting
    threads = 0 if keeps_threads else _threads(values.get("threads", 1), workers)
    errand = current()
    call = errand.call(check)
    saved = errand.replayed(check, call)
    capture = None if errand.folder is None else StepCapture()
    with undisturbed(threads):
        plan = replace(_plan(check, name, values, benchmark), capture=capture)
        comparison = None if saved else compared(subject, locator, values, seed, call, plan.deadline)
        with _program(subject, plan, check, seed if saved is None else saved.seed) as (program, trace):
            if saved is not None:
                return replace(replayed(saved, program, plan), seed=saved.seed, seconds=time.perf_counter() - began)
            examination = Examination(program, check, values, plan)
            if isinstance(program, TrainingProgram):
                trace = shared.reusable_run(examination.check, values)
            verdict = conclude(examination, trace, name, shared.known, comparison, FOLLOW_UPS.get(check))
            if isinstance(program, TrainingProgram) and examination.untreated is not None:
                shared.add(examination.check, examination.untreated)
            if check == KEEPS_THROUGHPUT and examination.untreated is not None:
                verdict = with_one_thread(verdict, examination)
                if isinstance(program, TrainingProgram):
                    examination.untreated.speed.flops = count_flops(program, plan)
                verdict = replace(verdict, figures={**verdict.figures, **operations(examination.untreated)})
                if benchmark is not None:
                    note_speed(benchmark, examination.untreated, watched=not isinstance(program, TrainingProgram))
            verdict = replace(verdict, seed=seed)
            if capture is not None:
                verdict = attach_reproducer(verdict, capture, examination, subject, errand, call)
    return replace(verdict, seconds=time.perf_counter() - began)


def _plan(check: str, name: str, values: Mapping[str, Any], benchmark: Any) -> RunPlan:
    module = find_check(check)
    return RunPlan(
        max_steps=module.max_steps(values),
        signals=module.SIGNALS,
        one_batch=module.ONE_BATCH,
        stop_when=lambda trace: module.stop_when(trace, values),
        deadline=time.monotonic() + values.get("budget", setting("budget").default),
        purpose=f"{check} on {name}",
        device=_device(values.get("device")),
        timer=None if benchmark is None else measured_by(benchmark, values.get("steps") or module.STEPS),
    )


@contextmanager
@engine_frame
def _program(
    subject: Training | Callable[[], object], plan: RunPlan, check: str, seed: int
) -> Iterator[tuple[Program, Trace | None]]:
    """The subject as something that can be run again; a watched test's first run is already a trace."""
    factory = None if isinstance(subject, Training) else subject
    trace, creation_sites = None, None
    returned: object = subject
    if factory is not None:
        seed_everything(seed)
        with watching(plan) as run:
            returned = factory()
        trace, creation_sites = run.trace, run.creation_sites
    if isinstance(returned, Training):
        start = Start(returned, seed=seed, factory=factory, creation_sites=creation_sites, device=plan.device)
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
    yield WatchedProgram(factory, seed), trace if plan.timer is None else None


def _threads(locator: int, workers: int) -> int:
    """0 leaves torch its own number. Workers share: too many threads on a busy machine are ten times slower."""
    if not locator and workers == 1:
        return 0
    return max(1, (locator or torch.get_num_threads()) // workers)


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
