"""The pages behind `--trainhealth-explain`: of causes, checks and symptoms. Works offline, and without torch."""

from __future__ import annotations

from ..causes import all_causes, cause, cause_names
from ..checks import check_page
from ..settings import CHECKS, WrongSetting, near
from ..symptoms import SYMPTOM_ROWS, SymptomRow


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
    explaining = [known for known in all_causes() if row.name in known.explains]
    lines = [
        f"{row.name}: {row.seen}",
        "",
        f"Severity: {row.severity}",
        f"What usually lies behind it: {row.usual}",
        f"What to ask: {row.ask}",
    ]
    if explaining:
        lines += ["", "Causes that are looked for, in this order:", *(f"  {c.name}: {c.title}" for c in explaining)]
    return "\n".join(lines)
