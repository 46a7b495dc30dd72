"""The page in Debian's chromium, from disk: `tox -e report`. Everything that is drawn is drawn by the real package."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from pytest_trainhealth.records.verdict import Report
from pytest_trainhealth.reports import html_file

from .made_up import ALL, HEALTHY, ODD_VALUES, RECORDED, SICK, UNJUDGED, curve, odd, page

pytestmark = pytest.mark.browser

#: By judgement, for 300 trainings: what a mail or a CI artefact takes without a thought.
LARGEST = 10_000_000
_REPORT_VIOLATIONS = """
    window.violations = [];
    document.addEventListener("securitypolicyviolation", (event) => window.violations.push(event.blockedURI));
"""


@dataclass
class Seen:
    """A page that is open, and what went on in it."""

    page: Any
    file: Path
    requests: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    def count(self, selector: str) -> int:
        return int(self.page.locator(selector).count())

    def visible(self, selector: str) -> list[str]:
        return [each.get_attribute("id") for each in self.page.locator(f"{selector}:visible").all()]

    @property
    def overflow(self) -> int:
        return int(self.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth"))


Open = Callable[..., Any]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        made = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        yield made
        made.close()


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    runs = [replace(RECORDED, losses=curve(2.3, 0.01 + at / 1000)) for at in range(300)]
    many = [replace(HEALTHY, training=f"test_{at}", recorded=run) for at, run in enumerate(runs)]
    sick = [replace(SICK, training=f"test_sick_{at}") for at in range(10)]
    notebook = Report("test_finetune", (SICK, UNJUDGED))._repr_html_()
    made = {
        "few": page(*ALL, complete=False, interrupted=True),
        "many": page(*many[:290], *sick),
        "notebook": f"<!doctype html><html lang=en><title>x</title><main><h1>x</h1>{notebook}</main></html>",
        "growing": html_file.text(html_file.RunResults(False, False, [dict(nodeid="a::b", **SICK.to_json())])),
    }
    assert html_file.remark() == ""
    for name, text in made.items():
        (folder / f"{name}.html").write_text(text, encoding="utf-8")
    return {name: folder / f"{name}.html" for name in made}


@pytest.fixture
def opened(browser: Any, files: dict[str, Path]) -> Open:
    @contextmanager
    def opened(name: str = "few", link: str = "", width: int = 1200, **options: Any) -> Iterator[Seen]:
        context = browser.new_context(viewport={"width": width, "height": 900}, offline=True, **options)
        shown = Seen(context.new_page(), files[name])
        shown.page.on("request", lambda request: shown.requests.append(request.url))
        shown.page.on("console", lambda message: shown.complaints.append(message.text))
        shown.page.on("pageerror", lambda error: shown.complaints.append(str(error)))
        shown.page.add_init_script(_REPORT_VIOLATIONS)
        shown.page.goto(files[name].as_uri() + link)
        yield shown
        context.close()

    return opened


@pytest.mark.parametrize("name", ["few", "many", "notebook", "growing"])
def test_it_opens_from_disk_and_asks_for_nothing(opened: Open, name: str) -> None:
    with opened(name) as seen:
        assert seen.requests == [seen.file.as_uri()]
        assert seen.complaints == []
        assert seen.page.evaluate("window.violations") == []
        assert seen.overflow == 0


def test_every_plot_is_seen(opened: Open) -> None:
    with opened() as seen:
        seen.page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
        assert seen.count("svg.plot") == 10  # six of the sick one, one loss, one speed, two of the log
        for plot in seen.page.locator("svg.plot").all():
            box = plot.bounding_box()
            assert box["width"] > 200
            assert box["height"] > 30
            assert plot.locator("[class^=s-], [class*=' s-'], [class^=f-]").count() > 5


def test_odd_values_can_be_drawn() -> None:
    for value in ODD_VALUES:
        made = page(replace(HEALTHY, recorded=odd(value)))
        assert html_file.remark() == "", value
        assert "NaN" not in made


def test_rows_are_filtered_by_outcome_and_by_words(opened: Open) -> None:
    with opened() as seen:
        assert seen.page.inner_text("#shown") == "3 trainings"
        seen.page.get_by_role("radio", name="Failed").check()
        assert seen.visible("details.training") == ["test_finetune"]
        assert seen.page.inner_text("#shown") == "1 training"
        seen.page.get_by_role("radio", name="All").check()
        seen.page.get_by_label("Name or cause").fill("HEALTHY test")
        assert seen.visible("details.training") == ["test_healthy"]
        seen.page.get_by_label("Name or cause").fill("not-in-optimizer")
        assert seen.visible("details.training") == ["test_finetune"]
        seen.page.keyboard.press("Enter")
        assert seen.requests == [seen.file.as_uri()]


@pytest.mark.parametrize("link", ["#test_healthy", "#test_healthy--overfits_one_batch"])
def test_a_link_opens_what_it_points_to(opened: Open, link: str) -> None:
    with opened(link=link) as seen:
        assert seen.page.locator("#test_healthy").get_attribute("open") is not None
        assert seen.page.locator(link).is_visible()
        top = seen.page.evaluate("(name) => document.getElementById(name).getBoundingClientRect().top", link[1:])
        assert 0 <= top < 900


def test_a_link_to_what_a_filter_hides_shows_it(opened: Open) -> None:
    with opened() as seen:
        seen.page.get_by_role("radio", name="Failed").check()
        seen.page.evaluate("location.hash = '#test_healthy'")
        seen.page.wait_for_selector("#test_healthy .body")
        assert seen.page.locator("#test_healthy").is_visible()
        seen.page.evaluate("location.hash = '#%E0%A4%A'")  # no text at all
        seen.page.evaluate("location.hash = '#nobody'")
        assert seen.complaints == []


def test_it_is_used_without_a_mouse(opened: Open) -> None:
    with opened() as seen:
        order = []
        for _ in range(14):
            seen.page.keyboard.press("Tab")
            order.append(seen.page.evaluate("document.activeElement.textContent.trim() || document.activeElement.name"))
        assert order[0] == "outcome"
        assert "test_finetune" in order
        seen.page.locator("#test_healthy > summary").focus()
        seen.page.keyboard.press("Enter")
        assert seen.page.locator("#test_healthy").get_attribute("open") is not None


def test_without_scripts_all_of_it_can_be_read(opened: Open) -> None:
    with opened(java_script_enabled=False) as seen:
        assert not seen.page.locator("#filters").is_visible()
        seen.page.locator("#test_healthy > summary").click()
        assert seen.page.locator("#test_healthy .body").is_visible()


def test_what_is_smuggled_in_is_neither_run_nor_loaded(opened: Open) -> None:
    smuggled = "<img src='http://127.0.0.1:9/x' onerror='window.hit = 1'><b style='color: red'>x</b>"
    with opened() as seen:
        seen.page.evaluate("(html) => document.body.insertAdjacentHTML('beforeend', html)", smuggled)
        seen.page.wait_for_function("window.violations.length >= 2")
        assert seen.page.evaluate("window.hit") is None


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_light_and_dark(opened: Open, scheme: str) -> None:
    with opened(color_scheme=scheme) as seen:
        channels = "getComputedStyle(document.body).backgroundColor.match(/[0-9.]+/g).slice(0, 3).map(Number)"
        brightness = sum(seen.page.evaluate(channels)) / 3
        assert (brightness > 200) == (scheme == "light")
        assert (brightness < 60) == (scheme == "dark")


@pytest.mark.parametrize("width", [320, 390, 768])
def test_on_a_narrow_screen_nothing_sticks_out(opened: Open, width: int) -> None:
    with opened(width=width) as seen:
        seen.page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
        assert seen.overflow == 0


def test_three_hundred_trainings_stay_usable(opened: Open) -> None:
    with opened("many", link="#test_250") as seen:
        assert seen.file.stat().st_size < LARGEST
        assert seen.page.locator("#test_250").get_attribute("open") is not None
        seen.page.get_by_role("radio", name="Failed").check()
        assert len(seen.visible("details.training")) == 10
        assert seen.page.inner_text("#shown") == "10 trainings"


@pytest.mark.parametrize("width", [1200, 390], ids=["wide", "narrow"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["few", "notebook", "growing"])
def test_an_accessibility_checker_finds_nothing(opened: Open, name: str, scheme: str, width: int) -> None:
    with opened(name, color_scheme=scheme, width=width) as seen:
        seen.page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
        seen.page.evaluate(Path(os.environ["AXE_CORE"]).read_text(encoding="utf-8"))
        found = seen.page.evaluate("axe.run()")
        told = [(each["id"], each["help"], each["nodes"][0]["html"]) for each in found["violations"]]
        assert told == []
        assert len(found["passes"]) > 15
