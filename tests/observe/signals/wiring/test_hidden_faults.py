"""Finds unregistered layers and samples without a graph, but not what only resembles them."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.distributions import Normal
from torch.nn import functional as F

from pytest_trainhealth import Training
from pytest_trainhealth.engine.request import Request
from pytest_trainhealth.examine import examine
from pytest_trainhealth.records.verdict import Verdict


def flow(make: Callable[[], Training], check: str = "gradients_flow") -> Verdict:
    return examine(make, Request(check, "loop", 0, {}))


def found(make: Callable[[], Training], check: str = "gradients_flow") -> list[tuple[str, str]]:
    return [(f.cause, f.certainty) for f in flow(make, check).findings]


# -- layers in a plain list --------------------------------------------------------------------------


class Hiding(nn.Module):
    """Its first layer and its head are registered; what `held` gives is not."""

    def __init__(self, held: Any, use: Callable[[Any, Tensor], Tensor]) -> None:
        super().__init__()
        self.entry, self.head = nn.Linear(6, 16), nn.Linear(16, 3)
        self.held, self._use = held, use

    def forward(self, x: Tensor) -> Tensor:
        return self.head(torch.tanh(self._use(self.held, self.entry(x))))


def through(held: Any, x: Tensor) -> Tensor:
    for layer in held.values() if isinstance(held, dict) else held:
        x = torch.tanh(layer(x))
    return x


def without_graph(held: Any, x: Tensor) -> Tensor:
    with torch.no_grad():
        hints = through(held, x)
    return x + hints


def layers(count: int = 2) -> list[nn.Module]:
    return [nn.Linear(16, 16) for _ in range(count)]


def hiding(held: Any, use: Callable[[Any, Tensor], Tensor] = through, *, give: bool = False) -> Callable[[], Training]:
    def make() -> Training:
        inside = held()
        model = Hiding(inside, use)
        extra = [p for layer in inside for p in layer.parameters()] if give else []
        data = [(torch.randn(16, 6), torch.randint(0, 3, (16,))) for _ in range(4)]
        optimizer = torch.optim.Adam([*model.parameters(), *extra], 1e-3)
        return Training(model, optimizer, criterion=nn.CrossEntropyLoss(), data=data)

    return make


@pytest.mark.parametrize(
    "held",
    [
        layers,
        lambda: tuple(layers()),
        lambda: {"down": nn.Linear(16, 16), "up": nn.Linear(16, 16)},
        lambda: [nn.Sequential(nn.Linear(16, 16), nn.ReLU()) for _ in range(3)],
    ],
)
def test_layers_that_parameters_does_not_know(held: Any) -> None:
    assert found(hiding(held)) == [("parameters-not-in-optimizer", "confirmed")]


def test_the_list_is_named() -> None:
    finding = flow(hiding(layers)).findings[0]
    assert "model.held" in finding.statement
    assert finding.fix is not None
    assert finding.fix.code == ("self.held = nn.ModuleList(self.held)",)


@pytest.mark.parametrize(
    "make",
    [
        hiding(lambda: [nn.Linear(16, 16)]),  # one alone is hidden on purpose
        hiding(layers, without_graph),
        hiding(lambda: [layer.requires_grad_(False) for layer in layers()]),
        hiding(lambda: [layer.eval() for layer in layers()]),
        hiding(layers, give=True),
        hiding(lambda: nn.ModuleList(layers())),
        hiding(layers, lambda held, x: x),  # kept, not used
    ],
    ids=["single", "no_grad", "frozen", "eval", "in the optimizer", "registered", "unused"],
)
def test_what_is_hidden_on_purpose_or_held_all_the_same(make: Callable[[], Training]) -> None:
    assert flow(make).passed


def test_registered_and_in_a_list_as_well() -> None:
    def make() -> Training:
        stack = nn.ModuleList(layers())
        model = Hiding(list(stack), through)
        model.stack = stack
        data = [(torch.randn(16, 6), torch.randint(0, 3, (16,))) for _ in range(4)]
        return Training(model, torch.optim.SGD(model.parameters(), 0.1), criterion=nn.CrossEntropyLoss(), data=data)

    assert flow(make).passed


# -- tied weights ------------------------------------------------------------------------------------


class Autoencoder(nn.Module):
    def __init__(self, decoder: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.encoder = nn.Linear(20, 8)
        self.decoder = nn.Parameter(decoder(self.encoder.weight.detach()))

    def forward(self, x: Tensor) -> Tensor:
        return F.linear(torch.tanh(self.encoder(x)), self.decoder)


def reconstructing(
    decoder: Callable[[Tensor], Tensor], kind: type[Autoencoder] = Autoencoder
) -> Callable[[], Training]:
    def make() -> Training:
        model = kind(decoder)
        data = [torch.randn(16, 20) for _ in range(4)]
        optimizer = torch.optim.Adam(model.parameters(), 1e-2)
        return Training(model, optimizer, lambda model, x: F.mse_loss(model(x), x), data)

    return make


class TiedAutoencoder(Autoencoder):
    """The same, by the name of one that was to use the encoder's weights."""


def test_a_decoder_that_was_to_be_the_encoder_transposed() -> None:
    assert found(reconstructing(lambda w: w.t().clone(), TiedAutoencoder)) == [("tied-weights-broken", "likely")]


def test_a_decoder_that_merely_starts_as_the_encoder_transposed() -> None:
    assert flow(reconstructing(lambda w: w.t().clone())).passed


@pytest.mark.parametrize(
    "decoder", [lambda w: torch.linalg.pinv(w), lambda w: torch.randn(20, 8) / 4, lambda w: torch.ones(20, 8) / 8]
)
def test_a_decoder_of_its_own(decoder: Callable[[Tensor], Tensor]) -> None:
    assert flow(reconstructing(decoder)).passed


def test_two_towers_that_start_alike_may_be_two() -> None:
    class Towers(nn.Module):
        """A question's and an answer's encoder, both from one checkpoint."""

        def __init__(self) -> None:
            super().__init__()
            self.question = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 8))
            self.answer = copy.deepcopy(self.question)

        def forward(self, a: Tensor, b: Tensor) -> Tensor:
            return self.question(a) @ self.answer(b).t()

    def make() -> Training:
        model = Towers()
        data = [(torch.randn(12, 6), torch.randn(12, 6)) for _ in range(4)]
        optimizer = torch.optim.Adam(model.parameters(), 1e-3)
        return Training(model, optimizer, lambda m, b: F.cross_entropy(m(*b), torch.arange(12)), data)

    assert flow(make).passed


# -- samples without a graph -------------------------------------------------------------------------


class Variational(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encoder, self.decoder = nn.Linear(12, 8), nn.Linear(4, 12)

    def posterior(self, x: Tensor) -> Normal:
        mean, log_std = self.encoder(x).chunk(2, -1)
        return Normal(mean, log_std.exp())


def kl(posterior: Normal) -> Tensor:
    return torch.distributions.kl_divergence(posterior, Normal(0.0, 1.0)).sum(-1).mean()


def drawn(model: Variational, x: Tensor) -> Tensor:
    posterior = model.posterior(x)
    return F.mse_loss(model.decoder(posterior.sample()), x) + 0.1 * kl(posterior)


def drawn_with_graph(model: Variational, x: Tensor) -> Tensor:
    posterior = model.posterior(x)
    posterior.sample().mean()  # for a log
    return F.mse_loss(model.decoder(posterior.rsample()), x) + 0.1 * kl(posterior)


def score_function(model: Variational, x: Tensor) -> Tensor:
    posterior = model.posterior(x)
    z = posterior.sample()
    error = (model.decoder(z) - x).square().mean(-1)
    return error.mean() + (error.detach() * posterior.log_prob(z).sum(-1)).mean() + 0.1 * kl(posterior)


def by_hand(model: Variational, x: Tensor) -> Tensor:
    """A forecast of the next values that is given its own samples, and learns from what came."""
    posterior = model.posterior(x)
    return F.mse_loss(model.decoder(posterior.sample()), x) + F.gaussian_nll_loss(
        posterior.loc, x[:, :4], posterior.variance
    )


def actor(model: Variational, x: Tensor) -> Tensor:
    """A critic learns from drawn actions, the policy through the critic."""
    policy = model.posterior(x)
    critic = (model.decoder(policy.sample()).mean(-1) - x.sum(-1)).square().mean()
    return critic - 0.1 * model.decoder(policy.rsample()).mean() + 0.01 * policy.loc.square().mean()


def variational(loss: Callable[[Any, Tensor], Tensor]) -> Callable[[], Training]:
    def make() -> Training:
        model = Variational()
        data = [torch.randn(16, 12) for _ in range(4)]
        return Training(model, torch.optim.Adam(model.parameters(), 1e-3), loss, data)

    return make


def test_only_the_penalty_reaches_what_was_drawn_from() -> None:
    assert found(variational(drawn)) == [("disconnected-graph", "confirmed")]


@pytest.mark.parametrize("loss", [drawn_with_graph, score_function, by_hand, actor])
def test_what_is_drawn_from_learns_in_another_way(loss: Callable[[Any, Tensor], Tensor]) -> None:
    assert flow(variational(loss)).passed


def test_the_distributions_are_left_as_they_were() -> None:
    before = Normal.sample, Normal.rsample
    flow(variational(drawn))
    assert (Normal.sample, Normal.rsample) == before


# -- frozen later on ---------------------------------------------------------------------------------


@pytest.mark.parametrize("zeros", [True, False])
def test_frozen_after_some_steps(zeros: bool) -> None:
    def make() -> Training:
        model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 3))
        optimizer = torch.optim.AdamW(model.parameters(), 1e-2, weight_decay=0.1)
        taken = [0]

        def step(batch: tuple[Tensor, Tensor]) -> Tensor:
            taken[0] += 1
            if taken[0] == 8:
                model[0].requires_grad_(False)
            loss = F.cross_entropy(model(batch[0]), batch[1])
            optimizer.zero_grad(set_to_none=not zeros)
            loss.backward()
            optimizer.step()
            return loss

        x = torch.randn(64, 6)
        data = list(zip(x.split(16), x.argmax(1).fmod(3).split(16), strict=True))
        return Training(model, optimizer, step=step, data=data)

    expected = [("frozen-parameters-change", "confirmed")] if zeros else []
    assert found(make, "learns_from_data") == expected
