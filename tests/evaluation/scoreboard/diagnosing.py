"""Diagnoses and times one case, in a worker process."""

from __future__ import annotations

import io
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from itertools import islice

import torch

from pytest_trainhealth import Report, Training, diagnose

from ..corpus.bare_loop import batches_of, forever, one_step
from .cases import checks_of, factory
from .results import Result, in_short

#: A case, a seed, and whether to time the bare loop too.
Job = tuple[str, int, bool]


def diagnosed(job: Job) -> Result:
    """If the program raises an error that no cause explains, there is no verdict, and the scoreboard goes on."""
    case, seed, timed = job
    began, cpu = time.perf_counter(), time.process_time()
    try:
        with quiet():
            report = diagnose(factory(case), checks_of(case), seed=seed)
    except Exception as error:
        return Result(case, seed, error=in_short(error), seconds=round(time.perf_counter() - began, 3))
    seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
    steps = max(verdict.steps for verdict in report.verdicts)
    bare = bare_seconds(case, seed, steps) if timed and checks_of(case) is None else 0.0
    return Result(
        case,
        seed,
        failed=tuple(verdict.check for verdict in report.verdicts if verdict.failed),
        findings=tuple((finding.cause, finding.certainty) for finding in report.findings),
        unjudged=tuple(verdict.check for verdict in report.verdicts if verdict.outcome == "could not judge"),
        seconds=round(seconds, 3),
        cpu=round(cpu, 3),
        bare=round(bare, 4),
        steps=steps,
    )


def verdicts(job: Job) -> list[tuple[str, str, list[tuple[str, str]]]]:
    """Each check's outcome, and its causes with their certainties: all of it has to be the same each time."""
    case, seed, _ = job
    try:
        with quiet():
            report: Report = diagnose(factory(case), checks_of(case), seed=seed)
    except Exception as error:
        return [("", in_short(error), [])]
    return [(v.check, v.outcome, [(f.cause, f.certainty) for f in v.findings]) for v in report.verdicts]


@contextmanager
def quiet() -> Iterator[None]:
    """Hides what programs and libraries print."""
    with warnings.catch_warnings(), redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        warnings.simplefilter("ignore")
        yield


def bare_seconds(case: str, seed: int, steps: int) -> float:
    """Processor seconds of so many steps in a plain loop, or of one run of a watched program."""
    torch.manual_seed(seed)
    with quiet():
        began = time.process_time()
        training = factory(case)()
        if not isinstance(training, Training):
            return time.process_time() - began
        began = time.process_time()
        for batch in islice(forever(batches_of(training)), steps):
            one_step(training, batch)
        return time.process_time() - began
