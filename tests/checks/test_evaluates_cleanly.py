"""evaluates_cleanly: judged on made-up traces, and on small trainings whose evaluations do one thing too much."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from pytest_trainhealth import Training, diagnose
from pytest_trainhealth.checks.evaluates_cleanly import NEVER, judge
from pytest_trainhealth.records.held_out import ActiveLayer
from pytest_trainhealth.records.judgement import CouldNotJudge, NeedsControl, Passed
from pytest_trainhealth.records.state import EvaluationRecord, StateRecord
from pytest_trainhealth.records.trace import Trace
from pytest_trainhealth.records.verdict import Symptom

CLEAN = EvaluationRecord(own=True, results=((0.5,), (0.5,)), by_chance=0.0, by_size=1e-7, figures_by_size=0.0)
DROPOUT = ActiveLayer("drop", "Dropout")


def run(found: EvaluationRecord | None = CLEAN, losses=(2.0, 1.5, 1.0)) -> Trace:
    return replace(Trace.of(losses), state=StateRecord(evaluation=found, from_training=True))


def judged(found: EvaluationRecord, never=(2.0, 1.5, 1.0)):
    return judge(run(found), {}, {NEVER.label: run(None, never)})


def test_a_run_without_the_evaluation_is_asked_for():
    assert judge(run(), {}) == NeedsControl(NEVER)


def test_a_clean_evaluation_passes():
    assert isinstance(judged(CLEAN), Passed)


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (
            replace(CLEAN, results=((0.5,), (0.6,)), active=[DROPOUT]),
            "two evaluations give 0.5 and 0.6: drop (Dropout) acts",
        ),
        (replace(CLEAN, left_in_eval=["the model"]), "runs with the model in eval mode"),
        (replace(CLEAN, reseeded=["torch", "Python"]), "end with the same ones of torch and Python"),
        (replace(CLEAN, by_size=0.3, active=[ActiveLayer("norm", "BatchNorm1d")]), "outputs differ by up to 30 %"),
    ],
)
def test_what_the_evaluation_shows(found, said):
    judgement = judged(found)
    assert isinstance(judgement, Symptom)
    assert said in judgement.summary


def test_traces_are_those_that_make_a_difference():
    assert isinstance(judged(replace(CLEAN, changed=["history"])), Passed)
    found = judged(replace(CLEAN, changed=["mean"]), never=(2.0, 1.5, 1.1))
    assert isinstance(found, Symptom)
    assert "the evaluation changes mean, and the steps after it differ" in found.summary


def test_what_may_be_meant_is_not_judged():
    assert "draw random numbers" in judged(replace(CLEAN, results=((0.5,), (0.6,)))).reason
    assert "may be meant" in judged(replace(CLEAN, by_size=0.3)).reason
    assert judge(run(replace(CLEAN, why_not="it raises")), {}) == CouldNotJudge("it raises")


# -- real trainings --------------------------------------------------------------------------------


def batches(number=4, size=8):
    return [(torch.randn(size, 6), torch.randint(3, (size,))) for _ in range(number)]


def network():
    return nn.Sequential(nn.Linear(6, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.2), nn.Linear(16, 3))


def evaluated(model, data):
    with torch.no_grad():
        return {"loss": sum(float(F.cross_entropy(model(x), y)) for x, y in data) / len(data)}


def factory(how=None, *, own_step=False, switches=False, model=network, **rest):
    def training() -> Training:
        made = model()
        optimizer = torch.optim.SGD(made.parameters(), 0.1)

        def step(batch):
            if switches:
                made.train()
            loss = F.cross_entropy(made(batch[0]), batch[1])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            return loss

        ways = {"step": step} if own_step else {"criterion": F.cross_entropy}
        evaluate = {} if how is None else {"evaluate": lambda data: how(made, data)}
        return Training(made, optimizer, data=batches(), val_data=batches(3), **ways, **evaluate, **rest)

    return training


def verdict(subject):
    (found,) = diagnose(subject, ["evaluates_cleanly"]).verdicts
    return found


def properly(model, data):
    model.eval()
    found = evaluated(model, data)
    model.train()
    return found


def leaves_eval_mode_on(model, data):
    model.eval()
    return evaluated(model, data)


def test_a_proper_evaluation_passes():
    assert verdict(factory(properly)).passed
    assert verdict(factory(properly, own_step=True)).passed
    assert verdict(factory(properly)()).passed  # a training, and no function that makes it


def test_without_an_evaluation_of_its_own_the_loss_is_computed_in_eval_mode():
    found = verdict(factory())
    assert found.passed
    assert "hand in evaluate=" in found.notes[0]
    assert "hand in evaluate=, and val_data= if it takes them" in verdict(factory(own_step=True)).reason


def test_eval_mode_that_is_left_on_matters_where_the_step_does_not_switch_back():
    assert verdict(factory(leaves_eval_mode_on)).passed  # nobody knows what the loop does
    assert verdict(factory(leaves_eval_mode_on, own_step=True, switches=True)).passed
    found = verdict(factory(leaves_eval_mode_on, own_step=True))
    assert found.failed
    assert found.findings[0].headline == "wrong-mode: after an evaluation, the model is trained in eval mode"


def test_an_evaluation_in_training_mode_is_named_and_confirmed():
    found = verdict(factory(evaluated))
    assert found.failed
    assert (found.findings[0].cause, found.findings[0].certainty) == ("wrong-mode", "confirmed")


def test_batch_norm_alone_moves_its_statistics():
    def normed():
        return nn.Sequential(nn.Linear(6, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 3))

    found = verdict(factory(evaluated, model=normed))
    assert found.failed
    assert found.findings[0].cause == "wrong-mode"
    assert found.findings[0].confirmed


def test_a_model_that_learns_in_eval_mode_is_found():
    class Counting(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer, self.calls, self.seen = nn.Linear(6, 3), 0, []

        def forward(self, x):
            self.calls += 1
            self.seen.append(float(x.mean()))
            return self.layer(x) * (1 + 0.01 * self.calls)

    found = verdict(factory(model=Counting))
    assert found.outcome == "could not judge"  # whoever evaluates may not compute this loss
    assert "computing the loss changes calls" in found.reason
    found = verdict(factory(properly, model=Counting))
    assert found.failed
    assert found.findings[0].headline.startswith("evaluation-changes-state: evaluating changes calls")
    assert found.findings[0].confirmed


def test_a_history_that_nobody_reads_is_no_trace():
    class Remembering(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer, self.seen = nn.Linear(6, 3), []

        def forward(self, x):
            self.seen.append(float(x.mean()))
            return self.layer(x)

    assert verdict(factory(model=Remembering)).passed


def test_a_model_that_is_called_twice_for_a_batch_is_compared_call_by_call():
    class Pairs(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(6, 3)

        def forward(self, x):
            return self.layer(x)

    def loss(model, batch):
        return (model(batch[0]) - model(batch[0].flip(1))).square().mean()

    def training() -> Training:
        model = Pairs()
        return Training(model, torch.optim.SGD(model.parameters(), 0.1), loss, batches(), val_data=batches(3))

    found = verdict(training)
    assert found.passed
    assert found.figures["by_size"] < 1e-5


def test_dropout_that_was_switched_on_in_eval_mode_is_meant():
    def uncertain(model, data):
        model.eval()
        model[3].train()
        found = evaluated(model, data)
        model.train()
        return found

    assert "may be meant" in verdict(factory(uncertain)).reason


def test_noise_in_the_loss_is_not_judged():
    def noisy(model, data):
        model.eval()
        found = float(torch.rand(()))
        model.train()
        return found

    assert "draw random numbers" in verdict(factory(noisy)).reason


def test_an_evaluation_that_raises_is_told():
    def broken(model, data):
        raise ValueError("no such metric")

    assert verdict(factory(broken)).reason == "evaluate(val_data) raises ValueError: no such metric"
    assert verdict(with_its_own_data(broken)).reason == "evaluate() raises ValueError: no such metric"


def with_its_own_data(how, *, batches_handed_in=False):
    """An evaluation that takes no argument."""

    def training() -> Training:
        model, own = network(), batches(3)
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        val_data = own if batches_handed_in else None
        return Training(
            model,
            optimizer,
            data=batches(),
            criterion=F.cross_entropy,
            val_data=val_data,
            evaluate=lambda: how(model, own),
        )

    return training


def learns_while_it_evaluates(model, data):
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(0.9)
    return properly(model, data)


@pytest.mark.parametrize("batches_handed_in", [False, True])
def test_an_evaluation_may_bring_its_own_data(batches_handed_in):
    found = verdict(with_its_own_data(properly, batches_handed_in=batches_handed_in))
    assert found.passed
    assert "batches could not be cut" in found.notes[0]  # which nobody can who does not hand them in
    found = verdict(with_its_own_data(learns_while_it_evaluates, batches_handed_in=batches_handed_in))
    assert found.failed
    assert (found.findings[0].cause, found.findings[0].certainty) == ("evaluation-changes-state", "confirmed")


def test_data_that_an_evaluation_need_not_be_given_are_its_own():
    seen = []

    def training() -> Training:
        model, own = network(), batches(3)

        def evaluate(data=own):
            seen.append(data is own)
            return properly(model, data)

        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        return Training(model, optimizer, data=batches(), criterion=F.cross_entropy, evaluate=evaluate)

    assert verdict(training).passed
    assert all(seen)


def test_an_evaluation_that_takes_no_data_serves_the_other_checks_too():
    def training() -> Training:
        made = factory(properly, own_step=True)()
        evaluate, val_data = made.evaluate, made.val_data
        return Training(
            made.model,
            made.optimizers["SGD"],
            step=made.step,
            data=made.data,
            val_data=val_data,
            evaluate=lambda: evaluate(val_data),
        )

    for check in ("generalizes", "resumes_exactly", "is_reproducible"):
        (found,) = diagnose(training, [check]).verdicts
        assert "raises" not in (found.reason or "")
        assert not found.failed or check == "generalizes"  # the labels are noise


def test_wrong_arguments_are_told_at_once():
    model = nn.Linear(6, 3)
    rest = {"optimizer": torch.optim.SGD(model.parameters(), 0.1), "criterion": F.cross_entropy, "data": batches()}
    with pytest.raises(TypeError, match=r"evaluate has to be callable as evaluate\(val_data\), not int 3"):
        Training(model, **rest, val_data=batches(), evaluate=3)
    with pytest.raises(ValueError, match=r"evaluate= is called with val_data=, and none was given.* take no argument"):
        Training(model, **rest, evaluate=lambda data: 0.0)
    with pytest.raises(TypeError, match=r"evaluate\(val_data\) or evaluate\(\), not properly\(model, data\)"):
        Training(model, **rest, val_data=batches(), evaluate=properly)
