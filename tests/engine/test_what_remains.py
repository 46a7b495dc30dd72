"""A silenced finding does not count, and hides nothing: what remains is judged."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from pytest_trainhealth import Training, Verdict, diagnose
from pytest_trainhealth.records.silencing import silencing
from pytest_trainhealth.settings import WrongSetting

LATER = {"unused-parameters": "the pooler is for later"}


class Encoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Linear(6, 16)
        self.pooler = nn.Linear(16, 16)
        self.head = nn.Linear(16, 3)

    def forward(self, inputs: Tensor) -> Tensor:
        out: Tensor = self.head(torch.relu(self.body(inputs)))
        return out


def training(*, hold_head: bool = True, freeze: Callable[[Encoder], None] | None = None) -> Training:
    model = Encoder()
    if freeze is not None:
        freeze(model)
    held = [p for name, p in model.named_parameters() if hold_head or not name.startswith("head")]
    data = [(torch.randn(12, 6), torch.randint(3, (12,))) for _ in range(4)]
    return Training(model, torch.optim.Adam(held, 0.01), criterion=nn.CrossEntropyLoss(), data=data)


def gradients_flow(make: Callable[[], Training], **settings: Any) -> Verdict:
    return diagnose(make, checks="gradients_flow", **settings).verdicts[0]


@pytest.fixture(scope="module")
def silenced() -> Verdict:
    return gradients_flow(training, ignore=LATER)


def test_found_without_the_silencing() -> None:
    verdict = gradients_flow(training)
    assert verdict.failed
    assert verdict.findings[0].cause == "unused-parameters"
    assert verdict.findings[0].about == ("pooler.weight", "pooler.bias")


def test_what_remains_is_healthy_so_the_check_passes_and_tells_what_is_silenced(silenced: Verdict) -> None:
    assert silenced.passed
    (gone,) = silenced.silenced
    assert (gone.name, gone.reason) == ("unused-parameters", "the pooler is for later")
    assert gone.finding is not None
    assert gone.finding.cause == "unused-parameters"


def test_it_is_in_the_json(silenced: Verdict) -> None:
    assert Verdict.from_json(silenced.to_json()) == silenced
    assert silenced.to_json()["silenced"][0]["finding"]["statement"] == "pooler is made but never used"


def test_another_fault_is_not_hidden() -> None:
    verdict = gradients_flow(lambda: training(hold_head=False), ignore=LATER)
    assert verdict.failed
    assert verdict.findings[0].cause == "parameters-not-in-optimizer"
    # and the other way round
    verdict = gradients_flow(
        lambda: training(hold_head=False), ignore={"parameters-not-in-optimizer": "the head is trained elsewhere"}
    )
    assert verdict.failed
    assert verdict.findings[0].cause == "unused-parameters"


def test_one_that_has_ended_silences_nothing_and_says_so() -> None:
    verdict = gradients_flow(training, ignore={"unused-parameters": "the pooler is for later until 2020-02-29"})
    assert verdict.failed
    assert not verdict.silenced
    assert verdict.notes[-1] == (
        "no longer silenced: unused-parameters (the pooler is for later) held until 2020-02-29"
    )


def test_its_last_day_counts() -> None:
    held = silencing("unused-parameters", "the pooler is for later (until 2030-05-01)")
    assert held.reason == "the pooler is for later"
    assert not held.expired(date(2030, 5, 1))
    assert held.expired(date(2030, 5, 2))


def test_a_check_is_silenced_as_a_whole_but_does_not_pass() -> None:
    verdict = gradients_flow(training, ignore={"gradients_flow": "a rewrite is under way"})
    assert verdict.outcome == "could not judge"
    assert verdict.reason == "gradients_flow is silenced (a rewrite is under way)"
    assert verdict.silenced[0].finding is not None


def everything(model: Encoder) -> None:
    model.requires_grad_(False)


def test_frozen_on_purpose_is_one_keyword_but_not_for_everything() -> None:
    verdict = gradients_flow(lambda: training(freeze=everything), frozen="the backbone is pretrained")
    assert verdict.failed
    assert verdict.findings[0].cause == "frozen-parameters"


def all_but_the_pooler(model: Encoder) -> None:
    model.requires_grad_(False)
    model.head.bias.requires_grad_(True)


def test_frozen_on_purpose() -> None:
    def make() -> Training:
        return training(freeze=all_but_the_pooler)

    found = diagnose(make, checks="overfits_one_batch", steps=60).verdicts[0]
    assert found.failed
    assert found.findings[0].cause == "frozen-parameters"
    verdict = diagnose(make, checks="overfits_one_batch", steps=60, frozen="the backbone is pretrained").verdicts[0]
    assert verdict.passed
    assert verdict.silenced[0].name == "frozen-parameters"


@pytest.mark.parametrize(
    ("ignore", "words"),
    [
        ({"unused-parameter": "x"}, "there is no cause or check 'unused-parameter'. Did you mean .*unused-parameters"),
        ({"unused-parameters": " "}, "not a table of causes and checks, each with a reason"),
        ({"unused-parameters": "until 2030-01-01"}, "needs a reason"),
        ({"unused-parameters": "x until 2030-13-01"}, "there is no day 2030-13-01"),
        ("unused-parameters", "not a table of causes and checks, each with a reason"),
    ],
)
def test_wrong_ones_are_told(ignore: Any, words: str) -> None:
    with pytest.raises(WrongSetting, match=words):
        gradients_flow(training, ignore=ignore)
