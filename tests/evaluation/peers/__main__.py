"""`python -m tests.evaluation.peers`: runs other tools on the corpus, to compare with us in `docs/scoreboard.md`."""

from __future__ import annotations

import argparse
import sys
from importlib.util import find_spec
from typing import Any

from ..scoreboard import page
from ..scoreboard.cases import all_cases, tenth
from ..scoreboard.results import load, save
from ..scoreboard.workers import NoAnswer, answers, cores
from .asking import TOOLS, run_tool, tool
from .counting import text

LIMIT = 120.0


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.evaluation.peers", description=__doc__)
    parser.add_argument("--tools", nargs="+", choices=TOOLS, default=list(TOOLS))
    parser.add_argument("--jobs", type=int, default=cores(), metavar="N", help="processes at a time")
    parser.add_argument("--only", nargs="+", metavar="PART", help="parts of ids (fault/name), causes or families")
    parser.add_argument("--slice", choices=["all", "tenth"], default="all")
    parser.add_argument("--merge", action="store_true", help="keep the answers in the file that are not asked for anew")
    parser.add_argument("--dry", action="store_true", help="print only, write nothing")
    options = parser.parse_args()
    missing = [name for name in options.tools if find_spec(name.removeprefix("with_")) is None]
    if missing:
        names = ", ".join(tool(name).NAME for name in missing)
        sys.exit(f"not installed: {names}; see tests/evaluation/peers/requirements.txt")
    cases = all_cases()
    selected = tenth(cases.values()) if options.slice == "tenth" else list(cases.values())
    selected = [case for case in selected if not options.only or case.matches(options.only)]
    jobs = [(name, case.id, 0) for name in options.tools for case in selected]
    new: dict[tuple[str, str], dict[str, Any]] = {}
    for done, (number, answer) in enumerate(answers(run_tool, jobs, processes=options.jobs, limit=LIMIT), 1):
        name, case, _ = jobs[number]
        if isinstance(answer, NoAnswer):
            answer = {"tool": name, "case": case, "error": answer.reason}
        new[name, case] = answer
        summary = answer.get("alarms", answer.get("cannot", answer.get("error")))
        print(f"{done:>5}/{len(jobs)}  {tool(name).NAME}  {case}  {summary or 'passes'}", flush=True)
    sections = load()
    old = {(a["tool"], a["case"]): a for a in sections.get("peers", ())} if options.merge else {}
    order = {case: index for index, case in enumerate(cases)}
    everything = [answer for answer in {**old, **new}.values() if answer["case"] in order]
    everything.sort(key=lambda answer: (answer["tool"], order[answer["case"]]))
    if not options.dry:
        save({**sections, "peers": everything})
        page.write(cases)
    print("\n" + text(everything, page.counted(cases), cases))
    return 0


if __name__ == "__main__":
    sys.exit(main())
