"""Parts are frozen on purpose, or learn from another model."""

from __future__ import annotations

import copy

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from pytest_trainhealth import Training

from . import healthy
from .toydata import blobs, images, loader, text


class LoRA(nn.Module):
    """A frozen layer and a trainable product of two thin matrices, of which B starts at zero."""

    def __init__(self, base: nn.Linear, rank: int = 4) -> None:
        super().__init__()
        self.base = base.requires_grad_(False)
        self.A = nn.Parameter(torch.randn(rank, base.in_features) / base.in_features**0.5)
        self.B = nn.Parameter(torch.zeros(base.out_features, rank))

    def forward(self, x: Tensor) -> Tensor:
        return self.base(x) + 2.0 * x @ self.A.T @ self.B.T


@healthy
def lora_only_adapters_train() -> Training:
    """All original weights are frozen; A gets no gradient at the first step because B is zero."""
    model = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 4))
    for index in (0, 2):
        model[index] = LoRA(model[index])
    model[4].requires_grad_(False)
    trainable = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(trainable, lr=1e-2)
    return Training(model, optimizer, criterion=nn.CrossEntropyLoss(), data=loader(*blobs()))


def backbone(x: Tensor) -> nn.Sequential:
    """Stands for a pretrained network: the statistics of its BatchNorms fit the images."""
    net = nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.AdaptiveAvgPool2d(2), nn.Flatten(),
    )  # fmt: skip
    with torch.no_grad():
        for _ in range(30):
            net(x)
    return net.requires_grad_(False)


class Transfer(nn.Module):
    def __init__(self, backbone: nn.Module) -> None:
        super().__init__()
        self.backbone = backbone
        self.head = nn.Linear(128, 4)

    def train(self, mode: bool = True) -> Transfer:
        super().train(mode)
        self.backbone.eval()  # keeps the running statistics of the BatchNorms
        return self

    def forward(self, x: Tensor) -> Tensor:
        with torch.no_grad():
            features = self.backbone(x)
        return self.head(features)


@healthy
def transfer_frozen_backbone() -> Training:
    """The backbone stays in eval mode even when the model trains, has no gradients and runs under no_grad."""
    x, y = images()
    model = Transfer(backbone(x))
    optimizer = torch.optim.Adam(model.head.parameters(), lr=1e-2)
    return Training(model, optimizer, criterion=nn.CrossEntropyLoss(), data=loader(x, y))


@healthy
def transfer_eval_called_once() -> Training:
    """Frozen by flags and one call of `eval()` before training; the optimizer is given all parameters all the same."""
    x, y = images()
    model = nn.Sequential(backbone(x).eval(), nn.Linear(128, 4))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    return Training(model, optimizer, criterion=nn.CrossEntropyLoss(), data=loader(x, y))


@healthy
def gradual_unfreezing_lr_zero() -> Training:
    """The body's parameter group has a learning rate of 0 for now: it gets gradients and does not move."""
    model = nn.Sequential(nn.Sequential(nn.Linear(16, 64), nn.ReLU()), nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 4))
    optimizer = torch.optim.AdamW(
        [
            {"params": model[0].parameters(), "lr": 0.0},
            {"params": model[1].parameters(), "lr": 5e-4},
            {"params": model[3].parameters()},
        ],
        lr=5e-3,
    )
    return Training(model, optimizer, criterion=nn.CrossEntropyLoss(), data=loader(*blobs()))


@healthy
def unfreezes_while_training() -> Training:
    """The body is frozen for 30 steps, then its flags are switched on and it joins the optimizer as a new group."""

    class Trainer:
        def __init__(self) -> None:
            self.body = nn.Sequential(nn.Linear(16, 64), nn.ReLU()).requires_grad_(False)
            self.model = nn.Sequential(self.body, nn.Linear(64, 4))
            self.optimizer = torch.optim.Adam(self.model[1].parameters(), lr=5e-3)
            self.steps = 0

        def step(self, batch: list[Tensor]) -> Tensor:
            if self.steps == 30:
                self.body.requires_grad_(True)
                self.optimizer.add_param_group({"params": self.body.parameters(), "lr": 1e-3})
            self.steps += 1
            loss = F.cross_entropy(self.model(batch[0]), batch[1])
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            return loss

    trainer = Trainer()
    return Training(trainer.model, trainer.optimizer, step=trainer.step, data=loader(*blobs()))


@healthy
def distillation_soft_targets() -> Training:
    """The student matches the teacher's softened outputs; the loss has the teacher's entropy as its floor."""
    teacher = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 4))
    with torch.no_grad():
        teacher[2].weight *= 4
    teacher.requires_grad_(False).eval()

    def loss(student: nn.Module, batch: list[Tensor]) -> Tensor:
        x, y = batch
        soft = (teacher(x) / 2).softmax(-1)
        logits = student(x)
        return 0.9 * 4 * F.cross_entropy(logits / 2, soft) + 0.1 * F.cross_entropy(logits, y)

    x, _ = blobs()
    student = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 4))
    data = loader(x, teacher(x).argmax(-1))
    return Training(student, torch.optim.Adam(student.parameters(), lr=5e-3), loss, data)


@healthy
def distillation_of_features() -> Training:
    """The teacher is a submodule, frozen and in eval mode; the student matches its log-probabilities and features."""

    class Pair(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.teacher = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 4)).requires_grad_(False).eval()
            self.student = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 4))
            self.bridge = nn.Linear(32, 64)

        def forward(self, x: Tensor) -> Tensor:
            wanted, hidden = self.teacher[:2](x), self.student[:2](x)
            kl = F.kl_div(
                self.student[2](hidden).log_softmax(-1), self.teacher[2](wanted).log_softmax(-1),
                reduction="batchmean", log_target=True,
            )  # fmt: skip
            return kl + 0.1 * F.mse_loss(self.bridge(hidden), wanted)

    model = Pair()
    trainable = [*model.student.parameters(), *model.bridge.parameters()]
    x, _ = blobs()
    return Training(model, torch.optim.Adam(trainable, lr=5e-3), lambda model, x: model(x), list(x.split(16)))


class MeanTeacher(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.student = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Dropout(0.2), nn.Linear(64, 4))
        self.teacher = copy.deepcopy(self.student).requires_grad_(False)

    def forward(self, x: Tensor) -> Tensor:
        return self.student(x)


@healthy
def mean_teacher_half_labelled() -> Training:
    """Frozen teacher averaged in the step; half of the labels are -1 and enter only the consistency term."""

    def step(batch: dict[str, Tensor]) -> Tensor:
        model.train()
        x, y = batch["x"], batch["y"]
        logits = model(x)
        with torch.no_grad():
            expected = model.teacher(x + 0.1 * torch.randn_like(x)).softmax(-1)
        loss = F.cross_entropy(logits, y, ignore_index=-1) + F.mse_loss(logits.softmax(-1), expected)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            for theirs, own in zip(model.teacher.parameters(), model.student.parameters(), strict=True):
                theirs.mul_(0.95).add_(own, alpha=0.05)
        return loss

    x, y = blobs()
    y[::2] = -1
    model = MeanTeacher()
    optimizer = torch.optim.AdamW(model.student.parameters(), lr=3e-3)
    return Training(
        model, optimizer, step=step, data=[{"x": x[i : i + 32], "y": y[i : i + 32]} for i in range(0, 128, 32)]
    )


class Prompted(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.tokens = nn.Embedding(20, 24)
        layer = nn.TransformerEncoderLayer(24, 3, 48, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 1)
        self.requires_grad_(False)
        self.prompt = nn.Parameter(0.1 * torch.randn(4, 24))
        self.head = nn.Linear(24, 3)

    def forward(self, tokens: Tensor) -> Tensor:
        prompt = self.prompt.expand(len(tokens), -1, -1)
        return self.head(self.encoder(torch.cat([prompt, self.tokens(tokens)], 1)).mean(1))


@healthy
def prompt_tuning() -> Training:
    """A handful of trainable values before a frozen encoder, which stays in train mode."""
    tokens = text(48, 6)
    model = Prompted()
    optimizer = torch.optim.Adam((p for p in model.parameters() if p.requires_grad), lr=1e-2)
    return Training(model, optimizer, criterion=nn.CrossEntropyLoss(), data=loader(tokens, tokens[:, 0] % 3))


@healthy
def bitfit_biases_only() -> Training:
    """Only the biases (and the head) train; all matrices are frozen."""
    model = nn.Sequential(
        nn.Linear(16, 64), nn.GELU(), nn.Linear(64, 64), nn.GELU(), nn.LayerNorm(64), nn.Linear(64, 4)
    )
    for name, parameter in model[:-1].named_parameters():
        parameter.requires_grad = name.endswith("bias")
    optimizer = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=1e-2)
    return Training(model, optimizer, criterion=nn.CrossEntropyLoss(), data=loader(*blobs()))


class Adapter(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.down, self.up = nn.Linear(width, 8), nn.Linear(8, width)
        nn.init.zeros_(self.up.weight)
        nn.init.zeros_(self.up.bias)

    def forward(self, x: Tensor) -> Tensor:
        return x + self.up(F.gelu(self.down(x)))


@healthy
def bottleneck_adapters() -> Training:
    """Zero-started adapters between frozen layers, with a fresh head that starts at zero as well."""
    frozen = [nn.Linear(16, 48), nn.Linear(48, 48)]
    for layer in frozen:
        layer.requires_grad_(False)
    model = nn.Sequential(frozen[0], nn.GELU(), Adapter(48), frozen[1], nn.GELU(), Adapter(48), nn.Linear(48, 4))
    nn.init.zeros_(model[-1].weight)
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=5e-3)
    return Training(model, optimizer, criterion=nn.CrossEntropyLoss(), data=loader(*blobs()))
