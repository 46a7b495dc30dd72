"""accumulates_exactly: judged on made-up traces, and on small trainings that accumulate in one way each."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from pytest_trainhealth import Training, diagnose
from pytest_trainhealth.checks.accumulates_exactly import CUT, judge
from pytest_trainhealth.observe.calls.pass_terms import pass_terms
from pytest_trainhealth.records.judgement import CouldNotJudge, NeedsControl, Passed
from pytest_trainhealth.records.state import CutRecord, PassesRecord, StateRecord
from pytest_trainhealth.records.trace import Trace
from pytest_trainhealth.records.verdict import Symptom

EXACT = PassesRecord(0, "SGD", 4, "mean", 0.25, (4.0, 4.0, 4.0, 4.0), 1.0, 1e-6)


def run(*passes: PassesRecord, **state) -> Trace:
    return replace(Trace.of([1.0] * 8), state=StateRecord(passes=list(passes), **state))


def test_equal_gradients_pass():
    assert judge(run(EXACT), {}) == Passed(figures={"largest_error": 1e-6, "updates": 1.0})


def test_the_worst_update_is_told():
    found = judge(run(EXACT, replace(EXACT, ratio=4.0, error=3.0)), {})
    assert isinstance(found, Symptom)
    assert "4 backward passes is 4 times as large as that of one batch" in found.summary


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (replace(EXACT, error=1.0, one_loop=False), "come from different lines"),
        (replace(EXACT, error=1.0, clean=False), "gradients are left"),
        (replace(EXACT, error=1.0, kind="unknown"), "what the losses of the backward passes are made of"),
    ],
)
def test_what_may_be_meant_is_not_judged(other, said):
    assert said in judge(run(other), {}).reason


def test_a_training_with_one_pass_is_cut():
    assert "nothing is accumulated" in judge(run(), {}).reason
    asked = judge(run(splittable=True), {"micro_batches": 4})
    assert isinstance(asked, NeedsControl)
    assert asked.control.options == {"count": 4}


def cut(micro_batches=None, **figures):
    other = run(cut=CutRecord(2, **{"from_mean": 0.2, "from_sum": 0.9, "weights": (0.6, 0.4), **figures}))
    return judge(run(splittable=True), {"micro_batches": micro_batches}, {CUT: other})


def test_parts_of_a_batch():
    assert isinstance(cut(from_mean=1e-6), Passed)
    assert "accumulate it without dividing" in cut(from_sum=1e-6).notes[0]
    assert "draws random numbers" in cut(by_chance=0.3).reason
    assert "compares samples" in cut(from_any=0.1).reason
    assert "over all samples of batch['adv']" in cut(from_any=0.1, mixed_by=("['adv']",)).summary
    assert isinstance(cut(), CouldNotJudge)
    found = cut(micro_batches=2)
    assert isinstance(found, Symptom)
    assert "the batch is 0.6 and 0.4 of its parts" in found.summary


@pytest.mark.parametrize(
    ("loss", "kind", "factor", "count"),
    [
        (lambda x, t: F.cross_entropy(x, t), "mean", 1.0, 4.0),
        (lambda x, t: F.cross_entropy(x, t) / 4, "mean", 0.25, 4.0),
        (lambda x, t: 0.25 * F.cross_entropy(x, t), "mean", 0.25, 4.0),
        (lambda x, t: 1024.0 * F.cross_entropy(x, t) / 4, "mean", 0.25, 4.0),
        (lambda x, t: F.cross_entropy(x, t, reduction="sum"), "sum", 1.0, 4.0),
        (lambda x, t: F.cross_entropy(x, t, reduction="sum") / (t >= 0).sum(), "mean", 1.0, 4.0),
        (lambda x, t: F.cross_entropy(x, t, reduction="sum") / 100, "sum", 0.01, 4.0),
        (lambda x, t: x.square().mean() / 2, "mean", 0.5, 25.0),
        (lambda x, t: (x[:, 0] * (t >= 0)).sum() / (t >= 0).sum(), "mean", 1.0, 4.0),
        (lambda x, t: F.mse_loss(x, torch.zeros(5, 5)), "mean", 1.0, 25.0),
        (lambda x, t: x.mean() + x.square().mean(), "unknown", 1.0, 1.0),
    ],
)
def test_what_a_pass_starts_from(loss, kind, factor, count):
    inputs, labels = torch.randn(5, 5, requires_grad=True), torch.tensor([0, 1, -100, 2, 3])
    found = pass_terms(loss(inputs, labels))
    assert (found.kind, found.count) == (kind, count)
    assert found.factor == pytest.approx(factor)


# -- real trainings --------------------------------------------------------------------------------


def verdict(subject, **settings):
    (found,) = diagnose(subject, ["accumulates_exactly"], **settings).verdicts
    return found


def accumulating(loss, *, after=None, sizes=(4, 4, 4, 4), scaler=False) -> Training:
    model = nn.Sequential(nn.Linear(6, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.2), nn.Linear(16, 3))
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    scaling = torch.amp.GradScaler("cpu", init_scale=1024.0, enabled=scaler)

    def step(batch):
        optimizer.zero_grad()
        total = 0.0
        for inputs, labels in zip(*(each.split(list(sizes)) for each in batch), strict=True):
            found = loss(model(inputs), labels)
            scaling.scale(found).backward()
            total += float(found)
        if after is not None:
            after(model)
        scaling.step(optimizer)
        scaling.update()
        return total

    return Training(model, optimizer, step=step, data=[(torch.randn(16, 6), torch.randint(3, (16,))) for _ in range(4)])


def clip(model):
    nn.utils.clip_grad_norm_(model.parameters(), 0.01)


def divide(model):
    for parameter in model.parameters():
        parameter.grad /= 4


@pytest.mark.parametrize(
    "training",
    [
        lambda: accumulating(lambda x, t: F.cross_entropy(x, t) / 4),
        lambda: accumulating(lambda x, t: F.cross_entropy(x, t) / 4, after=clip),
        lambda: accumulating(lambda x, t: F.cross_entropy(x, t) / 4, scaler=True),
        lambda: accumulating(F.cross_entropy, after=divide),
        lambda: accumulating(lambda x, t: F.cross_entropy(x, t) * len(t) / 16, sizes=(7, 5, 4)),
        lambda: accumulating(lambda x, t: F.cross_entropy(x, t, reduction="sum") / 16, sizes=(7, 5, 4)),
        lambda: accumulating(lambda x, t: F.cross_entropy(x, t, reduction="sum"), sizes=(7, 5, 4)),
    ],
    ids=["divided", "clipped", "scaled", "divided later", "by share", "by all", "sums"],
)
def test_exact_accumulation_passes(training):
    assert verdict(training).passed


@pytest.mark.parametrize(
    ("training", "statement"),
    [
        (lambda: accumulating(F.cross_entropy), "each step uses the sum of 4 gradients, not their mean"),
        (lambda: accumulating(F.cross_entropy, scaler=True), "each step uses the sum of 4 gradients, not their mean"),
        (
            lambda: accumulating(lambda x, t: F.cross_entropy(x, t) / 3, sizes=(7, 5, 4)),
            "a mean of 3 means, over 4 to 7 terms each",
        ),
    ],
)
def test_what_is_wrong_is_named(training, statement):
    found = verdict(training)
    assert found.failed
    assert found.findings[0].headline == f"accumulation-not-scaled: {statement}"
    assert found.findings[0].confirmed


def test_divided_and_clipped_cannot_be_told_apart():
    found = verdict(lambda: accumulating(F.cross_entropy, after=lambda model: (divide(model), clip(model))))
    assert found.outcome == "could not judge"


def tagger() -> Training:
    model = nn.Sequential(nn.Embedding(20, 8), nn.Linear(8, 4))
    tokens = torch.randint(1, 20, (8, 6))
    labels = torch.where(torch.arange(6) < torch.tensor([6, 6, 6, 6, 2, 2, 1, 1]).unsqueeze(1), tokens % 4, -100)

    def loss(model, batch):
        return F.cross_entropy(model(batch[0]).flatten(0, 1), batch[1].flatten())

    return Training(model, torch.optim.SGD(model.parameters(), 0.1), loss, [(tokens, labels)])


def test_a_mean_over_tokens_fails_only_where_it_is_to_be_accumulated():
    assert verdict(tagger).outcome == "could not judge"
    found = verdict(tagger, micro_batches=2)
    assert found.failed
    assert found.findings[0].cause == "accumulation-not-scaled"


def test_a_mean_over_samples_passes_without_accumulating():
    def training() -> Training:
        model = nn.Sequential(nn.Linear(6, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.2), nn.Linear(16, 3))
        data = [(torch.randn(16, 6), torch.randint(3, (16,))) for _ in range(4)]
        return Training(model, torch.optim.SGD(model.parameters(), 0.1), criterion=F.cross_entropy, data=data)

    assert verdict(training, micro_batches=4).passed


def test_a_watched_loop_is_judged_as_well():
    def script(divisor: float):
        def main() -> None:
            model = nn.Linear(6, 3)
            optimizer = torch.optim.SGD(model.parameters(), 0.1)
            for number in range(16):
                loss = F.cross_entropy(model(torch.randn(4, 6)), torch.randint(3, (4,))) / divisor
                loss.backward()
                if number % 4 == 3:
                    optimizer.step()
                    optimizer.zero_grad()

        return main

    assert verdict(script(4)).passed
    assert verdict(script(1)).findings[0].headline.startswith("accumulation-not-scaled: each step uses the sum of 4")


# -- what is computed over the samples of a batch ---------------------------------------------------


def standardised(values):
    return (values - values.mean(0)) / (values.std(0) + 1e-8)


def by_rank(values):
    return values.argsort().argsort().float() / len(values)


def regression(change):
    return lambda model, batch: F.mse_loss(model(batch[0])[:, 0], change(batch[1]))


def weighted(change):
    return lambda model, batch: (change(batch[1]) * model(batch[0])[:, 0].square()).mean()


def contrastive(model, batch):
    found = F.normalize(model(batch[0]), dim=1)
    return F.cross_entropy(found @ found.T / 0.1, torch.arange(len(found)) // 2 * 2)


def correlation(model, batch):
    return -(standardised(model(batch[0])[:, 0]) * standardised(batch[1])).mean()


def pairs(model, batch):
    scores = model(batch[0])[:, 0]
    order = (batch[1][:, None] - batch[1]).sign()
    return F.relu(1 - order * (scores[:, None] - scores)).mean()


def given_to_the_model(model, batch):
    return (model(batch[0] + standardised(batch[1])[:, None]) - 1).square().mean()


def verdict_on(loss):
    def training() -> Training:
        model = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 3))
        data = [(torch.randn(8, 4), torch.rand(8)) for _ in range(3)]
        return Training(model, torch.optim.SGD(model.parameters(), 0.05), loss, data)

    (found,) = diagnose(training, ["accumulates_exactly"]).verdicts
    return found


@pytest.mark.parametrize(
    "loss", [regression(standardised), weighted(by_rank), weighted(lambda values: values - values.mean())]
)
def test_data_that_depend_on_what_else_is_in_the_batch(loss):
    found = verdict_on(loss)
    assert found.failed
    assert [finding.cause for finding in found.findings] == ["batch-mixing"]
    assert "batch[1]" in found.findings[0].statement


@pytest.mark.parametrize("loss", [contrastive, correlation, pairs, given_to_the_model])
def test_outputs_that_are_compared_are_not_judged(loss):
    assert verdict_on(loss).outcome == "could not judge"


def test_data_that_depend_on_nothing_else_pass():
    assert verdict_on(weighted(lambda values: 2 * values - 1)).passed


# -- sums beside means -------------------------------------------------------------------------------


def detector(box, *, batch=32):
    """Classes, and places that go with them."""

    def training() -> Training:
        model = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 5))
        data = [(torch.randn(batch, 4), torch.randint(3, (batch,)), torch.randn(batch, 2)) for _ in range(5)]

        def loss(model, batch):
            found = model(batch[0])
            return F.cross_entropy(found[:, :3], batch[1]) + box(found[:, 3:], batch[2])

        return Training(model, torch.optim.Adam(model.parameters(), 1e-2), loss, data)

    return training


def total(found, right):
    return F.smooth_l1_loss(found, right, reduction="sum")


@pytest.mark.parametrize(
    ("box", "named"),
    [
        (total, "smooth_l1_loss"),
        (lambda found, right: 2 * (found - right).abs().sum(), "sum"),
        (lambda found, right: 0.6 * total(found, right) + 0.01 * found.square().mean(), "smooth_l1_loss"),
    ],
)
def test_a_sum_that_is_added_to_a_mean_is_named(box, named):
    found = verdict(detector(box))
    assert found.failed
    (finding,) = found.findings
    assert (finding.cause, finding.certainty) == ("loss-reduction", "confirmed")
    assert finding.statement.startswith(f"{named} is summed over the samples, and added to a mean (")
    assert "nll_loss" in finding.statement


@pytest.mark.parametrize(
    "box",
    [
        lambda found, right: total(found, right) / len(found),
        lambda found, right: total(found, right) / 32,  # the size of each batch, as a number
        lambda found, right: 10 * total(found, right) / 32,
        lambda found, right: ((found - right).square() / 32).sum(),
        lambda found, right: (found.std(0) - 1).square().sum(),  # over all samples
    ],
)
def test_what_may_be_divided_by_the_batch_is_not_blamed(box):
    assert not verdict(detector(box)).failed


def test_a_sum_over_a_few_samples_is_not_blamed():
    assert not verdict(detector(total, batch=8)).failed


def test_penalties_belong_to_no_batch():
    def training() -> Training:
        model = nn.Linear(4, 3)
        data = [(torch.randn(32, 4), torch.randint(3, (32,))) for _ in range(5)]

        def loss(model, batch):
            return F.cross_entropy(model(batch[0]), batch[1]) + sum(p.square().sum() for p in model.parameters())

        return Training(model, torch.optim.SGD(model.parameters(), 0.1), loss, data)

    assert verdict(training).passed
