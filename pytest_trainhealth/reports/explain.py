"""The pages behind `--trainhealth-explain`: of causes, checks and symptoms. Works offline, and without torch."""

from __future__ import annotations

import textwrap

from ..causes import all_causes, cause, cause_names
from ..checks import check_page
from ..records.symptoms import SYMPTOM_ROWS, SymptomRow
from ..settings import CHECKS, WrongSetting, near

_INDENT = "    "


def page(name: str) -> str:
    """By the name that a failure shows; hyphens and underscores are the same here."""
    wanted = name.strip().lower().replace("_", "-")
    if wanted in cause_names():
        return cause(wanted).page
    for check in CHECKS:
        if check.replace("_", "-") == wanted:
            return check_page(check)
    for row in SYMPTOM_ROWS:
        if row.name == wanted:
            return _symptom_page(row)
    known = [*cause_names(), *CHECKS, *(row.name for row in SYMPTOM_ROWS)]
    raise WrongSetting(f"--trainhealth-explain: there is no cause, check or symptom {name!r}{near(name, known)}")


def _symptom_page(row: SymptomRow) -> str:
    """Laid out like the pages that causes and checks bring along."""
    sections = {"Severity": row.severity, "What is usually behind it": row.usual, "What to ask": row.ask}
    lines = [f"{row.name}: {row.seen}"]
    for title, text in sections.items():
        lines += ["", title, textwrap.fill(text, 110, initial_indent=_INDENT, subsequent_indent=_INDENT)]
    explaining = [known for known in all_causes() if row.name in known.explains]
    if explaining:
        lines += ["", "Causes that are looked for, in this order"]
        lines += [f"{_INDENT}{known.name}: {known.title}" for known in explaining]
    return "\n".join(lines)
