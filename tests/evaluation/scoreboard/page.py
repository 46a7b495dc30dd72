"""Writes `docs/scoreboard.md`: a page for people. First tries come first, then the results in `docs/scoreboard.json`.

`python -m tests.evaluation.scoreboard.page` writes it from what is stored, without diagnosing anything.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from . import first_tries, tables
from .cases import Case, all_cases
from .counting import Judged, figures, judged
from .results import FILE, Result, load
from .speed import MOST_FOR_HEALTHY, ratios, usual

PAGE = FILE.with_suffix(".md")

HOW = """\
# Scoreboard

What we say about trainings whose truth is known: first about programs that nobody had seen when they were scored, then
about those that the rules were written beside.

## First tries
"""

IN_SAMPLE = """\
## In-sample

All that follows is in-sample. The programs are in `tests/evaluation/corpus`: small trainings with one known fault each,
the *twin* of each, which differs in the fault alone, and healthy trainings that are odd in one way each; blind programs
are among them once they have had their first try. Every one is diagnosed with the whole battery, as
`diagnose(factory, seed=...)` does it, once for every seed. Nothing is left out: a program that raises, hangs or takes
its process with it counts against us.

`python -m tests.evaluation.scoreboard` makes this page, and `scoreboard.json` beside it, which holds every result.

The rules were written beside these programs, and some programs were mended when a miss showed that they did no harm or
could not be told from healthy ones: read the shares of faults as what is known to work, not as what strangers' code
would give; for that there are the first tries. Those that are missed knowingly are in
`tests/evaluation/scoreboard/known_misses.py`; they are counted here.

What is counted
: *found*: at least one check failed. *named first*: the first finding of the report is the true cause (a few programs
  have two right names; their docstrings say why; of two faults either may come first). *confirmed*: a re-run with
  only the true cause removed was healthy; counted where a cure can exist at all. *wrongly confirmed*: any finding
  called confirmed that is neither the cause nor the second fault of a program with two. *false alarm*: a check failed
  on a twin or a healthy program, or there was no verdict. A program counts once for each seed.
"""


def counted(cases: Mapping[str, Case], file: Path = FILE) -> list[Judged]:
    """The results in the file, without those of cases that no longer exist."""
    results = [Result.from_json(each) for each in load(file).get("results", ())]
    return judged((result for result in results if result.case in cases), cases)


def write(cases: Mapping[str, Case], page: Path = PAGE) -> None:
    file = page.with_suffix(".json")
    page.write_text("\n".join(_text(counted(cases, file), load(file), cases)) + "\n")


def _text(every: list[Judged], sections: Mapping[str, Any], cases: Mapping[str, Case]) -> Iterable[str]:
    total, seeds = figures(every), sorted({j.result.seed for j in every})
    kinds = {kind: len({j.case.id for j in every if j.case.kind == kind}) for kind in ("fault", "twin", "healthy")}
    written_blind = len({j.case.id for j in every if j.case.blind})
    yield HOW
    yield first_tries.text(first_tries.load())
    yield IN_SAMPLE
    yield (
        f"{kinds['fault']} faulty programs, {kinds['twin']} twins and {kinds['healthy']} healthy programs; "
        f"seeds {', '.join(map(str, seeds))}. Written blind: {written_blind or 'none of them yet'}.\n"
    )
    yield f"## Totals, in-sample\n\n{tables.totals(total)}\n"
    yield _speed(every)
    faulty = [j for j in every if j.case.kind == "fault"]
    yield f"## By cause\n\n{tables.grouped(faulty, 'cause', lambda j: f'`{j.case.cause}`')}\n"
    of_faults = [j for j in every if j.case.kind != "healthy"]
    yield f"## By family\n\n{tables.grouped(of_faults, 'family', lambda j: j.case.family)}\n"
    yield _listed("Missed", "Every fault whose cause did not come first, with what was said.", tables.misses(every))
    yield _listed("Wrongly confirmed", "", tables.wrongly_confirmed(every))
    yield _listed("False alarms", "", tables.alarms(every))
    if steadiness := sections.get("steadiness"):
        yield f"## Steadiness\n\n{steadiness['text']}\n"
    if peers := sections.get("peers"):
        from ..peers.counting import text  # late: it imports this package

        yield f"## Beside other tools\n\n{text(peers, every, cases)}"


def _speed(every: list[Judged]) -> str:
    found = ratios(every)
    seconds = {
        kind: figures(j for j in every if (j.case.kind == "fault") == (kind == "faulty")).seconds for kind in found
    }
    rows = [(f"a {kind} program", usual(found[kind]), f"{seconds[kind]:.1f} s") for kind in found]
    return (
        "## Time\n\n"
        + tables.table(("the whole battery on", "against the bare loop, median", "median"), rows)
        + "\n\nThe bare loop is the same training without us, for as many steps as the longest check took on it (for a "
        "faulty program: on its twin), in processor time, in the same process. "
        f"The bar for a healthy one is {MOST_FOR_HEALTHY:g} x.\n"
    )


def _listed(title: str, words: str, lines: Iterable[str]) -> str:
    text = "\n".join(lines)
    return f"## {title}\n\n" + (f"{words}\n\n" if words and text else "") + (text or "None.") + "\n"


if __name__ == "__main__":
    write(all_cases())
