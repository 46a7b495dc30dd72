"""Whether a precision can be used on this machine. Some processors kill the process at the first bfloat16 product."""

from __future__ import annotations

import functools
import subprocess
import sys

#: Large enough to need the instructions that small products do without: where this product kills the process, one of
#: 4 x 8 still runs.
_TRIAL = """
import sys, torch
device = torch.accelerator.current_accelerator().type if torch.accelerator.is_available() else "cpu"
layer = torch.nn.Linear(256, 256).to(device)
with torch.autocast(device, getattr(torch, sys.argv[1])):
    layer(torch.ones(128, 256, device=device)).sum().backward()
"""
#: Seconds. By judgement: a trial takes a few seconds, and a busy machine may need two minutes.
_SECONDS = 120


@functools.cache
def usable(precision: str) -> str:
    """Why the precision cannot be used; '' if it can. Tried once, in a process of its own."""
    try:
        tried = subprocess.run(
            [sys.executable, "-c", _TRIAL, precision], capture_output=True, text=True, timeout=_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        return f"{precision} could not be tried on this machine: no answer within {_SECONDS} s"
    if tried.returncode == 0:
        return ""
    if tried.returncode < 0:
        return f"{precision} cannot be used on this machine: it ends the process with signal {-tried.returncode}"
    return f"{precision} cannot be used on this machine: {tried.stderr.strip().splitlines()[-1:] or ['?']}"
