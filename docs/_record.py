"""`python docs/_record.py`: run the broken programs, and keep what they are told beside them.

The pages show these records; the tests hold them against fresh ones, up to numbers. Run it after a change of wording.
"""

from __future__ import annotations

import json
import os
import runpy
import sys
from pathlib import Path

HERE = Path(__file__).parent
EXAMPLE = "parameters-not-in-optimizer"
NODEID = "test_train.py::test_training[gradients_flow]"


def diagnosed(cause: str, seed: int = 0):
    """Of the broken program, read from its own folder so that places are short."""
    from pytest_trainhealth import diagnose
    from pytest_trainhealth.settings import BATTERY

    checks = ("keeps_throughput",) if cause == "data-loading-bottleneck" else BATTERY
    before, folder = Path.cwd(), HERE / "causes" / cause
    os.chdir(folder)
    try:
        return diagnose(runpy.run_path(str(folder / "broken.py"))["training"], checks, name="test_training", seed=seed)
    finally:
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
