"""GitLab's code quality format, which a merge request shows beside its lines: one entry for each cause and place."""

from __future__ import annotations

import json

from . import RunResults
from .problems import problems

#: GitLab knows info, minor, major, critical and blocker.
_SEVERITIES = {"critical": "blocker", "high": "critical", "medium": "major", "low": "minor"}


def text(results: RunResults) -> str:
    entries = [
        {
            "description": problem.headline,
            "check_name": problem.name,
            "fingerprint": problem.fingerprint,
            "severity": _SEVERITIES[problem.severity],
            "location": {"path": problem.file, "lines": {"begin": max(problem.line, 1)}},
            "content": {"body": "\n".join(problem.message)},
        }
        for problem in problems(results.verdicts)
    ]
    return json.dumps(entries, indent=1) + "\n"
