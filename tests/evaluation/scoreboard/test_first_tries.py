"""The blind batches are complete, can be built, and are what the first tries speak of."""

from __future__ import annotations

import warnings

import pytest

from pytest_trainhealth import Training

from ..corpus.blind import BATCHES, blind
from . import first_tries
from .cases import Case, all_cases, factory, tenth
from .logs import FOLDER, TRUTH, Log, logs

#: The batch that holds no programs.
LOGS = "logs"
CASES = {name: case for name, case in all_cases().items() if case.blind}


def of(batch: str, kind: str) -> list[Case]:
    return [case for case in CASES.values() if case.family == f"blind {batch}" and case.kind == kind]


def test_every_batch_has_its_first_try() -> None:
    tried = [each["batch"] for each in first_tries.load()]
    assert [batch for batch in tried if batch != LOGS] == [*BATCHES]
    assert tried.count(LOGS) == 1


def test_every_log_has_its_first_try() -> None:
    tried = next(each for each in first_tries.load() if each["batch"] == LOGS)
    assert {file.name for file in FOLDER.iterdir()} == {TRUTH.name, *(log.name for log in logs())}
    assert (sum(log.sick for log in logs()), sum(not log.sick for log in logs())) == (
        tried["programs"],
        tried["healthy"],
    )


@pytest.mark.parametrize("log", [log for log in logs() if not log.sick], ids=lambda log: log.name)
def test_no_healthy_log_fails(log: Log) -> None:
    assert not log.verdict().failed


@pytest.mark.parametrize(
    "tried",
    [each for each in first_tries.load() if each["batch"] != LOGS],
    ids=lambda tried: tried["batch"],
)
def test_first_tries_count_the_programs_that_there_are(tried: dict[str, object]) -> None:
    batch = str(tried["batch"])
    faults, twins, healthy = (len(of(batch, kind)) for kind in ("fault", "twin", "healthy"))
    assert (faults or healthy, twins + healthy) == (tried["programs"], tried["healthy"])
    assert ("found" in tried) == bool(faults)


@pytest.mark.parametrize("batch", BATCHES)
def test_programs_can_be_built(batch: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch sees duplicate parameters too
        for case in CASES.values():
            if case.family == f"blind {batch}":
                assert isinstance(factory(case.id)(), Training), case.id


def test_every_name_that_is_right_counts() -> None:
    roots = {name: set(program.roots) for name, program in blind().items()}
    assert all(case.right == roots[case.name] for case in CASES.values() if case.kind == "fault")


def test_the_slice_leaves_them_out() -> None:
    assert not any(case.blind for case in tenth(all_cases().values()))


def test_alarms_are_rounded_up_and_hits_down() -> None:
    tried = {"batch": "x", "date": "", "programs": 60, "found": 55, "named_first": 52, "wrongly_confirmed": 1}
    cells = first_tries._cells({**tried, "healthy": 60, "alarms": 1, "not_judged": 2})
    assert cells[3:] == ("55 of 60 (91.6 %)", "52 of 60 (86.6 %)", 1, "1 of 60 (1.7 %)", "2 of 60")
