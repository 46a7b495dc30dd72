"""In a step of GitHub Actions: annotations in its log, and a table in its summary. Made on the controller only."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from .session_results import SessionResults


def runs_here() -> bool:
    return os.environ.get("GITHUB_ACTIONS") == "true"


class GitHubActions:
    """A plugin object; what was found comes from the results, which are complete when the session finishes."""

    def __init__(self, results: SessionResults) -> None:
        self._results = results

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        target = os.environ.get("GITHUB_STEP_SUMMARY")
        found = self._results.so_far()
        if not target or not (found.verdicts or found.errors):
            return
        from ..reports.github import step_summary

        try:
            # added to what other steps and tools have written there: the file belongs to all of them
            with Path(target).open("a", encoding="utf-8", newline="\n") as summary:
                summary.write(step_summary(found.verdicts, found.errors, complete=found.complete))
        except OSError as error:
            line = f"GITHUB_STEP_SUMMARY: cannot write {target}: {error.strerror or error}"
            self._results.note_trouble(session, line)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        from ..reports.github import annotation_lines

        for line in annotation_lines(self._results.so_far().verdicts):
            terminalreporter.ensure_newline()
            terminalreporter.write_line(line)
