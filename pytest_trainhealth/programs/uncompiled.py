"""Cures and conditions reach what torch.compile has compiled: such a run takes the same functions, not compiled.

A compiled graph calls no module, so that nothing can be changed at its inputs. What is only looked at runs compiled.
"""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch

from ..interventions import compiles
from .plan import RunPlan


def uncompiled(plan: RunPlan) -> AbstractContextManager[Any]:
    """Where nobody has compiled anything yet, torch's compiler is not even loaded: a run that does so from the start
    is compiled, and its cures have no effect inside of it, which their records say."""
    stance = getattr(torch.compiler, "set_stance", None)
    changes = plan.treatment.interventions
    if not changes or any(map(compiles, changes)) or stance is None or "torch._dynamo" not in sys.modules:
        return nullcontext()
    found: AbstractContextManager[Any] = stance("force_eager")
    return found
