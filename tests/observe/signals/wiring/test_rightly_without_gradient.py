"""Parameters that rightly get no gradient or no optimizer, each next to the fault that it resembles."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from pytest_trainhealth import Training
from pytest_trainhealth.engine.request import Request
from pytest_trainhealth.examine import examine
from pytest_trainhealth.records.verdict import Verdict

from ....evaluation.corpus.healthy import odd_wiring


def flow(make: Callable[[], Training]) -> Verdict:
    return examine(make, Request("gradients_flow", "silent", 0, {}))


def causes(make: Callable[[], Training]) -> list[str]:
    return [f.cause for f in flow(make).findings]


def training(
    model: Callable[[], nn.Module], held: Callable[[nn.Module], nn.Module] | None = None
) -> Callable[[], Training]:
    def make() -> Training:
        made = model()
        part = made if held is None else held(made)
        optimizer = torch.optim.Adam(part.parameters(), 1e-2)
        return Training(made, optimizer, odd_wiring.cross_entropy, odd_wiring.classes())

    return make


@pytest.mark.parametrize(
    "make",
    [
        odd_wiring.only_the_head_is_handed_over,
        odd_wiring.decoder_starts_as_the_transpose,
        odd_wiring.bare_decoder_starts_as_the_encoder,
        odd_wiring.hamiltonian_network,
        odd_wiring.forces_of_a_potential,
        odd_wiring.wavenet_last_residual_is_not_read,
        odd_wiring.feature_branch_without_graph,
        odd_wiring.attention_over_a_single_token,
        odd_wiring.recurrence_of_one_step,
        odd_wiring.optimizers_stepped_together_in_turns,
        odd_wiring.temperature_at_its_bound,
        odd_wiring.collocation_points_need_gradients,
    ],
    ids=lambda make: make.__name__,
)
def test_no_alarm(make: Callable[[], Training]) -> None:
    assert flow(make).passed


# -- before or behind what is trained ---------------------------------------------------------------------------


class Network(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body, self.neck, self.head = nn.Linear(8, 16), nn.Linear(16, 16), nn.Linear(16, 4)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(torch.relu(self.neck(torch.relu(self.body(x)))))


@pytest.mark.parametrize("part", ["body", "neck"])
def test_a_head_that_is_left_out_lies_behind_what_is_trained(part: str) -> None:
    assert causes(training(Network, lambda model: getattr(model, part))) == ["parameters-not-in-optimizer"]


def test_what_lies_before_is_a_note() -> None:
    verdict = flow(training(Network, lambda model: model.head))
    assert verdict.passed
    assert verdict.notes[0].startswith("body.weight, body.bias and 2 more got gradients that no optimizer uses")


def test_a_first_layer_that_was_replaced_after_the_optimizer_is_not_spared() -> None:
    def make() -> Training:
        model = Network()
        optimizer = torch.optim.Adam(model.parameters(), 1e-2)
        model.body = nn.Linear(8, 16)
        return Training(model, optimizer, odd_wiring.cross_entropy, odd_wiring.classes())

    assert causes(make) == ["parameters-not-in-optimizer"]


# -- ends of stacks, branches, inert weights --------------------------------------------------------------------


class Blocks(nn.Module):
    """Blocks of two parts; `skips` says whose second part is left out."""

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = nn.Linear(8, 8), nn.Linear(8, 8)

    def __init__(self, skips: tuple[int, ...]) -> None:
        super().__init__()
        self.blocks, self.skips = nn.ModuleList(self.Block() for _ in range(3)), skips
        self.head = nn.Linear(8, 4)

    def forward(self, x: Tensor) -> Tensor:
        for index, block in enumerate(self.blocks):
            x = torch.tanh(block.first(x))
            second = block.second(x)
            x = x if index in self.skips else x + second
        return self.head(x)


def test_the_part_that_the_last_block_hands_on() -> None:
    assert flow(training(lambda: Blocks((2,)))).passed


@pytest.mark.parametrize("skips", [(1,), (0, 1, 2), (1, 2)])
def test_a_part_that_is_not_used_in_the_middle_of_a_stack(skips: tuple[int, ...]) -> None:
    assert causes(training(lambda: Blocks(skips))) == ["unused-parameters"]


class Trunk(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encoder, self.head = nn.Linear(8, 16), nn.Linear(16, 4)

    def forward(self, x: Tensor) -> Tensor:
        with torch.no_grad():
            hidden = torch.relu(self.encoder(x))
        return self.head(hidden)


def test_all_that_is_trained_works_on_what_runs_without_a_graph() -> None:
    assert causes(training(Trunk)) == ["disconnected-graph"]


def test_a_layer_of_torch_whose_weight_is_multiplied_by_zero_is_not_inert() -> None:
    class Dead(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a, self.b, self.head = nn.Linear(8, 16), nn.Linear(16, 16), nn.Linear(16, 4)

        def forward(self, x: Tensor) -> Tensor:
            hidden = torch.tanh(self.a(x))
            return self.head(hidden + 0 * self.b(hidden))

    assert not flow(training(Dead)).passed


# -- ties that were meant ---------------------------------------------------------------------------------------


class Autoencoder(nn.Module):
    """Its decoder starts with the encoder's values, transposed."""

    def __init__(self) -> None:
        super().__init__()
        self.down, self.up = nn.Linear(20, 8), nn.Linear(8, 20)
        self.start()

    def start(self) -> None:
        with torch.no_grad():
            self.up.weight.copy_(self.down.weight.t())

    def forward(self, x: Tensor) -> Tensor:
        return self.up(torch.tanh(self.down(x)))


class Assigned(Autoencoder):
    def start(self) -> None:
        self.up.weight = nn.Parameter(self.down.weight.detach().t().clone())


class WithAMethod(Autoencoder):
    def start(self) -> None:
        self.tie_weights()

    def tie_weights(self) -> None:
        super().start()


class SaysTheOpposite(Autoencoder):
    """The decoder is untied: it merely starts as the transpose, though `tie` is the word for what is not done."""


def rebuilding(kind: type[Autoencoder]) -> Callable[[], Training]:
    def make() -> Training:
        model = kind()
        data = [torch.randn(16, 20) for _ in range(4)]
        return Training(model, torch.optim.Adam(model.parameters(), 1e-2), lambda m, x: F.mse_loss(m(x), x), data)

    return make


@pytest.mark.parametrize("kind", [Assigned, WithAMethod])
def test_a_tie_that_was_meant(kind: type[Autoencoder]) -> None:
    assert causes(rebuilding(kind)) == ["tied-weights-broken"]


@pytest.mark.parametrize("kind", [Autoencoder, SaysTheOpposite])
def test_a_start_that_is_no_tie(kind: type[Autoencoder]) -> None:
    assert flow(rebuilding(kind)).passed
