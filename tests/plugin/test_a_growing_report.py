"""The JSON report is added to, not written anew after each verdict, and is whole at any moment nevertheless."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from pytest_trainhealth.plugin.session_results import SessionResults
from pytest_trainhealth.records.verdict import Verdict
from pytest_trainhealth.reports import growing_file, outlet


def report(number: int, when: str = "call", outcome: str = "passed", raised: str = "") -> pytest.TestReport:
    made = pytest.TestReport(f"a.py::b{number}", ("a.py", 1, "b"), {}, "passed", None, when)  # type: ignore[arg-type]
    verdict = Verdict("gradients_flow", f"training {number}", outcome, "the data is too small", seed=number)
    told = {"test": f"b{number}", "verdicts": [verdict.to_json()] if when == "call" else [], "unenforced": 0}
    made.trainhealth = {**told, "raised": raised}  # type: ignore[attr-defined]
    return made


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "out.json"


@pytest.fixture
def results(file: Path) -> SessionResults:
    made = SessionResults(enforced=True)
    made.write_to(file, "json_file", "--trainhealth-json")
    return made


def seeds(file: Path) -> list[int]:
    return [verdict["seed"] for verdict in json.loads(file.read_text())["verdicts"]]


@pytest.fixture
def whole_documents(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The length of each document that is written as a whole."""
    lengths: list[int] = []

    def counted(target: Path, text: str, *, last: bool) -> None:
        lengths.append(len(text))
        write(target, text, last=last)

    write = outlet.write
    monkeypatch.setattr(outlet, "write", counted)
    return lengths


def test_it_is_whole_after_each_verdict(results: SessionResults, file: Path, whole_documents: list[int]) -> None:
    assert seeds(file) == []
    for number in range(50):
        results.pytest_runtest_logreport(report(number))
        assert seeds(file) == list(range(number + 1))
    assert whole_documents == []


def test_what_is_added_costs_the_same_however_much_there_is(
    results: SessionResults, monkeypatch: pytest.MonkeyPatch
) -> None:
    lengths: list[int] = []

    def counted(descriptor: int, content: bytes) -> int:
        lengths.append(len(content))
        return write(descriptor, content)

    write = os.write
    monkeypatch.setattr(growing_file.os, "write", counted)
    for number in range(100, 900):
        results.pytest_runtest_logreport(report(number))
    assert len(lengths) == 800
    assert lengths[-1] == lengths[1]


def test_it_reads_as_if_written_at_once(results: SessionResults, file: Path) -> None:
    for number in range(3):
        results.pytest_runtest_logreport(report(number, raised="ValueError: mine" if number == 1 else ""))
    added = file.read_text()
    results._write(complete=False, last=False)
    assert file.read_text() == added
    document = json.loads(added)
    assert list(document) == ["version", "complete", "interrupted", "verdicts", "errors"]
    assert document["errors"] == [{"nodeid": "a.py::b1", "outcome": "raised", "message": "ValueError: mine"}]


def test_a_second_attempt_takes_the_first_out(results: SessionResults, file: Path) -> None:
    for each in (report(0), report(1, raised="ValueError: once"), report(1, "setup"), report(1), report(2)):
        results.pytest_runtest_logreport(each)
    assert seeds(file) == [0, 1, 2]
    assert json.loads(file.read_text())["errors"] == []


@pytest.mark.parametrize("part", [0, 1, 200], ids=lambda part: f"after {part} bytes")
def test_a_full_disk_leaves_it_whole(
    results: SessionResults, file: Path, monkeypatch: pytest.MonkeyPatch, part: int
) -> None:
    results.pytest_runtest_logreport(report(0))
    room = [part]

    def limited(descriptor: int, content: bytes) -> int:
        if len(content) > 100 and room:
            content = content[: room.pop()]
            if not content:
                raise OSError(28, "No space left on device")
        elif len(content) > 100:
            raise OSError(28, "No space left on device")
        return write(descriptor, content)

    write = os.write
    with monkeypatch.context() as full:
        full.setattr(growing_file.os, "write", limited)
        results.pytest_runtest_logreport(report(1))
    assert seeds(file) == [0]
    results.pytest_runtest_logreport(report(2))
    assert seeds(file) == [0, 1, 2]


def _removed(file: Path) -> None:
    file.unlink()


def _replaced(file: Path) -> None:
    (file.parent / "other").write_text(file.read_text())
    (file.parent / "other").replace(file)


def _written_to(file: Path) -> None:
    file.write_text("{}")


def _linked(file: Path) -> None:
    os.link(file, file.parent / "second name")


@pytest.mark.parametrize("deed", [_removed, _replaced, _written_to, _linked])
def test_a_file_that_somebody_else_has_touched_is_written_as_a_whole(
    results: SessionResults, file: Path, whole_documents: list[int], deed: Any
) -> None:
    results.pytest_runtest_logreport(report(0))
    deed(file)
    results.pytest_runtest_logreport(report(1))
    assert seeds(file) == [0, 1]
    assert len(whole_documents) == 1
    second = file.parent / "second name"
    assert not second.exists() or seeds(second) == [0]
