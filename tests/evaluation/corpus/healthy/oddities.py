"""Ways of building and training that look wrong at first sight."""

from __future__ import annotations

from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.func import functional_call, grad, vmap
from torch.nn.utils import parametrizations, prune

from pytest_trainhealth import Training

from . import healthy
from .toydata import blobs, curve, images, loader


def net() -> nn.Sequential:
    return nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 4))


@healthy
def lazy_initialised() -> Training:
    """Lazy layers that a dry run has given their shapes before the optimizer was made."""
    x, y = images()
    model = nn.Sequential(
        nn.LazyConv2d(8, 3), nn.LazyBatchNorm2d(), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.LazyLinear(4)
    )
    model(x[:2])
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    return Training(model, optimizer, criterion=nn.CrossEntropyLoss(), data=loader(x, y))


@healthy
def lazy_not_yet_initialised() -> Training:
    """The parameters have no shape yet; the first forward pass gives it to them, in place."""
    model = nn.Sequential(nn.LazyLinear(32), nn.ReLU(), nn.LazyLinear(4))
    return Training(
        model,
        torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9),
        loss=lambda model, batch: F.cross_entropy(model(batch[0]), batch[1]),
        data=loader(*blobs()),
    )


@healthy
def weight_norm() -> Training:
    """Each weight is two parameters, a direction and a length; the gradient never points along the direction."""
    model = nn.Sequential(
        parametrizations.weight_norm(nn.Linear(16, 32)), nn.ELU(), parametrizations.weight_norm(nn.Linear(32, 4))
    )
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    return Training(model, optimizer, criterion=nn.CrossEntropyLoss(), data=loader(*blobs()))


@healthy
def orthogonal_recurrence() -> Training:
    """The recurrent matrix is orthogonal by a parametrisation, so long sequences neither fade nor explode."""

    class OrthogonalRNN(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inward = nn.Linear(2, 16)
            self.recur = parametrizations.orthogonal(nn.Linear(16, 16, bias=False))
            self.head = nn.Linear(16, 1)

        def forward(self, x: Tensor) -> Tensor:
            h = torch.zeros(len(x), 16)
            with nn.utils.parametrize.cached():
                for t in range(x.shape[1]):
                    h = F.relu(self.inward(x[:, t]) + self.recur(h))
            return self.head(h)

    marks = F.one_hot(torch.randint(0, 4, (64,)), 8) + F.one_hot(torch.randint(4, 8, (64,)), 8)
    x = torch.stack([torch.rand(64, 8), marks.float()], -1)
    model = OrthogonalRNN()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    data = loader(x, (x[..., 0] * x[..., 1]).sum(1, keepdim=True))
    return Training(model, optimizer, criterion=nn.MSELoss(), data=data)


class Sign(torch.autograd.Function):
    """Forward: the sign. Backward: as if it were the identity within -1..1."""

    @staticmethod
    def forward(ctx, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return torch.where(x >= 0, 1.0, -1.0)

    @staticmethod
    def backward(ctx, gradient: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return gradient * (x.abs() <= 1)


class BinaryLinear(nn.Linear):
    def forward(self, x: Tensor) -> Tensor:
        scale = self.weight.abs().mean().detach()
        return F.linear(x, scale * Sign.apply(self.weight), self.bias)


@healthy
def binary_network() -> Training:
    """Binary weights and activations: a small step may change nothing, or much."""

    class Binary(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.norm1 = BinaryLinear(16, 64), nn.BatchNorm1d(64)
            self.second, self.norm2 = BinaryLinear(64, 64), nn.BatchNorm1d(64)
            self.head = nn.Linear(64, 4)

        def forward(self, x: Tensor) -> Tensor:
            h = Sign.apply(self.norm1(self.first(x)))
            return self.head(Sign.apply(self.norm2(self.second(h))))

    model = Binary()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    return Training(model, optimizer, criterion=nn.CrossEntropyLoss(), data=loader(*blobs(), batch_size=32))


@healthy
def fake_quantised_weights() -> Training:
    """Quantisation-aware: weights rounded to 4 bits in the forward pass, gradients passed straight through."""

    class Quantise(nn.Module):
        def forward(self, weight: Tensor) -> Tensor:
            step = weight.detach().abs().max() / 7
            return weight + ((weight / step).round() * step - weight).detach()

    model = net()
    for layer in (model[0], model[2]):
        nn.utils.parametrize.register_parametrization(layer, "weight", Quantise())
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    return Training(model, optimizer, criterion=nn.CrossEntropyLoss(), data=loader(*blobs()))


class HyperNetwork(nn.Module):
    """Makes the weights of a small layer for each task; the layer itself has no parameters."""

    def __init__(self) -> None:
        super().__init__()
        self.tasks = nn.Embedding(4, 8)
        self.make = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 3 * 8 + 8 + 8 + 1))

    def forward(self, x: Tensor, task: Tensor) -> Tensor:
        w1, b1, w2, b2 = self.make(self.tasks(task)).split([24, 8, 8, 1], -1)
        h = torch.tanh(torch.einsum("ni,nij->nj", x, w1.unflatten(-1, (3, 8))) + b1)
        return (h * w2).sum(-1) + b2.squeeze(-1)


@healthy
def hypernetwork() -> Training:
    """Parameters are produced by another network: what is used as a weight is an activation."""
    x, task = torch.randn(96, 3), torch.randint(0, 4, (96,))
    y = (x * torch.randn(4, 3)[task]).sum(-1)
    model = HyperNetwork()
    return Training(
        model,
        torch.optim.Adam(model.parameters(), lr=5e-3),
        loss=lambda model, batch: F.mse_loss(model(batch[0], batch[1]), batch[2]),
        data=loader(x, task, y),
    )


@healthy
def functional_call_maml() -> Training:
    """First-order in looks, second-order in fact: the loss is that of weights after an inner gradient step."""

    def loss(model: nn.Module, task: dict[str, Tensor]) -> Tensor:
        weights = dict(model.named_parameters())
        inner = F.mse_loss(functional_call(model, weights, task["x"][:8]), task["y"][:8])
        slopes = torch.autograd.grad(inner, list(weights.values()), create_graph=True)
        adapted = {name: w - 0.1 * g for (name, w), g in zip(weights.items(), slopes, strict=True)}
        return F.mse_loss(functional_call(model, adapted, task["x"][8:]), task["y"][8:])

    tasks = []
    for _ in range(6):
        x = 4 * torch.rand(16, 1) - 2
        tasks.append({"x": x, "y": (0.5 + torch.rand(())) * torch.sin(2 * x + torch.rand(()))})
    model = nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 1))
    return Training(model, torch.optim.Adam(model.parameters(), lr=5e-3), loss, tasks)


@healthy
def dp_sgd_per_sample_gradients() -> Training:
    """No backward() at all: gradients per sample by vmap, clipped, noised and written to `.grad`."""

    def step(batch: list[Tensor]) -> Tensor:
        x, y = batch
        weights = {name: p.detach() for name, p in model.named_parameters()}

        def sample_loss(weights: dict[str, Tensor], x: Tensor, y: Tensor) -> Tensor:
            return F.cross_entropy(functional_call(model, weights, x[None]), y[None])

        slopes = vmap(grad(sample_loss), in_dims=(None, 0, 0))(weights, x, y)
        norms = torch.stack([g.flatten(1).norm(dim=1) for g in slopes.values()]).norm(dim=0)
        factor = (1.0 / (norms + 1e-6)).clamp(max=1.0)
        for name, p in model.named_parameters():
            clipped = torch.einsum("n,n...->...", factor, slopes[name])
            p.grad = (clipped + 0.3 * torch.randn_like(p)) / len(x)
        optimizer.step()
        with torch.no_grad():
            return F.cross_entropy(model(x), y)

    model = net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.3)
    return Training(model, optimizer, step=step, data=loader(*blobs(), batch_size=32))


@healthy
def gradients_written_by_hand() -> Training:
    """`torch.autograd.grad` and an assignment to `.grad`; the returned loss is detached."""

    def step(batch: list[Tensor]) -> Tensor:
        parameters = list(model.parameters())
        loss = F.cross_entropy(model(batch[0]), batch[1])
        for p, slope in zip(parameters, torch.autograd.grad(loss, parameters), strict=True):
            p.grad = slope.clamp(-0.1, 0.1)
        optimizer.step()
        return loss.detach()

    model = net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.2, momentum=0.9)
    return Training(model, optimizer, step=step, data=loader(*blobs()))


@healthy
def update_without_optimizer() -> Training:
    """Plain gradient descent by hand under no_grad: there is no optimizer object."""

    def step(batch: list[Tensor]) -> Tensor:
        loss = F.mse_loss(model(batch[0]), batch[1])
        model.zero_grad()
        loss.backward()
        with torch.no_grad():
            for p in model.parameters():
                p -= 0.1 * p.grad
        return loss

    model = nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 1))
    return Training(model, step=step, data=loader(*curve()))


class UnusedPieces(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.shortcut = nn.Identity()  # never called
        self.unused_dropout = nn.Dropout(0.1)  # never called
        self.loss = nn.CrossEntropyLoss(label_smoothing=0.05)
        self.net = net()
        self.register_buffer("classes", torch.arange(4))  # never read

    def forward(self, x: Tensor) -> Tensor:
        return self.net(x)


@healthy
def parameter_free_modules_never_called() -> Training:
    """An Identity, a Dropout and a buffer that nothing uses; as they hold no parameters nothing is lost."""
    model = UnusedPieces()
    return Training(
        model,
        torch.optim.Adam(model.parameters(), lr=3e-3),
        loss=lambda model, batch: model.loss(model(batch[0]), batch[1]),
        data=loader(*blobs()),
    )


@healthy
def metrics_and_logs_in_the_step() -> Training:
    """Between forward and backward the step evaluates under no_grad in eval mode, and keeps lists of floats."""

    class Trainer:
        def __init__(self) -> None:
            self.model = nn.Sequential(
                nn.Linear(16, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Dropout(0.1), nn.Linear(32, 4)
            )
            self.optimizer = torch.optim.Adam(self.model.parameters(), lr=3e-3)
            self.log: dict[str, list[float]] = {"loss": [], "accuracy": [], "norm": []}

        def step(self, batch: list[Tensor]) -> Tensor:
            x, y = batch
            self.model.train()
            loss = F.cross_entropy(self.model(x), y)
            self.model.eval()
            with torch.no_grad():
                accuracy = (self.model(x).argmax(-1) == y).float().mean()
            self.model.train()
            self.optimizer.zero_grad(set_to_none=False)
            loss.backward()
            norm = nn.utils.clip_grad_norm_(self.model.parameters(), float("inf"))
            self.optimizer.step()
            for name, value in (("loss", loss), ("accuracy", accuracy), ("norm", norm)):
                self.log[name].append(value.item())
            return loss

    trainer = Trainer()
    return Training(trainer.model, trainer.optimizer, step=trainer.step, data=loader(*blobs()))


@healthy
def layerwise_local_losses() -> Training:
    """Greedy training: each layer has its own loss and optimizer, and its input is detached; three backwards a step."""

    class Trainer:
        def __init__(self) -> None:
            self.layers = nn.ModuleList(nn.Sequential(nn.Linear(16, 16), nn.ReLU()) for _ in range(3))
            self.heads = nn.ModuleList(nn.Linear(16, 4) for _ in range(3))
            self.model = nn.ModuleDict({"layers": self.layers, "heads": self.heads})
            self.optimizers = [
                torch.optim.Adam([*layer.parameters(), *head.parameters()], lr=5e-3)
                for layer, head in zip(self.layers, self.heads, strict=True)
            ]

        def step(self, batch: list[Tensor]) -> float:
            h, y = batch
            total = 0.0
            for layer, head, optimizer in zip(self.layers, self.heads, self.optimizers, strict=True):
                h = layer(h.detach())
                loss = F.cross_entropy(head(h), y)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                total += loss.item()
            return total

    trainer = Trainer()
    return Training(trainer.model, trainer.optimizers, step=trainer.step, data=loader(*blobs()))


@healthy
def several_backwards_before_one_step() -> Training:
    """Two losses are sent backward one after the other through one graph, then one optimizer step."""

    def step(batch: list[Tensor]) -> Tensor:
        x, y = batch
        optimizer.zero_grad()
        hidden = model[0](x)
        classify = F.cross_entropy(model[1](hidden), y)
        rebuild = F.mse_loss(model[2](hidden), x)
        classify.backward(retain_graph=True)
        rebuild.backward()
        optimizer.step()
        return classify + rebuild

    model = nn.Sequential(nn.Sequential(nn.Linear(16, 32), nn.ReLU()), nn.Linear(32, 4), nn.Linear(32, 16))
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    return Training(model, optimizer, step=step, data=loader(*blobs()))


@healthy
def hinge_loss_goes_to_zero() -> Training:
    """A linear model with the multi-class hinge: once all margins hold, loss and gradients are exactly 0."""
    model = nn.Linear(16, 4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    return Training(model, optimizer, criterion=nn.MultiMarginLoss(), data=loader(*blobs()))


@healthy
def pruned_by_masks() -> Training:
    """Seven tenths of the first layer's weights are masked away: their gradient is zero and stays so."""
    model = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 4))
    prune.l1_unstructured(model[0], "weight", amount=0.7)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    return Training(model, optimizer, criterion=nn.CrossEntropyLoss(), data=loader(*blobs()))


@healthy
def gradient_noise_and_hooks() -> Training:
    """A user's tensor hooks scale and disturb gradients on purpose."""
    model = net()
    for p in model.parameters():
        p.register_hook(lambda g: 0.5 * g + 1e-3 * torch.randn_like(g))
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    return Training(model, optimizer, criterion=nn.CrossEntropyLoss(), data=loader(*blobs()))


@healthy
def early_exit_by_chance() -> Training:
    """Deeper parts only run in some steps (slimmable training): their `.grad` is None in the others."""

    class Slimmable(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.stem = nn.Sequential(nn.Linear(16, 32), nn.ReLU())
            self.deep = nn.Sequential(nn.Linear(32, 32), nn.ReLU())
            self.head = nn.Linear(32, 4)

        def forward(self, x: Tensor) -> Tensor:
            h = self.stem(x)
            return self.head(self.deep(h) if not self.training or torch.rand(()) < 0.5 else h)

    model = Slimmable()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    return Training(model, optimizer, criterion=nn.CrossEntropyLoss(), data=loader(*blobs()))


@healthy
def adversarial_inputs_fgsm() -> Training:
    """Each step first goes backward to the inputs to make them harder, then trains on those."""

    def step(batch: list[Tensor]) -> Tensor:
        x, y = batch
        x = x.clone().requires_grad_()
        (slope,) = torch.autograd.grad(F.cross_entropy(model(x), y), x)
        loss = F.cross_entropy(model((x + 0.1 * slope.sign()).detach()), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    model = net()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    return Training(model, optimizer, step=step, data=loader(*blobs()))


def train_step(model: nn.Module, optimizer: torch.optim.Optimizer, batch: list[Tensor], clip: float = 1.0) -> float:
    model.train()
    optimizer.zero_grad()
    loss = F.cross_entropy(model(batch[0]), batch[1])
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), clip)
    optimizer.step()
    return loss.item()


@healthy
def step_is_a_partial() -> Training:
    """A function of the module with model and optimizer bound by `functools.partial`."""
    model = net()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    return Training(model, optimizer, step=partial(train_step, model, optimizer, clip=0.5), data=loader(*blobs()))


class Step:
    """A callable object with state: the loss is averaged over time for the progress bar."""

    def __init__(self, model: nn.Module, optimizer: torch.optim.Optimizer) -> None:
        self.model, self.optimizer, self.smooth = model, optimizer, None

    def __call__(self, batch: list[Tensor]) -> float:
        loss = train_step(self.model, self.optimizer, batch)
        self.smooth = loss if self.smooth is None else 0.9 * self.smooth + 0.1 * loss
        return self.smooth


@healthy
def step_object_returns_smoothed_loss() -> Training:
    """What comes back is a running mean, which lags behind the loss."""
    model = net()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    return Training(model, optimizer, step=Step(model, optimizer), data=loader(*blobs()))


@healthy
def torchscript_model() -> Training:
    """A scripted module: its submodules are not instances of the classes they were made from."""
    model = torch.jit.script(net())
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    return Training(model, optimizer, criterion=nn.CrossEntropyLoss(), data=loader(*blobs()))


@healthy
def data_parallel_wrapper() -> Training:
    """Wrapped in DataParallel, which does nothing on a CPU but prefix all names with "module."."""
    model = nn.DataParallel(net())
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    return Training(model, optimizer, criterion=nn.CrossEntropyLoss(), data=loader(*blobs()))


@healthy
def logistic_regression_from_zero() -> Training:
    """All weights start at zero, which is right for a linear model: there is no symmetry to break."""
    model = nn.Linear(16, 4)
    nn.init.zeros_(model.weight)
    nn.init.zeros_(model.bias)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    return Training(model, optimizer, criterion=nn.CrossEntropyLoss(), data=loader(*blobs()))


class Reversed(torch.autograd.Function):
    """Passes its input on, and hands the gradient back with the other sign."""

    @staticmethod
    def forward(ctx: object, x: Tensor) -> Tensor:
        return x.view_as(x)

    @staticmethod
    def backward(ctx: object, gradient: Tensor) -> Tensor:
        return -gradient


@healthy
def gradient_reversal() -> Training:
    """Features that tell classes apart and not domains: two losses pull the same layer in opposite directions."""
    x, y = blobs()
    domains = torch.arange(len(x)) % 2
    model = nn.ModuleDict({"body": nn.Linear(16, 32), "classes": nn.Linear(32, 4), "domains": nn.Linear(32, 2)})

    def loss(model: nn.Module, batch: list[Tensor]) -> Tensor:
        hidden = F.relu(model["body"](batch[0]))
        fooled = F.cross_entropy(model["domains"](Reversed.apply(hidden)), batch[2])
        return F.cross_entropy(model["classes"](hidden), batch[1]) + fooled

    data = loader(x + domains[:, None] * torch.linspace(-1, 1, 16), y, domains)
    return Training(model, torch.optim.SGD(model.parameters(), lr=0.2, momentum=0.9), loss, data)


@healthy
def sharpness_aware() -> Training:
    """The first gradient is climbed and cleared, and the second, from the same line, is followed."""
    model = net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)

    def step(batch: list[Tensor]) -> Tensor:
        moves: list[Tensor] = []
        for climb in (True, False):
            optimizer.zero_grad()
            loss = F.cross_entropy(model(batch[0]), batch[1])
            loss.backward()
            with torch.no_grad():
                if climb:
                    moves = [0.02 * p.grad / (p.grad.norm() + 1e-12) for p in model.parameters()]
                for parameter, move in zip(model.parameters(), moves, strict=True):
                    parameter += move if climb else -move
        optimizer.step()
        return loss

    return Training(model, optimizer, step=step, data=loader(*blobs()))


@healthy
def schedule_in_epochs() -> Training:
    """Drops at epochs 10 and 15, handed over as it is: counted in batches it would be over at once."""
    model = net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    scheduler = torch.optim.lr_scheduler.MultiStepLR(optimizer, [10, 15], gamma=0.1)
    return Training(model, optimizer, criterion=nn.CrossEntropyLoss(), data=loader(*blobs()), scheduler=scheduler)
