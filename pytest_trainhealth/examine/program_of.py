"""What a check is asked about, as a program that can be run again: a training, its factory, or a watched test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import torch

from ..checks import check as find_check
from ..engine.request import Request
from ..observe.run.hanging import DidNotComeBack
from ..observe.source.engine_frames import engine_frame
from ..observe.source.spawned import note_spawning
from ..programs.plan import RunPlan
from ..programs.program import Program
from ..programs.start import NotATraining, Start
from ..programs.subject import described, instead_of, missing_arguments
from ..programs.training_program import TrainingProgram
from ..programs.watched_program import Watch, WatchedProgram
from ..state.process import seed_everything, undisturbed
from ..state.process_settings import process_settings_kept
from ..training import Training

Subject = Training | Callable[[], object]


@contextmanager
@engine_frame
def program_of(subject: Subject, request: Request, plan: RunPlan, seed: int, left: list[str]) -> Iterator[Program]:
    """The subject as something that can be run again. `left` gets the names of what cannot be put back afterwards."""
    if find_check(request.check).in_ranks:
        yield _in_ranks(subject, request, plan)
        return
    if isinstance(subject, Training):
        with _training_program(Start(subject, seed=seed, device=plan.device), left) as program:
            yield program
        return
    factory = _callable(subject)
    watch = Watch(plan)
    returned: object = None
    raised = False
    with ExitStack() as as_before:
        as_before.enter_context(process_settings_kept())
        as_before.enter_context(undisturbed())
        seed_everything(seed)
        try:
            with note_spawning() as spawned, watch.watching():
                returned = factory()
        except DidNotComeBack as hung:
            hung.what = f"step {watch.run.step}" if watch.run.models else request.name
            raise
        except Exception:
            raised = watch.has_begun
            if not raised:
                raise
        if isinstance(returned, Training):  # what the factory has switched on holds for its training
            sites = watch.run.creation_sites
            watch.let_go()
            start = Start(returned, seed=seed, factory=factory, creation_sites=sites, device=plan.device)
            with _training_program(start, left) as program:
                yield program
            return
    if raised:  # with whatever it raises, a test that trains is judged: a cause may explain it
        yield WatchedProgram(factory, seed)
        return
    if returned is not None:
        raise NotATraining(instead_of(returned))
    seen = [(number, trace) for number, trace in enumerate(watch.traces) if trace.losses or trace.update_count]
    if not seen:
        raise NotATraining(_nothing(request.check, spawned))
    # with a timer, the first run does not count: the test runs once more, and the timer times that run
    untimed = plan.wrap.timer is None
    programs = [WatchedProgram(factory, seed, each if untimed else None, at) for at, each in seen]
    programs[0].siblings = tuple(programs[1:]) if untimed else ()
    yield programs[0]


def _nothing(check: str, spawned: list[str]) -> str:
    """Why there is nothing to check, where a test has returned nothing and trained nothing here."""
    if spawned:
        own = f"nothing to check: this test starts processes of its own ({spawned[0]})"
        return f"{own}, and what they train cannot be watched from here: use ranks_agree"
    return f"nothing to check: the test returned nothing and trained nothing that {check} could watch"


def _in_ranks(subject: Subject, request: Request, plan: RunPlan) -> Program:
    """The subject is not called here: it may need the other processes."""
    from ..ranks.gang import NoTraining
    from ..ranks.program import RanksProgram

    try:
        program = RanksProgram(subject, request)
        program.begin(plan)
    except NoTraining as why:
        raise NotATraining(str(why)) from None
    return program


@contextmanager
@engine_frame
def _training_program(start: Start, left: list[str]) -> Iterator[Program]:
    try:
        yield TrainingProgram(start)
    except BaseException as error:
        for name in start.close():
            error.add_note(f"left changed: {name}")
        raise
    else:
        left.extend(start.close())
    finally:
        start.forget()


def _callable(subject: Any) -> Callable[[], object]:
    if not callable(subject) or isinstance(subject, torch.nn.Module):
        raise NotATraining(f"a Training is needed, or a function that makes one, not {described(subject)}")
    if missing := missing_arguments(subject):
        raise NotATraining(missing)
    return subject  # type: ignore[no-any-return]
