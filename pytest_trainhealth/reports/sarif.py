"""SARIF 2.1.0, the format that code scanning reads: one result for each cause and place.

A check that could not judge is no result, because a server would show it as an alert; it is a notification of the run.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any
from urllib.parse import quote

from .. import __version__
from ..causes import cause, cause_names
from ..settings import CHECKS
from . import RunResults
from .problems import Problem, problems

_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
#: Of 10, as servers rank alerts. What is lower than 4 they hide at first.
_RANKS = {"critical": "9.5", "high": "8.0", "medium": "6.0", "low": "4.0"}


def text(results: RunResults) -> str:
    found = problems(results.verdicts)
    names = sorted({problem.name for problem in found})
    run = {
        "tool": {
            "driver": {
                "name": "pytest-trainhealth",
                "semanticVersion": __version__,
                "rules": [_rule(name, next(p for p in found if p.name == name)) for name in names],
            }
        },
        "invocations": [
            {
                "executionSuccessful": results.complete and not results.errors,
                "toolExecutionNotifications": [*_notifications(results)],
            }
        ],
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {"SRCROOT": {"description": {"text": "The root of the repository."}}},
        "results": [_result(problem, names.index(problem.name)) for problem in found],
    }
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=1) + "\n"


def _rule(name: str, problem: Problem) -> dict[str, Any]:
    known = cause(name) if name in cause_names() else None
    short = known.title if known else CHECKS[name]
    page = known.page if known else f"{name}: {CHECKS[name]}"
    return {
        "id": name,
        "name": "".join(word.title() for word in name.replace("_", "-").split("-")),
        "shortDescription": {"text": short},
        "fullDescription": {"text": short},
        "help": {"text": page, "markdown": f"```text\n{page}\n```"},
        "defaultConfiguration": {"level": "error"},
        "properties": {"tags": ["training health"], "problem.severity": "error", "rank": _RANKS[problem.severity]},
    }


def _result(problem: Problem, rule: int) -> dict[str, Any]:
    related = [_location(file, line, code) for file, line, code in problem.related]
    words = "\n".join((problem.headline, *problem.message))
    return {
        "ruleId": problem.name,
        "ruleIndex": rule,
        "level": "error",
        "message": {"text": words},
        "locations": [_location(problem.file, problem.line, problem.code)],
        **({"relatedLocations": [{"id": n, **each} for n, each in enumerate(related)]} if related else {}),
        "partialFingerprints": {"trainhealth/v1": problem.fingerprint},
        "properties": {"certainty": problem.certainty or "no known cause", "tests": list(problem.tests)},
    }


def _location(file: str, line: int, code: str) -> dict[str, Any]:
    region: dict[str, Any] = {"startLine": max(line, 1)}
    if code:
        region["snippet"] = {"text": code}
    return {"physicalLocation": {"artifactLocation": {"uri": quote(file), "uriBaseId": "SRCROOT"}, "region": region}}


def _notifications(results: RunResults) -> Iterator[dict[str, Any]]:
    for verdict in results.verdicts:
        if verdict["outcome"] == "could not judge":
            yield _notification("note", (verdict["nodeid"], "could not judge", verdict["reason"]))
    for error in results.errors:
        yield _notification("error", (error["nodeid"], error["outcome"], error["message"]))
    if results.interrupted:
        yield _notification("error", ("the run was interrupted",))


def _notification(level: str, words: Iterable[str]) -> dict[str, Any]:
    return {"level": level, "message": {"text": ": ".join(filter(None, words))}}
