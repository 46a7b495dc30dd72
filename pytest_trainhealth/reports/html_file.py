"""Every verdict in one page, for people. It needs no network; its plots need an optional package.

While the run goes on the page grows by a verdict at a time, without plots; when it ends, it is laid out as a whole.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..records.verdict import Report
from . import RunResults
from .html.grouping import grouped, slug_of
from .html.markup import tag
from .html.page import asset, closing, in_the_meantime, opening, page
from .html.plotting import Plotter
from .html.sections import body, recorded
from .html.sentences import verdict_article

_remarks: list[str] = []


def text(results: RunResults) -> str:
    if not results.ended:
        before = opening() + "".join(in_the_meantime(results))
        return f"{before}{added(results.verdicts, first=True)}{end(results)}"
    plotter = Plotter()
    made = page(results, plotter)
    _remarks[:] = [plotter.trouble] if plotter.trouble else []
    return made


def remark() -> str:
    """What a user should know about the page that was written last; empty if there is nothing."""
    return " ".join(_remarks)


def added(verdicts: Sequence[Mapping[str, Any]], *, first: bool) -> str:  # noqa: ARG001 - as every growing report
    groups = grouped(verdicts)
    return "".join(
        tag("section", tag("h2", group.label), verdict_article(each), class_="training growing")
        for group in groups
        for each in group.judged
    )


def end(results: RunResults) -> str:
    errors = (tag("p", f"{each['nodeid']} ({each['outcome']}): {each['message']}") for each in results.errors)
    return f"\n{''.join(errors)}</main>\n{closing()}"


def style() -> str:
    """Of parts that stand in somebody else's page: it touches nothing outside of them."""
    return tag("style", asset("style.css"))


def plots(nodeid: str, verdicts: Sequence[Mapping[str, Any]]) -> str:
    """What was recorded of one test, for a page of somebody else; empty if nothing was. Needs `style` once."""
    plotter = Plotter(prefix=slug_of(nodeid))
    groups = grouped([{"nodeid": nodeid, **verdict} for verdict in verdicts])
    figures = [found for group in groups if (found := recorded(group, plotter)) is not None]
    return tag("div", *figures, class_="trainhealth within") if figures else ""


def notebook(report: Report) -> str:
    """The same of one training, with its own style and without any script."""
    groups = grouped([{"nodeid": report.training, **verdict.to_json()} for verdict in report.verdicts])
    plotter = Plotter(prefix=slug_of(report.training))
    inside = (tag("div", tag("h2", group.label), body(group, plotter)) for group in groups)
    return tag("div", style(), *inside, class_="trainhealth")
