"""What each cause answers to made-up traces on either side of its limits: every word, place and cure of it is recorded.

`answers.txt` was written by the causes themselves, so it shows that nothing has changed, and not that it was right. A
change of a rule or of a word is a difference there, to be read. ``python -m tests.causes.test_answers`` writes it anew.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_trainhealth.causes import Suspicion, cause
from pytest_trainhealth.records.symptoms import SYMPTOM_ROWS
from pytest_trainhealth.records.verdict import Symptom

from .gallery import Case, cases
from .gallery_of_errors import cases_of_errors
from .more_gallery import more_cases

_ANSWERS = Path(__file__).with_name("answers.txt")
_CASES = [*cases(), *more_cases(), *cases_of_errors()]


def title(case: Case) -> str:
    name, sentence, _, category = case
    return f"{name} ({category}): {sentence}"


def answer(case: Case) -> str:
    name, _, trace, category = case
    found = [cause(name).look(trace, Symptom("seen", category, 1.5, 0.1))]
    swap = cause(name).swap
    if swap is not None and found[0] is None:
        found.append(swap(trace, Symptom("seen", category, 1.5, 0.1)))
    return "\n".join(_told(each) for each in found)


def _told(found: Suspicion | None) -> str:
    if found is None:
        return "    nothing"
    lines = [found.statement, *(f"- {e.text} [{e.measured}] {e.place or ''}".rstrip() for e in found.evidence)]
    lines += [f"because {found.why} ({found.certainty})", *(f"at {place}" for place in found.places)]
    if found.fix is not None:
        lines += [f"do: {found.fix.instruction}", *(f"  {line}" for line in found.fix.code)]
    lines += [f"not: {found.not_this}"]
    for cure in found.cures:
        fix = "" if cure.fix is None else f" -> {cure.fix.instruction} {' / '.join(cure.fix.code)}"
        lines.append(f"try: {cure.kind} ({cure.label}) {dict(sorted(cure.options.items()))}{fix}")
    return "\n".join(f"    {line}" for line in lines)


def _recorded() -> dict[str, str]:
    """By title. Cases that share an answer share a block, their titles one below the other."""
    recorded: dict[str, str] = {}
    for block in _ANSWERS.read_text().strip("\n").split("\n\n"):
        lines = block.split("\n")
        told = "\n".join(line for line in lines if line.startswith("    "))
        recorded |= {line: told for line in lines if not line.startswith("    ")}
    return recorded


@pytest.mark.parametrize("name", sorted({case[0] for case in _CASES}))
def test_the_answers_have_not_changed(name: str) -> None:
    recorded = _recorded()
    for case in _CASES:
        if case[0] == name:
            assert answer(case) == recorded[title(case)], title(case)


def test_no_case_is_there_twice_and_none_is_left_over() -> None:
    titles = [title(case) for case in _CASES]
    assert len(set(titles)) == len(titles)
    assert set(_recorded()) == set(titles)
    assert {case[3] for case in _CASES} <= {row.name for row in SYMPTOM_ROWS}


if __name__ == "__main__":
    blocks: dict[tuple[str, str], list[str]] = {}
    for each in _CASES:
        blocks.setdefault((each[0], answer(each)), []).append(title(each))
    _ANSWERS.write_text("\n\n".join("\n".join((*titles, told)) for (_, told), titles in blocks.items()) + "\n")
