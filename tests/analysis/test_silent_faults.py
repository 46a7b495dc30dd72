"""Wrong although the loss looks fine, judged on made-up traces."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from pytest_trainhealth.analysis.silent_faults import begins_later, silently_wrong, wrong_mode
from pytest_trainhealth.causes import cause
from pytest_trainhealth.records.data import DriftingBatch, SampleChange
from pytest_trainhealth.records.symptoms import SILENT
from pytest_trainhealth.records.trace import Trace
from pytest_trainhealth.records.verdict import Place, Symptom
from pytest_trainhealth.records.wiring import (
    ClipCalls,
    DetachedSample,
    DoubleUpdate,
    FrozenChange,
    GradientPath,
    HelpedCritic,
    ModeRecord,
    ParameterRecord,
    TiedPair,
)

HUGE = 1e6


@pytest.mark.parametrize(
    ("late", "looks", "limit", "found"), [(4, 4, 1.0, True), (3, 4, 1.0, True), (1, 4, 1.0, False), (4, 4, HUGE, False)]
)
def test_clipped_after_use(late: int, looks: int, limit: float, found: bool) -> None:
    trace, place = Trace.of([1.0] * 8), Place("train.py", 9)
    trace.wiring.clip_calls[str(place)] = ClipCalls(place, limit, looks=looks, found=looks, late=late)
    symptom = silently_wrong(trace)
    assert (symptom is not None and "after they have been used" in symptom.summary) == found
    assert (cause("bad-gradient-clipping").look(trace, Symptom("", SILENT, 0.0, 0.0)) is not None) == found


def test_a_line_that_clips_in_time_excuses_another() -> None:
    trace, early, late = Trace.of([1.0] * 8), Place("train.py", 9), Place("train.py", 11)
    trace.wiring.clip_calls = {"a": ClipCalls(early, 1.0, looks=4, found=4), "b": ClipCalls(late, 1.0, looks=4, late=4)}
    assert silently_wrong(trace) is None


def said(trace: Trace) -> str:
    symptom = silently_wrong(trace)
    assert isinstance(symptom, Symptom)
    assert symptom.category == SILENT
    return symptom.summary


def in_modes(**facts: object) -> Trace:
    trace = Trace.of([1.0] * 4)
    trace.wiring.modes["Net"] = ModeRecord("Net", layers={"drop": "Dropout"}, **facts)  # type: ignore[arg-type]
    return trace


def with_pair(how: str = "values", made_by: str = "user", *, gradient: float | None = 1.0) -> Trace:
    both = [ParameterRecord(n, (9, 4), 36, made_by=made_by, gradients={0: gradient}) for n in ("embed.w", "head.w")]
    trace = Trace.of([1.0] * 4, both)
    trace.wiring.tied_pairs.append(TiedPair("embed.w", "head.w", how))
    return trace


def test_nothing_was_seen() -> None:
    assert silently_wrong(Trace.of([1.0] * 4)) is None


def test_eval_mode_from_the_start() -> None:
    assert said(in_modes(evaluated=[0, 1, 2])) == "3 updates followed a forward pass of Net in eval mode (expected 0)"


def test_eval_mode_that_nothing_takes_back() -> None:
    trace = in_modes(trained=[0, 1], evaluated=[10, 11, 12])
    assert said(trace).endswith("in eval mode, from step 10 on (expected 0)")
    assert wrong_mode(trace, before=10) is None


@pytest.mark.parametrize(
    "facts",
    [
        {"trained": [0, 1, 2, 3]},
        {"evaluated": [0]},
        {"trained": [0, 1], "evaluated": [2, 3]},
        {"trained": [0, 2, 4, 6], "evaluated": [1, 3, 5]},
        {"evaluated": [0, 1, 2], "pretrained": {"drop"}},
    ],
    ids=["training", "once", "too short to tell", "in turns", "keeps its statistics"],
)
def test_modes_that_are_in_order(facts: dict[str, object]) -> None:
    assert silently_wrong(in_modes(**facts)) is None


def test_updated_twice() -> None:
    trace = Trace.of([1.0] * 4)
    trace.wiring.double_updates["head.weight"] = DoubleUpdate("head.weight", ("SGD[0]", "SGD[1]"), [0, 1])
    assert said(trace) == "head.weight was updated twice with one gradient at 2 steps (expected once)"
    trace.wiring.double_updates["head.weight"].steps = [0]
    assert silently_wrong(trace) is None


def test_frozen_and_moving() -> None:
    trace = Trace.of([1.0] * 4)
    trace.wiring.frozen_changes["body.weight"] = FrozenChange("body.weight", "AdamW", [1, 2, 3])
    assert said(trace) == "body.weight is frozen, but moved at 3 steps (expected 0)"


def test_frozen_with_statistics_that_move() -> None:
    trace = Trace.of([1.0] * 4)
    trace.wiring.frozen_changes["body.1"] = FrozenChange("body.1", "statistics", [0, 1])
    assert said(trace) == "body.1 is frozen, but its statistics moved at 2 steps (expected 0)"


def test_two_tensors_where_one_was_meant() -> None:
    assert "started with the same values and drifted apart" in said(with_pair())
    assert "share their memory" in said(with_pair("memory"))


@pytest.mark.parametrize("facts", [{"made_by": "transformers"}, {"gradient": None}], ids=["a package", "unused"])
def test_pairs_that_nobody_meant_to_tie(facts: dict[str, object]) -> None:
    assert silently_wrong(with_pair(**facts)) is None  # type: ignore[arg-type]


def test_a_sample_that_changes() -> None:
    trace = Trace.of([1.0] * 4)
    trace.data.sample_change = SampleChange("Digits", "images", 0, (0.5, -1.5, -3.5))
    assert said(trace).endswith("its mean goes 0.5 -> -1.5 -> -3.5 (expected no change)")


def test_a_draw_that_only_a_penalty_reaches() -> None:
    trace = Trace.of([1.0] * 4)
    trace.wiring.detached_samples["here"] = DetachedSample(penalty_only=True, steps=[0, 1])
    assert silently_wrong(trace) is None
    trace.wiring.detached_samples["here"].steps.append(2)
    assert "only a pull towards 0" in said(trace)


def test_a_batch_in_a_list_that_drifts() -> None:
    trace = Trace.of([1.0] * 4)
    trace.data.drifting_batch = DriftingBatch("['image']", (0.2, 0.16), (1.0, 0.8, 0.64))
    assert said(trace).startswith("batch['image'] changes at each visit, because the step writes into it")
    assert said(trace).endswith("its mean goes 1 -> 0.8 -> 0.64 (expected no change)")


@pytest.mark.parametrize(
    ("most", "batch_size", "starved"),
    [({"a": 2, "b": 2}, 16, True), ({"a": 2, "b": 2}, 2, False), ({"a": 2, "b": 32}, 16, False), ({}, 16, False)],
    ids=["cut into pieces", "a batch of two", "many positions", "no BatchNorm"],
)
def test_batch_norms_that_get_pieces_of_a_batch(most: dict[str, int], batch_size: int, starved: bool) -> None:
    trace = Trace.of([1.0] * 4)
    trace.numbers.most_values_per_channel, trace.batch_size = most, batch_size
    symptom = silently_wrong(trace)
    assert (symptom is not None) is starved
    assert symptom is None or symptom.headline == "BatchNorm gets a batch in pieces of 2 values"


def test_what_begins_later_than_a_closer_look_sees_is_passed_over() -> None:
    trace = Trace.of([1.0] * 80)
    trace.wiring.frozen_changes["w"] = FrozenChange("w", "AdamW", [60, 61, 62])
    assert begins_later(trace, 56) is None
    trace.wiring.frozen_changes["w"].steps.insert(0, 7)
    found = begins_later(trace, 56)
    assert found is not None
    assert found.headline == "w is frozen, but moved"


def test_of_several_faults_the_one_is_told_that_explains_the_others() -> None:
    """The order of the chain, from the first to the last: each is told once those before it are gone."""
    trace = in_modes(evaluated=[0, 1, 2])
    trace.wiring.double_updates["w"] = DoubleUpdate("w", ("SGD[0]", "SGD[1]"), [0, 1])
    trace.wiring.frozen_changes["w"] = FrozenChange("w", "AdamW", [1, 2, 3])
    trace.wiring.parameters, trace.wiring.tied_pairs = with_pair().wiring.parameters, with_pair().wiring.tied_pairs
    trace.data.sample_change = SampleChange("Digits", "images", 0, (0.5, -1.5, -3.5))
    trace.data.drifting_batch = DriftingBatch("['image']", (0.2, 0.16), (1.0, 0.8, 0.64))
    trace.wiring.detached_samples["here"] = DetachedSample(penalty_only=True, steps=[0, 1, 2])
    place = Place("train.py", 7, "clip_grad_norm_(model.parameters(), 1.0)")
    trace.wiring.gradient_paths.append(GradientPath(0, "SGD", 8.0, at_update=8.0, left=1.0, changed_later_at=place))
    trace.wiring.helped_critics["critic"] = HelpedCritic("critic", "maker", steps=[0, 1, 2, 3])
    faults: list[tuple[str, Callable[[], object]]] = [
        ("Net is trained in eval mode", trace.wiring.modes.clear),
        ("w is updated twice per step", trace.wiring.double_updates.clear),
        ("w is frozen, but moved", trace.wiring.frozen_changes.clear),
        ("embed.w and head.w are not tied", trace.wiring.tied_pairs.clear),
        (
            "sample 0 of Digits changes each time it is read",
            lambda: setattr(trace.data, "sample_change", None),
        ),
        ("batch['image'] changes at each visit", lambda: setattr(trace.data, "drifting_batch", None)),
        ("only a pull towards 0 reaches the mean", trace.wiring.detached_samples.clear),
        ("gradients are clipped after SGD has stepped with them", trace.wiring.gradient_paths.clear),
        ("maker helps critic", trace.wiring.helped_critics.clear),
    ]
    for headline, mend in faults:
        symptom = silently_wrong(trace)
        assert symptom is not None
        assert symptom.headline.startswith(headline)
        mend()
    assert silently_wrong(trace) is None
