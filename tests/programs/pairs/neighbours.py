"""Healthy programs that come closest to a fault: what they do looks like it, and is meant."""

from __future__ import annotations

import copy

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.utils import weight_norm

from ..loops import Batch, Loop, mlp, pictures
from .clipping import Forecaster, sequences
from .parts import plain


def _average(teacher: nn.Module, student: nn.Module) -> None:
    with torch.no_grad():
        for old, new in zip(teacher.parameters(), student.parameters(), strict=True):
            old.lerp_(new, 0.1)


def averaged_copy_with_gradients(name: str) -> Loop:
    """Gradients pile up on a copy that moves, and nobody uses them."""
    student = mlp(12, 32, 4)
    teacher = copy.deepcopy(student)
    optimizer = torch.optim.SGD(student.parameters(), 0.1)

    def step(batch: Batch) -> Tensor:
        made = student(batch[0])
        loss = F.cross_entropy(made, batch[1]) + 0.1 * F.mse_loss(made, teacher(batch[0]))
        student.zero_grad()
        loss.backward()
        if name == "by hand":
            for parameter in student.parameters():
                parameter.data -= 0.1 * parameter.grad
        else:
            optimizer.step()
        _average(teacher, student)
        return loss

    optimizers = {} if name == "by hand" else {"sgd": optimizer}
    return Loop({"student": student, "teacher": teacher}, optimizers, step, pictures())


def by_hand(name: str) -> Loop:
    """Gradients that stay on purpose: as a momentum, or until all passes of an update are made."""
    model = mlp(12, 32, 4)
    trained = list(model[2].parameters() if name == "head" else model.parameters())
    seen = 0

    def step(batch: Batch) -> Tensor:
        nonlocal seen
        loss = F.cross_entropy(model(batch[0]), batch[1])
        loss.backward()
        seen += 1
        if name == "accumulated" and seen % 3:
            return loss
        for parameter in trained:
            parameter.data -= (0.02 if name == "accumulated" else 0.05) * parameter.grad
            if name == "momentum":
                parameter.grad.mul_(0.5)
        if name != "momentum":
            model.zero_grad()
        return loss

    return Loop({"model": model}, {}, step, pictures())


def two_passes_in_a_closure(name: str) -> Loop:
    model = mlp(12, 16, 4)
    optimizer = torch.optim.LBFGS(model.parameters(), lr=0.1, max_iter=4)

    def step(batch: Batch) -> Tensor:
        def closure() -> Tensor:
            optimizer.zero_grad()
            loss = F.cross_entropy(model(batch[0]), batch[1])
            loss.backward()
            penalty = 1e-3 * sum(p.square().sum() for p in model.parameters())
            penalty.backward()
            return loss

        return optimizer.step(closure)

    return Loop({"model": model}, {"lbfgs": optimizer}, step, pictures(4, 32), epochs=6)


def adapted_to_each_batch(name: str) -> Loop:
    """Episodes: all that is trained begins each step anew."""
    model = mlp(12, 32, 4)
    start = copy.deepcopy(model.state_dict())
    optimizer = torch.optim.SGD(model.parameters(), 0.1)

    def step(batch: Batch) -> Tensor:
        model.load_state_dict(start)
        probabilities = model(batch[0]).softmax(1)
        loss = -(probabilities * probabilities.log()).sum(1).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    return Loop({"model": model}, {"sgd": optimizer}, step, pictures())


def critic_with_dropout(name: str) -> Loop:
    """A critic that is asked about samples without gradients, for a log."""
    generator, critic = mlp(4, 32, 12), mlp(12, 32, 1, dropout=0.2)
    by_generator = torch.optim.Adam(generator.parameters(), 2e-3, betas=(0.5, 0.9))
    by_critic = torch.optim.Adam(critic.parameters(), 2e-3, betas=(0.5, 0.9))

    def step(batch: Batch) -> Tensor:
        real = batch[0]
        by_critic.zero_grad()
        fake = generator(torch.randn(len(real), 4)).detach()
        loss = F.softplus(-critic(real)).mean() + F.softplus(critic(fake)).mean()
        loss.backward()
        by_critic.step()
        by_generator.zero_grad()
        fooled = F.softplus(-critic(generator(torch.randn(len(real), 4)))).mean()
        fooled.backward()
        by_generator.step()
        with torch.no_grad():
            scores = critic(generator(torch.randn(len(real), 4)))
            F.binary_cross_entropy_with_logits(scores, torch.zeros_like(scores))
        return fooled

    return Loop({"generator": generator, "critic": critic}, {"g": by_generator, "c": by_critic}, step, pictures())


def weights_that_were_loaded(name: str) -> Loop:
    """What weight_norm has computed is older than what it is computed from."""
    model = nn.Sequential(weight_norm(nn.Linear(12, 32)), nn.ReLU(), nn.Linear(32, 4))
    other = nn.Sequential(weight_norm(nn.Linear(12, 32)), nn.ReLU(), nn.Linear(32, 4))
    model.load_state_dict(other.state_dict())
    return plain(model, torch.optim.Adam(model.parameters(), 3e-3), pictures())


def one_step_sequences(name: str) -> Loop:
    """Both directions have seen all there is."""
    model = Forecaster()
    model.rnn, model.head = nn.GRU(3, 12, batch_first=True, bidirectional=True), nn.Linear(24, 1)
    optimizer = torch.optim.Adam(model.parameters(), 3e-3)

    def step(batch: Batch) -> Tensor:
        loss = F.mse_loss(model(batch[0][:, :1]), batch[1][:, :1])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    return Loop({"model": model}, {"adam": optimizer}, step, sequences())


PAIRS = {
    averaged_copy_with_gradients: ("beside an optimizer", "by hand"),
    by_hand: ("momentum", "accumulated", "head"),
    two_passes_in_a_closure: ("none",),
    adapted_to_each_batch: ("none",),
    critic_with_dropout: ("none",),
    weights_that_were_loaded: ("none",),
    one_step_sequences: ("none",),
}
