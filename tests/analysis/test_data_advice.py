"""What a note says of the data: nothing that the way in which they were seen explains."""

from __future__ import annotations

import pytest

from pytest_trainhealth.analysis import data_advice
from pytest_trainhealth.records.survey import SurveyRecord


@pytest.mark.parametrize(("watched", "complete"), [(False, True), (False, False), (True, True), (True, False)])
def test_a_second_epoch_of_a_watched_loop_is_no_repetition(watched: bool, complete: bool) -> None:
    found = SurveyRecord(samples=512, batches=32, repeated=256, watched=watched, complete=complete)
    assert any(note.startswith("duplicated-samples") for note in data_advice.notes(found)) is (complete or not watched)
