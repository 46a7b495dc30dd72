"""Each cause has a program that shows it and the same program mended: shown on its page, and judged here."""

from __future__ import annotations

import difflib
import functools
import json
import re
import runpy
from pathlib import Path
from typing import Any

import pytest

from pytest_trainhealth.causes import cause as known_cause
from pytest_trainhealth.causes import cause_names

from ..docs.snippets import plain

DOCS = Path(__file__).parents[2] / "docs"
PAGES = DOCS / "causes"
RECORD = runpy.run_path(str(DOCS / "_record.py"))
PAIRS = sorted(folder.name for folder in PAGES.iterdir() if folder.is_dir() and not folder.name.startswith("_"))

#: The fix is what a reader has to see at a glance.
_MOST_CHANGED_LINES = 4
#: How much slower than measured a mended program may be. The broken ones are slower by a factor of four and more.
_ROOM = 2.5


#: Whether they are slow is a matter of the machine, and of what else it does.
TIMED = {
    name for name in PAIRS if name != "data-loading-bottleneck" and "GATES" in (PAGES / name / "broken.py").read_text()
}
JUDGED = [pytest.param(name, marks=pytest.mark.timing) if name in TIMED else name for name in PAIRS]


@functools.cache
def gates(cause: str) -> dict[str, float]:
    """Speeds differ from machine to machine: the gate is what the mended program does here and now, with room."""
    asked = runpy.run_path(str(PAGES / cause / "broken.py")).get("GATES", {})
    absolute = {name for name in ("min_samples_per_second", "max_step_ms") if name in asked}
    if not absolute:
        return {}
    free = {"min_samples_per_second": 1e-3, "max_step_ms": 1e6}
    (verdict,) = RECORD["diagnosed"](cause, 0, "fixed", gates={name: free[name] for name in absolute}).verdicts
    measured = {
        "min_samples_per_second": verdict.figures["samples_per_second"] / _ROOM,
        "max_step_ms": 1e3 * verdict.figures["step_seconds"] * _ROOM,
    }
    return {name: measured[name] for name in absolute}


@pytest.fixture(scope="module")
def diagnosed():
    """Reports of broken programs; several tests ask for the same one."""
    known = {}

    def once(cause: str, seed: int) -> Any:
        if (cause, seed) not in known:
            known[cause, seed] = RECORD["diagnosed"](cause, seed, gates=gates(cause))
        return known[cause, seed]

    return once


def test_every_cause_has_a_pair_and_every_pair_a_cause():
    assert tuple(PAIRS) == cause_names()


@pytest.mark.parametrize("seed", [0])
@pytest.mark.parametrize("cause", JUDGED)
def test_broken_program_is_diagnosed(cause, seed, diagnosed):
    report = diagnosed(cause, seed)
    if known_cause(cause).advice:
        assert report.healthy, str(report)
        assert cause in noted(report)
        return
    assert not report.healthy
    first = report.findings[0]
    assert (first.cause, first.certainty) == (cause, "confirmed" if known_cause(cause).curable else "likely"), str(
        report
    )


@pytest.mark.parametrize("cause", JUDGED)
def test_page_shows_what_is_really_said(cause, diagnosed):
    """Up to numbers. After a change of wording: `python docs/_record.py`."""
    shown, real = (PAGES / cause / "failure.txt").read_text(), RECORD["failure"](diagnosed(cause, 0))
    assert told(shown) == told(real)


def test_example_of_the_json_format_has_its_shape(diagnosed):
    shown = json.loads((DOCS / "reference" / "report.json").read_text())
    assert shape(shown) == shape(RECORD["example"](diagnosed(RECORD["EXAMPLE"], 0)))


@pytest.mark.parametrize("seed", [0])
@pytest.mark.parametrize("cause", JUDGED)
def test_fixed_program_is_healthy(cause, seed):
    report = RECORD["diagnosed"](cause, seed, "fixed", gates=gates(cause))
    assert all(verdict.passed for verdict in report.verdicts), str(report)
    assert report.healthy
    assert not report.findings
    assert not known_cause(cause).advice or cause not in noted(report)


def noted(report: Any) -> list[str]:
    """The causes that notes name."""
    return [note.partition(":")[0] for verdict in report.verdicts for note in verdict.notes]


@pytest.mark.parametrize("cause", PAIRS)
def test_fix_is_small(cause):
    broken, fixed = (code_lines(cause, which) for which in ("broken", "fixed"))
    changes = [line[0] for line in difflib.ndiff(broken, fixed)]
    assert 1 <= max(changes.count("-"), changes.count("+")) <= _MOST_CHANGED_LINES


@pytest.mark.parametrize("which", ["broken", "fixed"])
@pytest.mark.parametrize("cause", PAIRS)
def test_program_fits_on_a_page(cause, which):
    assert len((PAGES / cause / f"{which}.py").read_text().splitlines()) <= 45


def code_lines(cause: str, which: str) -> list[str]:
    """Without the docstring, which says something else of each."""
    return (PAGES / cause / f"{which}.py").read_text().splitlines()[1:]


def told(chart: str) -> str:
    """On a busy machine a cured run may miss a gate of speed; its factor confirms the cause all the same.

    What else is slow differs from run to run.
    """
    chart = (
        re.sub(r"\n  also .*?(?=\n  \w)", "", chart, flags=re.DOTALL)
        if "samples/s" in chart or "ms" in chart
        else chart
    )
    return plain(chart.replace("\n", " ")).replace("passes, which confirms", "which confirms")


def shape(value: Any) -> Any:
    """Keys and types, without the values."""
    if isinstance(value, dict):
        return {key: shape(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [shape(inner) for inner in value]
    return type(value).__name__
