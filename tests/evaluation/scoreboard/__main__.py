"""`python -m tests.evaluation.scoreboard`: diagnoses the corpus and writes the page; exits with 1 below the bars."""

from __future__ import annotations

import argparse
import sys
import time

from . import page, tables
from .cases import Case, all_cases, tenth
from .counting import Judged, below_the_bars, figures, judged
from .results import Result, load, merged, save
from .running import LIMIT, run
from .speed import ratios, usual
from .workers import cores


def main() -> int:
    options = _options()
    cases = all_cases()
    selected = _selected(cases, options)
    # time the bare loop with one seed, and of healthy programs only: a faulty program is compared with its twin
    jobs = [(c.id, seed, c.kind != "fault" and seed == options.seeds[0]) for c in selected for seed in options.seeds]
    began = time.perf_counter()
    new = run(jobs, processes=options.jobs, limit=options.limit)
    print(f"\n{len(jobs)} diagnoses in {(time.perf_counter() - began) / 60:.1f} min\n")
    if not options.dry:
        sections = load()
        old = [Result.from_json(each) for each in sections.get("results", ())] if options.merge else []
        save({**sections, "results": [r.to_json() for r in merged(old, new, cases)]})
        page.write(cases)
    return _print_figures(judged(new, cases))


def _selected(cases: dict[str, Case], options: argparse.Namespace) -> list[Case]:
    found = list(cases.values())
    if options.slice == "tenth":
        found = tenth(found)
    if options.only:
        found = [case for case in found if case.matches(options.only)]
    if not found:
        sys.exit("no such program")
    return found


def _print_figures(every: list[Judged]) -> int:
    faulty = [j for j in every if j.case.kind == "fault"]
    if faulty:
        print(tables.grouped(faulty, "cause", lambda j: j.case.cause), end="\n\n")
    for line in (*tables.misses(every), *tables.wrongly_confirmed(every), *tables.alarms(every)):
        print(line)
    print("\n" + tables.totals(figures(every)))
    for kind, found in ratios(every).items():
        print(f"the battery on a {kind} program against its bare loop: {usual(found)}")
    short = below_the_bars(figures(every))
    print("\nbelow the bars: " + "; ".join(short) if short else "\nall bars are kept")
    return int(bool(short))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.evaluation.scoreboard", description=__doc__)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2], metavar="N")
    parser.add_argument("--jobs", type=int, default=cores(), metavar="N", help="processes at a time")
    parser.add_argument("--only", nargs="+", metavar="PART", help="parts of ids (fault/name), causes or families")
    parser.add_argument(
        "--slice", choices=["all", "tenth"], default="all", help="tenth: faults and twins that stand for all"
    )
    parser.add_argument("--limit", type=float, default=LIMIT, metavar="SECONDS", help="for one case")
    parser.add_argument("--merge", action="store_true", help="keep the results in the file that are not made anew")
    parser.add_argument("--dry", action="store_true", help="print only, write nothing")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
