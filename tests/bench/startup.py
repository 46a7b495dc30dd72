"""What the installed plugin costs a pytest run that has no training test."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

_OTHERS = ("-p", "no:hypothesispytest", "-p", "no:benchmark", "-p", "no:xdist", "-p", "no:cacheprovider")


def _run(folder: Path, *options: str) -> float:
    """User and system time of the process: the wall clock of a busy machine says little about ten milliseconds."""
    before = os.times()
    command = [sys.executable, "-m", "pytest", "-q", *_OTHERS, *options, str(folder)]
    subprocess.run(command, check=True, capture_output=True, cwd=folder)
    after = os.times()
    return (after.children_user - before.children_user) + (after.children_system - before.children_system)


def added_milliseconds(rounds: int = 20) -> tuple[float, float]:
    """Median of the paired differences, and the run without the plugin, in milliseconds of processor time."""
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


if __name__ == "__main__":
    began = time.time()
    print(added_milliseconds(), time.time() - began)
