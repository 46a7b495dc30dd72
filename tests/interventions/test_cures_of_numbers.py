"""Cures that change numbers: what they change, and that it is as before when the run is over."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from pytest_trainhealth import Training
from pytest_trainhealth.programs.plan import Look, RunPlan, Treatment
from pytest_trainhealth.programs.start import Start
from pytest_trainhealth.programs.training_program import TrainingProgram
from pytest_trainhealth.programs.watched_program import watching
from pytest_trainhealth.records.intervention import Cure
from pytest_trainhealth.records.trace import Trace

STANDARDISED = Cure("standardised_inputs", "inputs standardised", {"inputs": 3.0})
BOTH = Cure("standardised_inputs", "both standardised", {"inputs": 3.0, "targets": 3.0})
FREE = Cure("no_regularization", "without regularisation")
WHOLE = Cure("float32", "all in float32")


def cured(training: Training, *cures: Cure, steps: int = 3) -> Trace:
    before = nn.Module.__call__, torch.autocast.__enter__
    trace = TrainingProgram(Start(training, seed=0)).record(RunPlan(max_steps=steps, treatment=Treatment(cures=cures)))
    assert (nn.Module.__call__, torch.autocast.__enter__) == before
    assert trace.crash is None
    return trace


class Spy(nn.Module):
    """Remembers what it was given."""

    def __init__(self, width: int = 4, outputs: int = 1) -> None:
        super().__init__()
        self.layer = nn.Linear(width, outputs)
        self.given: list[Tensor] = []

    def forward(self, x: Tensor) -> Tensor:
        self.given.append(x.detach().clone())
        out: Tensor = self.layer(x)
        return out


def training_of(model: nn.Module, data: Any, **facts: Any) -> Training:
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, weight_decay=facts.pop("weight_decay", 0.0))
    if "loss" not in facts:
        facts["criterion"] = nn.MSELoss()
    return Training(model, optimizer, data=data, **facts)


def test_inputs_are_standardised_feature_by_feature() -> None:
    model = Spy()
    inputs = torch.tensor([1.0, 10.0, 100.0, 1000.0]) * torch.rand(64, 4)
    cured(training_of(model, (inputs, torch.randn(64, 1))), STANDARDISED)
    assert model.given[0].mean(0) == pytest.approx([0.0] * 4, abs=1e-4)
    assert model.given[0].std(0, correction=0) == pytest.approx([1.0] * 4, abs=1e-3)


def test_inputs_of_a_sane_scale_stay() -> None:
    model, inputs = Spy(), 1 + torch.randn(64, 4)
    cured(training_of(model, (inputs, torch.randn(64, 1))), STANDARDISED)
    assert torch.equal(model.given[0], inputs)


def test_later_batches_get_the_statistics_of_the_first() -> None:
    model = Spy()
    batches = [(100 + torch.randn(32, 4), torch.randn(32, 1)), (200 + torch.randn(32, 4), torch.randn(32, 1))]
    trace = TrainingProgram(Start(training_of(model, batches), seed=0)).record(
        RunPlan(max_steps=2, treatment=Treatment(cures=(STANDARDISED,)), one_batch=False)
    )
    assert trace.steps == 2
    assert float(model.given[1].mean()) > 50


def test_bytes_that_the_model_turns_into_floats() -> None:
    class Bytes(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(4, 1)

        def forward(self, x: Tensor) -> Tensor:
            out: Tensor = self.layer(x.float())
            return out

    torch.manual_seed(0)
    data = (torch.randint(0, 256, (16, 4), dtype=torch.uint8), torch.zeros(16, 1))
    failed_run, well = (
        cured(training_of(Bytes(), data), steps=1),
        cured(training_of(Bytes(), data), STANDARDISED, steps=1),
    )
    assert failed_run.losses[0] > 100 * well.losses[0]


def test_the_target_of_an_autoencoder_changes_with_its_input() -> None:
    data = 100 + 50 * torch.randn(32, 4)
    training = training_of(Spy(4, 4), data, loss=lambda model, batch: F.mse_loss(model(batch), batch))
    assert cured(training, STANDARDISED).losses[0] < 10


@pytest.mark.parametrize("by_hand", [False, True])
def test_targets_are_standardised_where_they_are_compared(by_hand: bool) -> None:
    data = (torch.randn(64, 4), 1e5 + 2e4 * torch.randn(64, 1))

    def loss(model: nn.Module, batch: Any) -> Tensor:
        return ((batch[1] - model(batch[0])) ** 2).mean() if by_hand else F.mse_loss(model(batch[0]), batch[1])

    assert cured(training_of(Spy(), data, loss=loss), STANDARDISED).losses[0] > 1e9
    assert cured(training_of(Spy(), data, loss=loss), BOTH).losses[0] < 10


def test_a_watched_script_is_cured_from_its_first_call_on() -> None:
    model = Spy()
    with watching(RunPlan(max_steps=0, treatment=Treatment(cures=(STANDARDISED,)))):
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
        for _ in range(2):
            optimizer.zero_grad()
            model(1000 + torch.randn(16, 4)).pow(2).mean().backward()
            optimizer.step()
    assert float(model.given[0].abs().max()) < 10


def test_without_dropout_decay_and_penalties() -> None:
    class Dropping(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer, self.drop = nn.Linear(8, 8), nn.Dropout(0.9)
            self.kept: list[bool] = []

        def forward(self, x: Tensor) -> Tensor:
            h = self.layer(x)
            out = F.dropout(self.drop(h), 0.9, training=True)
            self.kept.append(torch.equal(h, out))
            return out

    model = Dropping()

    def loss(model: nn.Module, batch: Any) -> Tensor:
        return F.mse_loss(model(batch[0]), batch[1]) + 1e6 * sum(p.pow(2).sum() for p in model.parameters())

    training = training_of(model, (torch.randn(8, 8), torch.randn(8, 8)), loss=loss, weight_decay=0.5)
    trace = cured(training, FREE)
    assert all(model.kept)
    assert trace.losses[0] < 100
    assert training.optimizers["SGD"].param_groups[0]["weight_decay"] == 0.5


def test_recurrent_dropout_is_put_back() -> None:
    class Recurrent(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.rnn, self.head = nn.GRU(4, 8, num_layers=2, dropout=0.9, batch_first=True), nn.Linear(8, 1)

        def forward(self, x: Tensor) -> Tensor:
            out: Tensor = self.head(self.rnn(x)[0][:, -1])
            return out

    model = Recurrent()
    trace = cured(training_of(model, (torch.randn(8, 5, 4), torch.randn(8, 1))), FREE)
    assert trace.losses[0] > trace.losses[-1]  # nothing random in between
    assert model.rnn.dropout == 0.9


def test_all_in_float32() -> None:
    class Half(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(4, 1)
            self.kinds: set[torch.dtype] = set()

        def forward(self, x: Tensor) -> Tensor:
            with torch.autocast("cpu", dtype=torch.bfloat16):
                out: Tensor = self.layer(x)
            self.kinds |= {x.dtype, out.dtype, x.half().dtype, x.to(torch.float16).dtype}
            return out

    model = Half().half()
    data = (torch.randn(8, 4).half(), torch.randn(8, 1))
    cured(training_of(model, data), WHOLE)
    assert model.kinds == {torch.float32}
    assert model.layer.weight.dtype == torch.float16  # as it was handed in


def test_what_saturates_is_scaled_and_the_rest_is_not() -> None:
    seen: list[Tensor] = []

    class Sharp(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(4, 1)

        def forward(self, x: Tensor) -> Tensor:
            soft, sharp = torch.tanh(self.layer(x)), torch.tanh(1000 * self.layer(x))
            seen.extend((soft - torch.tanh(self.layer(x)).detach(), sharp.detach()))
            return soft + sharp

    training = training_of(Sharp(), (torch.randn(64, 4), torch.randn(64, 1)))
    cured(training, Cure("unsaturated", "scaled"))
    assert seen[0].abs().max() == 0
    assert seen[1].abs().median() < 0.95


def test_rectifiers_behind_all_layers_but_the_last() -> None:
    model = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 1))
    given: dict[str, Tensor] = {}
    for name in ("1", "2"):
        layer = model.get_submodule(name)
        layer.register_forward_pre_hook(lambda _, x, name=name: given.update({name: x[0].detach()}))
    layer = model.get_submodule("0")
    start, inputs = layer.weight.detach().clone(), torch.randn(64, 4)
    bias = layer.bias.detach().clone()
    cured(
        training_of(model, (inputs, torch.randn(64, 1))),
        Cure("rectified_layers", "a rectifier after each hidden layer", {"layers": 3}),
        steps=1,
    )
    assert torch.allclose(given["1"], F.leaky_relu(F.linear(inputs, start, bias), 0.1))


def test_what_a_step_freezes_is_unfrozen_in_time() -> None:
    model = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    states: list[bool] = []

    def step(batch: tuple[Tensor, Tensor]) -> Tensor:
        states.append(model.weight.requires_grad)
        loss = F.mse_loss(model(batch[0]), batch[1])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        model.weight.requires_grad_(False)
        return loss

    data = [(torch.randn(8, 4), torch.randn(8, 1))]
    cured(Training(model, optimizer, step=step, data=data), Cure("unfrozen", "unfrozen", {"names": ["weight"]}))
    assert states == [True, True, True]


def test_a_watched_loop_without_a_loader_gets_zeros_for_nan() -> None:
    with watching(
        RunPlan(
            max_steps=0,
            look=Look(signals=("fields",)),
            treatment=Treatment(cures=(Cure("drop_bad_samples", "left out"),)),
        )
    ) as run:
        model = nn.Linear(2, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for value in (1.0, float("nan")):
            optimizer.zero_grad()
            model(torch.full((4, 2), value)).mean().backward()
            optimizer.step()
    assert run.trace.finite


def test_what_a_second_module_of_a_watched_step_is_given() -> None:
    with watching(RunPlan(max_steps=0, look=Look(signals=("fields",)))) as run:
        generator, critic = nn.Linear(2, 2), nn.Linear(2, 1)
        optimizer = torch.optim.SGD(critic.parameters(), lr=0.1)
        fake = generator(torch.randn(4, 2)).detach()
        (critic(torch.full((4, 2), float("nan"))).mean() - critic(fake).mean()).backward()
        optimizer.step()
    assert [f.name for fields in run.trace.data.fields.values() for f in fields if f.nonfinite] == [
        "the input[0] of Linear"
    ]


class Mixed(nn.Module):
    """A softmax between two layers, and one that makes probabilities."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.last = nn.Linear(4, 6), nn.Linear(6, 3)
        self.given: list[Tensor] = []

    def forward(self, x: Tensor) -> Tensor:
        hidden = self.first(x).softmax(-1)
        self.given.append(hidden.detach())
        out = torch.softmax(self.last(hidden), -1)
        self.given.append(out.detach())
        return out


def test_only_the_softmax_between_layers_is_replaced() -> None:
    model = Mixed()
    cure = Cure("rectified_softmaxes", "a rectifier", {"calls": ["Mixed:softmax:1"]})
    cured(training_of(model, (torch.randn(8, 4), torch.rand(8, 3))), cure, steps=2)
    assert len(model.given) == 4
    for hidden, probabilities in zip(model.given[::2], model.given[1::2], strict=True):
        assert bool((hidden < 0).any())
        assert probabilities.sum(-1) == pytest.approx([1.0] * 8)


def test_an_embedding_that_is_an_output_layer_too_gets_the_spread_of_a_layer() -> None:
    model = nn.Sequential(nn.Embedding(50, 64), nn.Flatten(), nn.Linear(128, 1))
    spreads: list[float] = []
    model[0].register_forward_hook(lambda module, given, out: spreads.append(float(module.weight.std())))
    data = (torch.randint(50, (8, 2)), torch.randn(8, 1))
    cured(training_of(model, data), Cure("reinitialise", "weights re-initialised", {"names": ["0.weight"]}), steps=1)
    assert spreads[0] == pytest.approx(64**-0.5, rel=0.1)


def test_a_recurrent_layer_keeps_the_length_of_its_states() -> None:
    class Recall(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.rnn, self.out = nn.GRU(3, 6, batch_first=True), nn.Linear(6, 1)
            self.gates: list[Tensor] = []

        def forward(self, x: Tensor) -> Tensor:
            self.gates += [gate.clone() for gate in self.rnn.weight_hh_l0.detach().split(6)]
            out: Tensor = self.out(self.rnn(x)[1][-1])
            return out

    model = Recall()
    cured(
        training_of(model, (torch.randn(8, 5, 3), torch.randn(8, 1))), Cure("reinitialise", "re-initialised"), steps=1
    )
    for gate in model.gates[:3]:
        assert torch.allclose(gate @ gate.T, torch.eye(6), atol=1e-5)


def test_outputs_that_start_too_large_are_divided_by_their_spread() -> None:
    torch.manual_seed(0)
    data = [(torch.randn(32, 4), torch.randint(0, 3, (32,))) for _ in range(2)]

    def first_loss(factor: float, *cures: Cure) -> float:
        torch.manual_seed(0)
        model = nn.Linear(4, 3)
        training = training_of(model, data, loss=lambda m, b: F.cross_entropy(factor * m(b[0]), b[1]))
        return cured(training, *cures).losses[0]

    calm = Cure("calmed_output", "outputs divided by their spread at the start")
    assert first_loss(100.0) > 10
    assert first_loss(100.0, calm) < 2
    assert first_loss(1.0, calm) == first_loss(1.0)  # nothing to calm


@pytest.mark.parametrize(
    ("layer", "draws"),
    [
        (nn.Dropout(0.5), True),
        (nn.Dropout(0.5).eval(), False),
        (nn.Dropout(0.0), False),
        (nn.AlphaDropout(0.5), True),
        (nn.Identity(), False),
    ],
)
def test_whether_there_was_dropout_to_take_off(layer: nn.Module, draws: bool) -> None:
    model = nn.Sequential(nn.Linear(4, 4), layer, nn.Linear(4, 1))

    modes = [module.training for module in model.modules()]

    def step(batch: Tensor) -> Tensor:
        for module, mode in zip(model.modules(), modes, strict=True):
            module.training = mode
        return model(batch).mean()

    trace = cured(Training(model, torch.optim.SGD(model.parameters(), lr=0.1), step=step, data=torch.randn(3, 4)), FREE)
    assert trace.applied.without_dropout is draws
