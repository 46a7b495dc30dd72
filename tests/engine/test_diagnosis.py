"""From symptoms to causes: several checks, several faults, errors, doubts and the budget."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import pytest
import torch
from torch import nn

from pytest_trainhealth import Training, diagnose
from pytest_trainhealth.budget.budget import Budget
from pytest_trainhealth.causes import Suspicion
from pytest_trainhealth.causes import cause as find_cause
from pytest_trainhealth.checks import check as find_check
from pytest_trainhealth.engine import conclude
from pytest_trainhealth.engine.conclude import _made_up_for
from pytest_trainhealth.engine.diagnosis import Diagnosis
from pytest_trainhealth.engine.examination import Attempt, Examination
from pytest_trainhealth.engine.findings import try_cures_of
from pytest_trainhealth.engine.reruns import Reruns
from pytest_trainhealth.engine.swaps import by_their_own
from pytest_trainhealth.examine import pipeline
from pytest_trainhealth.programs.plan import RunPlan
from pytest_trainhealth.programs.training_program import TrainingProgram
from pytest_trainhealth.records.intervention import Cure
from pytest_trainhealth.records.judgement import CouldNotJudge, FailIfConfirmed, Judgement, NeedsControl, Passed
from pytest_trainhealth.records.trace import Trace
from pytest_trainhealth.records.verdict import Certainty, Finding, Fix, Rerun, Symptom


def digits(n: int = 16) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.randn(n, 20), torch.randint(4, (n,))


def network() -> nn.Sequential:
    return nn.Sequential(nn.Linear(20, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 4))


def confirmed(report) -> set[str]:
    return {f.cause for f in report.findings if f.confirmed}


def test_two_faults_are_both_found() -> None:
    def two_faults() -> Training:
        model = network()
        optimizer = torch.optim.SGD(model[:4].parameters(), lr=0.1)  # without the head

        def step(batch):
            loss = nn.functional.cross_entropy(model(batch[0]), batch[1])
            loss.backward()
            optimizer.step()  # and without zero_grad()
            return loss

        return Training(model, optimizer, step=step, data=digits())

    assert confirmed(diagnose(two_faults)) == {"parameters-not-in-optimizer", "missing-zero-grad"}


def test_one_cause_that_several_checks_meet_is_told_once() -> None:
    def never_steps() -> Training:
        model = network()
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)

        def step(batch):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(batch[0]), batch[1])
            loss.backward()
            return loss

        return Training(model, optimizer, step=step, data=digits())

    report = diagnose(never_steps)
    failed = [v for v in report.verdicts if v.failed]
    assert {"overfits_one_batch", "gradients_flow"} <= {v.check for v in failed}
    assert {v.findings[0].cause for v in failed} == {"missing-optimizer-step"}
    assert [f.cause for f in report.findings] == ["missing-optimizer-step"]


def test_verdicts_come_in_the_order_that_was_asked_for() -> None:
    model = network()
    training = Training(
        model, torch.optim.Adam(model.parameters(), 1e-2), criterion=nn.CrossEntropyLoss(), data=digits()
    )
    asked = ("trains_without_nan", "overfits_one_batch", "gradients_flow")
    assert tuple(v.check for v in diagnose(training, asked).verdicts) == asked


def test_an_error_that_no_cause_explains_is_raised_as_it_is() -> None:
    def factory() -> Training:
        model = network()

        def loss(model, batch):
            raise KeyError("no such column")

        return Training(model, torch.optim.Adam(model.parameters()), loss=loss, data=digits())

    with pytest.raises(KeyError, match="no such column"):
        diagnose(factory)


STUCK = Symptom("stuck", "not learning", 2.3, 0.2, "high", "stuck")


class FakeExamination:
    """Heals when exactly the cures of one set are there."""

    def __init__(self, heals: set[str]) -> None:
        self.heals, self.steps_spent, self.budget = heals, 0, Budget()
        self.program = self
        self.repeatable = True

    def try_cures(self, cures: Sequence[Cure], symptom: Symptom) -> Attempt:
        self.steps_spent += 100
        healthy = self.heals <= {cure.label for cure in cures}
        return Attempt("1 -> 0", healthy, healthy)


def cures(*labels: str) -> list[tuple[str, Cure]]:
    return [(label, Cure("learning_rate", label, {})) for label in labels]


def test_a_cure_is_tried_once() -> None:
    examination = FakeExamination({"a"})
    trials = Reruns(examination, 100, STUCK)
    assert trials(cures("a")[0][1]) == trials(cures("a")[0][1]) == Rerun("a", "1 -> 0", healthy=True)
    assert examination.steps_spent == 100


def test_beyond_ten_times_the_check_nothing_is_tried_and_that_is_said() -> None:
    trials = Reruns(FakeExamination(set("xyz")), 100, STUCK)
    alone = [Cure("learning_rate", f"cure {index}", {}) for index in range(10)]
    for cure in alone:
        trials(cure)
    assert len(trials.done) == 8  # the last of them began within the budget
    assert trials.untried == ["cure 8", "cure 9"]
    for index in range(5):  # some is kept for two faults at once
        trials(alone[index], alone[index + 1])
    assert len(trials.done) == 11
    assert trials.untried[2:] == ["cure 3, cure 4", "cure 4, cure 5"]


def test_of_three_cures_the_two_that_are_needed() -> None:
    found = Reruns(FakeExamination({"a", "c"}), 100, STUCK).smallest_healing_set(cures("a", "b", "c"))
    assert found == ({"a", "c"}, Rerun("a, c", "1 -> 0", healthy=True))
    assert Reruns(FakeExamination({"d"}), 100, STUCK).smallest_healing_set(cures("a", "b")) is None


def test_a_doubt_is_an_alarm_only_with_a_confirmed_cause(monkeypatch: pytest.MonkeyPatch) -> None:
    check = find_check("trains_without_nan")
    symptom = Symptom("odd", "plateau", 1.0, 0.1)
    for otherwise, outcome in ((Passed(("a note",)), "passed"), (CouldNotJudge("because"), "could not judge")):
        doubting = replace(check, judge=lambda *_, otherwise=otherwise: FailIfConfirmed(symptom, otherwise))
        monkeypatch.setattr(pipeline, "find_check", lambda _, doubting=doubting: doubting)
        model = network()
        training = Training(
            model, torch.optim.Adam(model.parameters(), 1e-2), criterion=nn.CrossEntropyLoss(), data=digits()
        )
        assert diagnose(training, "trains_without_nan").verdicts[0].outcome == outcome


def test_a_run_that_two_checks_can_judge_is_recorded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    recorded = []
    original = TrainingProgram.record
    monkeypatch.setattr(TrainingProgram, "record", lambda self, plan: recorded.append(plan) or original(self, plan))

    def factory() -> Training:
        model = network()
        batches = [digits(), digits(), digits()]
        return Training(
            model, torch.optim.Adam(model.parameters(), 1e-2), criterion=nn.CrossEntropyLoss(), data=batches
        )

    report = diagnose(factory, ("trains_without_nan", "learns_from_data"), sweep=False)
    assert [v.outcome for v in report.verdicts] == ["passed", "passed"]
    assert len(recorded) == 1


def test_what_was_left_undone_is_counted() -> None:
    examination = FakeExamination(set("xyz"))
    runs = Reruns(examination, 1000, STUCK)
    for label, cure in cures(*"abcd"):
        examination.budget = Budget() if label in "ab" else Budget(-1.0)
        runs(cure)
    runs(*(cure for _, cure in cures("a", "b")))
    assert list(runs.done) == ["a", "b"]
    assert runs.untried == ["c", "d", "a, b"]
    assert runs.left_undone == "budget of -1 s used up: 2 of 4 cures not tried"


@pytest.mark.parametrize(
    ("by_rate", "by_dropout", "first", "second"),
    [(0.28, 5.6, ("lr-too-high", "confirmed"), ("too-much-regularization", "likely")),
     (5.6, 0.28, ("too-much-regularization", "confirmed"), ("lr-too-high", "likely"))],
)  # fmt: skip
def test_of_a_rate_and_another_ingredient_that_heal_together_the_one_that_leads_further_alone_is_to_blame(
    by_rate: float, by_dropout: float, first: tuple[str, str], second: tuple[str, str]
) -> None:
    names = ("too-much-regularization", "lr-too-high")
    suspicion = Suspicion("odd", (), "because", fix=Fix("mend it"), not_this="that")
    needed = [(find_cause(name), suspicion) for name in names]
    prescribed = dict(zip(names, (cure for _, cure in cures("no dropout", "rate / 10")), strict=True))
    runs = Reruns(FakeExamination(set()), 100, STUCK)
    for label, level in (("no dropout", by_dropout), ("rate / 10", by_rate)):
        runs.done[label] = Rerun(label, f"1 -> {level}", healthy=False)
        runs._distances[label] = (1, level)
    in_order, certainties = by_their_own(needed, prescribed, runs)
    assert [(cause.name, sure) for (cause, _), sure in zip(in_order, certainties, strict=True)] == [first, second]
    del runs.done["rate / 10"]
    assert by_their_own(needed, prescribed, runs) == (needed, ["confirmed", "confirmed"])


def test_cures_that_heal_together_name_nobody_if_the_time_ends_before_each_was_left_out() -> None:
    examination = FakeExamination({"a"})
    original = examination.try_cures

    def last_one(cures: Sequence[Cure], symptom: Symptom) -> Attempt:
        examination.budget = Budget(-1.0)
        return original(cures, symptom)

    examination.try_cures = last_one  # type: ignore[method-assign]
    runs = Reruns(examination, 100, STUCK)
    assert runs.smallest_healing_set(cures("a", "b", "c")) is None
    assert runs.left_undone == "budget of -1 s used up: cures not tried together"


def test_a_doubt_that_the_time_did_not_settle_is_no_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    doubting = replace(
        find_check("trains_without_nan"),
        judge=lambda *_: FailIfConfirmed(Symptom("odd", "plateau", 1.0, 0.1), Passed()),
    )
    monkeypatch.setattr(pipeline, "find_check", lambda _: doubting)
    unfinished = Diagnosis(unfinished="budget of 5 s used up: 3 of 7 cures not tried")
    monkeypatch.setattr(conclude, "find_causes", lambda *_, **__: unfinished)
    model = network()
    training = Training(
        model, torch.optim.Adam(model.parameters(), 1e-2), criterion=nn.CrossEntropyLoss(), data=digits()
    )
    (verdict,) = diagnose(training, "trains_without_nan").verdicts
    assert (verdict.outcome, verdict.reason) == (
        "could not judge",
        "odd; budget of 5 s used up: 3 of 7 cures not tried",
    )


class CutShort:
    """A program whose runs are cut short after so many steps, each."""

    start, first_run, repeatable, why_not, remarks = None, None, True, "", ()

    def __init__(self, *steps: int, cut: Sequence[int] = ()) -> None:
        self._steps, self._cut = list(steps), cut

    def record(self, plan: RunPlan) -> Trace:
        trace = Trace.of([2.0] * self._steps.pop(0))
        trace.cut_short = "cut" if trace.steps in self._cut else ""
        return trace


def examined(program: CutShort, judge: Callable[..., Judgement]) -> tuple[Trace, Judgement]:
    check, plan = replace(find_check("gradients_flow"), judge=judge), RunPlan(max_steps=8)
    return Examination(program, check, {}, plan).run_and_judge(plan)  # type: ignore[arg-type]


def test_what_a_run_that_was_cut_short_has_not_come_to_shows_nothing() -> None:
    assert examined(CutShort(8), lambda *_: STUCK)[1] == STUCK
    assert examined(CutShort(3, cut=[3]), lambda *_: STUCK)[1] == CouldNotJudge("cut")
    assert examined(CutShort(3, cut=[3]), lambda *_: Passed())[1] == Passed()


def test_half_of_a_control_shows_nothing() -> None:
    def judge(trace: Trace, values: object, controls: Mapping[str, Trace]) -> Judgement:
        return STUCK if "plain" in controls else NeedsControl(Cure("learning_rate", "plain", {}))

    assert examined(CutShort(8, 8), judge)[1] == STUCK
    trace, judgement = examined(CutShort(8, 5, cut=[5]), judge)
    assert judgement == CouldNotJudge("cut (plain)")
    assert trace.cut_short


def test_no_run_begins_once_the_budget_is_used_up() -> None:
    plan = RunPlan(max_steps=8, budget=Budget(-1.0))
    examination = Examination(CutShort(), find_check("gradients_flow"), {}, plan)  # type: ignore[arg-type]
    trace, judgement = examination.run_and_judge(plan)
    assert (trace.steps, judgement) == (0, CouldNotJudge("budget of -1 s used up: 0 of at most 8 steps taken"))


def test_what_the_time_budget_cut_short_was_not_tried() -> None:
    examination = FakeExamination({"a"})
    examination.try_cures = lambda cures, symptom: Attempt("1 -> 1", False, False, cut_short=True)  # type: ignore[method-assign]
    runs = Reruns(examination, 100, Symptom("s", "plateau", 1.0, 0.0))  # type: ignore[arg-type]
    assert runs(Cure("kind", "a")) is None
    assert runs(Cure("kind", "b")) is None
    assert runs.untried == ["a", "b"]
    assert runs.out_of_time
    assert not runs.done


def test_of_several_rates_that_heal_the_one_that_works_best_is_advised() -> None:
    steps = {"learning rate x 10": 300, "learning rate x 100": 60, "learning rate x 1000": 200}
    examination = FakeExamination(set())
    examination.try_cures = lambda cures, symptom: Attempt(  # type: ignore[method-assign]
        "1 -> 0", True, True, distance=(steps[cures[0].label], 0.1)
    )
    runs = Reruns(examination, 1000, Symptom("s", "plateau", 1.0, 0.0))  # type: ignore[arg-type]
    suspicion = Suspicion("too low", (), cures=tuple(Cure("learning_rate", label) for label in steps))
    healed, reruns = try_cures_of(find_cause("lr-too-low"), suspicion, runs)
    assert healed is not None
    assert healed.label == "learning rate x 100"
    assert [rerun.cure for rerun in reruns if rerun.confirms] == ["learning rate x 100"]


@pytest.mark.parametrize(
    ("certainty", "healthy", "cause"),
    [("likely", True, "lr-too-low"), ("likely", False, ""), ("possible", True, ""), ("confirmed", True, "")],
)
def test_a_cure_that_heals_and_confirms_nothing_leaves_a_doubt(certainty: Certainty, healthy: bool, cause: str) -> None:
    finding = Finding("lr-too-low", "it is slow", certainty, reruns=(Rerun("x 10", "2 -> 0", healthy),))
    assert _made_up_for(Diagnosis((finding,))) == cause
