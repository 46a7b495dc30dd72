"""A tenth of the fault corpus with its twins, counted as the scoreboard counts and held to its bars.

It is one test, because the bars are shares of all programs. `python -m tests.evaluation.scoreboard` runs the whole
corpus, with more seeds.
"""

from __future__ import annotations

from ..scoreboard import tables
from ..scoreboard.cases import all_cases, tenth
from ..scoreboard.counting import below_the_bars, figures, judged
from ..scoreboard.known_misses import KNOWN_MISSES
from ..scoreboard.running import run
from ..scoreboard.workers import cores
from .faults import faults


def test_a_tenth_of_the_corpus_keeps_the_bars() -> None:
    cases = {name: case for name, case in all_cases().items() if case.name not in KNOWN_MISSES}
    results = run([(case.id, 0, False) for case in tenth(cases.values())], processes=cores(), show=False)
    every = judged(results, cases)
    lines = [*tables.misses(every), *tables.wrongly_confirmed(every), *tables.alarms(every)]
    assert below_the_bars(figures(every)) == [], "\n".join(lines)


def test_known_misses_are_programs_of_the_corpus() -> None:
    assert set(KNOWN_MISSES) <= set(faults())


def test_the_tenth_stands_for_all() -> None:
    cases = all_cases()
    faults = [case for case in cases.values() if case.kind == "fault" and not case.blind]
    chosen = [case for case in tenth(cases.values()) if case.kind == "fault"]
    assert len(chosen) == -(-len(faults) // 10)
    assert chosen == [case for case in tenth(cases.values()) if case.kind == "fault"]
    if len(chosen) >= 3 * len({case.family for case in faults}):
        assert {case.family for case in chosen} == {case.family for case in faults}
    # ten in a row out of so many are all of one cause
    many = {cause for cause in {case.cause for case in faults} if [c.cause for c in faults].count(cause) >= 19}
    assert many <= {case.cause for case in chosen}
