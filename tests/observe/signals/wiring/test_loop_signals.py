"""What signals see of unusual loops, and what they ignore: each program resembles a fault."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, Dataset

from pytest_trainhealth import Training, diagnose
from pytest_trainhealth.analysis.wiring import clipped_after_use
from pytest_trainhealth.engine.request import Request
from pytest_trainhealth.examine import examine
from pytest_trainhealth.observe.signals import close_signals
from pytest_trainhealth.programs.plan import Look, RunPlan
from pytest_trainhealth.programs.start import Start
from pytest_trainhealth.programs.training_program import TrainingProgram
from pytest_trainhealth.programs.watched_program import watch
from pytest_trainhealth.records.trace import Trace
from pytest_trainhealth.records.verdict import Verdict


def flow(make: Callable[[], Training]) -> Verdict:
    return examine(make, Request("gradients_flow", "loop", 0, {}))


def found(make: Callable[[], Training]) -> list[tuple[str, str]]:
    return [(f.cause, f.certainty) for f in flow(make).findings]


def closely(make: Callable[[], Training], steps: int = 5) -> Trace:
    torch.manual_seed(0)
    return TrainingProgram(Start(make(), seed=0)).record(RunPlan(max_steps=steps, look=Look(signals=close_signals())))


def batches() -> list[tuple[Tensor, Tensor]]:
    return [(torch.randn(16, 6), torch.randint(0, 3, (16,))) for _ in range(4)]


def network(*between: nn.Module) -> nn.Sequential:
    return nn.Sequential(nn.Linear(6, 16), *between, nn.ReLU(), nn.Linear(16, 3))


def loop(model: nn.Module, optimizer: Any, *, before: Any = None, clip: Any = None, after: Any = None) -> Training:
    def step(batch: tuple[Tensor, Tensor]) -> Tensor:
        if before is not None:
            before()
        loss = F.cross_entropy(model(batch[0]), batch[1])
        optimizer.zero_grad()
        loss.backward()
        if clip is not None:
            clip()
        optimizer.step()
        if after is not None:
            after()
        return loss

    return Training(model, optimizer, step=step, data=batches())


# -- gradients on their way to the optimizer -------------------------------------------------------------


def test_clipping_is_seen_with_its_line() -> None:
    def make() -> Training:
        model = network()
        return loop(
            model,
            torch.optim.SGD(model.parameters(), 0.1),
            clip=lambda: nn.utils.clip_grad_norm_(model.parameters(), 1e-3),
        )

    path = closely(make).wiring.gradient_paths[0]
    assert path.after_backward > 0.1
    assert path.at_update == pytest.approx(1e-3, rel=0.01)
    assert path.changed_at is not None
    assert "clip_grad_norm_" in path.changed_at.code
    assert path.left is None


def test_clipping_after_the_step() -> None:
    def make() -> Training:
        model = network()
        return loop(
            model,
            torch.optim.SGD(model.parameters(), 0.1),
            after=lambda: nn.utils.clip_grad_norm_(model.parameters(), 1e-3),
        )

    path = closely(make).wiring.gradient_paths[0]
    assert path.at_update == path.after_backward
    assert path.left == pytest.approx(1e-3, rel=0.01)


@pytest.mark.parametrize(("where", "late"), [("after", True), ("clip", False)])
def test_a_limit_above_the_gradients_is_too_late_as_well(where: str, late: bool) -> None:
    def make() -> Training:
        model = network()
        clip = {where: lambda: nn.utils.clip_grad_norm_(model.parameters(), 50.0)}
        return loop(model, torch.optim.SGD(model.parameters(), 0.1), **clip)

    trace = closely(make)
    (call,) = trace.wiring.clip_calls.values()
    assert call.late == (call.looks - 1 if late else 0)  # nothing is cleared after the last step
    assert (clipped_after_use(trace) is not None) == late


def watched_fit(steps: int, clips_itself: bool) -> None:
    """A loop as Lightning has it: inside `step(closure)`, forward pass first, then zero_grad() and backward()."""
    model = nn.Linear(8, 3)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)

    def closure() -> torch.Tensor:
        loss = F.cross_entropy(model(torch.randn(16, 8)), torch.arange(16) % 3)
        nn.utils.clip_grad_norm_(model.parameters(), 50.0)
        optimizer.zero_grad()
        loss.backward()
        if clips_itself:
            nn.utils.clip_grad_norm_(model.parameters(), 50.0)
        return loss

    for _ in range(steps):
        optimizer.step(closure)


@pytest.mark.parametrize("clips_itself", [False, True])
def test_clipping_at_the_begin_of_a_closure_is_late_at_all_steps(clips_itself: bool) -> None:
    with watch(("clipping",)) as trace:
        watched_fit(70, clips_itself)
    assert (clipped_after_use(trace) is None) is clips_itself
    found = diagnose(lambda: watched_fit(70, clips_itself), checks=["gradients_flow"])
    causes = [(finding.cause, finding.certainty) for finding in found.findings]
    assert causes == ([] if clips_itself else [("bad-gradient-clipping", "confirmed")])


def test_clipping_for_another_optimizer_between_two_steps_is_in_time() -> None:
    def make() -> Training:
        model = network()
        first, second = (torch.optim.SGD(layer.parameters(), 0.1) for layer in (model[0], model[2]))

        def clip() -> None:
            first.step()
            nn.utils.clip_grad_norm_(model[2].parameters(), 50.0)

        return loop(model, second, before=first.zero_grad, clip=clip)

    assert clipped_after_use(closely(make)) is None


def test_a_loss_scaler_takes_its_factor_out_again() -> None:
    def make() -> Training:
        model = network()
        optimizer, scaler = torch.optim.SGD(model.parameters(), 0.1), torch.amp.GradScaler("cpu")

        def step(batch: tuple[Tensor, Tensor]) -> Tensor:
            optimizer.zero_grad()
            loss = F.cross_entropy(model(batch[0]), batch[1])
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
            return loss

        return Training(model, optimizer, step=step, data=batches())

    path = closely(make).wiring.gradient_paths[0]
    assert path.at_update == pytest.approx(path.after_backward, rel=1e-3)


def test_backward_passes_before_an_update_and_what_they_were_divided_by() -> None:
    def accumulating(divisor: float) -> Callable[[], Training]:
        def make() -> Training:
            model = network()
            optimizer = torch.optim.SGD(model.parameters(), 0.1)

            def step(batch: tuple[Tensor, Tensor]) -> Tensor:
                optimizer.zero_grad()
                for inputs, labels in zip(batch[0].chunk(4), batch[1].chunk(4), strict=True):
                    loss = F.cross_entropy(model(inputs), labels)
                    (loss / divisor).backward()
                optimizer.step()
                return loss

            return Training(model, optimizer, step=step, data=batches())

        return make

    for divisor in (1.0, 4.0):
        update = closely(accumulating(divisor)).wiring.accumulations[0]
        assert (update.passes, update.one_loop) == (4, True)
        assert update.factor == pytest.approx(1 / divisor)


# -- one gradient, one update ------------------------------------------------------------------------------


def test_a_tensor_twice_in_one_optimizer() -> None:
    def make() -> Training:
        model = network()
        with pytest.warns(UserWarning, match="duplicate parameters"):
            optimizer = torch.optim.SGD([*model.parameters(), *model[-1].parameters()], 0.1)
        return Training(model, optimizer, criterion=nn.CrossEntropyLoss(), data=batches())

    assert found(make) == [("duplicate-parameters", "confirmed")]


def test_two_optimizers_that_take_turns() -> None:
    def make() -> Training:
        encoder, decoder, critic = nn.Linear(6, 3), nn.Linear(3, 6), nn.Linear(3, 1)
        rebuild = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], 1e-3)
        fool, judge = torch.optim.Adam(encoder.parameters(), 1e-3), torch.optim.Adam(critic.parameters(), 1e-3)

        def step(batch: tuple[Tensor, Tensor]) -> Tensor:
            losses = (
                (rebuild, lambda: F.mse_loss(decoder(encoder(batch[0])), batch[0])),
                (judge, lambda: F.softplus(critic(encoder(batch[0]).detach())).mean()),
                (fool, lambda: F.softplus(-critic(encoder(batch[0]))).mean()),
            )
            for optimizer, objective in losses:
                optimizer.zero_grad()
                loss = objective()
                loss.backward()
                optimizer.step()
            return loss

        models = {"encoder": encoder, "decoder": decoder, "critic": critic}
        return Training(models, [rebuild, judge, fool], step=step, data=batches())

    assert flow(make).passed


# -- modes ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("layer", [nn.Dropout(0.2), nn.BatchNorm1d(16)], ids=["dropout", "BatchNorm"])
def test_trained_in_eval_mode(layer: nn.Module) -> None:
    def make() -> Training:
        model = network(copy.deepcopy(layer)).eval()
        return loop(model, torch.optim.Adam(model.parameters(), 1e-3))

    assert found(make) == [("wrong-mode", "confirmed")]


def test_eval_mode_is_seen_where_it_begins() -> None:
    def make() -> Training:
        model = network(nn.Dropout(0.2))
        calls: list[int] = []

        def evaluate() -> None:
            calls.append(0)
            if len(calls) == 3:
                model.eval()

        return loop(model, torch.optim.Adam(model.parameters(), 1e-3), after=evaluate)

    record = closely(make, steps=8).wiring.modes["Sequential"]
    assert (record.trained, record.evaluated) == ([0, 1], [3, 4, 5, 6, 7])
    assert record.place is not None
    assert record.place.code == "model.eval()"


def test_modes_that_are_in_order() -> None:
    def no_such_layers() -> Training:
        model = network().eval()
        return loop(model, torch.optim.Adam(model.parameters(), 1e-3))

    def evaluates_and_goes_back() -> Training:
        model = network(nn.Dropout(0.2))
        return loop(model, torch.optim.Adam(model.parameters(), 1e-3), before=model.train, after=model.eval)

    def handed_in_in_eval_mode() -> Training:
        model = network(nn.Dropout(0.2)).eval()
        optimizer = torch.optim.Adam(model.parameters(), 1e-3)
        return Training(model, optimizer, criterion=nn.CrossEntropyLoss(), data=batches())

    for make in (no_such_layers, evaluates_and_goes_back, handed_in_in_eval_mode):
        assert flow(make).passed, make.__name__


# -- what is frozen ------------------------------------------------------------------------------------------


def pretrained() -> nn.Sequential:
    model = network(nn.BatchNorm1d(16))
    for _ in range(5):
        model(torch.randn(16, 6))
    return model


def test_statistics_of_a_frozen_part() -> None:
    def make() -> Training:
        model = pretrained()
        model[:3].requires_grad_(False)
        return loop(model, torch.optim.Adam(model[-1].parameters(), 1e-2))

    assert found(make) == [("frozen-parameters-change", "confirmed")]


def test_weight_decay_goes_on_after_freezing() -> None:
    def make() -> Training:
        model = network()
        optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9, weight_decay=0.1)
        calls: list[int] = []

        def step(batch: tuple[Tensor, Tensor]) -> Tensor:
            model[0].requires_grad_(not calls)
            calls.append(0)
            optimizer.zero_grad(set_to_none=False)
            loss = F.cross_entropy(model(batch[0]), batch[1])
            loss.backward()
            optimizer.step()
            return loss

        return Training(model, optimizer, step=step, data=batches())

    assert found(make) == [("frozen-parameters-change", "confirmed")]


def test_frozen_parts_that_are_in_order() -> None:
    def in_the_optimizer() -> Training:
        model = network()
        model[0].requires_grad_(False)
        optimizer = torch.optim.AdamW(model.parameters(), 1e-2, weight_decay=0.1)
        return Training(model, optimizer, criterion=nn.CrossEntropyLoss(), data=batches())

    def in_eval_mode() -> Training:
        model = pretrained()
        model[:3].requires_grad_(False).eval()
        optimizer = torch.optim.Adam(model[-1].parameters(), 1e-2)
        return Training(model, optimizer, criterion=nn.CrossEntropyLoss(), data=batches())

    def averaged_by_hand() -> Training:
        online = pretrained()
        model = nn.ModuleDict({"online": online, "target": copy.deepcopy(online).requires_grad_(False)})
        optimizer = torch.optim.Adam(online.parameters(), 1e-3)

        def step(batch: tuple[Tensor, Tensor]) -> Tensor:
            with torch.no_grad():
                wanted = model["target"](batch[0])
            loss = F.mse_loss(online(batch[0] + 0.1), wanted)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            with torch.no_grad():
                for theirs, own in zip(model["target"].parameters(), online.parameters(), strict=True):
                    theirs.lerp_(own, 0.1)
            return loss

        return Training(model, optimizer, step=step, data=batches())

    for make in (in_the_optimizer, in_eval_mode, averaged_by_hand):
        assert flow(make).passed, make.__name__


class KeepsItsBackbone(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.backbone, self.head = pretrained()[:3].requires_grad_(False), nn.Linear(16, 3)

    def train(self, mode: bool = True) -> KeepsItsBackbone:
        super().train(mode)
        self.backbone.eval()
        return self

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.backbone(x))  # type: ignore[no-any-return]


def test_the_built_in_loop_calls_a_train_of_the_models_own() -> None:
    def make() -> Training:
        model = KeepsItsBackbone()
        return Training(
            model, torch.optim.Adam(model.head.parameters()), criterion=nn.CrossEntropyLoss(), data=batches()
        )

    assert flow(make).passed


# -- ties ----------------------------------------------------------------------------------------------------


class Autoencoder(nn.Module):
    def __init__(self, how: str) -> None:
        super().__init__()
        self.down, self.up = nn.Linear(6, 3), nn.Linear(3, 6)
        if how == "copied":
            self.up.weight = nn.Parameter(self.down.weight.detach().t().clone())
        elif how == "same memory":
            self.up.weight = nn.Parameter(self.down.weight.detach().t())
        self.tied = how == "tied"

    def forward(self, x: Tensor) -> Tensor:
        hidden = torch.tanh(self.down(x))
        return F.linear(hidden, self.down.weight.t(), self.up.bias) if self.tied else self.up(hidden)


@pytest.mark.parametrize("how", ["copied", "same memory", "apart"])
def test_an_encoder_and_its_transposed(how: str) -> None:
    def make() -> Training:
        model = Autoencoder(how)
        return Training(
            model,
            torch.optim.SGD(model.parameters(), 0.1),
            lambda model, batch: F.mse_loss(model(batch[0]), batch[0]),
            batches(),
        )

    assert found(make) == ([] if how == "apart" else [("tied-weights-broken", "likely")])


def test_clones_of_one_layer_are_in_order() -> None:
    def make() -> Training:
        first = network()
        model = nn.ModuleList([first, copy.deepcopy(first)])
        return Training(
            model,
            torch.optim.SGD(model.parameters(), 0.1),
            lambda model, batch: sum(F.cross_entropy(each(batch[0]), batch[1]) for each in model),
            batches(),
        )

    assert flow(make).passed


# -- samples -------------------------------------------------------------------------------------------------


class Samples(Dataset[tuple[Tensor, Tensor]]):
    def __init__(self) -> None:
        self.inputs, self.labels = torch.randn(32, 6), torch.randint(0, 3, (32,))
        self.reads = torch.zeros(32)
        self.cache, self.cached = torch.zeros(32, 6), torch.zeros(32, dtype=torch.bool)

    def __len__(self) -> int:
        return 32


class Shifted(Samples):
    def __getitem__(self, index: int) -> tuple[Tensor, Tensor]:
        sample = self.inputs[index]
        sample -= 1.0
        return sample, self.labels[index]


class Masked(Samples):
    def __getitem__(self, index: int) -> tuple[Tensor, Tensor]:
        sample = self.inputs[index]
        sample[torch.randint(6, (1,))] = 0.0
        return sample, self.labels[index]


class Counted(Samples):
    def __getitem__(self, index: int) -> tuple[Tensor, Tensor]:
        self.reads[index] += 1
        return self.inputs[index] + 0.1 * torch.randn(6), self.labels[index]


class Cached(Samples):
    def __getitem__(self, index: int) -> tuple[Tensor, Tensor]:
        if not self.cached[index]:
            self.cache[index], self.cached[index] = self.inputs[index] - 1.0, True
        return self.cache[index], self.labels[index]


class Centred(Samples):
    def __getitem__(self, index: int) -> tuple[Tensor, Tensor]:
        sample = self.inputs[index]
        sample -= sample.mean()
        return sample, self.labels[index]


def reading(kind: type[Samples]) -> Callable[[], Training]:
    def make() -> Training:
        model = network()
        data = DataLoader(kind(), batch_size=8, shuffle=True)
        return Training(model, torch.optim.Adam(model.parameters(), 1e-3), criterion=nn.CrossEntropyLoss(), data=data)

    return make


@pytest.mark.parametrize("kind", [Shifted, Masked])
def test_reading_a_sample_changes_it(kind: type[Samples]) -> None:
    assert found(reading(kind)) == [("in-place-modification", "confirmed")]


@pytest.mark.parametrize("kind", [Counted, Cached, Centred])
def test_a_store_may_change_as_long_as_its_samples_stay(kind: type[Samples]) -> None:
    assert flow(reading(kind)).passed


def test_looking_leaves_the_store_as_it_was() -> None:
    model, dataset = network(), Shifted()
    training = Training(
        model,
        torch.optim.Adam(model.parameters(), 1e-3),
        criterion=nn.CrossEntropyLoss(),
        data=DataLoader(dataset, batch_size=8),
    )
    before = dataset.inputs.clone()
    TrainingProgram(Start(training, seed=0)).record(
        RunPlan(max_steps=4, look=Look(signals=("samples",)), one_batch=False)
    )
    assert torch.allclose(dataset.inputs, before - 1.0)  # the one reading of the run, and no other


LENGTHS = (2, 9, 5, 14)


def token_loss(way: str, outputs: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    total = sum(LENGTHS)
    if way == "mean of each":
        return F.cross_entropy(outputs, targets)
    if way == "mean of each, by hand":
        return F.cross_entropy(outputs, targets, reduction="sum") / len(targets)
    if way == "masked mean of each":
        mask = torch.ones(len(targets))
        return (F.cross_entropy(outputs, targets, reduction="none") * mask).sum() / mask.sum()
    if way == "mean of all":
        return F.cross_entropy(outputs, targets, reduction="sum") / total
    if way == "masked mean of all":
        mask = torch.tensor([1.0, 0.0]).repeat(len(targets))[: len(targets)]
        counted = sum((length + 1) // 2 for length in LENGTHS)
        return (F.cross_entropy(outputs, targets, reduction="none") * mask).sum() / counted
    return F.cross_entropy(outputs, targets) / len(LENGTHS)


@pytest.mark.parametrize(
    ("way", "sums_to"),
    [
        ("mean of each", 4.0),
        ("mean of each, by hand", 4.0),
        ("masked mean of each", 4.0),
        ("mean of all", 1.0),
        ("masked mean of all", 1.0),
        ("mean of means", 1.0),
    ],
)
def test_what_micro_batches_of_tokens_count_for(way: str, sums_to: float) -> None:
    """Of different lengths: the weights of the passes have to add up to 1, whatever each of them is."""

    def make() -> Training:
        model = nn.Linear(6, 3)
        optimizer = torch.optim.SGD(model.parameters(), 0.1)

        def step(batch):
            optimizer.zero_grad()
            for x, y in batch:
                loss = token_loss(way, model(x), y)
                loss.backward()
            optimizer.step()
            return loss

        data = [[(torch.randn(length, 6), torch.randint(3, (length,))) for length in LENGTHS] for _ in range(4)]
        return Training(model, optimizer, step=step, data=data)

    update = closely(make).wiring.accumulations[0]
    assert update.factor * update.passes == pytest.approx(sums_to, rel=1e-3)
