"""`python docs/_record.py`: runs the broken programs, and writes the failure of each next to it.

The pages show these records; the tests compare them with fresh ones, numbers aside. Run it after a change of wording.
"""

from __future__ import annotations

import json
import os
import runpy
import shutil
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

HERE = Path(__file__).parent
EXAMPLE = "parameters-not-in-optimizer"
NODEID = "test_train.py::test_training[gradients_flow]"


#: Causes that only show on an accelerator. They are recorded on a CPU that pretends to be one.
ON_AN_ACCELERATOR = ("device-sync",)
#: Causes that only show next to an earlier revision, which is the fixed program.
TWO_REVISIONS = ("throughput-regression",)


@contextmanager
def revisions(cause: str, which: str) -> Iterator[Path]:
    """A repository whose commit holds the fixed program, and whose uncommitted state is this one."""
    with tempfile.TemporaryDirectory() as temporary:
        folder, pages = Path(temporary), HERE / "causes" / cause
        who = ("-c", "user.name=docs", "-c", "user.email=docs@example.org", "-c", "commit.gpgsign=false")
        shutil.copy(pages / "fixed.py", folder / f"{which}.py")
        for command in (("init", "-q"), ("add", "."), (*who, "commit", "-q", "-m", "mended")):
            subprocess.run(["git", *command], cwd=folder, check=True)
        shutil.copy(pages / f"{which}.py", folder / f"{which}.py")
        yield folder


def diagnosed(cause: str, seed: int = 0, which: str = "broken", folder: Path | None = None, gates=None):
    """The report on a program, run in its own folder so that paths are short. A program with `GATES` is about speed.

    `gates` override those of the program, which fit the speed of one machine.
    """
    from pytest_trainhealth import diagnose
    from pytest_trainhealth.observe.signals.speed import slow_calls
    from pytest_trainhealth.settings import BATTERY

    if cause in TWO_REVISIONS and folder is None:
        with revisions(cause, which) as repository:
            return diagnosed(cause, seed, which, repository, gates)
    before, folder = Path.cwd(), folder or HERE / "causes" / cause
    device_of = slow_calls.device_of
    os.chdir(folder)
    if cause in ON_AN_ACCELERATOR:
        slow_calls.device_of = lambda _tensor: "cuda"
    try:
        program = runpy.run_path(str(folder / f"{which}.py"))
        checks = ("keeps_throughput",) if "GATES" in program else program.get("CHECKS", BATTERY)
        limits = {**program.get("GATES", {}), **(gates or {})}
        subject = program.get("training") or program["history"]  # of a cause that a finished run shows
        return diagnose(subject, checks, name="test_training", seed=seed, **limits)
    finally:
        slow_calls.device_of = device_of
        os.chdir(before)


def failure(report) -> str:
    """The chart that a reader sees first, that of the surest verdict; where all is well, the notes."""
    from pytest_trainhealth.reports.overview import stated_once
    from pytest_trainhealth.reports.text import verdict_text

    if report.healthy:
        noted = [(verdict.check, note) for verdict in report.verdicts for note in verdict.notes]
        return "".join(textwrap.fill(f"{check}: passed, with a note: {note}", 88) + "\n" for check, note in noted)
    return verdict_text(stated_once(report.verdicts)[0][0], width=88) + "\n"


def example(report) -> dict:
    """The content of a file that `--trainhealth-json` writes, for one failed check."""
    failed = next(verdict for verdict in report.verdicts if verdict.failed)
    place = {"file": NODEID.partition("::")[0], "line": 8}
    verdicts = [{"nodeid": NODEID, "place": place, "expected": False, **failed.to_json()}]
    return {"version": 1, "complete": True, "interrupted": False, "verdicts": verdicts, "errors": []}


def main() -> None:
    sys.path.insert(0, str(HERE.parent))
    from pytest_trainhealth.causes import cause_names
    from pytest_trainhealth.reports.json_file import in_rows

    for cause in sys.argv[1:] or cause_names():
        report = diagnosed(cause)
        (HERE / "causes" / cause / "failure.txt").write_text(failure(report), encoding="utf-8")
        if cause == EXAMPLE:
            text = in_rows(json.dumps(example(report), indent=2)) + "\n"
            (HERE / "reference" / "report.json").write_text(text, encoding="utf-8")
        first = report.findings[0] if report.findings else None
        print(f"{cause}: {'a note' if first is None else f'{first.cause}, {first.certainty}'}")


if __name__ == "__main__":
    main()
