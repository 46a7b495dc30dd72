"""Multi-layer perceptrons."""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from pytest_trainhealth import Training

from . import healthy
from .toydata import blobs, loader


def perceptron(features: int = 16, classes: int = 4, width: int = 32) -> nn.Sequential:
    return nn.Sequential(
        nn.Linear(features, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, classes)
    )


@healthy
def mlp_classifier() -> Training:
    """Nothing odd: the plain case, with validation data."""
    x, y = blobs(192)
    model = perceptron()
    return Training(
        model,
        optimizer=torch.optim.AdamW(model.parameters(), lr=1e-3),
        loss=lambda model, batch: F.cross_entropy(model(batch[0]), batch[1]),
        data=loader(x[:128], y[:128]),
        val_data=loader(x[128:], y[128:]),
    )


@healthy
def mlp_criterion_sgd_momentum() -> Training:
    """`criterion=` on (inputs, target) pairs, SGD with momentum."""
    model = perceptron()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=5e-4)
    return Training(model, optimizer, criterion=nn.CrossEntropyLoss(), data=loader(*blobs()))


@healthy
def mlp_heavy_dropout() -> Training:
    """Half of all units dropped in every layer: the training loss is noisy and stays above the evaluation loss."""
    model = nn.Sequential(
        nn.Linear(16, 64), nn.ReLU(), nn.Dropout(0.5), nn.Linear(64, 64), nn.ReLU(), nn.Dropout(0.5), nn.Linear(64, 4)
    )
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=0.05)
    return Training(model, optimizer, criterion=nn.CrossEntropyLoss(), data=loader(*blobs(), batch_size=32))


@healthy
def mlp_label_smoothing() -> Training:
    """The smoothed cross-entropy has a floor (0.35 for four classes at 0.1) that no training can go below."""
    model = perceptron()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    return Training(model, optimizer, criterion=nn.CrossEntropyLoss(label_smoothing=0.1), data=loader(*blobs()))


@healthy
def mlp_log_softmax_nll() -> Training:
    """LogSoftmax in the model goes with NLLLoss: no softmax is applied twice."""
    model = nn.Sequential(perceptron(), nn.LogSoftmax(-1))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    return Training(model, optimizer, criterion=nn.NLLLoss(), data=loader(*blobs()))


@healthy
def mlp_cross_entropy_on_log_probabilities() -> Training:
    """LogSoftmax before CrossEntropyLoss is done twice but does no harm: it changes nothing the second time."""
    model = nn.Sequential(perceptron(), nn.LogSoftmax(-1))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    return Training(model, optimizer, criterion=nn.CrossEntropyLoss(), data=loader(*blobs()))


@healthy
def mlp_sigmoid_bce() -> Training:
    """Probabilities from a Sigmoid into BCELoss, which wants probabilities; shapes are (N, 1) on both sides."""
    x, y = blobs(classes=2)
    model = nn.Sequential(perceptron(classes=1), nn.Sigmoid())
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    return Training(model, optimizer, criterion=nn.BCELoss(), data=loader(x, y[:, None].float()))


@healthy
def mlp_soft_targets() -> Training:
    """CrossEntropyLoss with probabilities as targets (votes of annotators): the floor is their disagreement."""
    x, y = blobs()
    votes = torch.distributions.Multinomial(5, probs=0.8 * F.one_hot(y, 4) + 0.05).sample() / 5
    model = perceptron()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    return Training(model, optimizer, criterion=nn.CrossEntropyLoss(), data=loader(x, votes))


@healthy
def mlp_rare_positives() -> Training:
    """One positive in ten, and the head's bias started at the base rate, so the loss starts low."""
    x = torch.randn(192, 16)
    score = x @ torch.randn(16)
    y = (score > score.quantile(0.9)).float()
    model = nn.Sequential(nn.Linear(16, 48), nn.ReLU(), nn.Linear(48, 1), nn.Flatten(0))
    nn.init.constant_(model[2].bias, -2.2)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    return Training(model, optimizer, criterion=nn.BCEWithLogitsLoss(), data=loader(x, y, batch_size=32))


@healthy
def mlp_many_classes() -> Training:
    """Five hundred classes, of which a batch holds at most sixteen."""
    x, y = blobs(128, features=32, classes=64)
    model = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 500))
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    return Training(model, optimizer, criterion=nn.CrossEntropyLoss(), data=loader(x, 7 * y))


@healthy
def mlp_raw_columns() -> Training:
    """Ages, incomes and ratios as they come, spanning six orders of magnitude: the first layer is a BatchNorm."""
    x, y = blobs(features=6)
    raw = x * torch.tensor([12.0, 20_000.0, 0.02, 1.0, 300.0, 5.0]) + torch.tensor([40.0, 50_000.0, 0.5, 0, 1000.0, 0])
    model = nn.Sequential(nn.BatchNorm1d(6), nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 4))
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    return Training(model, optimizer, criterion=nn.CrossEntropyLoss(), data=loader(raw, y, batch_size=32))


@healthy
def mlp_pixels_0_to_1() -> Training:
    """Inputs in 0..1, never standardised, all positive: fine for Adam."""
    x, y = blobs(features=36)
    model = perceptron(36)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    return Training(model, optimizer, criterion=nn.CrossEntropyLoss(), data=loader(torch.sigmoid(x), y))


class ReZero(nn.Module):
    """x + alpha * f(x) with alpha starting at zero, so f gets no gradient at the first step."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width))
        self.alpha = nn.Parameter(torch.zeros(1))

    def forward(self, x: Tensor) -> Tensor:
        return x + self.alpha * self.body(x)


@healthy
def mlp_rezero_deep() -> Training:
    """Eight residual blocks behind a zero: no gradient in any of them until their alphas have moved."""
    model = nn.Sequential(nn.Linear(16, 24), *(ReZero(24) for _ in range(8)), nn.Linear(24, 4))
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    return Training(model, optimizer, criterion=nn.CrossEntropyLoss(), data=loader(*blobs()))


@healthy
def mlp_zero_head_and_rezero() -> Training:
    """Two levels of zeros: the head starts at zero, so alpha gets no gradient at step 0 and its body none at step 1."""
    model = nn.Sequential(nn.Linear(16, 24), ReZero(24), ReZero(24), nn.Linear(24, 4))
    nn.init.zeros_(model[-1].weight)
    nn.init.zeros_(model[-1].bias)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    return Training(model, optimizer, criterion=nn.CrossEntropyLoss(), data=loader(*blobs()))


class DeeplySupervised(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(nn.Sequential(nn.Linear(16, 16), nn.GELU()) for _ in range(3))
        self.heads = nn.ModuleList(nn.Linear(16, 4) for _ in range(3))

    def forward(self, x: Tensor) -> list[Tensor]:
        outputs = []
        for block, head in zip(self.blocks, self.heads, strict=True):
            x = block(x)
            outputs.append(head(x))
        return outputs


@healthy
def mlp_deep_supervision() -> Training:
    """The output is a list of logits, one per depth; the loss is their weighted sum."""

    def loss(model: nn.Module, batch: tuple[Tensor, Tensor]) -> Tensor:
        x, y = batch
        return sum(w * F.cross_entropy(logits, y) for w, logits in zip((0.2, 0.3, 1.0), model(x), strict=True))

    model = DeeplySupervised()
    return Training(model, torch.optim.Adam(model.parameters(), lr=3e-3), loss, loader(*blobs()))


class WithAuxiliaryHead(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(nn.Linear(16, 32), nn.ReLU())
        self.auxiliary = nn.Linear(32, 4)
        self.trunk = nn.Sequential(nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 4))

    def forward(self, x: Tensor) -> Tensor | tuple[Tensor, Tensor]:
        h = self.stem(x)
        return (self.trunk(h), self.auxiliary(h)) if self.training else self.trunk(h)


@healthy
def mlp_auxiliary_head() -> Training:
    """As in Inception: the auxiliary head runs in train mode only, where the model returns a pair."""

    def loss(model: nn.Module, batch: tuple[Tensor, Tensor]) -> Tensor:
        x, y = batch
        output = model(x)
        if isinstance(output, tuple):
            return F.cross_entropy(output[0], y) + 0.4 * F.cross_entropy(output[1], y)
        return F.cross_entropy(output, y)

    model = WithAuxiliaryHead()
    x, y = blobs(192)
    return Training(
        model,
        torch.optim.Adam(model.parameters(), lr=2e-3),
        loss,
        loader(x[:128], y[:128]),
        val_data=loader(x[128:], y[128:]),
    )


class Recycled(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Linear(16, 32)
        self.block = nn.Sequential(nn.LayerNorm(32), nn.Linear(32, 32), nn.GELU())
        self.activation = nn.ReLU()
        self.head = nn.Linear(32, 4)

    def forward(self, x: Tensor) -> Tensor:
        h = self.activation(self.embed(x))
        for _ in range(4):
            h = h + self.block(h)
        return self.head(self.activation(h))


@healthy
def mlp_module_reused() -> Training:
    """One block called four times and one ReLU called twice: gradients add up over the calls."""
    model = Recycled()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    return Training(model, optimizer, criterion=nn.CrossEntropyLoss(), data=loader(*blobs()))


@dataclass
class Prediction:
    logits: Tensor
    confidence: Tensor


class ReturnsDataclass(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.net = perceptron()

    def forward(self, x: Tensor) -> Prediction:
        logits = self.net(x)
        return Prediction(logits, logits.softmax(-1).amax(-1).detach())


@healthy
def mlp_returns_dataclass() -> Training:
    """The model returns a dataclass; one of its fields is detached and only for reading."""
    model = ReturnsDataclass()
    return Training(
        model,
        torch.optim.RAdam(model.parameters(), lr=3e-3),
        loss=lambda model, batch: F.cross_entropy(model(batch[0]).logits, batch[1]),
        data=loader(*blobs()),
    )


@healthy
def mlp_mixup() -> Training:
    """Fresh mixup in each step: the targets are soft and differ each time, so the loss keeps a noisy floor."""

    def loss(model: nn.Module, batch: tuple[Tensor, Tensor]) -> Tensor:
        x, y = batch
        share = torch.distributions.Beta(0.4, 0.4).sample()
        order = torch.randperm(len(x))
        logits = model(share * x + (1 - share) * x[order])
        return share * F.cross_entropy(logits, y) + (1 - share) * F.cross_entropy(logits, y[order])

    model = perceptron(width=64)
    return Training(model, torch.optim.AdamW(model.parameters(), lr=2e-3), loss, loader(*blobs()))


class Tabular(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embeddings = nn.ModuleDict({"city": nn.Embedding(30, 4), "product": nn.Embedding(12, 4)})
        self.head = nn.Sequential(nn.Linear(4 + 4 + 5, 32), nn.SiLU(), nn.Linear(32, 1))

    def forward(self, numbers: Tensor, city: Tensor, product: Tensor) -> dict[str, Tensor]:
        parts = [self.embeddings["city"](city), self.embeddings["product"](product), numbers]
        return {"logit": self.head(torch.cat(parts, -1)).squeeze(-1)}


@healthy
def mlp_tabular_dict_batches() -> Training:
    """Batches and outputs are dicts; most of the embedding rows are not looked up in a given batch."""

    def loss(model: nn.Module, batch: dict[str, Tensor]) -> Tensor:
        output = model(batch["numbers"], batch["city"], batch["product"])
        return F.binary_cross_entropy_with_logits(output["logit"], batch["bought"])

    batches = []
    taste = torch.randn(30)
    for _ in range(6):
        numbers, city, product = torch.randn(24, 5), torch.randint(30, (24,)), torch.randint(12, (24,))
        bought = (numbers[:, 0] + taste[city] > 0).float()
        batches.append({"numbers": numbers, "city": city, "product": product, "bought": bought})
    model = Tabular()
    return Training(model, torch.optim.Adam(model.parameters(), lr=5e-3), loss, batches)


@healthy
def mlp_single_batch_of_one() -> Training:
    """One sample in each batch: works with LayerNorm, would not with BatchNorm."""
    model = nn.Sequential(nn.Linear(16, 32), nn.LayerNorm(32), nn.ReLU(), nn.Linear(32, 4))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    return Training(model, optimizer, criterion=nn.CrossEntropyLoss(), data=loader(*blobs(32), batch_size=1))
