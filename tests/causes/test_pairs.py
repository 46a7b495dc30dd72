"""Each cause has a program that shows it and the same program mended: shown on its page, and judged here."""

from __future__ import annotations

import difflib
import json
import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_trainhealth import Training, diagnose
from pytest_trainhealth.causes import cause as known_cause
from pytest_trainhealth.causes import cause_names
from pytest_trainhealth.settings import BATTERY

from ..docs.snippets import plain

DOCS = Path(__file__).parents[2] / "docs"
PAGES = DOCS / "causes"
RECORD = runpy.run_path(str(DOCS / "_record.py"))
PAIRS = sorted(folder.name for folder in PAGES.iterdir() if folder.is_dir() and not folder.name.startswith("_"))

CHECKS = {"data-loading-bottleneck": ("keeps_throughput",)}
#: The fix is what a reader has to see at a glance.
_MOST_CHANGED_LINES = 4


def load(cause: str, which: str) -> Callable[[], Training]:
    return runpy.run_path(str(PAGES / cause / f"{which}.py"))["training"]


@pytest.fixture(scope="module")
def diagnosed():
    """Reports of broken programs; several tests ask for the same one."""
    known = {}

    def once(cause: str, seed: int) -> Any:
        if (cause, seed) not in known:
            known[cause, seed] = RECORD["diagnosed"](cause, seed)
        return known[cause, seed]

    return once


def test_every_cause_has_a_pair_and_every_pair_a_cause():
    assert tuple(PAIRS) == cause_names()


@pytest.mark.parametrize("seed", [0])
@pytest.mark.parametrize("cause", PAIRS)
def test_broken_program_is_diagnosed(cause, seed, diagnosed):
    report = diagnosed(cause, seed)
    assert not report.healthy
    first = report.findings[0]
    assert (first.cause, first.certainty) == (cause, "confirmed" if known_cause(cause).curable else "likely"), str(
        report
    )


@pytest.mark.parametrize("cause", PAIRS)
def test_page_shows_what_is_really_said(cause, diagnosed):
    """Up to numbers. After a change of wording: `python docs/_record.py`."""
    shown, real = (PAGES / cause / "failure.txt").read_text(), RECORD["failure"](diagnosed(cause, 0))
    assert plain(shown.replace("\n", " ")) == plain(real.replace("\n", " "))


def test_example_of_the_json_format_has_its_shape(diagnosed):
    shown = json.loads((DOCS / "reference" / "report.json").read_text())
    assert shape(shown) == shape(RECORD["example"](diagnosed(RECORD["EXAMPLE"], 0)))


@pytest.mark.parametrize("seed", [0])
@pytest.mark.parametrize("cause", PAIRS)
def test_fixed_program_is_healthy(cause, seed):
    report = diagnose(load(cause, "fixed"), CHECKS.get(cause, BATTERY), seed=seed)
    assert all(verdict.passed for verdict in report.verdicts), str(report)
    assert report.healthy and not report.findings


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


def shape(value: Any) -> Any:
    """Keys and types, without the values."""
    if isinstance(value, dict):
        return {key: shape(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [shape(inner) for inner in value]
    return type(value).__name__
