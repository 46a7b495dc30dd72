"""The pages behind `--trainhealth-explain`: of causes, checks and symptoms. Works offline, and without torch."""

from __future__ import annotations

import textwrap

from ..causes import GROUPS, all_causes, cause, cause_names
from ..causes._signs import SIGNS
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
    """The table of contents: what may be seen, then every cause once, by what it is about, and the checks."""
    lines = [
        "What do you see? Its page says what to look at first, and which causes that leaves:",
        "pytest --trainhealth-explain NAME",
        "",
    ]
    widest = max(len(row.name) for row in SYMPTOM_ROWS) + 2
    for row in SYMPTOM_ROWS:
        lines.append(_filled(f"{row.name:<{widest}}{row.seen}", _INDENT + " " * widest, _INDENT))
    lines += ["", "Causes, each with a page of its own"]
    for group in GROUPS:
        about = [known.name for known in all_causes() if known.group == group]
        lines += ["", f"{_INDENT}{group.title.replace('`', '')}", _filled(", ".join(about), 2 * _INDENT)]
    lines += ["", "Checks", _filled(", ".join(CHECKS))]
    return "\n".join(lines)


def _instead(name: str) -> str:
    """Similar names, or pages about what was asked for; and where neither is found, how to see what there is."""
    pages = {known.name: Page(known.title, known.page) for known in all_causes()}
    pages |= {check: Page(promise, check_page(check)) for check, promise in CHECKS.items()}
    titles = {name: page.title for name, page in pages.items()} | {row.name: row.seen for row in SYMPTOM_ROWS}
    for row in SYMPTOM_ROWS:
        pages[row.name] = Page(f"{row.seen} {SIGNS[row.name].called}", f"{row.usual} {row.ask}")
    similar = near(name, pages)
    in_words = " " in name.strip()
    about = by_meaning(name, pages) if in_words or "Did you mean" not in similar else []
    if not about and "Did you mean" in similar:
        return similar
    if not about:
        return ". A list by symptom: pytest --trainhealth-explain"
    return ". About that:\n" + "\n".join(f"{_INDENT}{found}: {titles[found]}" for found in about)


def _filled(text: str, indent: str = _INDENT, first: str | None = None) -> str:
    """`first`: the indent of the first line, where it is another one."""
    begin = indent if first is None else first
    return textwrap.fill(
        text, _WIDTH, initial_indent=begin, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )


def _symptom_page(row: SymptomRow) -> str:
    """Laid out like the pages that causes and checks bring along."""
    signs = SIGNS[row.name]
    sections = {"Severity": row.severity, "What is usually behind it": row.usual, "What to look at first": signs.first}
    lines = [f"{row.name}: {row.seen}"]
    for title, text in sections.items():
        lines += ["", title, _filled(text)]
    if signs.tell_apart:
        lines += ["", "How to tell its causes apart"]
    for sign, causes in signs.tell_apart:
        lines += [_filled(sign), _filled(f"-> {', '.join(causes)}", 2 * _INDENT + "   ", 2 * _INDENT)]
    lines += ["", "What to ask", _filled(row.ask)]
    explaining = [known for known in all_causes() if row.name in known.explains]
    if explaining:
        lines += ["", "Causes that are looked for, in this order"]
        lines += [f"{_INDENT}{known.name}: {known.title}" for known in explaining]
    return "\n".join(lines)
