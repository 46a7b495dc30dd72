"""How much time the installed plugin adds to a pytest run without training tests."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

_OTHERS = ("-p", "no:hypothesispytest", "-p", "no:benchmark", "-p", "no:xdist", "-p", "no:cacheprovider")


def _run(folder: Path, *options: str) -> float:
    """User and system time of the process: on a busy machine, wall-clock time says little about ten milliseconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "pytest", "-q", *_OTHERS, *options, str(folder)]
    # keeps compiled modules, as most users do: without them pytest itself takes three times as long
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    subprocess.run(command, check=True, capture_output=True, cwd=folder, env=environment)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime - before.ru_utime) + (after.ru_stime - before.ru_stime)


def added_milliseconds(rounds: int = 30) -> tuple[float, float]:
    """The median of the paired differences, and a run without the plugin, in milliseconds of processor time."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "test_nothing.py").write_text("def test_nothing():\n    pass\n")
        _run(folder)
        _run(folder, "-p", "no:trainhealth")
        pairs = []
        for number in range(rounds):
            if number % 2:
                without = _run(folder, "-p", "no:trainhealth")
                pairs.append((_run(folder), without))
            else:
                pairs.append((_run(folder), _run(folder, "-p", "no:trainhealth")))
    return 1e3 * median(a - b for a, b in pairs), 1e3 * median(b for _, b in pairs)
