"""Take a sample of changes, try each, count what no test noticed: ``python -m tests.evaluation.mutation --help``."""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
from collections import Counter
from importlib import import_module
from pathlib import Path

from tests.evaluation.mutation.mutants import Mutant, mutants_of

_PACKAGE = Path("pytest_trainhealth")
_TESTS = ["tests/analysis", "tests/checks", "tests/causes", "tests/engine", "tests/messages"]


def main() -> None:
    options = _options()
    reach = _reach(options)
    for name in ("torch", "numpy", "pytest", "hypothesis"):
        import_module(name)  # once, for all trials
    rows = []
    for room in options.rooms:
        sample = _sample(room, options)
        for place, mutant in enumerate(sample):
            row = _tried(mutant, reach, options.seconds)
            rows.append(row | {"room": room})
            if row["outcome"] != "killed":
                print(f"{room} {place + 1}/{len(sample)} {row['outcome']}: {mutant}", flush=True)
            if options.output:
                Path(options.output).write_text(json.dumps(rows, indent=1))
        print(_line(room, [row for row in rows if row["room"] == room]), flush=True)
    print(_line("all", rows))
    _by_kind(rows)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.evaluation.mutation", description=__doc__)
    parser.add_argument("--rooms", nargs="+", default=["checks", "causes", "analysis"])
    parser.add_argument("--files", nargs="+", default=[], help="only files with one of these words in their names")
    parser.add_argument("--sample", type=int, default=200, help="changes for each room, 0 for all")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=40.0, help="of tests for each change, the quickest first")
    parser.add_argument("--reach", help="file with what the tests reach; made when it is not there")
    parser.add_argument("--output", help="JSON file for every change and its outcome")
    return parser.parse_args()


def _reach(options: argparse.Namespace) -> dict:
    """Measured in a process of its own: this one has to stay without the package (see ``trial``)."""
    target = Path(options.reach) if options.reach else Path(tempfile.mkdtemp()) / "reach.json"
    if not target.exists():
        sources = ",".join(str(_PACKAGE / room) for room in options.rooms)
        command = [sys.executable, "-m", "tests.evaluation.mutation.reach", sources, ",".join(_TESTS), str(target)]
        subprocess.run(command, check=True)
    return json.loads(target.read_text())


def _sample(room: str, options: argparse.Namespace) -> list[Mutant]:
    files = sorted((_PACKAGE / room).rglob("*.py"))
    chosen = [path for path in files if not options.files or any(word in path.name for word in options.files)]
    everything = [mutant for path in chosen for mutant in mutants_of(path)]
    if not options.sample or len(everything) <= options.sample:
        return everything
    return random.Random(options.seed).sample(everything, options.sample)


def _tried(mutant: Mutant, reach: dict, limit: float) -> dict:
    from tests.evaluation.mutation.trial import survives

    tests = _quickest(_reaching(mutant, reach["reach"]), reach["seconds"], limit)
    seconds = sum(reach["seconds"][test] for test in tests)
    outcome = "not reached" if not tests else "survived" if survives(mutant, tests, seconds) else "killed"
    return {"mutant": str(mutant), "kind": mutant.kind, "outcome": outcome, "tests": len(tests)}


def _reaching(mutant: Mutant, reach: dict[str, dict[str, list[str]]]) -> list[str]:
    lines = reach.get(mutant.path, {})
    at_the_line = lines.get(str(mutant.line), [])
    # What runs at import (a threshold) has no test of its own: whoever uses the module may notice.
    return at_the_line or sorted({test for tests in lines.values() for test in tests})


def _quickest(tests: list[str], seconds: dict[str, float], limit: float) -> list[str]:
    chosen, total = [], 0.0
    for test in sorted(tests, key=lambda test: seconds[test]):
        total += seconds[test]
        if chosen and total > limit:
            break
        chosen.append(test)
    return chosen


def _line(name: str, rows: list[dict]) -> str:
    outcomes = Counter(row["outcome"] for row in rows)
    score = 100 * outcomes["killed"] / max(len(rows), 1)
    return f"{name:10} {len(rows):5} changes  killed {score:.1f} %  {dict(outcomes)}"


def _by_kind(rows: list[dict]) -> None:
    for kind in sorted({row["kind"] for row in rows}):
        print(_line(kind, [row for row in rows if row["kind"] == kind]))


if __name__ == "__main__":
    main()
