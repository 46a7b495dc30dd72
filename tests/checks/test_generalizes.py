"""What a short fit with `val_data` beside it shows: on records that are made up, and on trainings that run."""

from __future__ import annotations

import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from pytest_trainhealth import Training, diagnose
from pytest_trainhealth.causes.overfitting import look
from pytest_trainhealth.checks.generalizes import as_its_own, judge, result, stop_when
from pytest_trainhealth.records.held_out import (
    ActiveLayer,
    HeldOutPoint,
    HeldOutRecord,
    OtherOrder,
    ScaleShift,
    Scored,
    ShiftedTargets,
)
from pytest_trainhealth.records.judgement import (
    UNTREATED,
    CouldNotJudge,
    FailIfConfirmed,
    NeedsControl,
    OtherNumbers,
    Passed,
)
from pytest_trainhealth.records.survey import NearCopies, SharedSamples, SurveyRecord
from pytest_trainhealth.records.symptoms import FAULTY_DATA, OVERFITTING
from pytest_trainhealth.records.trace import Trace
from pytest_trainhealth.records.verdict import Symptom, Verdict

from ..evaluation.bench.accounting import counted
from .healthy_fits import PROGRAMS, batches, clusters, made, mlp

STEPS = (1, 5, 10, 20, 40, 60)
FALLING = (1.0, 0.8, 0.6, 0.4, 0.2, 0.05)


def trace_of(
    val: tuple[float, ...],
    train: tuple[float, ...] = FALLING,
    accuracies: tuple[float, ...] | None = None,
    **held: object,
) -> Trace:
    trace = Trace.of([1.0] * STEPS[-1])
    points = [
        HeldOutPoint(
            steps,
            Scored((loss,) * 4, None if accuracies is None else accuracies[at], 400),
            Scored((train[at],) * 4, None if accuracies is None else 1.0, 400),
        )
        for at, (steps, loss) in enumerate(zip(STEPS, val, strict=True))
    ]
    trace.state.held_out = HeldOutRecord(points=points, **{"chance": 1.0, "most_frequent": 0.5, **held})  # type: ignore[arg-type]
    return trace


RISES = (1.0, 0.7, 0.6, 0.9, 1.4, 2.0)
SEEDS = ("a second seed", "a third seed")


def judged(trace: Trace, **controls: Trace) -> object:
    return judge(trace, {}, {**{seed: trace for seed in SEEDS}, **controls})


def test_what_carries_over_passes_with_its_gap() -> None:
    shown = judged(trace_of((1.0, 0.8, 0.6, 0.5, 0.45, 0.4)))
    assert isinstance(shown, Passed)
    assert shown.figures["gap"] == pytest.approx(0.35)


def test_a_gap_in_accuracy_is_a_note() -> None:
    shown = judged(trace_of((1.0, 0.8, 0.6, 0.5, 0.45, 0.6), accuracies=(0.5, 0.6, 0.7, 0.7, 0.7, 0.7)))
    assert isinstance(shown, Passed)
    assert "a gap of 30 points" in shown.notes[0]


def test_a_rise_that_stays_below_a_guess_is_no_alarm() -> None:
    assert isinstance(judged(trace_of((1.0, 0.5, 0.2, 0.4, 0.6, 0.8))), Passed)


def test_it_fails_only_after_three_seeds_and_with_a_cure() -> None:
    asked = judge(trace_of(RISES), {})
    assert asked == NeedsControl(OtherNumbers("a second seed", 17389), once=True)
    shown = judged(trace_of(RISES))
    assert isinstance(shown, FailIfConfirmed)
    assert shown.symptom.category == OVERFITTING
    assert "over 3 seeds" in shown.symptom.summary
    assert isinstance(shown.otherwise, CouldNotJudge)


def test_a_seed_that_does_not_show_it_clears_it() -> None:
    calm = trace_of((1.0, 0.7, 0.6, 0.6, 0.7, 0.8))
    shown = judged(trace_of(RISES), **{SEEDS[1]: calm})
    assert isinstance(shown, CouldNotJudge)
    assert "other random numbers" in shown.reason


def test_a_training_loss_that_rises_too_is_no_overfitting() -> None:
    assert isinstance(judged(trace_of(RISES, train=(1.0, 0.5, 0.3, 0.5, 0.6, 0.7))), CouldNotJudge)


def test_more_certain_of_its_mistakes_is_no_alarm() -> None:
    shown = judged(trace_of(RISES, accuracies=(0.5, 0.7, 0.8, 0.8, 0.8, 0.8)))
    assert isinstance(shown, Passed)


def test_an_accuracy_that_is_lost_is_one() -> None:
    shown = judged(trace_of(RISES, accuracies=(0.5, 0.7, 0.7, 0.6, 0.55, 0.5)))
    assert isinstance(shown, FailIfConfirmed)
    assert shown.symptom.severity == "high"


def test_three_times_a_guess_and_a_wide_gap_is_one() -> None:
    accuracies = (0.5, 0.7, 0.7, 0.7, 0.7, 0.7)
    assert isinstance(judged(trace_of((1.0, 0.7, 0.6, 1.5, 2.5, 3.5), accuracies=accuracies)), FailIfConfirmed)
    assert isinstance(judged(trace_of((1.0, 0.7, 0.6, 1.5, 2.0, 2.5), accuracies=accuracies)), Passed)


def test_what_was_never_better_than_a_guess_is_not_judged() -> None:
    shown = judged(trace_of((1.0, 1.0, 1.0, 1.4, 2.0, 3.0)))
    assert isinstance(shown, CouldNotJudge)
    assert shown.reason.startswith("nothing that is learnt carries over")


def test_underfitting_is_the_matter_of_another_check() -> None:
    shown = judged(trace_of((1.0,) * 6, train=(1.0,) * 6))
    assert isinstance(shown, CouldNotJudge)
    assert "a matter of learns_from_data" in shown.reason


def test_an_early_best_by_one_half_of_the_samples_alone_is_no_best() -> None:
    """It is chosen by one half and measured by the other: what only one half shows is luck."""
    trace = trace_of(RISES)
    held = trace.state.held_out
    assert held is not None
    held.points = [
        HeldOutPoint(p.steps, Scored((p.val.loss, 1.2, p.val.loss, 1.2)) if p.val.loss < 1 else p.val, p.train)
        for p in held.points
    ]
    assert isinstance(judged(trace), CouldNotJudge)


def test_without_a_guess_the_first_loss_counts() -> None:
    assert isinstance(judged(trace_of(RISES, chance=None, most_frequent=None)), FailIfConfirmed)


def test_val_data_that_are_data_are_not_judged() -> None:
    trace = trace_of(RISES)
    trace.data.survey = SurveyRecord(val_is_data=True)
    assert isinstance(judged(trace), CouldNotJudge)


@pytest.mark.parametrize(
    ("why", "trace"),
    [
        ("too few", Trace.of([1.0])),
        ("no val_data", Trace.of([1.0])),
    ],
)
def test_too_little_to_see(why: str, trace: Trace) -> None:
    trace.state.held_out = HeldOutRecord(why_not="the training has no val_data" if why == "no val_data" else "")
    shown = judge(trace, {})
    assert isinstance(shown, CouldNotJudge)
    assert why in shown.reason
    assert result(trace) == "nothing to see"


def test_no_more_than_twenty_passes_unless_asked_for() -> None:
    trace = trace_of((1.0, 0.8, 0.6, 0.5, 0.45, 0.4), train=(1.0, 0.9, 0.8, 0.7, 0.6, 0.5))
    trace.batches = 3
    assert stop_when(trace, {})
    assert not stop_when(trace, {"steps": 500})
    trace.batches = 4
    assert not stop_when(trace, {})


def test_it_stops_when_all_is_learnt() -> None:
    assert stop_when(trace_of((1.0, 0.8, 0.2, 0.09, 0.05, 0.04)), {})


def test_a_cure_has_to_keep_half_of_what_was_gained() -> None:
    untreated = {UNTREATED: trace_of(RISES)}
    assert isinstance(judge(trace_of((1.0, 0.7, 0.6, 0.6, 0.65, 0.75)), {}, untreated), Passed)
    assert isinstance(judge(trace_of((1.0, 0.7, 0.6, 0.6, 0.7, 0.9)), {}, untreated), Symptom)
    assert isinstance(judge(trace_of(RISES), {}, untreated), Symptom)


def stopped(after: int = 10) -> Trace:
    trace = trace_of((1.0, 0.7, 0.6, 0.6, 0.6, 0.6))
    trace.applied.stopped_after = after
    return trace


def test_stopping_in_time_counts_where_every_seed_shows_it() -> None:
    """The run itself shows nothing new: up to there it is the one that was judged."""
    untreated = {UNTREATED: trace_of(RISES)}
    assert judge(stopped(), {}, untreated) == NeedsControl(OtherNumbers("a second seed", 17389), once=True)
    assert isinstance(judge(stopped(), {}, {**untreated, **{seed: trace_of(RISES) for seed in SEEDS}}), Passed)
    never_good = trace_of((1.0, 0.98, 0.97, 1.2, 1.4, 2.0))
    assert isinstance(judge(stopped(), {}, {**untreated, SEEDS[0]: trace_of(RISES), SEEDS[1]: never_good}), Symptom)


def test_it_stops_where_validation_will_not_turn() -> None:
    learnt, left_to_gain = (1.0, 0.8, 0.4, 0.09, 0.05, 0.04), (1.0, 0.9, 0.8, 0.7, 0.6, 0.5)
    stays, may_get_worse = (1.0, 0.8, 0.6, 0.5, 0.45, 0.4), (1.0, 0.8, 0.6, 0.7, 0.9, 0.95)
    assert stop_when(trace_of(stays, train=learnt), {})
    assert not stop_when(trace_of(may_get_worse, train=learnt), {})
    assert not stop_when(trace_of(stays, train=left_to_gain), {})
    assert not stop_when(trace_of(stays, train=learnt), {"steps": 500}), "as long as was asked for"


def test_the_run_of_another_check_is_judged_as_far_as_its_own_would_have_come() -> None:
    learnt = trace_of((1.0, 0.5, 0.09, 0.09, 0.05, 0.04))
    own = as_its_own(learnt, {})
    assert own is not None
    assert own.steps == 40, "the first three evaluations below a tenth"
    assert len(own.state.held_out.points) == 5  # type: ignore[union-attr]
    assert as_its_own(trace_of(RISES), {}) is None, "it would have gone on"
    assert as_its_own(Trace.of([1.0] * 60), {}) is None


def leaked() -> Trace:
    trace = trace_of((1.0, 0.6, 0.3, 0.2, 0.1, 0.05))
    trace.data.survey = SurveyRecord(shared=SharedSamples(100, 50, removable=True))
    return trace


def test_samples_on_both_sides_are_left_out_of_data_once() -> None:
    asked = judge(leaked(), {})
    assert isinstance(asked, NeedsControl)
    assert asked.control.label == "without these samples in data"
    honest = trace_of((1.0, 0.9, 0.9, 0.9, 0.8, 0.8))
    shown = judge(leaked(), {}, {asked.control.label: honest})
    assert isinstance(shown, Symptom)
    assert shown.category == FAULTY_DATA
    unseen = judge(honest, {}, {UNTREATED: leaked()})
    assert isinstance(unseen, CouldNotJudge)  # nobody looked whether they are gone
    honest.data.survey = SurveyRecord()
    assert isinstance(judge(honest, {}, {UNTREATED: leaked()}), Passed)


def test_samples_on_both_sides_are_a_fault_even_where_they_make_no_difference() -> None:
    shown = judge(leaked(), {}, {"without these samples in data": trace_of((1.0, 0.6, 0.3, 0.2, 0.1, 0.1))})
    assert isinstance(shown, Symptom)
    assert shown.summary == "50 of 100 samples of val_data are also in data (by chance about 0)"


def test_samples_that_cannot_be_left_out_and_near_copies_take_no_other_run() -> None:
    trace = leaked()
    trace.data.survey = SurveyRecord(shared=SharedSamples(100, 50))
    assert isinstance(judge(trace, {}), Symptom)
    trace.data.survey = SurveyRecord(near_copies=NearCopies("[0]", 100, 80))
    shown = judge(trace, {})
    assert isinstance(shown, Symptom)
    assert shown.summary == "80 of 100 samples of val_data are nearly samples of data (by chance about 0)"


def test_another_order_of_features_needs_a_run_that_is_far_better() -> None:
    known, colours = (OtherOrder(1, (2, 1, 0), 0, 0.0, 1.0, 0.0, each) for each in (True, False))
    bad, good = (9.0, 9.0, 9.0, 9.0, 9.0, 9.0), (1.0, 0.8, 0.6, 0.5, 0.3, 0.2)
    for found in (known, colours):
        odd = trace_of(bad, other_order=found)
        assert isinstance(judged(odd), FailIfConfirmed)
        cured = trace_of(good, other_order=found)
        cured.applied.validated = "in the order of data"
        assert isinstance(judge(cured, {}, {UNTREATED: odd}), Passed)
        cured = trace_of(bad, other_order=found)
        cured.applied.validated = "in the order of data"
        assert isinstance(judge(cured, {}, {UNTREATED: odd}), Symptom)
    assert isinstance(judged(trace_of(good, other_order=colours)), Passed), "next to no gap: not worth a run"


def test_a_scale_of_its_own_is_a_suspicion_only_where_nothing_carries_over() -> None:
    other = ScaleShift(0.0, 1.0, 120.0, 50.0)
    bad, good = (9.0, 9.0, 9.0, 9.0, 9.0, 9.0), (1.0, 0.8, 0.6, 0.5, 0.45, 0.4)
    assert isinstance(judged(trace_of(bad, shift=other)), FailIfConfirmed)
    assert isinstance(judged(trace_of(good, shift=other)), Passed)
    assert isinstance(judged(trace_of(bad, shift=ScaleShift(0.0, 1.0, 0.5, 1.5))), CouldNotJudge)


def test_targets_at_other_positions_are_shown_by_the_answers_themselves() -> None:
    bad, good = (9.0, 9.0, 9.0, 9.0, 9.0, 9.0), (1.0, 0.8, 0.6, 0.5, 0.45, 0.4)
    moved = ShiftedTargets("[1]", 1, 800, 0.5, 0.95)
    found = judged(trace_of(bad, shifted=moved))
    assert isinstance(found, Symptom)
    assert found.category == FAULTY_DATA
    assert isinstance(judged(trace_of(good, shifted=moved)), Passed), "it carries over as it is"
    for other in (
        ShiftedTargets("[1]", 1, 800, 0.5, 0.7),
        ShiftedTargets("[1]", 1, 100, 0.5, 0.95),
        ShiftedTargets("[1]", 1, 800, 0.8, 0.95),  # neighbours are mostly alike
    ):
        assert not isinstance(judged(trace_of(bad, shifted=other)), Symptom)


def test_an_evaluation_in_training_mode() -> None:
    good = (1.0, 0.8, 0.6, 0.5, 0.45, 0.4)
    layers = [ActiveLayer("2", "Dropout")]
    odd = trace_of(good, active=layers, own_loss=1.0, own_loss_in_eval_mode=0.4)
    assert isinstance(judged(odd), FailIfConfirmed)
    assert isinstance(judged(trace_of(good, active=layers, own_loss=0.45, own_loss_in_eval_mode=0.4)), Passed)
    assert isinstance(judge(trace_of(good, own_loss=0.4), {}, {UNTREATED: odd}), Passed)
    assert isinstance(judge(trace_of(good, own_loss=0.9), {}, {UNTREATED: odd}), Symptom)


def test_what_speaks_for_overfitting() -> None:
    trace = trace_of(RISES, accuracies=(0.5, 0.7, 0.7, 0.6, 0.55, 0.5))
    trace.data.survey = SurveyRecord(samples=64, complete=True)
    found = look(trace, Symptom("", OVERFITTING, 2.0, 1.0))
    assert found is not None
    texts = [each.text for each in found.evidence]
    assert texts[0].startswith("validation loss is lowest after step 10 (0.600) and is 2.000 after step 60")
    assert "a gap of 50 points (more than 20 is severe)" in texts[1]
    assert texts[2] == "64 samples for 0 parameters; no dropout, no weight decay"
    assert [cure.kind for cure in found.cures] == ["optimizer_settings", "added_dropout", "stopped"]


# -- trainings that run --------------------------------------------------------------------------------


def verdict_of(make: Callable[[], Training], seed: int = 0) -> Verdict:
    (verdict,) = diagnose(make, checks="generalizes", seed=seed).verdicts
    return verdict


@pytest.mark.parametrize("make", PROGRAMS, ids=lambda make: make.__name__)
def test_odd_and_healthy(make: Callable[[], Training]) -> None:
    verdict = verdict_of(make)
    assert not verdict.failed, str(verdict)
    noise = make.__name__ in ("random_labels", "regression_of_noise")
    assert verdict.passed != noise, str(verdict)


def raw_validation() -> Training:
    x, y = clusters(64)
    return made(mlp(12, 4), batches(*clusters(128)), batches(120 + 50 * x, y), 1e-2)


def shared_samples() -> Training:
    x, y = torch.randn(96, 30), torch.randint(4, (96,))
    x[:, 0] += y
    return made(mlp(30, 4, 128), batches(x, y), (x[::3].clone(), y[::3].clone()), 1e-2)


def in_training_mode() -> Training:
    model, teacher = mlp(12, 1, dropout=0.5), torch.randn(12, 1)
    inputs = torch.randn(256, 12)

    def evaluate(data: list[tuple[Tensor, Tensor]]) -> float:
        with torch.no_grad():
            return sum(float(F.mse_loss(model(x), y)) for x, y in data) / len(data)

    return Training(
        model,
        torch.optim.Adam(model.parameters(), lr=1e-2),
        criterion=nn.MSELoss(),
        data=batches(inputs[:128], inputs[:128] @ teacher),
        val_data=batches(inputs[128:], inputs[128:] @ teacher),
        evaluate=evaluate,
    )


def rare_in_data(
    rare: int = 12, apart: float = 1.2, weighed: bool = False, val: int = 100, binary: bool = True
) -> Training:
    def drawn(common: int, rare: int) -> tuple[Tensor, Tensor]:
        x, y = torch.randn(common + rare, 10), (torch.arange(common + rare) < rare).float()
        x[:, :4] += apart * y[:, None]
        order = torch.randperm(len(x))
        return x[order], y[order]

    data, held = drawn(1500, rare), drawn(200, val)
    model = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 1 if binary else 2))
    weight = torch.tensor([1.0, 60.0]) if weighed else None

    def loss(model: nn.Module, batch: tuple[Tensor, Tensor]) -> Tensor:
        scores = model(batch[0])
        if binary:
            return F.binary_cross_entropy_with_logits(
                scores[:, 0], batch[1], pos_weight=weight if weight is None else weight[1:]
            )
        return F.cross_entropy(scores, batch[1].long(), weight)

    x, y = data
    if not binary:
        y, held = y.long(), (held[0], held[1].long())
    return made_of(model, loss, list(zip(x.split(32), y.split(32), strict=True)), [held])


def made_of(model: nn.Module, loss: Callable[..., Tensor], data: object, val: object) -> Training:
    return Training(model, torch.optim.Adam(model.parameters(), 0.003), loss, data, val_data=val)


@pytest.mark.parametrize("binary", [True, False])
def test_a_class_that_hardly_comes_and_is_often_validated(binary: bool) -> None:
    verdict = verdict_of(lambda: rare_in_data(binary=binary))
    assert [(each.cause, each.certainty) for each in verdict.findings] == [("class-imbalance", "confirmed")], str(
        verdict
    )


@pytest.mark.parametrize(
    "odd", [{"weighed": True}, {"apart": 6.0}, {"rare": 60}, {"val": 5}, {"weighed": True, "binary": False}], ids=str
)
def test_a_class_that_is_weighed_or_plain_or_as_rare_in_val_data_is_no_alarm(odd: dict[str, Any]) -> None:
    """With 60 of it there are enough to learn from; those that lie far off are told in time: three times the steps."""
    assert not verdict_of(lambda: rare_in_data(**odd)).failed


@pytest.mark.parametrize("flat", [True, False])
@pytest.mark.parametrize("behind", [True, False])
def test_tags_that_are_moved_in_val_data_alone(flat: bool, behind: bool) -> None:
    """A token in front of each sentence, or one cut off; the loss gets one long row, or the sequences as they are."""

    def make(moved: bool = True) -> Training:
        words = torch.randint(2, 40, (400, 9))
        tags = words % 4
        if moved:
            words = torch.cat([words[:320], words[320:].roll(1 if behind else -1, dims=1)])
        model = nn.Sequential(nn.Embedding(40, 16), nn.Linear(16, 4))

        def loss(model: nn.Module, batch: tuple[Tensor, Tensor]) -> Tensor:
            scores = model(batch[0])
            if flat:
                return F.cross_entropy(scores.flatten(0, 1), batch[1].flatten())
            return F.cross_entropy(scores.transpose(1, 2), batch[1])

        data = list(zip(words.split(32), tags.split(32), strict=True))
        return Training(model, torch.optim.Adam(model.parameters(), 0.02), loss, data[:10], val_data=data[10:])

    verdict = verdict_of(make)
    assert [each.cause for each in verdict.findings] == ["labels-not-aligned"], str(verdict)
    assert verdict_of(lambda: make(moved=False)).passed


@pytest.mark.parametrize(
    ("make", "cause"),
    [
        (raw_validation, "unnormalized-inputs"),
        (shared_samples, "data-leakage"),
        (in_training_mode, "wrong-mode"),
    ],
)
def test_what_keeps_it_from_being_seen_is_named(make: Callable[[], Training], cause: str) -> None:
    verdict = verdict_of(make)
    assert verdict.failed, str(verdict)
    assert (verdict.findings[0].cause, verdict.findings[0].certainty) == (cause, "confirmed"), str(verdict)


def test_an_evaluation_leaves_nothing_behind() -> None:
    """With it and without it, the steps are the same."""
    make = next(each for each in PROGRAMS if each.__name__ == "images_with_batch_norm")
    training = make()
    before = {name: value.clone() for name, value in training.model.state_dict().items()}
    diagnose(training, checks="generalizes")
    assert all(torch.equal(value, before[name]) for name, value in training.model.state_dict().items())
    assert all(module.training for module in training.model.modules())


def test_the_battery_has_it_where_there_is_val_data() -> None:
    checks = ["overfits_one_batch", "generalizes"]
    with_val = diagnose(PROGRAMS[0], steps=2)
    assert [v.check for v in with_val.verdicts if v.check in checks] == checks
    without = diagnose(lambda: made(mlp(12, 4), clusters(16), None), steps=2)
    assert [v.check for v in without.verdicts if v.check in checks] == checks[:1]


def plain() -> Training:
    return made(mlp(12, 4), batches(*clusters(256, apart=2.0), 32), batches(*clusters(128, apart=2.0), 32), 1e-2)


def test_in_a_battery_it_judges_the_run_of_learns_from_data() -> None:
    """And what that check says is the same, to the last digit."""
    with counted() as runs:
        together = {v.check: v for v in diagnose(plain).verdicts}
    assert "generalizes" not in {run.check for run in runs}
    alone = verdict_of(plain)
    assert together["generalizes"].outcome == alone.outcome == "passed"
    assert together["generalizes"].figures == alone.figures
    (learns,) = diagnose(plain, checks="learns_from_data").verdicts
    assert together["learns_from_data"].figures == learns.figures
    assert together["learns_from_data"].steps == learns.steps


def test_the_evaluations_of_a_check_that_rides_along_are_seen_by_nobody() -> None:
    """BatchNorm and dropout in eval mode, in the middle of a run that is asked about its modes."""
    make = next(each for each in PROGRAMS if each.__name__ == "images_with_batch_norm")
    together = {v.check: v for v in diagnose(make).verdicts}
    (learns,) = diagnose(make, checks="learns_from_data").verdicts
    assert (together["learns_from_data"].outcome, together["learns_from_data"].figures) == (
        learns.outcome,
        learns.figures,
    )


@pytest.mark.parametrize("seed", range(1, 6))
def test_the_pair_on_the_page_shows_it_with_every_seed(seed: int) -> None:
    page = Path(__file__).parents[2] / "docs" / "causes" / "overfitting"
    broken, fixed = (
        verdict_of(runpy.run_path(str(page / f"{each}.py"))["training"], seed) for each in ("broken", "fixed")
    )
    assert [(each.cause, each.certainty) for each in broken.findings] == [("overfitting", "confirmed")], str(broken)
    assert fixed.passed, str(fixed)
