"""What is written down twice says the same twice."""

from __future__ import annotations

import inspect
import pkgutil
from importlib import import_module
from pathlib import Path
from typing import get_args

import pytest

import pytest_trainhealth
from pytest_trainhealth import causes, checks, reports
from pytest_trainhealth.causes import GROUPS, SECTIONS, Stage, all_causes, cause_names
from pytest_trainhealth.examine.after_a_check import FOLLOW_UPS, SECOND_OPINIONS
from pytest_trainhealth.plugin.fixture import TrainHealth
from pytest_trainhealth.records.symptoms import MEMORY, PERFORMANCE, SYMPTOM_ROWS
from pytest_trainhealth.records.verdict import Severity
from pytest_trainhealth.settings import BATTERY, CHECKS, OUTLETS, SETTINGS, Setting, keywords

ROOT = Path(__file__).parents[2]
SYMPTOMS = {row.name for row in SYMPTOM_ROWS}


def test_every_check_is_a_file_and_every_file_a_check() -> None:
    assert {module.name for module in pkgutil.iter_modules(checks.__path__)} == set(CHECKS)
    assert set(BATTERY) <= set(CHECKS)


@pytest.mark.parametrize("name", CHECKS)
def test_a_check_has_a_page_and_its_functions(name: str) -> None:
    assert checks.check_page(name).startswith(f"{name}: ")
    check = checks.check(name)
    assert check.name == name
    assert check.steps <= check.max_steps({})
    assert check.follow_up in {None, *FOLLOW_UPS}
    assert check.second_opinion in {None, *SECOND_OPINIONS}


@pytest.mark.parametrize("name", cause_names())
def test_the_page_of_a_cause(name: str) -> None:
    page = causes.cause(name).page.splitlines()
    assert page[0].startswith(f"{name}: ")
    assert not page[0].endswith(".")
    assert [line for line in page[1:] if line and not line.startswith(" ")] == list(SECTIONS)


@pytest.mark.parametrize("known", all_causes(), ids=lambda cause: cause.name)
def test_a_cause_explains_symptoms_that_exist(known: causes.Cause) -> None:
    assert known.explains
    assert set(known.explains) <= SYMPTOMS
    assert 0 <= known.rank < 60


@pytest.mark.parametrize("known", all_causes(), ids=lambda cause: cause.name)
def test_a_cause_has_its_place_in_the_order(known: causes.Cause) -> None:
    assert known.group in GROUPS
    assert 0 <= known.order < (20 if known.stage is not Stage.KEEPS_THROUGHPUT else 60), (
        "it would run into the next stage"
    )
    own = getattr(import_module(f"pytest_trainhealth.causes.{known.name.replace('-', '_')}"), "STAGE", None)
    assert own is not known.group.stage, "its group says so already"


@pytest.mark.parametrize("known", all_causes(), ids=lambda cause: cause.name)
def test_causes_of_speed_and_all_others_never_explain_the_same(known: causes.Cause) -> None:
    of_speed = {PERFORMANCE, MEMORY}
    assert set(known.explains) <= (of_speed if known.stage is Stage.KEEPS_THROUGHPUT else SYMPTOMS - of_speed)


def test_names_mean_one_thing() -> None:
    every = [*cause_names(), *(name.replace("_", "-") for name in CHECKS), *SYMPTOMS]
    assert len(every) == len(set(every))


@pytest.mark.parametrize("check", CHECKS)
def test_the_methods_of_the_fixture_take_the_keywords_of_the_markers(check: str) -> None:
    parameters = inspect.signature(getattr(TrainHealth, check)).parameters.values()
    taken = {setting.name for setting in keywords(check)} - {"ignore", "frozen"}  # `ignoring` is there for these
    assert {p.name for p in parameters if p.kind is p.KEYWORD_ONLY} == taken


def test_settings_have_one_name_each() -> None:
    assert len({setting.name for setting in SETTINGS}) == len(SETTINGS)
    assert all(set(setting.checks) <= set(CHECKS) for setting in SETTINGS)


@pytest.mark.parametrize("outlet", OUTLETS, ids=lambda setting: setting.name)
def test_an_outlet_is_written_by_a_module_of_reports(outlet: Setting) -> None:
    assert outlet.kind is str
    assert outlet.default is None
    assert not outlet.checks
    written = inspect.signature(reports.file_report(outlet.report).text)
    promised = list(inspect.signature(reports.FileReport.text).parameters.values())[1:]
    assert list(written.parameters.values()) == promised


def test_the_tables_of_the_readme_are_those_of_the_code(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT / "docs")
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    anew = import_module("_generate").readme(text)
    assert text.splitlines() == anew.splitlines(), "write it anew: python docs/_generate.py --readme"


def test_public_names_exist() -> None:
    for name in pytest_trainhealth.__all__:
        assert getattr(pytest_trainhealth, name)
    with pytest.raises(AttributeError, match="has no attribute 'Trainings'"):
        _ = pytest_trainhealth.Trainings


@pytest.mark.parametrize("cause", all_causes(), ids=lambda cause: cause.name)
def test_a_page_names_the_marker_that_would_have_caught_it(cause: causes.Cause) -> None:
    prevention = cause.page.partition("\nHow to prevent it\n")[2].partition("\n\n")[0]
    assert any(f"`{check}" in prevention or f"mark.{check}" in prevention for check in CHECKS) or "marker" in prevention


@pytest.mark.parametrize("cause", all_causes(), ids=lambda cause: cause.name)
def test_a_page_says_how_severe_it_is_in_the_words_of_the_symptoms(cause: causes.Cause) -> None:
    severity = cause.page.partition("\nHow severe it is\n")[2].split()[0].strip(":,").lower()
    assert severity in (*get_args(Severity), "advice")
