"""Take a sample of changes, try each, count what no test noticed: ``python -m tests.evaluation.mutation --help``."""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

import pytest

from tests.evaluation.mutation.merge import merged
from tests.evaluation.mutation.mutants import Mutant, mutants_of
from tests.evaluation.mutation.trials import Trials

_PACKAGE = Path("pytest_trainhealth")
_TESTS = ["tests/analysis", "tests/checks", "tests/causes", "tests/engine", "tests/messages"]


def main() -> None:
    options = _options()
    reach = _reach(options)
    rows: list[dict] = []
    sample = [(room, mutant) for room in options.rooms for mutant in _sample(room, options)]
    rooms = dict((mutant, room) for room, mutant in sample)

    def tests_for(mutant: Mutant) -> dict[str, float]:
        tests = _quickest(_reaching(mutant, reach["reach"]), reach["seconds"], options.seconds)
        return {test: reach["seconds"][test] for test in tests}

    def tell(mutant: Mutant, outcome: str, tests: int) -> None:
        told = {"mutant": str(mutant), "kind": mutant.kind, "outcome": outcome, "tests": tests}
        rows.append(told | {"room": rooms[mutant]})
        if outcome != "killed":
            print(f"{len(rows)}/{len(sample)} {outcome}: {mutant}", flush=True)
        if options.output:
            Path(options.output).write_text(json.dumps(rows, indent=1))

    trials = Trials([mutant for _, mutant in sample], tests_for, tell)
    files = {test.partition("::")[0] for _, mutant in sample for test in tests_for(mutant)}
    pytest.main([*sorted(files), "-q", "-s", "-n", "0", "-p", "no:cacheprovider", "--no-header"], plugins=[trials])
    for room in options.rooms:
        print(_line(room, [row for row in rows if row["room"] == room]))
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
    parser.add_argument("--again", nargs="+", default=[], help="measure what these test files reach anew")
    parser.add_argument("--output", help="JSON file for every change and its outcome")
    return parser.parse_args()


def _reach(options: argparse.Namespace) -> dict:
    """Measured in a process of its own, so that the tests of this one start with nothing run."""
    target = Path(options.reach) if options.reach else Path(tempfile.mkdtemp()) / "reach.json"
    if not target.exists():
        _measure(options.rooms, _TESTS, target)
    known = json.loads(target.read_text())
    if options.again:
        latest = Path(tempfile.mkdtemp()) / "reach.json"
        _measure(options.rooms, options.again, latest)
        known = merged(known, json.loads(latest.read_text()), options.again)
        target.write_text(json.dumps(known))
    return known


def _measure(rooms: list[str], tests: list[str], target: Path) -> None:
    sources = ",".join(str(_PACKAGE / room) for room in rooms)
    command = [sys.executable, "-m", "tests.evaluation.mutation.reach", sources, ",".join(tests), str(target)]
    subprocess.run(command, check=True)


def _sample(room: str, options: argparse.Namespace) -> list[Mutant]:
    files = sorted((_PACKAGE / room).rglob("*.py"))
    chosen = [path for path in files if not options.files or any(word in path.name for word in options.files)]
    everything = [mutant for path in chosen for mutant in mutants_of(path)]
    if not options.sample or len(everything) <= options.sample:
        return everything
    return random.Random(options.seed).sample(everything, options.sample)


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
