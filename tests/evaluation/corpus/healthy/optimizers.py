"""Every optimizer that torch has, schedules, several optimizers, and steps that do more than step."""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.optim import lr_scheduler, swa_utils

from pytest_trainhealth import Training

from . import healthy
from .toydata import blobs, curve, loader, text


def net(outputs: int = 4) -> nn.Sequential:
    return nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, outputs))


def with_optimizer(make: Callable[..., torch.optim.Optimizer], batch_size: int = 16) -> Training:
    model = net()
    data = loader(*blobs(), batch_size=batch_size)
    return Training(model, make(model.parameters()), criterion=nn.CrossEntropyLoss(), data=data)


@healthy
def sgd_small_rate_no_momentum() -> Training:
    """SGD at 0.01 without momentum: right, but so slow that 50 steps hardly show."""
    return with_optimizer(lambda parameters: torch.optim.SGD(parameters, lr=0.01))


@healthy
def rmsprop() -> Training:
    """Plain RMSprop."""
    return with_optimizer(lambda parameters: torch.optim.RMSprop(parameters, lr=1e-3))


@healthy
def adagrad() -> Training:
    """Its steps get smaller for ever, so the loss flattens early."""
    return with_optimizer(lambda parameters: torch.optim.Adagrad(parameters, lr=0.03))


@healthy
def adadelta_default_rate() -> Training:
    """A learning rate of 1.0, which is Adadelta's default and not too high."""
    return with_optimizer(torch.optim.Adadelta)


@healthy
def rprop_full_batch() -> Training:
    """Uses only the signs of the gradients, with one step size per value; meant for full batches."""
    return with_optimizer(lambda parameters: torch.optim.Rprop(parameters, lr=1e-3), batch_size=128)


@healthy
def nadam_decoupled() -> Training:
    """NAdam with decoupled weight decay."""
    return with_optimizer(
        lambda parameters: torch.optim.NAdam(parameters, lr=2e-3, weight_decay=0.01, decoupled_weight_decay=True)
    )


@healthy
def adafactor() -> Training:
    """Keeps rows and columns of the second moment only; its update is relative to the size of the weights."""
    return with_optimizer(lambda parameters: torch.optim.Adafactor(parameters, lr=0.02))


@healthy
def adamax_groups_far_apart() -> Training:
    """Three parameter groups with rates a factor of 30 apart, as in discriminative fine-tuning."""
    model = net()
    rates = {0: 1e-3, 2: 5e-3, 4: 3e-2}
    optimizer = torch.optim.Adamax([{"params": model[i].parameters(), "lr": lr} for i, lr in rates.items()])
    return Training(model, optimizer, criterion=nn.CrossEntropyLoss(), data=loader(*blobs()))


@healthy
def sgd_maximize() -> Training:
    """`maximize=True`: the loss is a log-likelihood that rises; the step returns its negative."""

    def step(batch: list[Tensor]) -> Tensor:
        optimizer.zero_grad()
        log_likelihood = model(batch[0]).log_softmax(-1).gather(1, batch[1][:, None]).mean()
        log_likelihood.backward()
        optimizer.step()
        return -log_likelihood

    model = net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, maximize=True)
    return Training(model, optimizer, step=step, data=loader(*blobs()))


@healthy
def lbfgs_through_loss() -> Training:
    """LBFGS evaluates the loss up to twenty times within a step."""
    model = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 1))
    optimizer = torch.optim.LBFGS(model.parameters(), lr=1.0, max_iter=10, line_search_fn="strong_wolfe")
    return Training(
        model, optimizer, lambda model, batch: F.mse_loss(model(batch[0]), batch[1]), loader(*curve(48), batch_size=48)
    )


@healthy
def lbfgs_own_step() -> Training:
    """The closure is inside the user's step, float64 as one does for LBFGS."""

    def step(batch: tuple[Tensor, Tensor]) -> float:
        def closure() -> Tensor:
            optimizer.zero_grad()
            loss = F.mse_loss(model(batch[0]), batch[1]) + 1e-4 * sum((p**2).sum() for p in model.parameters())
            loss.backward()
            return loss

        return optimizer.step(closure).item()

    x, y = curve(40)
    model = nn.Sequential(nn.Linear(8, 12), nn.Tanh(), nn.Linear(12, 1)).double()
    optimizer = torch.optim.LBFGS(model.parameters(), max_iter=8, history_size=5, line_search_fn="strong_wolfe")
    return Training(model, optimizer, step=step, data=(x.double(), y.double()))


@healthy
def one_cycle() -> Training:
    """OneCycle starts at a 25th of the peak and ends at almost nothing, with momentum going the other way."""
    model = net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    scheduler = lr_scheduler.OneCycleLR(optimizer, max_lr=0.2, total_steps=1000)
    return Training(model, optimizer, criterion=nn.CrossEntropyLoss(), data=loader(*blobs()), scheduler=scheduler)


@healthy
def long_warmup_from_zero() -> Training:
    """Warm-up over 200 steps from a rate of exactly 0: nothing moves at first and little for long."""
    model = net()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    scheduler = lr_scheduler.LambdaLR(optimizer, lambda step: min(1.0, step / 200))
    return Training(model, optimizer, criterion=nn.CrossEntropyLoss(), data=loader(*blobs()), scheduler=scheduler)


@healthy
def warmup_then_cosine_own_step() -> Training:
    """Two schedules in sequence, stepped by the user; warm-up from a thousandth."""

    def step(batch: list[Tensor]) -> float:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(batch[0]), batch[1])
        loss.backward()
        optimizer.step()
        scheduler.step()
        log.append({"loss": loss.item(), "lr": scheduler.get_last_lr()[0]})
        return log[-1]["loss"]

    log: list[dict[str, float]] = []
    model = net()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    warmup = lr_scheduler.LinearLR(optimizer, 1e-3, total_iters=15)
    cosine = lr_scheduler.CosineAnnealingLR(optimizer, T_max=600)
    scheduler = lr_scheduler.SequentialLR(optimizer, [warmup, cosine], milestones=[15])
    return Training(model, optimizer, step=step, data=loader(*blobs()))


@healthy
def two_optimizers_encoder_decoder() -> Training:
    """Encoder and decoder have an optimizer each, both driven by one loss."""
    model = nn.ModuleDict({"encoder": nn.Sequential(nn.Linear(16, 6), nn.Tanh()), "decoder": nn.Linear(6, 16)})
    optimizers = {
        "encoder": torch.optim.Adam(model["encoder"].parameters(), lr=5e-3),
        "decoder": torch.optim.SGD(model["decoder"].parameters(), lr=0.1, momentum=0.9),
    }
    x, _ = blobs()
    return Training(
        model,
        optimizers,
        loss=lambda model, x: F.mse_loss(model["decoder"](model["encoder"](x)), x),
        data=list(x.split(16)),
    )


@healthy
def sparse_and_dense_optimizers() -> Training:
    """SparseAdam for the embedding, AdamW for the rest: a list of two optimizers."""

    class Recommender(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.items = nn.Embedding(60, 12, sparse=True)
            self.head = nn.Sequential(nn.Linear(24, 24), nn.ReLU(), nn.Linear(24, 1))

        def forward(self, pair: Tensor) -> Tensor:
            return self.head(self.items(pair).flatten(1)).squeeze(-1)

    pairs = torch.randint(0, 60, (96, 2))
    kind = torch.randint(0, 2, (60,))
    model = Recommender()
    optimizers = [
        torch.optim.SparseAdam(model.items.parameters(), lr=0.01),
        torch.optim.AdamW(model.head.parameters(), lr=3e-3),
    ]
    bought = (kind[pairs[:, 0]] == kind[pairs[:, 1]]).float()
    return Training(model, optimizers, criterion=nn.BCEWithLogitsLoss(), data=loader(pairs, bought))


@healthy
def muon_for_matrices() -> Training:
    """Muon takes the hidden matrices, AdamW all the rest, as its authors advise."""

    class Small(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embedding = nn.Embedding(20, 16)
            self.hidden = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU())
            self.head = nn.Linear(32, 20)

        def forward(self, tokens: Tensor) -> Tensor:
            return self.head(self.hidden(self.embedding(tokens).flatten(1)))

    model = Small()
    matrices = [p for p in model.hidden.parameters() if p.dim() == 2]
    chosen = {id(p) for p in matrices}
    rest = [p for p in model.parameters() if id(p) not in chosen]
    optimizers = [torch.optim.Muon(matrices, lr=0.02), torch.optim.AdamW(rest, lr=3e-3)]
    tokens = text(96, 5)
    data = loader(tokens[:, :4], tokens[:, 4])
    return Training(model, optimizers, criterion=nn.CrossEntropyLoss(), data=data)


class Lion(torch.optim.Optimizer):
    """A user's own optimizer: the sign of the momentum."""

    def __init__(self, params, lr: float = 3e-4, betas: tuple[float, float] = (0.9, 0.99), weight_decay: float = 0.0):
        super().__init__(params, {"lr": lr, "betas": betas, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self, closure=None):
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                momentum = self.state[p].setdefault("momentum", torch.zeros_like(p))
                fast, slow = group["betas"]
                p.mul_(1 - group["lr"] * group["weight_decay"])
                p.sub_(group["lr"] * torch.sign(fast * momentum + (1 - fast) * p.grad))
                momentum.lerp_(p.grad, 1 - slow)
        return loss


@healthy
def lion_user_written() -> Training:
    """An optimizer that is not torch's: every value moves by the same amount."""
    return with_optimizer(lambda parameters: Lion(parameters, lr=1e-3, weight_decay=0.1))


@healthy
def sharpness_aware_double_step() -> Training:
    """SAM: climb to the worst neighbour, take the gradient there, go back and step; two backwards in a step."""

    class Trainer:
        def __init__(self, rho: float = 0.05) -> None:
            self.model = net()
            self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1, momentum=0.9)
            self.rho = rho

        def step(self, batch: list[Tensor]) -> Tensor:
            first = F.cross_entropy(self.model(batch[0]), batch[1])
            self.optimizer.zero_grad()
            first.backward()
            parameters = list(self.model.parameters())
            with torch.no_grad():
                norm = torch.stack([p.grad.norm() for p in parameters]).norm() + 1e-12
                climbs = [self.rho * p.grad / norm for p in parameters]
                for p, climb in zip(parameters, climbs, strict=True):
                    p.add_(climb)
            self.optimizer.zero_grad()
            F.cross_entropy(self.model(batch[0]), batch[1]).backward()
            with torch.no_grad():
                for p, climb in zip(parameters, climbs, strict=True):
                    p.sub_(climb)
            self.optimizer.step()
            return first

    trainer = Trainer()
    return Training(trainer.model, trainer.optimizer, step=trainer.step, data=loader(*blobs()))


@healthy
def stochastic_weight_averaging() -> Training:
    """From step 50 on a second model averages the first, and the learning rate goes over to a constant one."""

    class Trainer:
        def __init__(self) -> None:
            self.model = net()
            self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1, momentum=0.9)
            self.average = swa_utils.AveragedModel(self.model)
            self.schedule = swa_utils.SWALR(self.optimizer, swa_lr=0.05, anneal_epochs=20)
            self.steps = 0

        def step(self, batch: list[Tensor]) -> Tensor:
            self.optimizer.zero_grad()
            loss = F.cross_entropy(self.model(batch[0]), batch[1])
            loss.backward()
            self.optimizer.step()
            self.steps += 1
            if self.steps > 50:
                self.average.update_parameters(self.model)
                self.schedule.step()
            return loss

    trainer = Trainer()
    return Training(trainer.model, trainer.optimizer, step=trainer.step, data=loader(*blobs()))


@healthy
def step_without_named_optimizer() -> Training:
    """The step brings its own optimizer; `Training` is not told of it."""

    def step(batch: list[Tensor]) -> float:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(batch[0]), batch[1])
        loss.backward()
        optimizer.step()
        return float(loss)

    model = net()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    return Training(model, step=step, data=loader(*blobs()))


@healthy
def reduce_on_plateau() -> Training:
    """The schedule looks at the loss, so the user steps it."""

    def step(batch: list[Tensor]) -> Tensor:
        optimizer.zero_grad()
        loss = F.mse_loss(model(batch[0]), batch[1])
        loss.backward()
        optimizer.step()
        plateau.step(loss.item())
        return loss.detach()

    model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    plateau = lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.5, patience=60)
    return Training(model, optimizer, step=step, data=loader(*curve()))
