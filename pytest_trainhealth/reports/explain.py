"""The pages behind `--trainhealth-explain`: of causes, checks and symptoms. Works offline, and without torch."""

from __future__ import annotations

import textwrap

from ..causes import all_causes, cause, cause_names
from ..checks import check_page
from ..records.symptoms import SYMPTOM_ROWS, SymptomRow
from ..settings import CHECKS, WrongSetting, near
from .meaning import Page, by_meaning

_INDENT = "    "
#: Columns of a page. By judgement: those of the pages that causes bring along, which are lines of their source.
_WIDTH = 110
#: Names that ask for everything.
_WHOLE_LIST = ("list", "all", "causes", "symptoms", "checks")


def page(name: str) -> str:
    """By the name that a failure shows; hyphens and underscores are the same here. Without a name: what there is."""
    wanted = name.strip().lower().replace("_", "-")
    if wanted in ("", *_WHOLE_LIST):
        return by_symptom()
    if wanted in cause_names():
        return cause(wanted).page
    for check in CHECKS:
        if check.replace("_", "-") == wanted:
            return check_page(check)
    for row in SYMPTOM_ROWS:
        if row.name == wanted:
            return _symptom_page(row)
    raise WrongSetting(f"--trainhealth-explain: there is no cause, check or symptom {name!r}{_instead(name)}")


def by_symptom() -> str:
    """What to look for, by what is seen: each symptom with its causes, in the order in which they are looked for."""
    lines = ["What is seen, and the causes that are looked for. One page each: pytest --trainhealth-explain NAME"]
    for row in SYMPTOM_ROWS:
        explaining = [known.name for known in all_causes() if row.name in known.explains]
        if explaining:
            lines += ["", f"{row.name}: {row.seen}", _filled(", ".join(explaining))]
    lines += ["", "Checks", _filled(", ".join(CHECKS))]
    return "\n".join(lines)


def _instead(name: str) -> str:
    """Similar names, or pages about what was asked for; and where neither is found, how to see what there is."""
    pages = {known.name: Page(known.title, known.page) for known in all_causes()}
    pages |= {row.name: Page(row.seen, f"{row.usual} {row.ask}") for row in SYMPTOM_ROWS}
    pages |= {check: Page(promise, check_page(check)) for check, promise in CHECKS.items()}
    similar = near(name, pages)
    if "Did you mean" in similar:
        return similar
    about = by_meaning(name, pages)
    if not about:
        return ". A list by symptom: pytest --trainhealth-explain"
    return ". About that:\n" + "\n".join(f"{_INDENT}{found}: {pages[found].title}" for found in about)


def _filled(text: str) -> str:
    return textwrap.fill(
        text, _WIDTH, initial_indent=_INDENT, subsequent_indent=_INDENT, break_long_words=False, break_on_hyphens=False
    )


def _symptom_page(row: SymptomRow) -> str:
    """Laid out like the pages that causes and checks bring along."""
    sections = {"Severity": row.severity, "What is usually behind it": row.usual, "What to ask": row.ask}
    lines = [f"{row.name}: {row.seen}"]
    for title, text in sections.items():
        lines += ["", title, textwrap.fill(text, _WIDTH, initial_indent=_INDENT, subsequent_indent=_INDENT)]
    explaining = [known for known in all_causes() if row.name in known.explains]
    if explaining:
        lines += ["", "Causes that are looked for, in this order"]
        lines += [f"{_INDENT}{known.name}: {known.title}" for known in explaining]
    return "\n".join(lines)
