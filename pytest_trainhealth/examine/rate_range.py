"""A range test of the learning rate: nothing is judged."""

from __future__ import annotations

from ..checks import check as find_check
from ..engine.examination import Examination
from ..engine.request import Request
from ..observe.run.hanging import interrupting
from ..programs.start import NotATraining
from ..records.rate_range import RateRange
from ..state.process import undisturbed
from ..state.process_settings import process_settings_kept
from ..tensors.function_modes import none_left
from .plan_of import plan_of, threads_of
from .program_of import Subject, program_of


def learning_rates(subject: Subject, request: Request, steps: int) -> RateRange:
    """What the training comes to at rates from low to high; nothing is judged."""
    from ..engine.rate_range import measure

    check = find_check(request.check)
    with none_left(), process_settings_kept(), undisturbed(threads_of(check, request)) as left:
        plan = plan_of(check, request, None)
        with interrupting(plan.budget), program_of(subject, request, plan, request.seed, left) as program:
            if program.start is None:
                raise NotATraining("a Training is needed, or a function that makes one: nothing was returned")
            if not program.repeatable:
                return RateRange(0.0, steps, 0.0, why_not=program.why_not)
            return measure(Examination(program, check, request.values, plan), steps)
