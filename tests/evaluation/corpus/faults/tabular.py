"""Tables: measurements, prices, categories."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset, TensorDataset

from pytest_trainhealth import Training

from ..healthy.toydata import loader
from . import fault


def measurements(n: int = 256, features: int = 8) -> tuple[Tensor, Tensor]:
    """Standardised columns and a smooth function of them, (n, 1), about standardised."""
    x = torch.randn(n, features)
    y = torch.tanh(x @ torch.randn(features, 1) / 2) + 0.5 * x[:, :1] * torch.sigmoid(2 * x[:, 1:2])
    return x, (y - y.mean()) / y.std() + 0.05 * torch.randn(n, 1)


def mlp(features: int = 8, outputs: int = 1, width: int = 48) -> nn.Sequential:
    return nn.Sequential(
        nn.Linear(features, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, outputs)
    )


class Table(Dataset):
    """Rows of a data frame."""

    def __init__(self, columns: Tensor, target: Tensor) -> None:
        self.columns, self.target = columns, target

    def __len__(self) -> int:
        return len(self.target)

    def __getitem__(self, row: int) -> dict[str, Tensor]:
        return {"x": self.columns[row], "y": self.target[row]}


def fit(model: nn.Module, batch: dict[str, Tensor]) -> Tensor:
    return F.mse_loss(model(batch["x"]), batch["y"])


@fault("nan-in-data")
def missing_values_not_filled(broken: bool) -> Training:
    """Two rows lack the fourth column (NaN, as pandas reads an empty cell) and nobody fills or drops them."""
    x, y = measurements()
    x[[70, 200], 3] = float("nan")
    if not broken:
        x = x.nan_to_num(0.0)
    model = mlp()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    return Training(model, optimizer, fit, DataLoader(Table(x, y), batch_size=32, shuffle=True))


@fault("unnormalized-inputs", hard=True)
def income_beside_age(broken: bool) -> Training:
    """Income in the ten thousands beside age and rooms, not scaled: the one column drowns all the others."""
    x, y = measurements(features=4)
    if broken:
        x = x * torch.tensor([15_000.0, 12.0, 2.0, 400.0]) + torch.tensor([45_000.0, 40.0, 4.0, 900.0])
    model = mlp(features=4)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    return Training(model, optimizer, fit, DataLoader(Table(x, y), batch_size=32, shuffle=True))


@fault("target-shape-mismatch", hard=True)
def column_against_row(broken: bool) -> Training:
    """Outputs (N, 1), targets (N,): MSE broadcasts to N x N and the model learns the mean of the batch, no more."""
    x, y = measurements()
    y = 2 + y
    model = mlp()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    criterion = nn.MSELoss()

    def step(batch: list[Tensor]) -> Tensor:
        inputs, target = batch
        prediction = model(inputs)
        loss = criterion(prediction if broken else prediction.squeeze(1), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    return Training(model, optimizer, step=step, data=loader(x, y.squeeze(1), batch_size=32))


@fault("invalid-labels")
def labels_of_minus_one_and_one(broken: bool) -> Training:
    """Labels -1 and 1, as an SVM wants them, into binary cross-entropy, made for 0 and 1: the loss falls for ever."""
    x, y = measurements()
    label = (y > 0).float()
    if broken:
        label = 2 * label - 1
    model = mlp()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    return Training(model, optimizer, criterion=nn.BCEWithLogitsLoss(), data=loader(x, label, batch_size=32))


@fault("wrong-loss-for-task")
def cross_entropy_with_one_output(broken: bool) -> Training:
    """CrossEntropyLoss over a single output for yes and no: a softmax over one value is 1, the loss is 0 throughout."""
    x, y = measurements()
    label = (y > 0).float()
    model = mlp()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    criterion = nn.CrossEntropyLoss() if broken else nn.BCEWithLogitsLoss()
    return Training(model, optimizer, criterion=criterion, data=loader(x, label, batch_size=32))


@fault("unstable-operation", operation="log")
def logarithm_of_a_prediction(broken: bool) -> Training:
    """A log error by hand: the log of a prediction that may be negative is NaN. Competitions score prices like this."""
    x, y = measurements()
    price = torch.exp(y)
    model = mlp()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)

    def loss(model: nn.Module, batch: list[Tensor]) -> Tensor:
        prediction = model(batch[0])
        if not broken:
            prediction = F.softplus(prediction) + 1e-3
        return (torch.log(prediction) - torch.log(batch[1])).square().mean()  # guilty

    return Training(model, optimizer, loss, loader(x, price, batch_size=32))


class PerColumn(nn.Module):
    """Each number is normalised and embedded by itself, as tabular transformers do; categories are looked up."""

    def __init__(self, columns: int, normalise: bool) -> None:
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(1) if normalise else nn.Identity() for _ in range(columns))
        self.embed = nn.ModuleList(nn.Linear(1, 8) for _ in range(columns))
        self.category = nn.Embedding(6, 8)
        self.head = nn.Sequential(nn.Linear(8 * (columns + 1), 48), nn.ReLU(), nn.Linear(48, 1))

    def forward(self, numbers: Tensor, category: Tensor) -> Tensor:
        parts = [
            embed(norm(column))
            for norm, embed, column in zip(self.norms, self.embed, numbers.split(1, dim=1), strict=True)
        ]
        return self.head(torch.cat([*parts, self.category(category)], 1))


@fault("ignores-input", hard=True)
def layer_norm_over_one_number(broken: bool) -> Training:
    """LayerNorm over a single number is always 0, so no numeric column counts; the category alone brings the loss down
    a little."""
    numbers, y = measurements(features=4)
    category = torch.randint(0, 6, (256,))
    y = y + torch.linspace(-2, 2, 6)[category].unsqueeze(1)
    model = PerColumn(4, normalise=broken)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    data = DataLoader(TensorDataset(numbers, category, y), batch_size=32, shuffle=True)
    return Training(model, optimizer, lambda model, batch: F.mse_loss(model(batch[0], batch[1]), batch[2]), data)


@fault("too-much-regularization", hard=True)
def l1_penalty_drowns_the_loss(broken: bool) -> Training:
    """An L1 penalty of 0.1 times the sum over all weights (1e-5 was meant): the shortest way down is to unlearn all."""
    x, y = measurements()
    strength = 0.1 if broken else 1e-5
    model = mlp()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

    def loss(model: nn.Module, batch: dict[str, Tensor]) -> Tensor:
        penalty = sum(p.abs().sum() for p in model.parameters())
        return F.mse_loss(model(batch["x"]), batch["y"]) + strength * penalty

    return Training(model, optimizer, loss, DataLoader(Table(x, y), batch_size=32, shuffle=True))


@fault("needs-lr-decay", hard=True)
def absolute_error_at_a_constant_rate(broken: bool) -> Training:
    """Absolute error, whose gradient does not shrink near the goal, at a constant rate: the loss falls well, then
    bounces at a level that only a smaller rate gets below."""
    x = torch.randn(256, 16)
    y = 3 + x @ torch.randn(16, 1)
    model = nn.Linear(16, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.4)
    milestones = [] if broken else [40, 70, 100, 130]
    scheduler = torch.optim.lr_scheduler.MultiStepLR(optimizer, milestones, gamma=0.3)
    data = loader(x, y, batch_size=32)
    return Training(model, optimizer, criterion=nn.L1Loss(), data=data, scheduler=scheduler, scheduler_every="batch")


@fault("batch-too-small", also=("lr-too-high",))
def one_row_at_a_time(broken: bool) -> Training:
    """batch_size=1 with the rate of a batch of 64, on noisy targets: each step follows the noise of one row.

    A smaller rate would average over many rows as well, so it may be said to be too high for this batch.
    """
    x, y = measurements(512)
    y = y + 0.5 * torch.randn_like(y)
    model = mlp()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    return Training(model, optimizer, criterion=nn.MSELoss(), data=loader(x, y, batch_size=1 if broken else 64))


@fault("missing-activation-for-loss")
def bce_without_sigmoid(broken: bool) -> Training:
    """BCELoss wants probabilities and gets raw scores: it crashes as soon as one is below 0, so at once."""
    x, y = measurements()
    model = mlp() if broken else nn.Sequential(*mlp(), nn.Sigmoid())
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    return Training(model, optimizer, criterion=nn.BCELoss(), data=loader(x, (y > 0).float(), batch_size=32))


@fault("bad-initialization", hard=True)
def normal_without_a_scale(broken: bool) -> Training:
    """`nn.init.normal_` with its default std of 1 on layers of 128: outputs start in the hundreds instead of near 1."""
    model = mlp(width=128)
    for layer in model:
        if isinstance(layer, nn.Linear):
            if broken:
                nn.init.normal_(layer.weight)
            else:
                nn.init.kaiming_normal_(layer.weight)
            nn.init.zeros_(layer.bias)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    return Training(model, optimizer, criterion=nn.MSELoss(), data=loader(*measurements(), batch_size=32))


@fault("bad-momentum", hard=True)
def betas_the_wrong_way_round(broken: bool) -> Training:
    """Adam's betas swapped, (0.999, 0.9): the direction is a mean over a thousand steps, the scale one over ten."""
    model = mlp()
    betas = (0.999, 0.9) if broken else (0.9, 0.999)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2, betas=betas)
    return Training(model, optimizer, criterion=nn.MSELoss(), data=loader(*measurements(), batch_size=32))


@fault("gradients-cleared-before-step")
def logging_clears_the_gradients(broken: bool) -> None:
    """A helper that logs gradient norms "tidies up" with `model.zero_grad()`, and it is called before the step."""

    def log_gradients(model: nn.Module) -> float:
        norms = [p.grad.norm() for p in model.parameters() if p.grad is not None]
        if broken:
            model.zero_grad()
        return torch.stack(norms).norm().item()

    model = mlp()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    data = loader(*measurements(), batch_size=32)
    history = []
    for _ in range(10):
        for x, y in data:
            optimizer.zero_grad()
            loss = F.mse_loss(model(x), y)
            loss.backward()
            history.append((loss.item(), log_gradients(model)))
            optimizer.step()


@fault("insufficient-capacity", hard=True)
def bottleneck_of_one_unit(broken: bool) -> Training:
    """A bottleneck of one unit (32 was meant, a 1 was left from another model): three targets hang on one number."""
    x = torch.randn(256, 8)
    y = torch.tanh(x @ torch.randn(8, 3) / 2) + 0.03 * torch.randn(256, 3)
    hidden = 1 if broken else 32
    model = nn.Sequential(nn.Linear(8, 48), nn.Tanh(), nn.Linear(48, hidden), nn.Linear(hidden, 3))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    return Training(model, optimizer, criterion=nn.MSELoss(), data=loader(x, 2 * y, batch_size=32))


@fault("dead-activations", also=("bad-initialization",))
def every_bias_starts_low(broken: bool) -> Training:
    """The bias trick for rare positives is applied to all layers, not the last alone: every ReLU starts dead.

    That it comes from the biases' initial value makes the other name as good.
    """
    x, y = measurements()
    rare = (y > 1.0).float()
    model = mlp()
    for layer in model:
        if isinstance(layer, nn.Linear) and (broken or layer.out_features == 1):
            nn.init.constant_(layer.bias, -4.6)  # log(0.01 / 0.99)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    return Training(model, optimizer, criterion=nn.BCEWithLogitsLoss(), data=loader(x, rare, batch_size=32))


class CountModel(nn.Module):
    """Counts by an exponential link, as in Poisson regression."""

    def __init__(self) -> None:
        super().__init__()
        self.net = mlp()

    def forward(self, x: Tensor) -> Tensor:
        return torch.exp(self.net(x))


@fault("exploding-gradients")
def exponential_link_without_clipping(broken: bool) -> Training:
    """Squared error through an exponential link, not clipped: the steeper it gets the further it jumps, until Inf."""
    x, y = measurements()
    counts = torch.exp(2.5 + 0.5 * y).round()
    model = CountModel()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.03)

    def step(batch: list[Tensor]) -> Tensor:
        optimizer.zero_grad()
        loss = F.mse_loss(model(batch[0]), batch[1])
        loss.backward()
        if not broken:
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        return loss

    return Training(model, optimizer, step=step, data=loader(x, counts, batch_size=32))
