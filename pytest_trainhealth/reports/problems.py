"""What went wrong in a run, one entry for each cause and place: what machines put beside a line of code.

Several checks that fail for one cause, or several tests of one training step, are one fault at one line. Shown six
times beside it, it would hide the others: GitHub shows ten annotations of a step.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..records.verdict import CERTAINTY_ORDER, Finding, Place, Severity, Verdict
from .repository_paths import in_repository, repository_root


@dataclass(frozen=True)
class Problem:
    """One fault, with every test that failed because of it."""

    #: The name of the cause; of the check, where no known cause fits.
    name: str
    headline: str
    #: In full sentences, one a line.
    message: tuple[str, ...]
    certainty: str
    severity: Severity
    #: From the root of the repository. The line of the user's that does the harm; of the test, where none is known.
    file: str
    line: int
    code: str
    #: Other lines that belong to it.
    related: tuple[tuple[str, int, str], ...]
    #: Node ids.
    tests: tuple[str, ...]

    @property
    def fingerprint(self) -> str:
        """The same as long as the fault is: it does not change with the lines above it."""
        what = "\n".join((self.name, self.file, self.code or self.tests[0]))
        return hashlib.sha256(what.encode("utf-8", "backslashreplace")).hexdigest()[:32]


def problems(verdicts: Iterable[Mapping[str, Any]]) -> list[Problem]:
    """Of verdicts as JSON, each with its test's node id and place; the surest first. Expected failures are none."""
    root = repository_root()
    found: dict[tuple[str, str, int], Problem] = {}
    for entry in verdicts:
        if entry["outcome"] != "failed" or entry.get("expected"):
            continue
        new = _problem(Verdict.from_json(entry), entry, root)
        key = (new.name, new.file, new.line)
        found[key] = _joined(found[key], new) if key in found else new
    return sorted(found.values(), key=_doubt)


def _doubt(problem: Problem) -> int:
    """Last, where no cause is known."""
    return CERTAINTY_ORDER.get(problem.certainty, len(CERTAINTY_ORDER))


def _problem(verdict: Verdict, entry: Mapping[str, Any], root: Path) -> Problem:
    finding = verdict.findings[0] if verdict.findings else None
    places = finding.places if finding else verdict.symptom.places if verdict.symptom else ()
    inside = [(file, place) for place in places if (file := in_repository(place.file, root)) is not None]
    *others, (file, place) = inside or [_of_the_test(entry, root)]
    return Problem(
        name=finding.cause if finding else verdict.check,
        headline=verdict.headline,
        message=tuple(_sentences(verdict, finding)),
        certainty=finding.certainty if finding else "",
        severity=verdict.symptom.severity if verdict.symptom else "high",
        file=file,
        line=place.line,
        code=place.code,
        related=tuple((path, each.line, each.code) for path, each in others),
        tests=(entry["nodeid"],),
    )


def _of_the_test(entry: Mapping[str, Any], root: Path) -> tuple[str, Place]:
    place = Place(**entry["place"]) if entry.get("place") else Place(entry["nodeid"].partition("::")[0], 1)
    return in_repository(place.file, root) or place.file, place


def _sentences(verdict: Verdict, finding: Finding | None) -> Iterable[str]:
    if verdict.symptom:
        yield f"{verdict.check}: {verdict.symptom.summary}"
    if finding is None:
        return
    if finding.why:
        yield f"{finding.certainty}: {finding.why}"
    yield from (evidence.text for evidence in finding.evidence)
    yield from (f"{rerun.cure}: {rerun.result}" for rerun in finding.reruns if rerun.confirms)
    if finding.fix:
        yield " ".join(("fix:", finding.fix.instruction))
        yield from (f"    {line}" for line in finding.fix.code)


def _joined(one: Problem, other: Problem) -> Problem:
    """The words of the surer one, the tests of both."""
    surer = min(one, other, key=_doubt)
    tests = tuple(dict.fromkeys((*one.tests, *other.tests)))
    return Problem(**{**vars(surer), "tests": tests})
