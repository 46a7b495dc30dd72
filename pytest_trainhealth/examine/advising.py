"""A verdict, or a report, with what would help the training."""

from __future__ import annotations

import time
from dataclasses import replace

from ..budget.budget import Budget
from ..checks import check as find_check
from ..engine.request import Request
from ..observe.run.hanging import DidNotComeBack, interrupting
from ..programs.plan import RunPlan
from ..records.verdict import Report, Verdict
from ..state.process import undisturbed
from ..state.process_settings import process_settings_kept
from ..tensors.function_modes import none_left
from .plan_of import device_of
from .program_of import Subject, program_of


def advised(verdict: Verdict, subject: Subject, request: Request) -> Verdict:
    """The verdict with what would help the training, where that was asked for. Advice never changes an outcome."""
    from ..advice.give import LOOK, give_advice, nothing_tried

    if request.advice is None or request.replaying is not None:
        return verdict
    check, began = find_check(request.check), time.perf_counter()
    if verdict.failed or check.in_ranks or check.reads_history:
        return replace(verdict, advice=nothing_tried(verdict))
    wanted = request.advice
    plan = RunPlan(
        max_steps=1,
        one_batch=False,
        budget=Budget(wanted.budget),
        purpose=f"advice on {request.name}",
        device=device_of(request.values.get("device")),
    )
    with none_left(), process_settings_kept(), undisturbed(0):
        try:
            looking = plan.looking(LOOK)
            with interrupting(plan.budget), program_of(subject, request, looking, request.seed, []) as program:
                found = give_advice(program, plan, wanted, subject, alone=request.workers == 1)
        except DidNotComeBack as hung:
            found = nothing_tried(verdict, str(hung))
    return replace(verdict, advice=found, seconds=verdict.seconds + time.perf_counter() - began)


def advised_report(report: Report, subject: Subject, request: Request) -> Report:
    """The report with advice. A check that failed has the last word: its fault comes first."""
    of = next((verdict for verdict in report.verdicts if verdict.failed), report.verdicts[-1])
    with_it = advised(of, subject, replace(request, check=of.check))
    return replace(report, verdicts=tuple(with_it if verdict is of else verdict for verdict in report.verdicts))
