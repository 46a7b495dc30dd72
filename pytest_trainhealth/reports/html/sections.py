"""One training: how every check went, each cause once in full, and what was recorded."""

from __future__ import annotations

from collections.abc import Iterator

from ...records.verdict import Verdict
from ..advice_text import advice_lines
from ..overview import explanation, seconds, stated_once, totals
from ..silenced import silenced_lines
from .figure import Figure, Table
from .grouping import TrainingGroup
from .markup import Markup, tag
from .plotting import Plotter
from .sentences import pill, pointer, verdict_article
from .training_figures import figures_of


def section(group: TrainingGroup, plotter: Plotter | None, *, opened: bool, every_plot: bool = True) -> Markup:
    """A `details` element: closed, a browser neither lays it out nor paints it."""
    causes = tag("span", ", ".join(dict.fromkeys(group.causes)), class_="causes") if group.causes else None
    heading = tag("summary", tag("h2", group.label), " ", pill(group.outcome), " ", causes)
    kind = f"training {group.outcome.replace(' ', '-')}"
    return tag("details", heading, body(group, plotter, every_plot), class_=kind, id=group.slug, open=opened)


def body(group: TrainingGroup, plotter: Plotter | None, every_plot: bool = True) -> Markup:
    return tag(
        "div", _checks(group), _verdicts(group), _asides(group), recorded(group, plotter, every_plot), class_="body"
    )


def _checks(group: TrainingGroup) -> Markup:
    """All outcomes at a glance, with the notes of those that passed."""
    rows = [
        tag(
            "tr",
            tag("th", tag("code", each.verdict.check), scope="row", id=each.slug if each.verdict.passed else None),
            tag("td", pill(each.verdict.outcome, each.expected)),
            tag("td", _remarks(each.verdict)),
            tag("td", f"{each.verdict.steps:,}", class_="number"),
            tag("td", seconds(each.verdict.seconds), class_="number"),
        )
        for each in group.judged
    ]
    words, numbers = ("Check", "Outcome", "Cause or remark"), ("Steps", "Time")
    head = tag(
        "tr",
        *(tag("th", name, scope="col") for name in words),
        *(tag("th", name, scope="col", class_="number") for name in numbers),
    )
    caption = tag("caption", f"{totals(group.verdicts)} in {seconds(group.seconds)}")
    table = tag("table", caption, tag("thead", head), tag("tbody", rows), class_="plain checks")
    return tag("div", table, class_="scroll", role="region", tabindex="0", aria_label=f"Checks of {group.label}")


def _remarks(verdict: Verdict) -> Markup:
    notes = verdict.notes if verdict.passed else ()
    return tag("span", ". ".join(filter(None, (explanation(verdict), *notes))))


def _verdicts(group: TrainingGroup) -> Iterator[Markup]:
    """One cause is one fix: it is told once, by the surest check, and the others point there."""
    by_verdict = {id(each.verdict): each for each in group.judged}
    for verdict, same in stated_once(group.verdicts):
        first = by_verdict[id(verdict)]
        yield verdict_article(first)
        yield from (pointer(by_verdict[id(each)], first) for each in same)
    yield from (verdict_article(each) for each in group.judged if each.verdict.outcome == "could not judge")


def _asides(group: TrainingGroup) -> Iterator[Markup]:
    """What decides nothing: findings that were silenced, and what would help, in the words of the terminal."""
    silenced = [line.strip() for line in silenced_lines([("", verdict) for verdict in group.verdicts])]
    advice = list(advice_lines([each for verdict in group.verdicts for each in verdict.advice]))
    for title, lines in (("Silenced", silenced), ("Advice", advice)):
        if lines:
            yield tag("article", tag("h3", title), tag("pre", "\n".join(lines)), class_="aside")


def recorded(group: TrainingGroup, plotter: Plotter | None, every_plot: bool = True) -> Markup | None:
    """`every_plot`: otherwise the first one is drawn, and the others are told."""
    figures = figures_of(group.verdicts) if plotter is not None else []
    if plotter is None or not figures:
        return None
    drawn = [
        _figure(each, group.label, plotter if every_plot or not number else None) for number, each in enumerate(figures)
    ]
    return tag("div", tag("h3", "What was recorded"), tag("div", drawn, class_="figures"), class_="recorded")


def _figure(figure: Figure, label: str, plotter: Plotter | None) -> Markup:
    plot = plotter.plot(figure.spec, figure.title, figure.says) if plotter is not None and figure.spec else None
    legend = tag("ol", (tag("li", entry) for entry in figure.legend), class_="legend") if figure.legend else None
    table = (
        _table(figure.table, f"{figure.title}, {label}", hidden=plot is not None) if figure.table is not None else None
    )
    caption = tag("figcaption", tag("h4", figure.title), tag("p", figure.says) if figure.says else None)
    return tag("figure", caption, plot, legend, table)


def _table(table: Table, title: str, hidden: bool) -> Markup:
    head = tag("tr", *(tag("th", name, scope="col") for name in table.head))
    rows = (tag("tr", tag("th", row[0], scope="row"), *(tag("td", cell) for cell in row[1:])) for row in table.rows)
    made = tag("table", tag("thead", head), tag("tbody", rows), class_="plain small")
    scroll = tag("div", made, class_="scroll", role="region", tabindex="0", aria_label=title)
    return tag("details", tag("summary", "As a table"), scroll, class_="as-table") if hidden else scroll
