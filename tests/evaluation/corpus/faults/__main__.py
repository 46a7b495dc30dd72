"""`python -m tests.evaluation.corpus.faults [NAME ...] [--seed N]`: what we say about each program and its twin."""

from __future__ import annotations

import argparse
import time
import warnings

from pytest_trainhealth import diagnose

from . import faults


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="parts of names, causes or families; all without any")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("-v", action="store_true", help="the whole report")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    for name, fault in faults().items():
        if options.names and not any(part in f"{name} {fault.cause} {fault.family}" for part in options.names):
            continue
        began = time.perf_counter()
        report = diagnose(fault.broken, seed=options.seed)
        twin = diagnose(fault.twin, seed=options.seed)
        alarms = [f"{v.check}: {v.headline}" for v in twin.verdicts if v.failed]
        said = ", ".join(f"{f.cause} ({f.certainty})" for f in report.findings) or "nothing"
        if not report.findings and any(v.failed for v in report.verdicts):
            said = "no known cause: " + "; ".join(v.headline for v in report.verdicts if v.failed)
        good = bool(report.findings) and report.findings[0].cause in (fault.cause, *fault.also)
        print(f"{'ok ' if good and not alarms else 'BAD'} {name} [{fault.cause}]: {said}", end="")
        print(f"   {time.perf_counter() - began:.1f} s", *(f"\n    TWIN {alarm}" for alarm in alarms), flush=True)
        if options.v:
            print(report)


if __name__ == "__main__":
    main()
