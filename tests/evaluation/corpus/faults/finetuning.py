"""A pretrained network is taken over, in part or as a whole."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset

from pytest_trainhealth import Training

from ..healthy.toydata import blobs, images, loader
from . import fault


class Backbone(nn.Module):
    """Stands for a pretrained network: its BatchNorms know the statistics of the data it was trained on."""

    def __init__(self, seen: Tensor) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(1, 8, 3, stride=2, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(8)
        self.conv2 = nn.Conv2d(8, 16, 3, stride=2, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(16)
        with torch.no_grad():
            for _ in range(20):
                self(seen)

    def forward(self, x: Tensor) -> Tensor:
        x = F.relu(self.bn1(self.conv1(x)))
        return F.relu(self.bn2(self.conv2(x))).flatten(1)


class Transfer(nn.Module):
    def __init__(self, backbone: nn.Module, keeps_statistics: bool = True) -> None:
        super().__init__()
        self.backbone = backbone
        self.keeps_statistics = keeps_statistics
        self.head = nn.Linear(144, 4)

    def train(self, mode: bool = True) -> Transfer:
        super().train(mode)
        if self.keeps_statistics:
            self.backbone.eval()
        return self

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.backbone(x))


@fault("frozen-parameters-change", hard=True)
def frozen_batch_norm_still_learns(broken: bool) -> Training:
    """The backbone is frozen by its flags alone: in train mode its BatchNorms forget the statistics it was trained on.

    The loss falls as it should; the "frozen" backbone is another one afterwards.
    """
    x, y = images(192)
    model = Transfer(Backbone(2 + 3 * x).requires_grad_(False), keeps_statistics=not broken)
    optimizer = torch.optim.Adam(model.head.parameters(), lr=5e-3)

    def step(batch: list[Tensor]) -> Tensor:
        model.train()
        optimizer.zero_grad()
        loss = F.cross_entropy(model(batch[0]), batch[1])
        loss.backward()
        optimizer.step()
        return loss

    return Training(model, optimizer, step=step, data=loader(x, y, batch_size=24))


class Body(nn.Module):
    """Stands for a pretrained encoder with a head for the old task."""

    def __init__(self, features: int = 16, width: int = 48, classes: int = 10) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(features, width), nn.GELU(), nn.Linear(width, width), nn.GELU())
        self.fc_norm = nn.LayerNorm(width)
        self.classifier = nn.Linear(width, classes)

    def forward(self, x: Tensor) -> Tensor:
        return self.classifier(self.fc_norm(self.body(x)))


@fault("frozen-parameters-change", hard=True)
def decayed_after_freezing(broken: bool) -> Training:
    """Frozen at the fifth step, with `zero_grad(set_to_none=False)`: old gradients stay as zeros, and AdamW goes on to
    decay weights that are to stay as they are."""
    model = Body(classes=4)
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3, weight_decay=0.2)
    steps = 0

    def step(batch: list[Tensor]) -> Tensor:
        nonlocal steps
        steps += 1
        if steps == 5:
            model.body.requires_grad_(False)
        loss = F.cross_entropy(model(batch[0]), batch[1])
        optimizer.zero_grad(set_to_none=not broken)
        loss.backward()
        optimizer.step()
        return loss

    return Training(model, optimizer, step=step, data=loader(*blobs(192), batch_size=24))


@fault("parameters-not-in-optimizer")
def head_replaced_after_the_optimizer(broken: bool) -> Training:
    """The optimizer was made before the head was replaced: it holds the old head, and the new one stays random."""
    model = Body()
    model.body.requires_grad_(False)
    if broken:
        optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
        model.classifier = nn.Linear(48, 4)
    else:
        model.classifier = nn.Linear(48, 4)
        optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
    return Training(model, optimizer, criterion=nn.CrossEntropyLoss(), data=loader(*blobs(192), batch_size=24))


@fault("frozen-parameters")
def head_has_another_name(broken: bool) -> Training:
    """Everything is frozen but what is called `head`, as in another model; here it is `classifier`: a norm is left."""
    model = Body(classes=4)
    keep = ("head", "fc_norm") if broken else ("classifier", "fc_norm")
    for name, parameter in model.named_parameters():
        parameter.requires_grad = name.startswith(keep)
    optimizer = torch.optim.AdamW((p for p in model.parameters() if p.requires_grad), lr=5e-3)
    return Training(model, optimizer, criterion=nn.CrossEntropyLoss(), data=loader(*blobs(192), batch_size=24))


class Tuned(nn.Module):
    def __init__(self, backbone: nn.Module, no_grad: bool) -> None:
        super().__init__()
        self.backbone = backbone
        self.no_grad = no_grad
        self.head = nn.Linear(144, 4)

    def forward(self, x: Tensor) -> Tensor:
        with torch.set_grad_enabled(not self.no_grad):
            features = self.backbone(x)
        return self.head(features)


@fault("disconnected-graph", hard=True)
def no_grad_left_from_feature_extraction(broken: bool) -> Training:
    """`no_grad` around the backbone, left over from feature extraction; now it is to be tuned, with its own rate."""
    x, y = images(192)
    model = Tuned(Backbone(x), no_grad=broken)
    optimizer = torch.optim.AdamW(
        [{"params": model.backbone.parameters(), "lr": 1e-3}, {"params": model.head.parameters(), "lr": 5e-3}]
    )
    return Training(model, optimizer, criterion=nn.CrossEntropyLoss(), data=loader(x, y, batch_size=24))


class LoRALinear(nn.Module):
    def __init__(self, base: nn.Linear, rank: int = 4, both_zero: bool = False) -> None:
        super().__init__()
        self.base = base.requires_grad_(False)
        self.lora_a = nn.Parameter(torch.zeros(rank, base.in_features))
        self.lora_b = nn.Parameter(torch.zeros(base.out_features, rank))
        if not both_zero:
            nn.init.kaiming_uniform_(self.lora_a, a=5**0.5)

    def forward(self, x: Tensor) -> Tensor:
        return self.base(x) + 4 * x @ self.lora_a.T @ self.lora_b.T


@fault("bad-initialization")
def lora_with_both_factors_zero(broken: bool) -> Training:
    """Both LoRA factors start at zero: each one's gradient is a product with the other, so neither ever moves."""
    model = Body(classes=4)
    for index in (0, 2):
        model.body[index] = LoRALinear(model.body[index], both_zero=broken)
    model.fc_norm.requires_grad_(False)
    model.classifier.requires_grad_(False)
    trainable = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(trainable, lr=1e-2)
    return Training(model, optimizer, criterion=nn.CrossEntropyLoss(), data=loader(*blobs(192), batch_size=24))


@fault("low-precision-overflow")
def whole_model_in_half_precision(broken: bool) -> Training:
    """A model loaded in float16 and trained so: Adam's eps of 1e-8 is 0 there, and 0 / 0 makes NaN of the weights."""
    dtype = torch.float16 if broken else torch.float32
    model = nn.Sequential(nn.Linear(16, 48), nn.ReLU(), nn.Linear(48, 4)).to(dtype)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

    def step(batch: list[Tensor]) -> float:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(batch[0].to(dtype)).float(), batch[1])
        loss.backward()
        optimizer.step()
        return loss.item()

    return Training(model, optimizer, step=step, data=loader(*blobs(192), batch_size=24))


@fault("duplicate-parameters", hard=True)
def head_steps_in_two_optimizers(broken: bool) -> Training:
    """One optimizer for the whole model, another with a larger rate for the head: the head takes both steps."""
    model = Body(classes=4)
    tuned = model.parameters() if broken else [*model.body.parameters(), *model.fc_norm.parameters()]
    slow = torch.optim.AdamW(tuned, lr=1e-3)
    fast = torch.optim.SGD(model.classifier.parameters(), lr=0.05, momentum=0.9)

    def step(batch: list[Tensor]) -> Tensor:
        loss = F.cross_entropy(model(batch[0]), batch[1])
        slow.zero_grad()
        fast.zero_grad()
        loss.backward()
        slow.step()
        fast.step()
        return loss

    return Training(model, {"body": slow, "head": fast}, step=step, data=loader(*blobs(192), batch_size=24))


@fault("bad-gradient-clipping", hard=True)
def clipped_after_the_step(broken: bool) -> Training:
    """`clip_grad_norm_` after `step()`: it clips what is cleared a line later, so nothing is clipped at all."""
    model = Body(classes=4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)

    def step(batch: list[Tensor]) -> Tensor:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(batch[0]), batch[1])
        loss.backward()
        if not broken:
            nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        optimizer.step()
        if broken:
            nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        return loss

    return Training(model, optimizer, step=step, data=loader(*blobs(192), batch_size=24))


def from_pretrained() -> nn.Module:
    """As the hubs do: the model comes in eval mode."""
    return nn.Sequential(
        nn.Linear(16, 48),
        nn.BatchNorm1d(48),
        nn.ReLU(),
        nn.Dropout(0.2),
        nn.Linear(48, 48),
        nn.ReLU(),
        nn.Linear(48, 4),
    ).eval()


@fault("wrong-mode", hard=True)
def loaded_in_eval_mode(broken: bool) -> Training:
    """`from_pretrained` hands out models in eval mode and the loop never calls `train()`: no dropout, no statistics."""
    model = from_pretrained()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)

    def step(batch: list[Tensor]) -> Tensor:
        if not broken:
            model.train()
        loss = F.cross_entropy(model(batch[0]), batch[1])
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return loss

    return Training(model, optimizer, step=step, data=loader(*blobs(192), batch_size=24))


class WithDropout(nn.Module):
    def __init__(self, dropout: float) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(16, 48), nn.GELU())
        self.dropout = nn.Dropout(dropout)
        self.head = nn.Linear(48, 4)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.dropout(self.body(x)))


@fault("too-much-regularization")
def keep_probability_taken_for_a_rate(broken: bool) -> Training:
    """Dropout(0.95), from a framework where the number is the share that is kept: two or three units of 48 are left."""
    model = WithDropout(0.95 if broken else 0.05)
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
    return Training(model, optimizer, criterion=nn.CrossEntropyLoss(), data=loader(*blobs(192), batch_size=24))


@fault("missing-zero-grad")
def only_one_of_two_optimizers_cleared(broken: bool) -> None:
    """Two optimizers, one `zero_grad()`: the backbone's gradients add up from step to step and shake it to pieces."""
    model = nn.ModuleDict({"body": Body().body, "head": nn.Linear(48, 4)})
    backbone = torch.optim.SGD(model["body"].parameters(), lr=0.1, momentum=0.9)
    head = torch.optim.SGD(model["head"].parameters(), lr=0.1, momentum=0.9)
    data = loader(*blobs(192), batch_size=24)
    for _ in range(10):
        for inputs, labels in data:
            head.zero_grad()
            if not broken:
                backbone.zero_grad()
            loss = F.cross_entropy(model["head"](model["body"](inputs)), labels)
            loss.backward()
            backbone.step()
            head.step()


class CachedFeatures(Dataset):
    """Features of the frozen backbone, computed once."""

    def __init__(self, features: Tensor, labels: Tensor) -> None:
        self.features, self.labels = features, labels

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, index: int) -> tuple[Tensor, Tensor]:
        return self.features[index], self.labels[index]


@fault("labels-not-aligned", hard=True)
def features_cached_without_one_file(broken: bool) -> Training:
    """The eighth file could not be read when the features were computed, and was left out; in the list of labels it
    was not: all that follow have the label of the file before. A batch can be memorised all the same."""
    x, y = images(384)
    backbone = Backbone(x).eval()
    with torch.no_grad():
        features = torch.cat([backbone(inputs) for inputs in x.split(64)])
    read = torch.arange(len(x)) != 7
    features, y = features[read], y[:-1] if broken else y[read]
    head = nn.Sequential(nn.Linear(144, 32), nn.ReLU(), nn.Linear(32, 4))
    optimizer = torch.optim.AdamW(head.parameters(), lr=3e-3)
    data = DataLoader(CachedFeatures(features, y), batch_size=24, shuffle=True)
    return Training(head, optimizer, criterion=nn.CrossEntropyLoss(), data=data)


@fault("frozen-parameters", second="unnormalized-inputs")
def frozen_head_and_raw_features(broken: bool) -> Training:
    """The new head is frozen with the rest, its name being another, and measurements around 5000 go in as they are."""
    x, y = blobs(192)
    model = Body(classes=4)
    if broken:
        x = 5000 + 20 * x
    keep = ("head", "fc_norm") if broken else ("classifier", "fc_norm")
    for name, parameter in model.named_parameters():
        parameter.requires_grad = name.startswith(keep)
    optimizer = torch.optim.AdamW((p for p in model.parameters() if p.requires_grad), lr=5e-3)
    return Training(model, optimizer, criterion=nn.CrossEntropyLoss(), data=loader(x, y, batch_size=24))
