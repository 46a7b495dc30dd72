"""What is accepted in this run: by a test's markers, by the configuration, by the file of known findings."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ..engine.silencings import accepted, silencings_in
from ..records.silencing import Silencing
from ..settings import CHECKS, WrongSetting
from ..wording import plural
from .options import Options
from .stash import KNOWN_FINDINGS, OPTIONS, SILENCINGS

if TYPE_CHECKING:
    from .session_results import CheckedItem

#: Why a finding of the file is accepted.
KNOWN = "known"
_HEADING = """\
# Findings of pytest --trainhealth that are known and do not fail: CHECK CAUSE TEST, one in a line.
# --trainhealth-known-add adds what fails; take a line out once it is mended.
"""
#: In place of a cause, where none is known.
_NO_CAUSE = "-"


def silencings_for(item: pytest.Item, check: str, test: str, keywords: Mapping[str, Any]) -> tuple[Silencing, ...]:
    """Raises `WrongSetting` for names that there are not. Of two for one name, the test's own holds.

    All that were on offer are noted, so that the summary can tell which were of no use.
    """
    config = item.config
    options, known = config.stash[OPTIONS], config.stash.get(KNOWN_FINDINGS, None)
    own = [*silencings_in(keywords, f"marker of {test}"), *(known.of(check, test) if known is not None else ())]
    common = list(of_the_project(options))
    offered = item.stash.setdefault(SILENCINGS, [])
    offered += [(each.name, each.reason, each.given, test) for each in own]
    offered += [(each.name, each.reason, each.given, "") for each in common]
    return tuple({each.name: each for each in (*common, *reversed(own))}.values())


def of_the_project(options: Options) -> Iterator[Silencing]:
    return accepted(options["ignore"] or {}, options.given.get("ignore", "configuration"))


def prepare_silencing(config: pytest.Config) -> None:
    """When a run begins. Raises `WrongSetting` for a configuration or a file that cannot be used."""
    options = config.stash[OPTIONS]
    list(of_the_project(options))
    if options["known"] is not None:
        file = Path(options["known"])
        if not file.exists() and not options["known_add"]:
            how = "--trainhealth-known-add writes it, with all that fails now"
            raise WrongSetting(f"{options.given['known']}: there is no {file.name}: {how}")
        try:
            config.stash[KNOWN_FINDINGS] = KnownFindings(file)
        except (OSError, UnicodeDecodeError) as error:
            raise WrongSetting(f"{options.given['known']}: cannot read {file.name}: {error}") from None


def add_known(config: pytest.Config, checked: Iterable[CheckedItem]) -> str:
    """Adds to the file all that has failed, and says so in a line. Raises `OSError` if it cannot."""
    known = config.stash[KNOWN_FINDINGS]
    failed = [e for e in checked if e.verdict["outcome"] == "failed" and not e.xfailed]
    found = [(e.verdict["check"], e.verdict["findings"][0]["cause"] if e.verdict["findings"] else None, e.test)
             for e in failed]  # fmt: skip
    return f"{plural(known.add(found), 'finding')} added to {known.file.name}"


class KnownFindings:
    """The file of known findings: which cause of which check of which test. Tests are known by their node ids."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.lines: dict[tuple[str, str, str], None] = {}
        for number, text in enumerate(self._text().splitlines(), 1):
            if text.strip() and not text.lstrip().startswith("#"):
                parts = text.split(maxsplit=2)
                if len(parts) < 3 or parts[0] not in CHECKS:
                    where = f"--trainhealth-known: {file.name}, line {number}"
                    raise WrongSetting(f"{where}: {text.strip()!r} does not read CHECK CAUSE TEST")
                self.lines[parts[0], parts[1], parts[2].strip()] = None

    def of(self, check: str, test: str) -> list[Silencing]:
        """Of a finding without a cause, the check is silenced."""
        return [
            Silencing(check if cause == _NO_CAUSE else cause, KNOWN, self.file.name)
            for known, cause, of_test in self.lines
            if (known, of_test) == (check, test)
        ]

    def add(self, found: Iterable[tuple[str, str | None, str]]) -> int:
        """Writes what is not there yet, and says how much that was. Raises `OSError` if it cannot."""
        new = [(check, cause or _NO_CAUSE, test) for check, cause, test in found]
        new = [line for line in dict.fromkeys(new) if line not in self.lines]
        if not new:
            return 0
        before = self._text() or _HEADING
        text = before + ("" if before.endswith("\n") else "\n") + "".join(f"{' '.join(line)}\n" for line in new)
        aside = self.file.with_name(f".{self.file.name}.new")
        aside.write_text(text, encoding="utf-8")
        os.replace(aside, self.file)
        self.lines |= dict.fromkeys(new)
        return len(new)

    def _text(self) -> str:
        try:
            return self.file.read_text(encoding="utf-8")
        except FileNotFoundError:
            return ""
