"""Steps that compute in views of the data, gradients set to 0 by hand, and generators that cannot reach their data."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from pytest_trainhealth import Training
from pytest_trainhealth.analysis.loss_calls import cannot_imitate
from pytest_trainhealth.engine.request import Request
from pytest_trainhealth.examine import examine
from pytest_trainhealth.records.losses import GeneratorRange
from pytest_trainhealth.records.trace import Trace
from pytest_trainhealth.records.verdict import Verdict


def examined(make: Callable[[], Training], check: str = "gradients_flow") -> Verdict:
    return examine(make, Request(check, "loop", 0, {}))


def found(make: Callable[[], Training], check: str = "gradients_flow") -> list[tuple[str, str]]:
    return [(f.cause, f.certainty) for f in examined(make, check).findings]


# -- views of what a loader holds --------------------------------------------------------------------


class Slices:
    def __init__(self) -> None:
        self.images = torch.randn(64, 12)

    def __iter__(self) -> Iterator[Tensor]:
        for start in range(0, 64, 16):
            yield self.images[start : start + 16]


class Shuffled(Slices):
    def __iter__(self) -> Iterator[Tensor]:
        for start in torch.randperm(4).tolist():
            yield self.images[16 * start : 16 * start + 16]


class Copies(Slices):
    def __iter__(self) -> Iterator[Tensor]:
        for part in torch.randperm(64).split(16):
            yield self.images[part]


class Buffer(Slices):
    """Fills one and the same tensor for each batch."""

    def __init__(self) -> None:
        super().__init__()
        self.batch = torch.empty(16, 12)

    def __iter__(self) -> Iterator[Tensor]:
        for images in super().__iter__():
            yield self.batch.copy_(images)


class Anew(Slices):
    """Begins each epoch with the data as they were."""

    def __init__(self) -> None:
        super().__init__()
        self.source = self.images.clone()

    def __iter__(self) -> Iterator[Tensor]:
        self.images.copy_(self.source)
        yield from super().__iter__()


def with_noise(x: Tensor) -> Tensor:
    x += 0.1 * torch.randn_like(x)
    return x


def scaled(x: Tensor) -> Tensor:
    return x.mul_(0.9).add_(0.05)


def at_length_one(x: Tensor) -> Tensor:
    return x.div_(x.norm(dim=1, keepdim=True))


def autoencoder(
    loader: Callable[[], Any], prepare: Callable[[Tensor], Tensor], after: Callable[[Tensor, Tensor], Any] | None = None
) -> Callable[[], Training]:
    def make() -> Training:
        model = nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, 12))
        optimizer = torch.optim.Adam(model.parameters(), 1e-3)

        def step(x: Tensor) -> Tensor:
            given = prepare(x)
            output = model(given)
            loss = F.mse_loss(output, given.clone())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if after is not None:
                after(x, output.detach())
            return loss

        return Training(model, optimizer, step=step, data=loader())

    return make


@pytest.mark.parametrize("loader", [Slices, Shuffled])
@pytest.mark.parametrize("prepare", [with_noise, scaled])
def test_a_step_that_computes_in_views_of_the_data(loader: Any, prepare: Callable[[Tensor], Tensor]) -> None:
    verdict = examined(autoencoder(loader, prepare))
    assert [(f.cause, f.certainty) for f in verdict.findings] == [("in-place-modification", "confirmed")]
    assert f"the step writes into {loader.__name__}.images" in verdict.findings[0].statement


@pytest.mark.parametrize("loader", [Copies, Buffer, Anew])
def test_batches_that_a_step_may_write_into(loader: Callable[[], Any]) -> None:
    assert examined(autoencoder(loader, with_noise)).passed


@pytest.mark.parametrize("prepare", [at_length_one, lambda x: x.clamp_(-1, 1), lambda x: x + 0.1, lambda x: x.mul_(1)])
def test_what_comes_out_the_same_at_the_second_visit(prepare: Callable[[Tensor], Tensor]) -> None:
    assert examined(autoencoder(Slices, prepare)).passed


def test_what_is_kept_of_the_outputs_is_meant() -> None:
    """Chains, averaged predictions: the step writes what a model gave."""
    assert examined(autoencoder(Slices, lambda x: x, lambda x, output: x.mul_(0.9).add_(0.1 * output))).passed


# -- gradients set to 0 by hand ----------------------------------------------------------------------


def pretrained(zero: Callable[[nn.Sequential, int], Any], weight_decay: float = 0.1) -> Callable[[], Training]:
    def make() -> Training:
        model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 3))
        optimizer = torch.optim.AdamW(model.parameters(), 1e-2, weight_decay=weight_decay)
        taken = [0]

        def step(batch: tuple[Tensor, Tensor]) -> Tensor:
            loss = F.cross_entropy(model(batch[0]), batch[1])
            optimizer.zero_grad()
            loss.backward()
            zero(model, taken[0])
            optimizer.step()
            taken[0] += 1
            return loss

        x = torch.randn(64, 6)
        data = list(zip(x.split(16), x.argmax(1).fmod(3).split(16), strict=True))
        return Training(model, optimizer, step=step, data=data)

    return make


def zero_first(model: nn.Sequential, step: int) -> None:
    for parameter in model[0].parameters():
        assert parameter.grad is not None
        parameter.grad.zero_()


def test_zeroed_gradients_keep_nothing_frozen_under_weight_decay() -> None:
    verdict = examined(pretrained(zero_first))
    assert [(f.cause, f.certainty) for f in verdict.findings] == [("frozen-parameters-change", "confirmed")]
    assert "weight decay of AdamW moves them" in verdict.findings[0].statement


@pytest.mark.parametrize(
    "zero",
    [
        lambda model, step: zero_first(model, step) if step < 10 else None,  # a head that is to settle first
        lambda model, step: zero_first(model, step) if step % 2 else None,
        lambda model, step: model[0].weight.grad[:4].zero_(),  # pruned units
    ],
    ids=["at first", "in turns", "in part"],
)
def test_gradients_that_are_zeroed_for_a_while_or_in_part(zero: Callable[[nn.Sequential, int], Any]) -> None:
    assert examined(pretrained(zero)).passed


# -- generators --------------------------------------------------------------------------------------


def adversaries(last: nn.Module, spread: float, noise: float = 0.0) -> Callable[[], Training]:
    def make() -> Training:
        generator = nn.Sequential(nn.Linear(4, 24), nn.LeakyReLU(0.2), nn.Linear(24, 2), last)
        discriminator = nn.Sequential(nn.Linear(2, 24), nn.LeakyReLU(0.2), nn.Linear(24, 1))
        of_g, of_d = (torch.optim.Adam(m.parameters(), 1e-3) for m in (generator, discriminator))

        def says(logit: Tensor, real: bool) -> Tensor:
            return F.binary_cross_entropy_with_logits(logit, torch.full_like(logit, float(real)))

        def step(real: Tensor) -> Tensor:
            fake = generator(torch.randn(len(real), 4))
            seen = real + noise * torch.randn_like(real) if noise else real
            loss_d = says(discriminator(seen), True) + says(discriminator(fake.detach()), False)
            of_d.zero_grad()
            loss_d.backward()
            of_d.step()
            loss_g = says(discriminator(fake), True)
            of_g.zero_grad()
            loss_g.backward()
            of_g.step()
            return loss_g

        angle = 6.283 * torch.rand(256)
        points = spread * torch.stack([angle.cos(), angle.sin()], -1)
        models = {"generator": generator, "discriminator": discriminator}
        return Training(models, [of_g, of_d], step=step, data=list(points.split(32)))

    return make


def test_a_generator_that_cannot_reach_its_data() -> None:
    verdict = examined(adversaries(nn.Sigmoid(), 1.0), "overfits_one_batch")
    assert (verdict.findings[0].cause, verdict.findings[0].certainty) == ("wrong-output-activation", "confirmed")
    assert found(adversaries(nn.Tanh(), 3.0), "overfits_one_batch")[0][0] == "wrong-output-activation"


@pytest.mark.parametrize(
    ("last", "spread", "noise"), [(nn.Tanh(), 1.0, 0.0), (nn.Tanh(), 1.0, 0.5), (nn.Identity(), 3.0, 0.0)]
)
def test_generators_that_can(last: nn.Module, spread: float, noise: float) -> None:
    assert not examined(adversaries(last, spread, noise), "overfits_one_batch").failed


def test_actions_of_the_data_may_lie_where_an_actor_cannot() -> None:
    def make() -> Training:
        actor = nn.Sequential(nn.Linear(4, 24), nn.ReLU(), nn.Linear(24, 2), nn.Tanh())
        critic = nn.ModuleDict({"state": nn.Linear(4, 24), "action": nn.Linear(2, 24), "value": nn.Linear(24, 1)})
        of_actor, of_critic = (torch.optim.Adam(m.parameters(), 1e-3) for m in (actor, critic))

        def value(state: Tensor, action: Tensor) -> Tensor:
            return critic["value"](F.relu(critic["state"](state) + critic["action"](action)))

        def step(batch: tuple[Tensor, Tensor, Tensor]) -> Tensor:
            state, action, reward = batch
            loss_c = F.mse_loss(value(state, action), reward)
            of_critic.zero_grad()
            loss_c.backward()
            of_critic.step()
            loss_a = -value(state, actor(state)).mean()
            of_actor.zero_grad()
            loss_a.backward()
            of_actor.step()
            return loss_a

        data = [(torch.randn(32, 4), 2 * torch.randn(32, 2), torch.randn(32, 1)) for _ in range(8)]
        return Training({"actor": actor, "critic": critic}, [of_actor, of_critic], step=step, data=data)

    assert not examined(make, "overfits_one_batch").failed


def test_it_takes_two_steps_and_a_good_part_of_the_data() -> None:
    trace = Trace()
    trace.loss.generator_ranges = [GeneratorRange(0, "d.0", "sigmoid", outside=0.5)]
    assert cannot_imitate(trace) is None
    trace.loss.generator_ranges.append(GeneratorRange(1, "d.0", "sigmoid", outside=0.05))
    assert cannot_imitate(trace) is None
    trace.loss.generator_ranges.append(GeneratorRange(1, "d.0", "sigmoid", outside=0.4))
    assert cannot_imitate(trace) is trace.loss.generator_ranges[0]
