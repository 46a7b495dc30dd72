"""The page around the trainings: what happened, a table of trainings by checks, and a policy that lets nothing in.

One file without requests: style and script stand in it, and the content policy allows these two by their hashes and
nothing else. No script is needed to read it; with it, rows can be filtered and a link opens what it points to.
"""

from __future__ import annotations

from base64 import b64encode
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from hashlib import sha256
from importlib.resources import files

from ...settings import CHECKS
from ...wording import plural
from .. import RunResults
from ..overview import seconds, totals
from .grouping import TrainingGroup, grouped
from .markup import Markup, joined, tag
from .plotting import Plotter
from .sections import section
from .sentences import SIGNS, WORDS

#: Trainings that failed and are shown opened, and trainings up to which all plots of healthy ones are drawn. By
#: judgement: twenty plots take a second, and whoever has hundreds of trainings looks for those that failed.
_MOST_OPENED, _MOST_WITH_ALL_PLOTS = 3, 40
_TITLE = "Training health"
#: What has to be looked at comes first.
_ORDER = ("failed", "could not judge", "passed")


@cache
def asset(name: str) -> Markup:
    return Markup(files(__package__).joinpath(name).read_text(encoding="utf-8"))


def head() -> Markup:
    policy = (
        f"default-src 'none'; style-src {_hash('style.css')}; script-src {_hash('script.js')}; "
        "base-uri 'none'; form-action 'none'"
    )
    return tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=policy),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("meta", name="referrer", content="no-referrer"),
        tag("title", _TITLE),
        tag("style", asset("style.css")),
    )


def _hash(name: str) -> str:
    return f"'sha256-{b64encode(sha256(asset(name).encode()).digest()).decode()}'"


def opening() -> str:
    return f'<!doctype html>\n<html lang="en">{head()}<body class="trainhealth">\n'


def closing() -> str:
    return f"{tag('script', asset('script.js'))}\n</body></html>\n"


def page(results: RunResults, plotter: Plotter) -> str:
    groups = sorted(grouped(results.verdicts), key=lambda group: _ORDER.index(group.outcome))
    failed = [group for group in groups if group.outcome == "failed"]
    all_plots, opened = len(groups) <= _MOST_WITH_ALL_PLOTS, len(failed) <= _MOST_OPENED
    sections = [
        section(
            group,
            plotter,
            opened=len(groups) == 1 or (opened and group.outcome == "failed"),
            every_plot=all_plots or group.outcome != "passed",
        )
        for group in groups
    ]
    trouble = tag("p", f"This report is {plotter.trouble}.", class_="banner") if plotter.trouble else None
    main = tag("main", _banner(results), trouble, _overview(groups), _errors(results), *sections, id="top")
    return joined([Markup(opening()), header(results, groups), main, Markup(closing())])


def header(results: RunResults, groups: Sequence[TrainingGroup]) -> Markup:
    counted = Counter[str](group.outcome for group in groups)
    tiles = [
        tag("li", tag("b", f"{counted[outcome]:,}"), f" {word}", class_=_kind(outcome) if counted[outcome] else None)
        for outcome, word in (("failed", "failed"), ("could not judge", "not judged"), ("passed", "healthy"))
    ]
    verdicts = [verdict for group in groups for verdict in group.verdicts]
    took = seconds(sum(verdict.seconds for verdict in verdicts))
    summary = f"{plural(len(groups), 'training')}, {plural(len(verdicts), 'check')} ({totals(verdicts)}) in {took}"
    if results.errors:
        tiles.append(tag("li", tag("b", f"{len(results.errors):,}"), " raised", class_="failed"))
    return tag(
        "header",
        tag("h1", _TITLE),
        tag("p", summary),
        tag("ul", tiles, class_="tiles", aria_label="Trainings by outcome"),
    )


def _kind(outcome: str) -> str:
    return outcome.replace(" ", "-")


def _banner(results: RunResults) -> Markup | None:
    if results.complete:
        return None
    why = "The run was interrupted" if results.interrupted else "Not every selected test has an outcome"
    words = f"{why}: what follows is incomplete."
    return tag("p", tag("b", "Incomplete. "), words, class_="banner", role="status")


def _overview(groups: Sequence[TrainingGroup]) -> Markup | None:
    if not groups:
        return tag("p", "No check has been run.")
    checks = [name for name in CHECKS if any(v.check == name for group in groups for v in group.verdicts)]
    head = tag(
        "tr",
        tag("th", "Training", scope="col"),
        *(tag("th", _breakable(name), scope="col", class_="check") for name in checks),
        tag("th", "Cause", scope="col"),
        tag("th", "Time", scope="col", class_="number"),
    )
    rows = [_row(group, checks) for group in groups]
    table = tag("table", tag("caption", "Trainings by checks", class_="hidden"), tag("thead", head), tag("tbody", rows))
    scroll = tag("div", table, class_="scroll overview", role="region", tabindex="0", aria_label="Trainings by checks")
    return joined([_filters(groups), scroll])


def _breakable(name: str) -> Markup:
    return joined([joined([part, Markup("_<wbr>")]) for part in name.split("_")[:-1]] + [name.split("_")[-1]])


def _row(group: TrainingGroup, checks: Sequence[str]) -> Markup:
    cells = []
    for check in checks:
        found = [each for each in group.judged if each.verdict.check == check]
        links = [
            tag(
                "a",
                tag("span", SIGNS[each.verdict.outcome], aria_hidden="true"),
                tag("span", f"{check} {WORDS[each.verdict.outcome]}", class_="hidden"),
                href=f"#{each.slug}",
                class_=f"cell {each.verdict.outcome.replace(' ', '-')}",
                title=f"{check}: {WORDS[each.verdict.outcome]}",
            )
            for each in found
        ]
        cells.append(tag("td", *links, class_="check"))
    name = tag("th", tag("a", _breakable(group.label), href=f"#{group.slug}"), scope="row")
    causes = tag("td", ", ".join(dict.fromkeys(group.causes)), class_="cause")
    took = tag("td", seconds(group.seconds), class_="number")
    return tag("tr", name, *cells, causes, took, data_outcome=group.outcome, data_for=group.slug)


def _filters(groups: Sequence[TrainingGroup]) -> Markup:
    """Hidden until the script is there to act on it."""
    counted = Counter[str](group.outcome for group in groups)
    options = [("all", f"All ({len(groups):,})")]
    options += [
        (outcome, f"{word} ({counted[outcome]:,})")
        for outcome, word in (("failed", "Failed"), ("could not judge", "Not judged"), ("passed", "Healthy"))
        if counted[outcome]
    ]
    radios = [
        tag("label", tag("input", type="radio", name="outcome", value=value, checked=value == "all"), f" {word}")
        for value, word in options
    ]
    search = tag("label", "Name or cause ", tag("input", type="search", id="search", autocomplete="off"))
    legend = tag("legend", "Show trainings", class_="hidden")
    shown = tag("output", plural(len(groups), "training"), id="shown", aria_live="polite")
    return tag("form", tag("fieldset", legend, *radios), search, shown, id="filters", hidden=True)


def _errors(results: RunResults) -> Markup | None:
    if not results.errors:
        return None
    rows = [
        tag("li", tag("code", each["nodeid"]), f" ({each['outcome']}): {each['message']}") for each in results.errors
    ]
    return tag("section", tag("h2", "Tests without a verdict"), tag("ul", rows), class_="errors")


def in_the_meantime(results: RunResults) -> Iterator[str]:
    """What a page says whose run is not over: it grows, and is laid out as a whole in the end."""
    words = "This run is not over yet, or was killed. What was judged so far, in the order in which it came:"
    yield tag("header", tag("h1", _TITLE), tag("p", tag("b", "Incomplete. "), words, class_="banner", role="status"))
    yield '<main id="top">\n'
    if results.interrupted:
        yield tag("p", "The run was interrupted.", class_="banner")
