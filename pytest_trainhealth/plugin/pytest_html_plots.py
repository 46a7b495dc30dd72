"""For pytest-html, where somebody asks for its page (`--html`): each test that was judged gets the plots of its run.

On the controller of xdist, from the verdicts that reports bring along, so that workers need not draw.
"""

from __future__ import annotations

from typing import Any

import pytest


class PytestHtmlPlots:
    """A plugin object, registered where pytest-html writes a page."""

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        judged = getattr(report, "trainhealth", {}).get("verdicts")
        if not judged:
            return
        from ..reports.html_file import plots

        drawn = plots(report.nodeid, judged)
        if drawn:
            # the form that `pytest_html.extras.html` makes
            extra = {"name": "HTML", "format_type": "html", "content": drawn, "mime_type": None, "extension": "html"}
            report.extras = [*getattr(report, "extras", ()), extra]  # type: ignore[attr-defined]

    @pytest.hookimpl(optionalhook=True)
    def pytest_html_results_summary(self, prefix: list[Any]) -> None:
        """Once for the whole page."""
        from ..reports.html_file import style

        prefix.append(style())
