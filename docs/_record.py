"""`python docs/_record.py`: run the broken programs, and keep their charts next to them.

The pages show these records; the tests compare them with fresh ones, up to numbers. Run it after a change of wording.
"""

from __future__ import annotations

import json
import os
import runpy
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

HERE = Path(__file__).parent
EXAMPLE = "parameters-not-in-optimizer"
NODEID = "test_train.py::test_training[gradients_flow]"


#: What only an accelerator shows. Its pages are recorded on a CPU that is taken for one.
ON_AN_ACCELERATOR = ("device-sync",)
#: What only shows in comparison with an earlier revision: the fixed program is that revision.
TWO_REVISIONS = ("throughput-regression",)


@contextmanager
def revisions(cause: str, which: str) -> Iterator[Path]:
    """A repository in which the fixed program is committed, and this one is the uncommitted change."""
    with tempfile.TemporaryDirectory() as temporary:
        folder, pages = Path(temporary), HERE / "causes" / cause
        who = ("-c", "user.name=docs", "-c", "user.email=docs@example.org", "-c", "commit.gpgsign=false")
        shutil.copy(pages / "fixed.py", folder / f"{which}.py")
        for command in (("init", "-q"), ("add", "."), (*who, "commit", "-q", "-m", "mended")):
            subprocess.run(["git", *command], cwd=folder, check=True)
        shutil.copy(pages / f"{which}.py", folder / f"{which}.py")
        yield folder


def diagnosed(cause: str, seed: int = 0, which: str = "broken", folder: Path | None = None, gates=None):
    """Of the program, read from its own folder so that places are short. One with gates is about speed.

    `gates`: others than those of the program, whose speeds are those of one machine.
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
        checks = ("keeps_throughput",) if "GATES" in program else BATTERY
        asked = {**program.get("GATES", {}), **(gates or {})}
        return diagnose(program["training"], checks, name="test_training", seed=seed, **asked)
    finally:
        slow_calls.device_of = device_of
        os.chdir(before)


def failure(report) -> str:
    """The chart that a reader meets first: of the surest verdict."""
    from pytest_trainhealth.reports.overview import told_once
    from pytest_trainhealth.reports.text import verdict_text

    return verdict_text(told_once(report.verdicts)[0], width=88) + "\n"


def example(report) -> dict:
    """A file as `--trainhealth-json` writes it, of one failed check."""
    failed = next(verdict for verdict in report.verdicts if verdict.failed)
    return {"version": 1, "complete": True, "interrupted": False, "verdicts": [{"nodeid": NODEID, **failed.to_json()}]}


def main() -> None:
    sys.path.insert(0, str(HERE.parent))
    from pytest_trainhealth.causes import cause_names

    for cause in sys.argv[1:] or cause_names():
        report = diagnosed(cause)
        (HERE / "causes" / cause / "failure.txt").write_text(failure(report), encoding="utf-8")
        if cause == EXAMPLE:
            text = json.dumps(example(report), indent=2) + "\n"
            (HERE / "reference" / "report.json").write_text(text, encoding="utf-8")
        print(f"{cause}: {report.findings[0].cause}, {report.findings[0].certainty}")


if __name__ == "__main__":
    main()
