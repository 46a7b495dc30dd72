"""The search: inputs inside the data's bounds that break a training are found, and a robust one is never accused."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from pytest_trainhealth import Training, diagnose, replay
from pytest_trainhealth.budget.budget import Budget
from pytest_trainhealth.engine.request import Request
from pytest_trainhealth.examine import examine
from pytest_trainhealth.interventions.inputs import found_inputs
from pytest_trainhealth.observe.run.run import Run
from pytest_trainhealth.programs.plan import RunPlan
from pytest_trainhealth.programs.start import Start
from pytest_trainhealth.programs.training_program import TrainingProgram
from pytest_trainhealth.records.verdict import Verdict
from pytest_trainhealth.settings import read_keywords
from pytest_trainhealth.state.process import seed_everything, undisturbed
from pytest_trainhealth.stress.search.data_bounds import DataBounds
from pytest_trainhealth.stress.search.search import Find, Searched, search


class Net(nn.Module):
    """Robust in itself; what a test makes of its input and its output is not."""

    def __init__(self, before: Callable[[Tensor], Tensor], after: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.inner = nn.Linear(4, 4)
        self.before, self.after = before, after

    def forward(self, x: Tensor) -> Tensor:
        return self.after(self.inner(self.before(x)))


def same(x: Tensor) -> Tensor:
    return x


def normal() -> Tensor:
    return torch.randn(16, 4)


def uniform() -> Tensor:
    return torch.rand(16, 4) * 2 - 1


def training(
    before: Callable[[Tensor], Tensor] = same,
    after: Callable[[Tensor], Tensor] = same,
    draw: Callable[[], Tensor] = normal,
    **more: Any,
) -> Callable[[], Training]:
    def make() -> Training:
        model = Net(before, after)
        data = [(draw(), torch.randn(16, 4)) for _ in range(4)]
        optimizer = torch.optim.SGD(model.parameters(), 1e-3)
        return Training(model, optimizer, **{"criterion": nn.MSELoss(), "data": data, **more})

    return make


def judged(make: Any, **values: Any) -> Verdict:
    parsed = read_keywords("trains_without_nan", {"search": True, "steps": 10, **values}, "the test")
    return examine(make, Request("trains_without_nan", "searched", 0, parsed))


class Outcome(NamedTuple):
    find: Find | None
    searched: Searched
    data: Any


def searched(make: Callable[[], Training], **plan: Any) -> Outcome:
    with undisturbed():
        seed_everything(0)
        start = Start(make(), seed=0, factory=make)
        outcome = search(TrainingProgram(start), start, RunPlan(max_steps=10, one_batch=False, **plan), steps=10)
        return Outcome(outcome.find, outcome, start.begin().data)


# -- what is fragile ------------------------------------------------------------------------------------


def log_of_a_sum(x: Tensor) -> Tensor:
    return x + torch.log(x.sum(1, keepdim=True) + 3.6)


def root_of_a_sum(x: Tensor) -> Tensor:
    return torch.sqrt(x.sum(1, keepdim=True) + 3.6) * x


def over_a_difference(x: Tensor) -> Tensor:
    return x / (x[:, :1] - x[:, 1:2])


def of_unit_length(x: Tensor) -> Tensor:
    return x / x.norm(dim=1, keepdim=True)


def own_normalisation(x: Tensor) -> Tensor:
    return (x - x.mean(1, keepdim=True)) / x.std(1, keepdim=True)


class Gates(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.gates = nn.Parameter(torch.ones(4))

    def forward(self, x: Tensor) -> Tensor:
        opened = x * self.gates
        return opened * opened.square().sum(1, keepdim=True).sqrt()


def length() -> Training:
    model = Gates()
    data = [(torch.randn(16, 4), torch.randn(16, 4)) for _ in range(4)]
    return Training(model, torch.optim.SGD(model.parameters(), 1e-3), criterion=nn.MSELoss(), data=data)


def own_sigmoid(x: Tensor) -> Tensor:
    grown = torch.exp(24 * x.sum(1, keepdim=True))
    return x * grown / (1 + grown)


def angle(x: Tensor) -> Tensor:
    return torch.acos(x.mean(1, keepdim=True) / 2.2) * x


def power_of_a_product(x: Tensor) -> Tensor:
    return (x[:, :1] * x[:, 1:2] + 0.9) ** 0.5 * x


def own_cross_entropy(h: Tensor) -> Tensor:
    return -torch.log(torch.softmax(h * 25, 1))


FRAGILE = {
    "log": (training(before=log_of_a_sum, draw=uniform), "log"),
    "sqrt": (training(before=root_of_a_sum, draw=uniform), "sqrt"),
    "difference": (training(before=over_a_difference), "div"),
    "norm": (training(before=of_unit_length), "norm"),
    "spread": (training(before=own_normalisation), "div"),
    "length": (length, "sqrt"),
    "exp": (training(before=own_sigmoid, draw=uniform), "exp"),
    "acos": (training(before=angle), "acos"),
    "pow": (training(before=power_of_a_product, draw=uniform), "pow"),
    "log of softmax": (training(after=own_cross_entropy), "log"),
}


@pytest.mark.parametrize("kind", FRAGILE)
def test_what_is_fragile_is_found_and_explained(kind: str) -> None:
    make, operation = FRAGILE[kind]
    assert judged(make, search=False).passed  # nobody asked
    verdict = judged(make)
    assert verdict.failed, verdict.notes
    assert verdict.symptom is not None
    summary, finding = verdict.symptom.summary, verdict.findings[0]
    assert "at step 0, with an input inside the data's bounds that the search found (" in summary
    assert f"towards {operation} at " in summary
    assert finding.cause == "unstable-operation"
    assert operation in finding.places[0].code or operation in ("div", "pow")
    assert summary.endswith(f"{finding.places[0]})")  # what was aimed at is what the microscope finds
    assert verdict.notes[-1].startswith("moved: 1 sample of batch[0], to ")


@pytest.mark.parametrize("kind", FRAGILE)
def test_what_is_found_is_inside_the_bounds(kind: str) -> None:
    make, _ = FRAGILE[kind]
    find, _, data = searched(make)
    assert find is not None
    moved = find.condition.options["inputs"]
    assert list(moved) == ["[0]"]  # the target stays
    values = torch.cat([x for x, _ in data])
    assert bool((moved["[0]"] >= values.amin(0)).all())
    assert bool((moved["[0]"] <= values.amax(0)).all())


def test_several_features_are_moved_together() -> None:
    find, _, data = searched(FRAGILE["log"][0])
    assert find is not None
    assert find.found.moves > 1
    before, after = data[0][0], find.condition.options["inputs"]["[0]"]
    assert int((before != after).sum(1).max()) >= 3  # one feature alone would have to leave its range


def test_the_same_is_found_each_time() -> None:
    first, second = judged(FRAGILE["spread"][0]), judged(FRAGILE["spread"][0])
    assert first.symptom is not None
    assert second.symptom is not None
    assert first.symptom.summary == second.symptom.summary
    assert first.notes == second.notes


class Grows(nn.Module):
    """A factor of 0 keeps every input away from the danger; one of 1, which is learnt, does not."""

    def __init__(self, last: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.factor = nn.Parameter(torch.zeros(()))
        self.last = last

    def forward(self, x: Tensor) -> Tensor:
        return self.last(3.6 - self.factor * x.sum(1))


def dangerous_later(last: Callable[[Tensor], Tensor]) -> Callable[[], Training]:
    def make() -> Training:
        model = Grows(last)
        data = [uniform() for _ in range(4)]
        optimizer = torch.optim.SGD(model.parameters(), 0.2)
        return Training(model, optimizer, loss=lambda m, x: (m.factor - 1).square() + 0 * m(x).sum(), data=data)

    return make


@pytest.mark.parametrize(
    ("make", "operation", "where"),
    [
        (dangerous_later(torch.log), "log", "the loss"),
        (dangerous_later(lambda x: torch.sqrt(x.clamp(min=0))), "sqrt", "factor"),  # in the backward pass
    ],
)
def test_what_becomes_fragile_by_training_is_found(make: Any, operation: str, where: str) -> None:
    verdict = judged(make)
    assert verdict.symptom is not None, verdict.notes
    assert verdict.symptom.headline.startswith(f"{where} is nan at step 9, with an input inside")
    assert f"towards {operation} at" in verdict.symptom.summary
    assert verdict.findings[0].cause == "unstable-operation"
    assert judged(make, steps=2).passed


# -- what is robust -------------------------------------------------------------------------------------


def positive() -> Tensor:
    return torch.rand(16, 4) + 0.1


def shares() -> Tensor:
    return torch.softmax(torch.randn(16, 4) * 3, 1)


def flags() -> Tensor:
    return torch.randint(0, 2, (16, 4)).float().index_fill(1, torch.tensor([0]), 1.0)


def spans() -> Tensor:
    start = torch.randn(16, 2)
    return torch.cat([start, start + torch.rand(16, 2) + 0.1], 1)


ROBUST = {
    "log with epsilon": training(before=lambda x: torch.log(x.abs() + 1e-6)),
    "sqrt with epsilon": training(after=lambda h: h * torch.sqrt(h.square().sum(1, keepdim=True) + 1e-8)),
    "clamp before log": training(after=lambda h: torch.log(h.clamp(min=1e-4))),
    "log of softplus": training(after=lambda h: torch.log(F.softplus(h) + 1e-6)),
    "own logsumexp": training(after=lambda h: h - torch.exp(50 * (h - h.amax(1, keepdim=True))).sum(1)[:, None].log()),
    "epsilon in the divisor": training(before=lambda x: x / (x.norm(dim=1, keepdim=True) + 1e-6)),
    "clamped exponent": training(after=lambda h: torch.exp((h * 12).clamp(max=5))),
    "acos inside its domain": training(before=lambda x: torch.acos(torch.tanh(x) * 0.99)),
    "log of what is positive": training(before=lambda x: torch.log(x), draw=positive),
    "division by what is positive": training(before=lambda x: 1 / x, draw=positive),
    "inverse root with epsilon": training(before=lambda x: x * torch.rsqrt(x.square().sum(1, keepdim=True) + 1e-5)),
    "ends after starts": training(before=lambda x: torch.log(x[:, 2:] - x[:, :2]).repeat(1, 2), draw=spans),
}
NOTHING_TO_FIND = {
    "no such operation": training(after=torch.tanh),
    "logsumexp": training(after=lambda h: h - torch.logsumexp(h * 50, 1, keepdim=True)),
    "log_softmax": training(after=lambda h: -torch.log_softmax(h * 60, 1)),
    "normalize": training(before=lambda x: F.normalize(x, dim=1)),
    "layer norm": training(before=lambda x: F.layer_norm(x, (4,))),
    "library": training(after=lambda h: torch.distributions.Normal(h, F.softplus(h) + 1e-3).log_prob(h)),
    "a parameter alone": training(after=lambda h: h / torch.ones(4, requires_grad=True)),
    "shares": training(before=lambda x: x + torch.log(x.sum(1, keepdim=True) - 0.5), draw=shares),
    "flags": training(before=lambda x: x / x.sum(1, keepdim=True), draw=flags),
    "numbers": training(before=lambda x: torch.log(torch.from_numpy(x.numpy()).abs() + 1)),
    "labels": training(criterion=lambda h, y: F.mse_loss(h, torch.log(y.sum(1, keepdim=True) + 8).expand_as(h))),
}


@pytest.mark.parametrize("kind", ROBUST)
def test_what_is_robust_passes(kind: str) -> None:
    verdict = judged(ROBUST[kind])
    assert verdict.passed, verdict
    assert verdict.notes[-1].startswith("searched: ")
    assert verdict.notes[-1].endswith(" found nothing")


def only_with_gradients(x: Tensor) -> Tensor:
    return torch.log(x.sum(1, keepdim=True) + (3.6 if x.requires_grad else 8)) + x


def test_what_only_the_search_itself_brings_about_is_no_find() -> None:
    """Its inputs carry gradients, those of the training do not."""
    verdict = judged(training(before=only_with_gradients, draw=uniform))
    assert verdict.passed, verdict
    assert verdict.notes[-1].startswith("searched: ")


def test_what_does_not_show_in_a_replay_is_no_find(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(found_inputs.FoundInputs, "_field", lambda self, name, tensor: tensor)
    assert judged(FRAGILE["log"][0]).passed


@pytest.mark.parametrize("kind", NOTHING_TO_FIND)
def test_what_cannot_be_searched_for_is_said(kind: str) -> None:
    verdict = judged(NOTHING_TO_FIND[kind])
    assert verdict.passed, verdict
    assert verdict.notes[-1].startswith("nothing to search for")


# -- how it behaves -------------------------------------------------------------------------------------


def test_a_step_of_the_users_own_with_a_dict() -> None:
    def make() -> Training:
        model = Net(log_of_a_sum, same)
        optimizer = torch.optim.SGD(model.parameters(), 1e-3)

        def step(batch: dict[str, Tensor]) -> Tensor:
            optimizer.zero_grad()
            loss = F.mse_loss(model(batch.pop("x")), batch["y"])
            loss.backward()
            optimizer.step()
            return loss

        data = [{"x": uniform(), "y": torch.randn(16, 4)} for _ in range(4)]
        return Training(model, optimizer, step=step, data=data)

    verdict = judged(make)
    assert verdict.failed, verdict.notes
    assert verdict.notes[-1].startswith("moved: 1 sample of batch['x']")


def test_a_target_that_is_the_input_goes_with_it() -> None:
    def make() -> Training:
        data = [(x, x.clone()) for x in (uniform() for _ in range(4))]
        model = Net(log_of_a_sum, same)
        return Training(model, torch.optim.SGD(model.parameters(), 1e-3), criterion=nn.MSELoss(), data=data)

    find = searched(make).find
    assert find is not None
    moved = find.condition.options["inputs"]
    assert list(moved) == ["[0]", "[1]"]
    assert torch.equal(moved["[0]"], moved["[1]"])


def test_the_training_is_left_as_it_was() -> None:
    subject = FRAGILE["log"][0]()
    before = {name: value.clone() for name, value in subject.model.state_dict().items()}
    batches = [x.clone() for x, _ in subject.data]
    assert judged(subject).failed
    assert all(torch.equal(value, before[name]) for name, value in subject.model.state_dict().items())
    assert all(torch.equal(x, old) for (x, _), old in zip(subject.data, batches, strict=True))
    assert all(parameter.grad is None for parameter in subject.model.parameters())
    assert not any(x.requires_grad for x, _ in subject.data)


def test_no_attempt_once_the_budget_is_used_up() -> None:
    outcome = searched(FRAGILE["log"][0], budget=Budget(-1.0))
    assert outcome.find is None
    assert outcome.searched.attempts == 0
    assert outcome.searched.out_of_time


def test_a_watched_test_is_not_searched_and_says_so() -> None:
    def watched() -> None:
        subject = FRAGILE["log"][0]()
        for x, y in subject.data:
            F.mse_loss(subject.model(x), y).backward()
            next(iter(subject.optimizers.values())).step()

    verdict = judged(watched)
    assert verdict.passed
    assert "not searched: it needs a Training, and this test is watched" in verdict.notes


def test_what_is_found_can_be_kept_and_replayed(tmp_path: Path) -> None:
    report = diagnose(FRAGILE["log"][0], ["trains_without_nan"], search=True, steps=10, reproducers=tmp_path)
    again = replay(next(tmp_path.glob("*.pt")), FRAGILE["log"][0])
    assert report.findings[0].location == again.findings[0].location


def test_inputs_are_given_at_one_step_only() -> None:
    run = Run()
    with ExitStack() as stack:
        found_inputs.FoundInputs(run, stack, {"[0]": torch.ones(2)}, step=1)
    (change,) = run.batch_changes
    batch = (torch.zeros(2), torch.zeros(2))
    assert change(batch) is batch
    run.step = 1
    first, second = change(batch)
    assert first.tolist() == [1, 1]
    assert second is batch[1]
    assert batch[0].tolist() == [0, 0]
    assert change((torch.zeros(3), batch[1]))[0].tolist() == [1, 1, 0]  # larger batches: a cure's
    assert change((torch.zeros(2, 3), batch[1]))[0].tolist() == [[0, 0, 0], [0, 0, 0]]


# -- what the data allow --------------------------------------------------------------------------------


def test_features_stay_between_the_smallest_and_the_largest_seen() -> None:
    bounds = DataBounds(torch.tensor([[0.5, 3.0], [1.5, 4.5]]), [torch.tensor([[2.5, 4.0]])], by_sample=True)
    now = torch.tensor([[0.5, 3.0], [1.5, 4.5]])
    assert bounds.inside(now + 9, now).tolist() == [[2.5, 4.5], [2.5, 4.5]]


def test_whole_numbers_stay() -> None:
    values = torch.tensor([[0.0, 0.2], [3.0, 0.9], [1.0, -0.7]])
    bounds = DataBounds(values, [], by_sample=True)
    assert bounds.inside(values + 1, values)[:, 0].tolist() == [0, 3, 1]
    assert not DataBounds(values[:, :1], [], by_sample=True).movable


@pytest.mark.parametrize("values", [torch.rand(8, 5).softmax(1), F.normalize(torch.randn(8, 5), dim=1)])
def test_rows_of_one_sum_or_length_stay(values: Tensor) -> None:
    assert not DataBounds(values, [], by_sample=True).movable
    assert DataBounds(values * torch.linspace(1, 2, 8)[:, None], [], by_sample=True).movable


def test_an_end_stays_after_its_start() -> None:
    start = torch.linspace(-1.05, 1.05, 8)
    values = torch.stack([start, start + torch.linspace(0.25, 0.75, 8)], 1)
    bounds = DataBounds(values, [], by_sample=True)
    wanted = values.clone()
    wanted[:, 1] = values[:, 0]
    assert torch.equal(bounds.inside(wanted, values), values)
    wanted[:, 1] = values[:, 0] + 0.5
    assert not torch.equal(bounds.inside(wanted, values), values)


def test_values_that_are_not_finite_show_no_bounds() -> None:
    assert not DataBounds(torch.tensor([[0.5], [torch.inf], [0.7]]), [], by_sample=True).movable
