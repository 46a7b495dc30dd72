"""The pages of symptoms: a sign speaks for causes that can explain that symptom, and none is without a first look."""

from __future__ import annotations

import pytest

from pytest_trainhealth.causes import all_causes
from pytest_trainhealth.causes._signs import SIGNS
from pytest_trainhealth.records.symptoms import SYMPTOM_ROWS


def test_every_symptom_has_its_signs() -> None:
    assert list(SIGNS) == [row.name for row in SYMPTOM_ROWS]


@pytest.mark.parametrize("symptom", SIGNS)
def test_signs_speak_only_for_causes_of_their_symptom(symptom: str) -> None:
    possible = {cause.name for cause in all_causes() if symptom in cause.explains}
    named = [cause for _, causes in SIGNS[symptom].tell_apart for cause in causes]
    assert [cause for cause in named if cause not in possible] == []
    assert not possible or named
