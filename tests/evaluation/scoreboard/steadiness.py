"""`python -m tests.evaluation.scoreboard.steadiness`: is the verdict the same, whatever is around?

Some cases, picked at random, become a file of marked tests, which pytest runs again and again: plain, on two workers,
while every core is kept busy, with other hash seeds, with other numbers of threads, in another order. Outcomes, causes
and certainties of every check have to stay the same.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import random
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path

from . import page
from .cases import Case, all_cases
from .results import load, save
from .tables import table
from .workers import cores

_TESTS = """
import os, random
import pytest
from tests.evaluation.scoreboard.cases import factory

NAMES = {names!r}
if order := os.environ.get("STEADINESS_ORDER"):
    random.Random(order).shuffle(NAMES)

@pytest.mark.trainhealth
@pytest.mark.parametrize("name", NAMES)
def test_program(name):
    return factory(name)()
"""


@dataclass(frozen=True)
class Round:
    """One run of all cases under one circumstance."""

    circumstance: str
    options: tuple[str, ...] = ("-n", "0")
    environment: dict[str, str] = field(default_factory=dict)
    loaded: bool = False


def rounds() -> list[Round]:
    """Twenty: every circumstance several times, and plainly often enough to know what is usual."""
    return [
        *[Round("plain")] * 4,
        *[Round("two workers", ("-n", "2"))] * 4,
        *[Round("every core busy", loaded=True)] * 3,
        *[Round("other hash seeds", environment={"PYTHONHASHSEED": seed}) for seed in ("1", "2", "3")],
        *[Round(f"{n} threads", environment=dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS"), n)) for n in "124"],
        *[Round("another order", environment={"STEADINESS_ORDER": seed}) for seed in ("a", "b", "c")],
    ]


def verdicts_of(now: Round, folder: Path) -> dict[str, str]:
    """What each check said about each program in one run of pytest."""
    report = folder / "report.json"
    report.unlink(missing_ok=True)
    options = ["--trainhealth", "--trainhealth-json", str(report), "--trainhealth-seed", "0", "-q", *now.options]
    pytest = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--rootdir", str(folder)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([os.getcwd(), os.environ.get("PYTHONPATH", "")])}
    with busy(cores()) if now.loaded else nullcontext():
        finished = subprocess.run(
            [*pytest, *options, str(folder)], env=environment | now.environment, capture_output=True, text=True
        )
    if not report.exists():
        raise SystemExit(finished.stdout + finished.stderr)
    return {
        verdict["nodeid"]: " ".join([verdict["outcome"], *_causes(verdict)])
        for verdict in json.loads(report.read_text())["verdicts"]
    }


def _causes(verdict: dict) -> list[str]:
    return [f"{finding['cause']} ({finding['certainty']})" for finding in verdict["findings"]]


@contextmanager
def busy(processes: int) -> Iterator[None]:
    spawn = multiprocessing.get_context("spawn")
    burning = [spawn.Process(target=_burn, daemon=True) for _ in range(processes)]
    for process in burning:
        process.start()
    try:
        yield
    finally:
        for process in burning:
            process.kill()
            process.join()


def _burn() -> None:
    number = 1.0
    while True:
        number = number * 1.0000001 % 7.0


def picked(cases: list[Case], number: int, seed: int) -> list[str]:
    """Half of them faulty. Those that only a framework can build are left out: they take minutes to import."""
    able = [case for case in cases if "huggingface" not in f"{case.family} {case.name}"]
    faults = [case.id for case in able if case.kind == "fault"]
    healthy = [case.id for case in able if case.kind != "fault"]
    choice = random.Random(seed)
    return sorted(choice.sample(faults, number // 2) + choice.sample(healthy, number - number // 2))


def main() -> int:
    options = _options()
    cases = all_cases()
    names = picked(list(cases.values()), options.cases, options.pick)
    seen: dict[str, dict[str, Counter[str]]] = defaultdict(lambda: defaultdict(Counter))
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "test_programs.py").write_text(_TESTS.format(names=names))
        (Path(folder) / "pytest.ini").write_text("[pytest]\n")
        for now in rounds()[:: options.every]:
            for test, verdict in verdicts_of(now, Path(folder)).items():
                seen[test][now.circumstance][verdict] += 1
            print(now.circumstance, f"{len(seen)} verdicts", file=sys.stderr, flush=True)
    text, changed = _counted(seen, len(names), len(rounds()[:: options.every]))
    print(text)
    if not options.dry:
        save({**load(), "steadiness": {"changed": changed, "text": text}})
        page.write(cases)
    return int(changed > 0)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.evaluation.scoreboard.steadiness", description=__doc__)
    parser.add_argument("--cases", type=int, default=40, metavar="N")
    parser.add_argument("--pick", type=int, default=0, metavar="SEED", help="of the choice of the cases")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="only every Nth of the twenty rounds")
    parser.add_argument("--dry", action="store_true", help="print only, write nothing")
    return parser.parse_args()


def _counted(seen: dict[str, dict[str, Counter[str]]], programs: int, times: int) -> tuple[str, int]:
    changes: Counter[str] = Counter()
    totals: Counter[str] = Counter()
    for test, circumstances in sorted(seen.items()):
        together = sum(circumstances.values(), Counter())
        usual = together.most_common(1)[0][0]
        if missing := times - together.total():
            changes["missing"] += missing
            print(f"{test}: no verdict in {missing} rounds")
        for circumstance, found in circumstances.items():
            totals[circumstance] += found.total()
            for verdict, number in found.items():
                if verdict != usual:
                    changes[circumstance] += number
                    print(f"{test}, {circumstance}: {number} x {verdict}, usually {usual}")
    rows = [(name, total, changes[name]) for name, total in totals.items()]
    text = (
        f"{programs} programs picked at random, half of them faulty, run by pytest {times} times with the same seed: "
        f"{len(seen)} verdicts each time. Outcomes, causes and certainties that were not the usual ones: "
        f"**{changes.total()} changed**.\n\n" + table(("circumstance", "verdicts", "changed"), rows)
    )
    return text, changes.total()


if __name__ == "__main__":
    sys.exit(main())
