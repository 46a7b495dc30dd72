"""`--trainhealth-explain` for those who do not know the name."""

from __future__ import annotations

import pytest

from pytest_trainhealth.causes import all_causes
from pytest_trainhealth.reports.explain import by_symptom, page
from pytest_trainhealth.reports.meaning import Page, by_meaning
from pytest_trainhealth.settings import WrongSetting

from .conftest import Project


def test_without_a_name_all_causes_are_listed_by_symptom(project: Project) -> None:
    result = project.runpytest("--trainhealth-explain")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["    not-learning * the loss is flat*", "    Wiring and loop", "Checks"])
    assert len(result.outlines) < 80  # a page that is read, not the whole index under every symptom


def test_every_cause_is_in_the_list() -> None:
    listed = by_symptom()
    assert [cause.name for cause in all_causes() if not cause.advice and cause.name not in listed] == []


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ("loss is nan", "nan-in-data"),
        ("slow data loader", "data-loading-bottleneck"),
        ("frozen backbone", "frozen-parameters"),
        ("weights in no parameter group", "parameters-not-in-optimizer"),
        ("loss is stuck", "not-learning"),
        ("loss goes up and down", "instability"),
        ("loss explodes", "explosion"),
        ("validation accuracy is bad", "validation-gets-worse"),
        ("memory leak", "growing-memory"),
        ("gradients vanish", "vanishing-gradients"),
    ],
)
def test_a_description_leads_to_its_pages_and_not_to_the_index(asked: str, found: str) -> None:
    with pytest.raises(WrongSetting, match=f"About that:(.|\n)*    {found}: ") as raised:
        page(asked)
    assert len(str(raised.value).splitlines()) <= 6


def test_words_without_quotes_are_one_question(project: Project) -> None:
    result = project.runpytest("--trainhealth-explain", "loss", "goes", "up", "and", "down")
    assert "'loss goes up and down'. About that:" in result.stderr.str()


def test_files_are_not_part_of_the_question(project: Project) -> None:
    file = project.makepyfile("def test_it(): pass")
    assert project.runpytest("--trainhealth-explain", "plateau", str(file)).ret == 0


def test_nonsense_leads_to_the_list() -> None:
    with pytest.raises(WrongSetting, match="A list by symptom: pytest --trainhealth-explain"):
        page("xyzzy")


def test_a_title_says_more_than_a_text() -> None:
    pages = {"a": Page("something else", "about gradients"), "b": Page("gradients vanish", ""), "c": Page("x", "y")}
    assert by_meaning("gradient", pages) == ["b"]
    assert by_meaning("", pages) == by_meaning("the of", pages) == []
