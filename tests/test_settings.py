"""Settings are parsed in one place, whatever they were given as."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_trainhealth.settings import (
    SETTINGS,
    TRAINING_CHECKS,
    WrongSetting,
    check_names,
    keywords,
    near,
    read_keywords,
    setting,
)


@pytest.mark.parametrize(
    ("name", "given", "meant"),
    [
        ("steps", "20", 20),
        ("steps", 20.0, 20),
        ("budget", "1.5", 1.5),
        ("budget", 3, 3.0),
        ("strict", "yes", True),
        ("strict", "off", False),
        ("strict", True, True),
        ("checks", "gradients_flow, trains_without_nan", ("gradients_flow", "trains_without_nan")),
        ("checks", ["gradients_flow"], ("gradients_flow",)),
        ("device", "cuda:1", "cuda:1"),
    ],
)
def test_parsed(name: str, given: Any, meant: Any) -> None:
    parsed = setting(name).parse(given, "here")
    assert parsed == meant
    assert type(parsed) is type(meant)


@pytest.mark.parametrize(
    ("name", "given", "said"),
    [
        ("steps", "many", "here: 'many' is not a whole number"),
        ("steps", 2.5, "here: 2.5 is not a whole number"),
        ("steps", True, "here: True is not a whole number"),
        ("steps", 0, "here: 0 is too small, at least 1 is needed"),
        ("max_data_wait", 50, "here: 50 is too large, 1 is the largest possible value"),
        ("budget", "nan", "here: 'nan' is not a number"),
        ("strict", "perhaps", "here: 'perhaps' is not true or false"),
        ("checks", [3], "here: [3] is not a list of names"),
        ("device", 3, "here: 3 is not a text"),
    ],
)
def test_refused(name: str, given: Any, said: str) -> None:
    with pytest.raises(WrongSetting) as caught:
        setting(name).parse(given, "here")
    assert str(caught.value) == said


def test_flags_and_keys() -> None:
    assert (setting("enabled").flag, setting("enabled").key) == ("--trainhealth", "trainhealth")
    assert (setting("max_data_wait").flag, setting("seed").key) == ("--trainhealth-max-data-wait", "trainhealth_seed")


@pytest.mark.parametrize("check", TRAINING_CHECKS)
def test_every_check_that_runs_something_can_be_limited(check: str) -> None:
    assert {"steps", "budget"} <= {s.name for s in keywords(check)}


def test_the_battery_marker_takes_what_all_of_the_battery_takes() -> None:
    assert {s.name for s in keywords("trainhealth")} == {"checks", "steps", "budget", "ignore", "frozen"}


def test_unknown_keywords_name_near_ones() -> None:
    with pytest.raises(WrongSetting, match=r"^t: overfits_one_batch takes no 'rato'\. Did you mean ratio\?$"):
        read_keywords("overfits_one_batch", {"rato": 1}, "t")


def test_unknown_checks_name_near_ones() -> None:
    with pytest.raises(WrongSetting, match=r"there is no check 'gradient_flow'\. Did you mean gradients_flow\?$"):
        check_names(["gradient_flow"], "t")


def test_nothing_near_lists_all() -> None:
    assert near("xyz", ["steps", "budget"]) == ". Possible: steps, budget"


def test_defaults_pass_their_own_parser() -> None:
    for s in SETTINGS:
        assert s.default is None or s.parse(s.default, "default") == s.default
