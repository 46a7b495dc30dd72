"""`python -m tests.evaluation.scoreboard.steadiness`: is the verdict the same, however busy the machine?

Diagnoses some cases, picked at random, again and again, each in whatever process is free: first plain, then while as
many processes as there are cores do nothing but compute. Outcomes, causes and certainties have to stay the same.
"""

from __future__ import annotations

import argparse
import multiprocessing
import random
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from . import page
from .cases import all_cases
from .diagnosing import verdicts
from .results import load, save
from .running import LIMIT
from .tables import table
from .workers import NoAnswer, answers, cores


def repeated(names: list[str], times: int, processes: int) -> dict[str, Counter[str]]:
    """For each case, how often each set of verdicts came up."""
    jobs = [(name, 0, False) for _ in range(times) for name in names]
    found: dict[str, Counter[str]] = {name: Counter() for name in names}
    for done, (number, answer) in enumerate(answers(verdicts, jobs, processes=processes, limit=2 * LIMIT), 1):
        found[jobs[number][0]][answer.reason if isinstance(answer, NoAnswer) else str(answer)] += 1
        print(f"\r{done}/{len(jobs)}", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    return found


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


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.evaluation.scoreboard.steadiness", description=__doc__)
    parser.add_argument("--cases", type=int, default=20, metavar="N")
    parser.add_argument("--times", type=int, default=20, metavar="N")
    parser.add_argument("--pick", type=int, default=0, metavar="SEED", help="of the choice of the cases")
    parser.add_argument("--jobs", type=int, default=cores(), metavar="N", help="processes at a time")
    parser.add_argument("--dry", action="store_true", help="print only, write nothing")
    options = parser.parse_args()
    cases = all_cases()
    names = sorted(random.Random(options.pick).sample(sorted(cases), min(options.cases, len(cases))))
    plain = repeated(names, options.times, options.jobs)
    with busy(cores()):
        loaded = repeated(names, options.times, options.jobs)
    rows, changed = [], 0
    for name in names:
        usual, times_usual = (plain[name] + loaded[name]).most_common(1)[0]
        others = 2 * options.times - times_usual
        changed += others
        rows.append((f"`{name}`", plain[name][usual], loaded[name][usual], others))
        for verdict in plain[name] + loaded[name] if others else ():
            print(f"{name}: {(plain[name] + loaded[name])[verdict]} x {verdict}")
    text = (
        f"{len(names)} cases picked at random, each diagnosed {options.times} times with the same seed, and "
        f"{options.times} times more while {cores()} processes kept every core busy. How often the verdicts (outcomes, "
        f"causes and certainties of all checks) were the usual ones: **{changed} changed**.\n\n"
        + table(("case", "plain", "busy machine", "changed"), rows)
    )
    print(text)
    if not options.dry:
        save({**load(), "steadiness": {"changed": changed, "text": text}})
        page.write(cases)
    return int(changed > 0)


if __name__ == "__main__":
    sys.exit(main())
