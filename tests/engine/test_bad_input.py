"""Wrong use gets a clear answer: what was given, what is possible; and nothing is lost on the way."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

import pytest_trainhealth
from pytest_trainhealth import Training, Verdict, diagnose
from pytest_trainhealth.engine.request import Request
from pytest_trainhealth.examine import examine
from pytest_trainhealth.observe.signals.wiring import parameters
from pytest_trainhealth.settings import WrongSetting

X, Y = torch.randn(8, 4), torch.randint(0, 3, (8,))
SCHEDULER = torch.optim.lr_scheduler.StepLR(torch.optim.SGD(nn.Linear(4, 3).parameters(), 0.1), 10)


def sgd(model: nn.Module) -> torch.optim.Optimizer:
    return torch.optim.SGD(model.parameters(), 0.1)


def cross_entropy(model: nn.Module, batch: Any) -> torch.Tensor:
    return F.cross_entropy(model(batch[0]), batch[1])


def run(training: Training | Callable[[], object], check: str = "trains_without_nan") -> Verdict:
    return examine(training, Request(check, "bad input", 0, {"steps": 3}))


def make(**changes: Any) -> Training:
    model = nn.Linear(4, 3)
    given: dict[str, Any] = {"model": model, "optimizer": sgd(model), "loss": cross_entropy, "data": (X, Y), **changes}
    return Training(**given)


@pytest.mark.parametrize(
    ("changes", "error", "says"),
    [
        ({"model": nn.Linear}, TypeError, "not the class Linear: call it first"),
        ({"model": "resnet"}, TypeError, "torch.nn.Module, not str 'resnet'"),
        ({"model": nn.ReLU()}, ValueError, "no parameters"),
        ({"optimizer": None}, ValueError, "needs optimizer="),
        ({"optimizer": torch.optim.SGD}, TypeError, "not the class SGD: call it with the model's parameters"),
        ({"optimizer": []}, ValueError, "optimizer is empty"),
        ({"loss": 3.0}, TypeError, r"callable as loss\(model, batch\), not float 3.0"),
        ({"criterion": F.mse_loss}, ValueError, "not loss and criterion together"),
        ({"step": lambda batch: None}, ValueError, "not loss and step together"),
        ({"data": None}, ValueError, "needs data="),
        ({"data": []}, ValueError, r"data is empty \(list \[\]\)"),
        ({"data": iter([])}, ValueError, "used up"),
        ({"data": {"name": "first"}}, ValueError, "one batch without a tensor"),
        ({"data": [{"name": "first"}]}, ValueError, r"data\[0\] is a batch without a tensor"),
        ({"data": [None]}, ValueError, r"data\[0\] is None: for a step .*, hand that in as step=, and say data=None"),
        ({"data": (X, Y), "val_data": []}, ValueError, "val_data is empty"),
        ({"scheduler": "cosine"}, TypeError, "needs a step\\(\\) method"),
        ({"scheduler_every": "epoch"}, ValueError, "scheduler_every needs scheduler="),
        ({"scheduler": SCHEDULER, "scheduler_every": "step"}, ValueError, '"epoch" or "batch", not str \'step\''),
        (
            {"scheduler": SCHEDULER, "scheduler_every": "epoch", "loss": None, "step": lambda batch: None},
            ValueError,
            "step=, which steps its schedulers itself",
        ),
        ({"precision": "float8"}, TypeError, "one of bfloat16, bf16, float16, fp16, not str 'float8'"),
        ({"precision": torch.int8}, ValueError, "floating point"),
    ],
)
def test_construction_names_what_was_given(changes: dict[str, Any], error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        make(**changes)


def test_a_used_up_generator_is_told_apart_from_a_fresh_one() -> None:
    def batches() -> Iterator[Any]:
        yield X, Y

    generator = batches()
    assert run(make(data=generator)).passed
    with pytest.raises(ValueError, match="used up"):
        make(data=generator)


def test_an_empty_loader() -> None:
    with pytest.raises(ValueError, match="data is empty"):
        make(data=DataLoader(TensorDataset(X[:0], Y[:0])))


def test_a_loader_that_turns_out_empty() -> None:
    class Stream(torch.utils.data.IterableDataset[Any]):
        def __iter__(self) -> Iterator[Any]:
            return iter(())

    with pytest.raises(ValueError, match="DataLoader gave no batch"):
        run(make(data=DataLoader(Stream())))


@pytest.mark.parametrize(
    ("loss", "says"),
    [
        (lambda model, batch: None, "returned None: return the loss"),
        (lambda model, batch: F.cross_entropy(model(batch[0]), batch[1], reduction="none"), r"shape \(8,\).*mean\(\)"),
        (lambda model, batch: 0.5, "returned float 0.5: a scalar tensor is needed"),
        (lambda model, batch: "low", "returned str 'low'"),
        (lambda model, batch: {"error": model(batch[0]).sum()}, "without a loss in it"),
        (lambda model, batch: model(batch[0]).sum().to(torch.complex64), "complex"),
    ],
)
def test_what_cannot_be_a_loss(loss: Callable[..., Any], says: str) -> None:
    with pytest.raises(TypeError, match=says):
        run(make(loss=loss))


def test_a_step_that_returns_nothing() -> None:
    with pytest.raises(TypeError, match=r"step\(batch\) returned None: return the loss from it"):
        run(make(loss=None, step=lambda batch: None))


def test_a_model_without_a_loss_in_its_output() -> None:
    with pytest.raises(TypeError, match="hand in loss=, criterion= or step="):
        run(make(loss=None, data=X))


def test_a_criterion_needs_pairs() -> None:
    with pytest.raises(TypeError, match="needs \\(inputs, target\\) batches, this one is a dict: use loss="):
        run(make(loss=None, criterion=F.cross_entropy, data={"x": X, "y": Y}))


def test_the_users_exception_comes_with_a_note_of_ours() -> None:
    calls = 0

    def step(batch: Any) -> torch.Tensor:
        nonlocal calls
        calls += 1
        if calls == 3:
            raise ZeroDivisionError("in the user's code")
        return torch.tensor(1.0)

    with pytest.raises(ZeroDivisionError, match="in the user's code") as caught:
        run(make(loss=None, step=step))
    assert caught.value.__notes__ == ["raised in step 2 of trains_without_nan on bad input"]
    assert calls == 0  # closure variables are put back, too


@pytest.mark.parametrize("check", ["overfits_one_batch", "gradients_flow", "trains_without_nan"])
def test_a_loss_that_no_parameter_reaches_is_a_symptom(check: str) -> None:
    verdict = run(make(loss=lambda model, batch: F.cross_entropy(model(batch[0]).detach(), batch[1])), check)
    assert verdict.failed
    assert [f.cause for f in verdict.findings] == ["disconnected-graph"]
    assert verdict.findings[0].certainty == "likely"
    assert verdict.findings[0].location is not None
    assert ".detach()" in verdict.findings[0].location.code


def test_an_optimizer_of_another_copy() -> None:
    training = make(optimizer=sgd(nn.Linear(4, 3)))
    verdict = run(training, "gradients_flow")
    assert verdict.findings[0].cause == "parameters-not-in-optimizer"
    assert verdict.findings[0].confirmed
    assert "another copy of the model" in verdict.headline


def test_everything_frozen() -> None:
    model = nn.Linear(4, 3).requires_grad_(False)
    verdict = run(make(model=model, optimizer=sgd(model)), "gradients_flow")
    assert verdict.findings[0].cause == "frozen-parameters"
    assert verdict.findings[0].confirmed


def test_lazy_modules_are_initialised_where_that_is_possible() -> None:
    model = nn.Sequential(nn.LazyLinear(8), nn.ReLU(), nn.LazyLinear(3))
    assert run(make(model=model, optimizer=sgd(model)), "gradients_flow").passed


def test_lazy_modules_in_a_step_of_ones_own() -> None:
    model = nn.LazyLinear(3)
    with pytest.raises(ValueError, match="lazy module that has seen no data yet"):
        run(make(model=model, optimizer=sgd(model), loss=None, step=lambda batch: model(batch[0]).sum()))


def test_a_device_that_is_not_there() -> None:
    with pytest.raises(WrongSetting, match=r"there is no 'martian' on this machine\. Here: cpu"):
        examine(make(), Request("gradients_flow", "x", 0, {"device": "martian"}))


def test_unknown_names_list_the_near_ones() -> None:
    with pytest.raises(WrongSetting, match=r"there is no check 'overfit_one_batch'\. Did you mean overfits_one_batch"):
        diagnose(make(), checks=["overfit_one_batch"])
    with pytest.raises(WrongSetting, match=r"takes no 'step'\. Did you mean steps"):
        diagnose(make(), step=3)


@pytest.mark.parametrize(
    ("subject", "says"),
    [
        (42, "a function that makes one, not int 42"),
        (None, "a function that makes one, not NoneType None"),
        (nn.Linear(4, 3), "a function that makes one, not Linear Linear\\(in_features=4"),
        (lambda: nn.Sequential(nn.Linear(4, 3)), r"returned a model \(Sequential\): return Training"),
        (lambda width: make(), r"<lambda>\(\) needs an argument but is called without any.*width=\.\.\."),
    ],
)
def test_what_is_no_training(subject: Any, says: str) -> None:
    with pytest.raises(TypeError, match=says):
        diagnose(subject)


def _our_frames(error: BaseException) -> list[str]:
    files = [frame.filename for frame in traceback.extract_tb(error.__traceback__)]
    return [file for file in files if str(Path(pytest_trainhealth.__file__).parent) in file]


class Refuses(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        raise KeyError("an error of their own")


def _with_a_hook(loss: torch.Tensor) -> torch.Tensor:
    loss.register_hook(lambda gradient: {}["gradient"])
    return loss


@pytest.mark.parametrize(
    "loss",
    [
        lambda model, batch: {}["loss"],
        lambda model: model,
        lambda model, batch: Refuses()(model(batch[0])),
        lambda model, batch: model(batch[0])[:0].max(),
        lambda model, batch: _with_a_hook(model(batch[0]).mean()),
    ],
    ids=["raises", "takes too few arguments", "a layer raises", "an operation raises", "a backward pass raises"],
)
def test_an_error_of_the_user_shows_none_of_our_frames(loss: Callable[..., Any]) -> None:
    with pytest.raises((KeyError, TypeError, RuntimeError, ValueError)) as raised:
        diagnose(make(loss=loss))
    assert len(_our_frames(raised.value)) == 1  # `diagnose` itself


def test_wrong_arguments_of_a_training_end_at_the_line_that_gives_them() -> None:
    with pytest.raises(ValueError, match="say data=None") as raised:
        diagnose(lambda: make(data=[None]))
    assert len(_our_frames(raised.value)) == 1


def test_an_error_of_ours_keeps_its_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parameters, "norms", None)
    with pytest.raises(TypeError, match="not callable") as raised:
        diagnose(make())
    assert any(file == parameters.__file__ for file in _our_frames(raised.value))
