"""Whether a precision can be used on this machine. Some processors end the process at the first bfloat16 product."""

from __future__ import annotations

import functools
import subprocess
import sys

#: Large enough for the instructions that small products do without: a product of 4 x 8 runs where this one kills.
_TRIAL = """
import sys, torch
device = torch.accelerator.current_accelerator().type if torch.accelerator.is_available() else "cpu"
layer = torch.nn.Linear(256, 256).to(device)
with torch.autocast(device, getattr(torch, sys.argv[1])):
    layer(torch.ones(128, 256, device=device)).sum().backward()
"""
#: Seconds. By judgement: a trial takes seconds, and two minutes are what a busy machine may need.
_SECONDS = 120


@functools.cache
def usable(precision: str) -> str:
    """Why it cannot be used; '' where it can. Found out in a process of its own, once."""
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
