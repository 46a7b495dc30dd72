"""Records what loss functions are called with at the first steps, and how much each contributes to the loss."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from pytest_trainhealth import Training
from pytest_trainhealth.programs.plan import Look, RunPlan, Treatment
from pytest_trainhealth.programs.start import Start
from pytest_trainhealth.programs.training_program import TrainingProgram
from pytest_trainhealth.records.intervention import Cure
from pytest_trainhealth.records.losses import LossCall
from pytest_trainhealth.records.trace import Trace

N = 8
LABELS = torch.arange(N) % 3


def net(outputs: int, *more: nn.Module) -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 8), nn.Linear(8, outputs), *more)


def record(model: nn.Module, loss: Callable[[Tensor, Tensor], Tensor], target: Tensor, *cures: Cure) -> Trace:
    training = Training(
        model,
        torch.optim.SGD(model.parameters(), 0.1),
        loss=lambda model, batch: loss(model(batch[0]), batch[1]),
        data=(torch.randn(N, 4), target),
    )
    plan = RunPlan(max_steps=5, look=Look(signals=("loss_calls",)), treatment=Treatment(cures=cures), catch_errors=True)
    return TrainingProgram(Start(training, seed=0)).record(plan)


def first(model: nn.Module, loss: Callable[[Tensor, Tensor], Tensor], target: Tensor) -> LossCall:
    return record(model, loss, target).loss.calls[0]


def test_only_the_first_two_steps_are_looked_at() -> None:
    assert [call.step for call in record(net(3), F.cross_entropy, LABELS).loss.calls] == [0, 1]


def test_shapes_ranges_and_classes() -> None:
    call = first(net(3), F.cross_entropy, LABELS)
    assert (call.function, call.classes, call.reduction, call.terms) == ("cross_entropy", 3, "mean", N)
    assert (call.input.shape, call.target.shape, call.target.dtype) == ((N, 3), (N,), "int64")
    assert (call.target.low, call.target.high, call.target.distinct, call.target.whole) == (0, 2, 3, True)
    assert call.value is not None
    assert call.value > 0
    assert call.place is not None
    assert "test_loss_calls" in call.place.file


def test_the_activation_that_made_the_input_is_followed_through_changes_of_shape() -> None:
    call = first(net(1, nn.Sigmoid()), lambda o, y: F.mse_loss(o.squeeze(1).reshape(-1), y), torch.full((N,), 2.0))
    assert (call.activation, call.activation_module, call.unreachable) == ("sigmoid", "2", 1.0)
    call = first(net(3, nn.Softmax(1)), lambda o, y: F.nll_loss(torch.log(o), y), LABELS)
    assert (call.activation, call.over) == ("log_softmax", 3)


def test_what_is_scaled_after_an_activation_is_no_longer_bounded_by_it() -> None:
    assert first(net(1, nn.Tanh()), lambda o, y: F.mse_loss(5 * o, y), torch.randn(N, 1)).activation == ""


@pytest.mark.parametrize(
    ("loss", "weight", "sole"),
    [
        (lambda o, y: F.cross_entropy(o, y), 1.0, True),
        (lambda o, y: -F.cross_entropy(o, y), -1.0, True),
        (lambda o, y: F.cross_entropy(o, y) / N, 1 / N, True),
        (lambda o, y: F.cross_entropy(o, y) + 0.1 * o.pow(2).mean(), 1.0, False),
        (lambda o, y: F.cross_entropy(o, y, reduction="none").mean(), 1.0, True),
        (lambda o, y: F.log_softmax(o, 1)[torch.arange(N), y].mean(), -1.0, True),
        (lambda o, y: -F.log_softmax(o, 1).gather(1, y[:, None]).mean(), 1.0, True),
        (lambda o, y: (F.log_softmax(o, 1) * F.one_hot(y, 3).float()).sum(1).mean(), -1.0, True),
        (lambda o, y: -((o - F.one_hot(y, 3).float()) ** 2).mean(), -1.0, True),
    ],
)
def test_its_share_in_the_loss(loss: Callable[[Tensor, Tensor], Tensor], weight: float, sole: bool) -> None:
    call = first(net(3), loss, LABELS)
    assert call.weight == pytest.approx(weight, rel=1e-3)
    assert call.sole is sole


def test_samples_with_weights_of_their_own_have_no_common_one() -> None:
    gains = torch.randn(N)
    call = first(net(3), lambda o, y: (F.cross_entropy(o, y, reduction="none") * gains).mean(), LABELS)
    assert call.weight is None


def test_a_call_that_raises_is_recorded() -> None:
    trace = record(net(3), F.cross_entropy, LABELS + 1)
    assert trace.crash is not None
    assert trace.crash.kind == "IndexError"
    assert [(call.error, call.invalid) for call in trace.loss.calls] == [("IndexError", 2)]


def test_differences_by_hand_that_broadcast() -> None:
    call = first(net(1), lambda o, y: ((o - y) ** 2).mean(), torch.randn(N))
    assert (call.function, call.terms, call.result_shape) == ("squared difference", N * N, (N, N))


def test_a_difference_that_broadcasts_is_recorded_whatever_is_done_with_it() -> None:
    def log_cosh(output: Tensor, target: Tensor) -> Tensor:
        return torch.log(torch.cosh(output - target)).mean()

    call = first(net(1), log_cosh, torch.randn(8))
    assert (call.function, call.terms) == ("difference", call.samples**2)
    squared = record(net(1), lambda o, t: ((o - t) ** 2).mean(), torch.randn(8)).loss.calls
    assert {each.function for each in squared} == {"squared difference"}


def test_training_goes_on_as_without_being_watched() -> None:
    watched = record(net(3), F.cross_entropy, LABELS)
    again = record(net(3), F.cross_entropy, LABELS, Cure("scale_gradients", "as it was", {"factor": 1.0}))
    assert watched.losses == again.losses


def test_a_sign_turned_is_told_turned() -> None:
    turned = Cure("scale_gradients", "sign flipped", {"factor": -1.0, "tells": True})
    cured = record(net(3), lambda o, y: -F.cross_entropy(o, y), LABELS, turned)
    right = record(net(3), F.cross_entropy, LABELS)
    assert cured.losses == pytest.approx(right.losses)


def test_shapes_matched_by_the_cure() -> None:
    target = torch.randn(N)
    cured = record(net(1), F.mse_loss, target, Cure("matching_shapes", ""))
    right = record(net(1), lambda o, y: F.mse_loss(o.squeeze(1), y), target)
    assert cured.losses == pytest.approx(right.losses)


def test_an_activation_left_out_by_the_cure() -> None:
    left_out = Cure("output_activation", "", {"functions": ["cross_entropy"], "undo": "softmax"})
    cured = record(net(3, nn.Softmax(1)), F.cross_entropy, LABELS, left_out)
    right = record(net(3), F.cross_entropy, LABELS)
    assert cured.losses == pytest.approx(right.losses)
