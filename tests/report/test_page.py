"""The HTML report, read as a browser would: structure, words, policy. No browser, and no package that draws."""

from __future__ import annotations

import json
import math
import re
import sys
import types
from base64 import b64encode
from dataclasses import replace
from hashlib import sha256
from typing import Any

import pytest

from pytest_trainhealth.plugin.pytest_html_plots import PytestHtmlPlots
from pytest_trainhealth.records.recorded import Curve, Recorded
from pytest_trainhealth.records.verdict import Report, Verdict
from pytest_trainhealth.reports import GrowingReport, html_file
from pytest_trainhealth.reports.html.grouping import grouped, without_check
from pytest_trainhealth.reports.html.line_plots import lines
from pytest_trainhealth.reports.html.markup import Markup, tag
from pytest_trainhealth.reports.html.training_figures import figures_of

from .made_up import (
    ALL,
    HEALTHY,
    LOGGED,
    ODD_VALUES,
    RECORDED,
    SAME_CAUSE,
    SICK,
    SPEED,
    UNJUDGED,
    Page,
    as_json,
    odd,
    page,
    results,
    stand_in,
)  # fmt: skip


@pytest.fixture(autouse=True)
def library(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What the package that draws was asked for."""
    made = stand_in()
    monkeypatch.setitem(sys.modules, "vl_convert", made)
    return made.specs


@pytest.fixture
def without_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "vl_convert", None)


# -- one file, and nothing gets in or out --------------------------------------------------------------------


def test_it_is_well_formed_and_links_lead_somewhere() -> None:
    read = Page(page())
    assert read.unbalanced == []
    names = read.values("id")
    assert len(names) == len(set(names))
    assert {link.removeprefix("#") for link in read.values("href")} <= set(names)
    assert {name for each in read.values("aria-labelledby") for name in each.split()} <= set(names)


def test_the_policy_allows_its_own_style_and_script_and_nothing_else() -> None:
    html = page()
    (policy,) = (each["content"] for each in Page(html).named("meta") if each.get("http-equiv"))
    assert policy is not None
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    assert rules["default-src"] == "'none'"
    for name, kind in (("style", "style-src"), ("script", "script-src")):
        contents = re.findall(rf"<{name}>(.*?)</{name}>", html, re.DOTALL)
        assert [f"'sha256-{b64encode(sha256(each.encode()).digest()).decode()}'" for each in contents] == [rules[kind]]


def test_nothing_in_it_would_need_more_than_the_policy_allows() -> None:
    read = Page(page())
    assert not read.values("style")
    assert not [name for _, attributes in read.tags for name in attributes if name.startswith("on")]
    assert not read.values("src")
    assert not {name for name, _ in read.tags} & {"link", "img", "iframe", "object", "image", "base"}
    assert all(link.startswith("#") for link in read.values("href"))


HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(1)>\"'&"


def test_whatever_users_name_is_text() -> None:
    """Also where the cleaning of names is passed by: as if a file had been read that somebody sent."""
    told = json.loads(json.dumps(as_json(SICK)).replace("head.weight", json.dumps(HOSTILE)[1:-1]))
    told["nodeid"], told["training"] = HOSTILE, HOSTILE
    error = {"nodeid": HOSTILE, "outcome": "raised", "message": HOSTILE}
    for ended in (True, False):
        made = html_file.text(replace(results(errors=[error], ended=ended), verdicts=[told]))
        read = Page(made)
        assert len(read.named("script")) == 1
        assert not read.named("img")
        assert read.unbalanced == []
    assert tag("p", HOSTILE, title=HOSTILE).count("<") == 2


def test_of_a_drawing_only_what_is_known_is_taken_over() -> None:
    drawn = re.search(r"<svg.*?</svg>", page(), re.DOTALL)
    assert drawn is not None
    assert not re.search(r"script|onclick|style|href|image|away|background", drawn[0])
    assert '<path d="M0,0.1L6,2" class="s-run"/>' in drawn[0]
    assert '<text class="f-muted">a &lt;b&gt;</text>' in drawn[0]


# -- what it tells -------------------------------------------------------------------------------------------


def test_the_overview_has_trainings_by_checks() -> None:
    read = Page(page())
    rows = [attributes for attributes in read.named("tr") if attributes.get("data-for")]
    assert [(row["data-for"], row["data-outcome"]) for row in rows] == [
        ("test_finetune", "failed"),
        ("test_healthy", "passed"),
        ("run.csv", "passed"),
    ]
    cells = [attributes for attributes in read.named("a") if (attributes.get("class") or "").startswith("cell")]
    assert ("#test_finetune--gradients_flow", "cell failed") in [(each["href"], each["class"]) for each in cells]
    assert len(cells) == len(ALL)


def test_the_chart_is_told_in_sentences() -> None:
    text = Page(page(SICK)).text
    for words in (
        "Loss 2.303 → 2.303 in 200 steps on one batch of 16 samples (has to fall below 0.230).",
        "Confirmed: head was replaced after the optimizer was made.",
        "train.py:27 model.head = nn.Linear(512, 10)",
        "head.weight.grad grew from 0.944 to 188.8: zero_grad() does not reach it either",
        "head added to the optimizer 2.303 → 0.021 passes, which confirms the cause",
        "Make the optimizer after the last change to the model.",
        "Another optimizer or more epochs: nothing reaches these parameters.",
        "in one of two runs",
        "pytest --trainhealth-explain parameters-not-in-optimizer",
    ):
        assert words.replace(" → ", "\N{NO-BREAK SPACE}→\N{NO-BREAK SPACE}") in text or words in text, words


def test_one_cause_is_told_once_and_pointed_to() -> None:
    read = Page(page(SAME_CAUSE, SICK))
    assert len(read.named("article")) == 1
    assert "The same cause: parameters-not-in-optimizer (confirmed)" in read.text


def test_what_was_not_judged_says_why() -> None:
    assert "The time budget of 300 s is used up." in Page(page()).text


def test_code_is_left_as_it_is() -> None:
    assert tag("pre", "def f() -> int") == "<pre>def f() -&gt; int</pre>"
    assert tag("p", "1 -> 2", Markup("<b>"), None, ["x", "y"]) == "<p>1\xa0→\xa02<b>xy</p>"


def test_every_figure_has_a_title_and_a_sentence() -> None:
    figures = figures_of([SICK, SPEED, LOGGED])
    assert [figure.title for figure in figures] == [
        "Loss on one batch",
        "Gradients by layer",
        "Updates by layer",
        "Activations",
        "Learning rate",
        "Where a step's time goes",
        "Data",
        "Logged losses",
        "Logged lr",
    ]
    assert figures[0].says == (
        "The loss goes from 2.303 to 2.303 in 60 steps. The best constant answer gives 2.303 (chance); the least "
        "possible is 0 (floor); a plain recipe gets to 0.020 (reach). 3 re-runs from the same start are laid over it."
    )
    assert figures[0].legend[0] == "head added to the optimizer: 2.303 -> 0.021, passes"
    assert figures[1].says == (
        "At the last look the largest gradient per value is 0.002 in encoder.weight. head.weight and head.bias have "
        "none. 3 of 120 parameters are shown. Hollow: the first look; full: the last."
    )
    assert figures[3].says == "At worst, in tanh, 50 % of the outputs are at an end of the range."
    assert figures[4].says == (
        "SGD keeps a learning rate of 0.1. The learning rate of AdamW goes from 0.001 to 1e-05, at most 0.001."
    )
    assert figures[5].says.startswith("20 ms: wait 20 %, forward 30 %, backward 40 %")
    assert figures[6].says == (
        "64 samples read, and 16 samples for validation. The largest class, 0, has 60 samples; the smallest, 1, has 4."
    )


def test_a_run_that_two_checks_have_judged_is_drawn_once() -> None:
    twice = [HEALTHY, replace(HEALTHY, check="learns_from_data")]
    assert [figure.title for figure in figures_of(twice)] == ["Loss on one batch"]


@pytest.mark.parametrize("value", ODD_VALUES)
def test_odd_values_are_drawn_or_told(value: float, library: list[str]) -> None:
    assert Page(page(replace(HEALTHY, recorded=odd(value)))).unbalanced == []
    assert library
    for spec in library:
        assert "NaN" not in spec
        assert "Infinity" not in spec


def test_a_loss_that_is_never_finite_has_words_instead_of_a_plot() -> None:
    never = Recorded(losses=Curve("the run", tuple(map(float, range(6))), (math.nan,) * 6))
    (figure,) = figures_of([replace(HEALTHY, recorded=never)])
    assert figure.spec is None
    assert "values that are not finite" in figure.says


def test_lines_that_end_together_share_a_label() -> None:
    same = [(str(number), "still", [(0.0, 2.3), (9.0, 2.2)]) for number in (1, 2)]
    curves = [("", "run", [(0.0, 2.3), (9.0, 2.2)]), *same, ("3", "cured", [(0.0, 2.3), (9.0, 0.1)])]
    drawn = json.dumps(lines(curves, [], "x", "y"))
    assert '"text": "1, 2"' in drawn
    assert '"text": "3"' in drawn


def test_levels_that_lie_together_share_a_label() -> None:
    drawn = json.dumps(lines([("", "run", [(0, 2.3), (9, 2.2)])], [("chance", 2.3), ("reach", 2.299)], "x", "y"))
    assert '"text": "reach, chance"' in drawn


# -- without the package that draws, and with one that fails -------------------------------------------------


@pytest.mark.usefixtures("without_library")
def test_without_the_package_tables_stand_in_for_plots() -> None:
    read = Page(page(SICK))
    missing = 'written without plots, because vl_convert is not installed: pip install "pytest-trainhealth[report]"'
    assert html_file.remark() == missing
    assert f"This report is {missing}." in read.text
    assert not read.named("svg")
    assert "encoder.weight" in read.text
    assert len(read.named("figure")) == 6


@pytest.mark.parametrize("error", [ValueError("no\nway"), type("PanicException", (BaseException,), {})("no way")])
def test_a_renderer_that_fails_costs_the_plots_and_nothing_else(
    error: BaseException, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(spec: str, **options: object) -> str:
        raise error

    monkeypatch.setattr(sys.modules["vl_convert"], "vegalite_to_svg", fail)
    assert not Page(page(SICK)).named("svg")
    assert html_file.remark() == f"not all plots could be drawn: {type(error).__name__}: no way"
    monkeypatch.setattr(sys.modules["vl_convert"], "vegalite_to_svg", lambda spec, **options: "no svg")
    page(SICK)
    assert "ParseError" in html_file.remark()


def test_a_remark_does_not_stay() -> None:
    page(SICK)
    assert html_file.remark() == ""


# -- complete or not -----------------------------------------------------------------------------------------


def test_an_incomplete_run_says_so() -> None:
    assert "Incomplete." not in Page(page()).text
    assert "Incomplete. Not every selected test has an outcome" in Page(page(complete=False)).text
    assert "Incomplete. The run was interrupted" in Page(page(complete=False, interrupted=True)).text


def test_errors_are_listed() -> None:
    error = {"nodeid": "test_it.py::test_it", "outcome": "worker died", "message": "worker 'gw0' crashed"}
    assert "test_it.py::test_it (worker died): worker 'gw0' crashed" in Page(page(errors=[error])).text
    assert "No check has been run." in Page(html_file.text(results())).text


def test_while_the_run_goes_on_it_grows(library: list[str]) -> None:
    """Each state is a whole page, made without the package that draws."""
    assert isinstance(html_file, GrowingReport)
    so_far = results(SICK, complete=False, ended=False)
    text, end = html_file.text(so_far), html_file.end(so_far)
    assert text.endswith(end)
    grown = text.removesuffix(end) + html_file.added([as_json(HEALTHY)], first=False) + end
    read = Page(grown)
    assert read.unbalanced == []
    assert "Incomplete. This run is not over yet, or was killed." in read.text
    assert "test_healthy" in read.text
    assert library == []


# -- many trainings ------------------------------------------------------------------------------------------


def test_of_many_trainings_those_that_failed_are_drawn_fully(library: list[str]) -> None:
    many = [replace(HEALTHY, training=f"test_{at}", recorded=replace(RECORDED, chance=1.0 + at)) for at in range(41)]
    read = Page(page(SICK, *many))
    assert len(read.named("svg")) == 41 + 6
    assert len([each for each in read.named("details") if "open" in each]) == 1
    assert len(library) < 41 + 6 + 1


def test_alike_plots_are_drawn_once(library: list[str]) -> None:
    read = Page(page(*(replace(HEALTHY, training=f"test_{at}") for at in range(5))))
    assert len(read.named("svg")) == 5
    assert len(library) == 1


# -- names ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("nodeid", "test"),
    [
        ("test_it.py::test[gradients_flow]", "test_it.py::test"),
        ("test_it.py::test[small-gradients_flow]", "test_it.py::test[small]"),
        ("test_it.py::test[gradients_flow-small]", "test_it.py::test[small]"),
        ("test_it.py::test", "test_it.py::test"),
    ],
)
def test_the_test_that_a_check_belongs_to(nodeid: str, test: str) -> None:
    assert without_check(nodeid, "gradients_flow") == test


def test_trainings_of_one_name_are_told_apart() -> None:
    told = [
        {**HEALTHY.to_json(), "nodeid": f"{file}::test[{HEALTHY.check}]", "training": training}
        for file, training in (("a.py", "x"), ("b.py", "x"), ("b.py", "y"))
    ]
    groups = grouped(told)
    assert [group.label for group in groups] == ["a.py::test", "b.py::test: x", "b.py::test: y"]
    assert [group.slug for group in groups] == ["a.py-test", "b.py-test-x", "b.py-test-y"]


def test_links_differ_where_names_do_not() -> None:
    told = [{**HEALTHY.to_json(), "nodeid": f"test {mark}[{HEALTHY.check}]", "training": mark} for mark in "!?*"]
    assert [group.slug for group in grouped(told)] == ["test", "test-2", "test-3"]


def test_a_check_that_this_version_does_not_know_is_shown() -> None:
    unknown = replace(HEALTHY, check="from_the_future")
    assert "from_the_future" in Page(page(unknown, HEALTHY)).text


# -- in a notebook -------------------------------------------------------------------------------------------


def test_a_notebook_shows_the_same_without_a_script() -> None:
    read = Page(Report("test_finetune", (SICK, SAME_CAUSE))._repr_html_())
    assert read.unbalanced == []
    assert not read.named("script")
    assert len(read.named("svg")) == 6
    assert "Confirmed: head was replaced after the optimizer was made." in read.text


def test_a_page_of_somebody_else_gets_the_plots_alone() -> None:
    drawn = html_file.plots("tests/test_it.py::test_it[gradients_flow]", [as_json(SICK)])
    read = Page(drawn)
    assert read.unbalanced == []
    assert len(read.named("svg")) == 6
    assert not read.named("script")
    assert "What was recorded" in read.text
    assert "head was replaced" not in read.text  # the chart is there already
    assert html_file.plots("test_it", [as_json(UNJUDGED)]) == ""


def test_pytest_html_gets_the_plots_of_what_was_judged() -> None:
    judged = {"verdicts": [as_json(SICK)]}
    report: Any = types.SimpleNamespace(nodeid="test_it", trainhealth=judged, extras=["theirs"])
    PytestHtmlPlots().pytest_runtest_logreport(report)
    theirs, ours = report.extras
    assert theirs == "theirs"
    assert ours["format_type"] == "html"
    assert "<svg" in ours["content"]
    report.trainhealth = {"verdicts": []}
    PytestHtmlPlots().pytest_runtest_logreport(report)
    assert len(report.extras) == 2


def test_the_style_of_a_notebook_is_left_alone() -> None:
    """Every rule is about what is ours."""
    css = re.sub(r"@media[^{]*\{|/\*.*?\*/", "", html_file.asset("style.css"))
    selectors = [each.strip() for each in re.findall(r"([^{};]+)\{", css)]
    selectors = [each for each in selectors if not each.startswith("&")]
    assert selectors
    assert all(".trainhealth" in each for selector in selectors for each in selector.split(","))


def test_an_empty_report_is_no_error() -> None:
    assert Page(Report("nothing", ())._repr_html_()).unbalanced == []
    assert Page(Report("x", (Verdict("gradients_flow", "x", "passed"),))._repr_html_()).unbalanced == []
