"""Softmax and sigmoid that are written out, by hand or inside `torch.distributions`, are seen for what they are."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.distributions import Bernoulli, Categorical
from torch.nn import functional as F

from pytest_trainhealth.records.intervention import Cure

from .test_loss_calls import LABELS, N, first, net, record

YES = (LABELS > 0).float()[:, None]


def _shifted(x: Tensor) -> Tensor:
    powers = torch.exp(x - x.max(-1, keepdim=True)[0])
    return powers / powers.sum(-1, keepdim=True)


def _summed_apart(x: Tensor) -> Tensor:
    return x.exp() / x.exp().sum(1)[:, None]


SOFTMAXES: dict[str, Callable[[Tensor], Tensor]] = {
    "plain": lambda x: torch.exp(x) / torch.exp(x).sum(1, keepdim=True),
    "shifted": _shifted,
    "summed apart": _summed_apart,
    "never divided by 0": lambda x: x.exp() / (x.exp().sum(-1, keepdim=True) + 1e-8),
}
LOG_SOFTMAXES: dict[str, Callable[[Tensor], Tensor]] = {
    "logsumexp": lambda x: x - x.logsumexp(1, keepdim=True),
    "logsumexp of rows": lambda x: x - torch.logsumexp(x, -1).unsqueeze(-1),
    "logarithm of a sum": lambda x: x - torch.log(torch.sum(torch.exp(x), dim=1, keepdim=True)),
    "logarithm of a softmax": lambda x: torch.log(_shifted(x)),
    "a distribution": lambda x: Categorical(logits=x).logits,
    "a distribution of probabilities": lambda x: Categorical(probs=x.softmax(-1)).logits,
}
SIGMOIDS: dict[str, Callable[[Tensor], Tensor]] = {
    "plain": lambda x: 1 / (1 + torch.exp(-x)),
    "the other way round": lambda x: 1.0 / (torch.exp(-x) + 1),
    "of powers": lambda x: x.exp() / (1 + x.exp()),
    "reciprocal": lambda x: (1 + (-x).exp()).reciprocal(),
}


@pytest.mark.parametrize("name", SOFTMAXES)
def test_a_softmax_by_hand_before_cross_entropy(name: str) -> None:
    call = first(net(3), lambda o, y: F.cross_entropy(SOFTMAXES[name](o), y), LABELS)
    assert (call.function, call.activation, call.over) == ("cross_entropy", "softmax", 3)
    assert call.activation_place is not None


@pytest.mark.parametrize("name", LOG_SOFTMAXES)
def test_a_log_softmax_by_hand_gives_likelihoods(name: str) -> None:
    call = first(net(3), lambda o, y: -LOG_SOFTMAXES[name](o).gather(1, y[:, None]).mean(), LABELS)
    assert (call.function, call.sole, call.floor) == ("log-likelihood", True, 0.0)
    assert call.weight == pytest.approx(1.0)


@pytest.mark.parametrize("name", SIGMOIDS)
def test_a_sigmoid_by_hand(name: str) -> None:
    call = first(net(1), lambda o, y: F.binary_cross_entropy_with_logits(SIGMOIDS[name](o), y), YES)
    assert call.activation == "sigmoid"


def test_what_only_looks_similar_is_not_one() -> None:
    other: tuple[Callable[[Tensor], Tensor], ...] = (
        lambda x: x.exp() / (2 * x).exp().sum(1, keepdim=True),
        lambda x: x - (2 * x).logsumexp(1, keepdim=True),
        lambda x: 1 / (1 + torch.exp(x - 1)),
        lambda x: x.exp() / x.exp().sum(),
    )
    for function in other:
        call = first(net(3), lambda o, y, f=function: F.cross_entropy(f(o), y), LABELS)  # type: ignore[misc]
        assert call.activation == ""


def test_the_likelihood_of_a_distribution() -> None:
    call = first(net(3), lambda o, y: -Categorical(logits=o).log_prob(y).mean(), LABELS)
    assert (call.function, call.sole, call.given_target) == ("log-likelihood", True, True)


def test_probabilities_given_to_distributions_as_scores() -> None:
    softmaxed = record(net(3, nn.Softmax(-1)), lambda o, y: -Categorical(logits=o).log_prob(y).mean(), LABELS)
    call = softmaxed.loss.calls[0]
    assert (call.function, call.activation) == ("log_softmax", "softmax")
    squashed = first(net(1, nn.Sigmoid()), lambda o, y: -Bernoulli(logits=o).log_prob(y).mean(), YES)
    assert (squashed.function, squashed.activation) == ("binary_cross_entropy_with_logits", "sigmoid")
    healthy = record(net(3, nn.Softmax(-1)), lambda o, y: -Categorical(probs=o).log_prob(y).mean(), LABELS)
    assert [call.function for call in healthy.loss.calls] == ["log-likelihood"] * 2


def test_the_cure_computes_it_from_the_raw_scores() -> None:
    cure = Cure("output_activation", "softmax left out", {"functions": ["log_softmax"], "undo": "softmax"})

    def cloned(output: Tensor, labels: Tensor) -> Tensor:
        return -Categorical(logits=output).log_prob(labels).mean()

    cured = record(net(3, nn.Softmax(-1)), cloned, LABELS, cure)
    plain = record(net(3), F.cross_entropy, LABELS)
    assert cured.losses == pytest.approx(plain.losses, rel=1e-4)


def test_likelihoods_times_negative_rewards_say_nothing_about_a_sign() -> None:
    cost = torch.full((N,), -1.0)
    call = first(net(3), lambda o, y: -(Categorical(logits=o).log_prob(y) * cost).mean(), LABELS)
    assert (call.function, call.weight) == ("log-likelihood", None)
