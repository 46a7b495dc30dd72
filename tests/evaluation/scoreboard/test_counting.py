"""The figures of the scoreboard, on made-up results."""

from __future__ import annotations

import pytest

from .cases import Case
from .counting import Judged, below_the_bars, figures
from .results import Result, in_short, load, merged, save
from .speed import ratios

FAULT = Case("fault", "a", "mlp", "lr-too-high", second="missing-zero-grad", also=("bad-momentum",))
TWIN = Case("twin", "a", "mlp")


def of(case: Case, *findings: tuple[str, str], **more: object) -> Judged:
    more = {"failed": ("overfits_one_batch",) if findings else (), **more}
    return Judged(case, Result(case.id, 0, findings=findings, **more))  # type: ignore[arg-type]


def test_named_by_either_of_its_names():
    assert of(FAULT, ("bad-momentum", "likely")).named_first
    assert not of(FAULT, ("lr-too-low", "likely"), ("lr-too-high", "possible")).named_first


def test_of_two_faults_either_may_come_first():
    only_second = of(FAULT, ("missing-zero-grad", "confirmed"))
    assert (only_second.wrongly_confirmed, only_second.named_first, only_second.both) == ((), True, False)
    assert of(FAULT, ("lr-too-high", "confirmed"), ("missing-zero-grad", "confirmed")).both


def test_confirmed_and_wrong():
    assert of(FAULT, ("lr-too-high", "likely"), ("nan-in-data", "confirmed")).wrongly_confirmed == ("nan-in-data",)
    assert of(TWIN, ("lr-too-high", "confirmed")).wrongly_confirmed == ("lr-too-high",)


def test_no_verdict_is_a_miss_and_a_false_alarm():
    assert not of(FAULT, error="it hung").found
    assert of(TWIN, error="it hung").false_alarm
    assert not of(TWIN).false_alarm


def test_only_curable_causes_have_to_be_confirmed():
    incurable = Case("fault", "b", "mlp", "disconnected-graph")
    total = figures([of(FAULT, ("lr-too-high", "confirmed")), of(incurable, ("disconnected-graph", "likely"))])
    assert (total.confirmed.good, total.confirmed.all, total.named.all) == (1, 1, 2)
    assert below_the_bars(total) == []


def test_bars_are_told():
    short = below_the_bars(figures([of(FAULT), of(TWIN, ("lr-too-high", "confirmed"))]))
    assert [line.split(":")[0] for line in short] == [
        "found", "named first", "confirmed", "wrongly confirmed", "false alarms",
    ]  # fmt: skip
    assert short[0] == "found: 0 of 1 (0 %), at least 98% wanted"


def test_faulty_program_is_timed_against_its_twin():
    found = ratios([of(FAULT, cpu=10.0), of(TWIN, cpu=3.0, bare=2.0)])
    assert found == {"healthy": [1.5], "faulty": [5.0]}


def test_file_keeps_results_and_other_sections(tmp_path):
    results = [of(FAULT, ("lr-too-high", "confirmed"), seconds=1.5).result, of(TWIN).result]
    save({"results": [r.to_json() for r in results], "steadiness": {"text": "steady"}}, tmp_path / "x.json")
    sections = load(tmp_path / "x.json")
    assert [Result.from_json(each) for each in sections["results"]] == results
    assert sections["steadiness"] == {"text": "steady"}


def test_new_results_replace_old_ones():
    old, new = Result("fault/a", 0, seconds=1.0), Result("fault/a", 0, seconds=2.0)
    gone, kept = Result("fault/z", 0), Result("fault/a", 1)
    assert merged([old, gone, kept], [new], ["fault/a"]) == [new, kept]


@pytest.mark.parametrize("raised", [ValueError("no file /home/me/x.py\nmore"), "ValueError: no file /home/me/x.py"])
def test_errors_name_no_place_of_this_machine(raised):
    assert in_short(raised) == "ValueError: no file x.py"
