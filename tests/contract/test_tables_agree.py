"""What is written down twice says the same twice."""

from __future__ import annotations

import inspect
import pkgutil

import pytest

import pytest_trainhealth
from pytest_trainhealth import causes, checks
from pytest_trainhealth.causes import SECTIONS, all_causes, cause_names
from pytest_trainhealth.fixture import TrainHealth
from pytest_trainhealth.settings import BATTERY, CHECKS, SETTINGS, keywords
from pytest_trainhealth.symptoms import SYMPTOM_ROWS

SYMPTOMS = {row.name for row in SYMPTOM_ROWS}


def test_every_check_is_a_file_and_every_file_a_check() -> None:
    assert {module.name for module in pkgutil.iter_modules(checks.__path__)} == set(CHECKS)
    assert set(BATTERY) <= set(CHECKS)


@pytest.mark.parametrize("name", CHECKS)
def test_a_check_has_a_page_and_its_functions(name: str) -> None:
    assert checks.check_page(name).startswith(f"{name}: ")
    module = checks.check(name)
    for part in ("SIGNALS", "ONE_BATCH", "longest", "enough", "judge", "result"):
        assert hasattr(module, part)


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


def test_names_mean_one_thing() -> None:
    every = [*cause_names(), *(name.replace("_", "-") for name in CHECKS), *SYMPTOMS]
    assert len(every) == len(set(every))


@pytest.mark.parametrize("check", CHECKS)
def test_the_methods_of_the_fixture_take_the_keywords_of_the_markers(check: str) -> None:
    parameters = inspect.signature(getattr(TrainHealth, check)).parameters.values()
    assert {p.name for p in parameters if p.kind is p.KEYWORD_ONLY} == {setting.name for setting in keywords(check)}


def test_settings_have_one_name_each() -> None:
    assert len({setting.name for setting in SETTINGS}) == len(SETTINGS)
    assert all(set(setting.checks) <= set(CHECKS) for setting in SETTINGS)


def test_public_names_exist() -> None:
    for name in pytest_trainhealth.__all__:
        assert getattr(pytest_trainhealth, name)
    with pytest.raises(AttributeError, match="has no attribute 'Trainings'"):
        _ = pytest_trainhealth.Trainings
