"""What pytest prints of failed checks when a run ends: one chart for each cause and training, and whole headlines.

Every report keeps its own chart: JUnit, other plugins and whoever reads one test's result need all of it. Only while
pytest's summary is being printed, reports show less: a line that points to the chart of another check, and in the short
summary as much of the headline as fits into its line.
"""

from __future__ import annotations

import copy
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from ..records.verdict import Verdict
from ..reports.one_chart import one_chart_each
from ..reports.text import headline, pointer_text, shortened
from ..reports.titles import title
from .run_check import chart_width

#: By these, pytest knows that a log is wide enough for everything.
_ON_CI = ("CI", "BUILD_NUMBER")


class _Shown:
    """Stands in for a report's `longrepr`: this text and, if there is one, this line in the short summary."""

    def __init__(self, text: str, crash: Any) -> None:
        self._text = text
        if crash is not None:  # pytest writes nothing behind the node id where the attribute is missing
            self.reprcrash = crash

    def toterminal(self, writer: Any) -> None:
        writer.line(self._text)

    def __str__(self) -> str:
        return self._text


class FailureTexts:
    def __init__(self, reporter: pytest.TerminalReporter) -> None:
        self._reporter = reporter
        self._originals: list[tuple[Any, Any]] = []

    @contextmanager
    def shown(self) -> Iterator[None]:
        """Afterwards every report is as it was."""
        try:
            self._point_to_charts()
            yield
        finally:
            for report, original in reversed(self._originals):
                report.longrepr = original
            self._originals.clear()

    def _point_to_charts(self) -> None:
        failed = self._failed()
        width = chart_width(self._reporter.config)
        for chart in one_chart_each([(report.trainhealth["test"], verdict) for report, verdict in failed]):
            other = title(failed[chart.shown][0].nodeid)
            for number in chart.pointing:
                report, verdict = failed[number]
                self._show(report, pointer_text(verdict, other, width=width), report.longrepr.reprcrash)

    def fit_into_lines(self) -> None:
        """For the short summary, which cuts what is too long for its line, in the middle of a name as it comes."""
        config = self._reporter.config
        if config.get_verbosity() > 1 or any(os.environ.get(name) for name in _ON_CI):
            return
        for report, verdict in self._failed():
            crash = copy.copy(report.longrepr.reprcrash)
            taken = len(f"FAILED {config.cwd_relative_nodeid(report.nodeid)} - ")
            crash.message = shortened(headline(verdict), config.get_terminal_writer().fullwidth - taken)
            self._show(report, str(report.longrepr), crash if crash.message else None)

    def _failed(self) -> list[tuple[Any, Verdict]]:
        """The reports that pytest lists as failures of a check, each with the verdict that its text is the chart of."""
        found = []
        for report in self._reporter.stats.get("failed", []):
            brought = getattr(report, "trainhealth", None)
            charted = None if brought is None else brought.get("charted")
            if brought is not None and charted is not None and hasattr(report.longrepr, "reprcrash"):
                found.append((report, Verdict.from_json(brought["verdicts"][charted])))
        return found

    def _show(self, report: Any, text: str, crash: Any) -> None:
        self._originals.append((report, report.longrepr))
        report.longrepr = _Shown(text, crash)
