"""How the runs of a check are made: steps, signals, budget, threads and device, from the request and the check."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from ..budget.budget import Budget
from ..checks import Check
from ..engine.request import Request
from ..programs.plan import Look, RunPlan, Wrap
from ..settings import WrongSetting, setting

if TYPE_CHECKING:
    from ..reproducers.reproducer import StepCapture


def plan_of(check: Check, request: Request, capture: StepCapture | None) -> RunPlan:
    values = request.values
    return RunPlan(
        max_steps=check.max_steps(values),
        usual_steps=2 * int(values.get("steps") or check.steps),
        cured_steps=None if check.cured_steps is None else check.cured_steps(values),
        look=Look(check.signals, most_batches=values.get("max_batches")),
        wrap=Wrap(timer=request.timer, capture=capture),
        one_batch=check.one_batch,
        stop_when=lambda trace: check.stop_when(trace, values),
        budget=Budget(values.get("budget", setting("budget").default)),
        purpose=f"{check.name} on {request.name}",
        device=device_of(values.get("device")),
    )


def threads_of(check: Check, request: Request) -> int:
    """0 keeps torch's own number. Workers share the cores: too many threads on a busy machine are ten times slower."""
    requested = request.values.get("threads", 1)
    if (
        check.times_steps or check.compares_runs or (not requested and request.workers == 1)
    ):  # measured as the user has it
        return 0
    return max(1, (requested or torch.get_num_threads()) // request.workers)


def device_of(name: str | None) -> torch.device | None:
    if name is None:
        return None
    available = ["cpu"]
    if torch.accelerator.is_available():
        accelerator = torch.accelerator.current_accelerator()
        available.append(str(accelerator))
    if name.partition(":")[0] not in available:
        raise WrongSetting(f"--trainhealth-device: there is no {name!r} on this machine. Here: {', '.join(available)}")
    return torch.device(name)
