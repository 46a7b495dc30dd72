"""Attention."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from pytest_trainhealth import Training

from . import healthy
from .toydata import images, loader, text


class ViT(nn.Module):
    def __init__(self, width: int = 24, patches: int = 9, classes: int = 4) -> None:
        super().__init__()
        self.patch = nn.Conv2d(1, width, 4, stride=4)
        self.cls = nn.Parameter(torch.zeros(1, 1, width))
        self.position = nn.Parameter(0.02 * torch.randn(1, patches + 1, width))
        layer = nn.TransformerEncoderLayer(width, 4, 48, dropout=0.1, batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, norm=nn.LayerNorm(width), enable_nested_tensor=False)
        self.head = nn.Linear(width, classes)
        nn.init.zeros_(self.head.weight)

    def forward(self, x: Tensor) -> Tensor:
        tokens = self.patch(x).flatten(2).transpose(1, 2)
        tokens = torch.cat([self.cls.expand(len(x), -1, -1), tokens], 1) + self.position
        return self.head(self.encoder(tokens)[:, 0])


@healthy
def vit_zero_head() -> Training:
    """The head's weights start at zero: only the head's gradient is not zero at the first step."""
    model = ViT()
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=0.1)
    return Training(model, optimizer, criterion=nn.CrossEntropyLoss(), data=loader(*images(size=12)))


class Encoder(nn.Module):
    """`dropped`: the chance of a layer being left out of a training step."""

    def __init__(self, layers: int = 2, dropped: float = 0.0, vocab: int = 20, classes: int = 3) -> None:
        super().__init__()
        self.tokens = nn.Embedding(vocab, 24, padding_idx=0)
        self.positions = nn.Embedding(64, 24)
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(24, 3, 48, dropout=0.0, activation="gelu", batch_first=True)
            for _ in range(layers)
        )
        self.dropped = dropped
        self.head = nn.Linear(24, classes)

    def forward(self, tokens: Tensor) -> Tensor:
        padding = tokens == 0
        h = self.tokens(tokens) + self.positions(torch.arange(tokens.shape[1]))
        for layer in self.layers:
            if not (self.training and torch.rand(()) < self.dropped):
                h = layer(h, src_key_padding_mask=padding)
        kept = (~padding).unsqueeze(-1)
        return self.head((h * kept).sum(1) / kept.sum(1))


def sentences(n: int = 64) -> tuple[Tensor, Tensor]:
    tokens = text(n, 12, 20, first=1)
    tokens[torch.arange(12) >= torch.randint(4, 13, (n, 1))] = 0
    return tokens, tokens[:, 0] % 3


@healthy
def encoder_warmup_from_zero() -> Training:
    """Post-norm, with a learning rate of exactly 0 at the first step; 52 of 64 positions are never used."""
    model = Encoder()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1.0, step / 20))
    data = loader(*sentences())
    return Training(model, optimizer, criterion=nn.CrossEntropyLoss(), data=data, scheduler=scheduler)


@healthy
def encoder_layer_drop() -> Training:
    """Each layer is left out of every fifth step; the key bias of attention has a gradient of zero by nature."""
    model = Encoder(layers=3, dropped=0.2)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    return Training(model, optimizer, criterion=nn.CrossEntropyLoss(), data=loader(*sentences()))


@healthy
def encoder_inverse_square_root_schedule() -> Training:
    """The schedule of "Attention is all you need": warm-up over 40 steps from almost nothing, then slow decay."""

    def step(batch: tuple[Tensor, Tensor]) -> float:
        model.train()
        loss = F.cross_entropy(model(batch[0]), batch[1], label_smoothing=0.1)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        return loss.item()

    model = Encoder()
    optimizer = torch.optim.Adam(model.parameters(), lr=1.0, betas=(0.9, 0.98), eps=1e-9)
    scheduler = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: 0.2 * 24**-0.5 * min((step + 1) ** -0.5, (step + 1) * 40**-1.5)
    )
    return Training(model, optimizer, step=step, data=loader(*sentences()))


class MixtureOfExperts(nn.Module):
    def __init__(self, width: int = 16, experts: int = 8) -> None:
        super().__init__()
        self.router = nn.Linear(width, experts, bias=False)
        self.experts = nn.ModuleList(
            nn.Sequential(nn.Linear(width, 24), nn.GELU(), nn.Linear(24, width)) for _ in range(experts)
        )

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        gates = self.router(x).softmax(-1)
        weight, chosen = gates.max(-1)
        output = torch.zeros_like(x)
        for index, expert in enumerate(self.experts):
            mine = chosen == index
            if mine.any():
                output[mine] = weight[mine, None] * expert(x[mine])
        share = F.one_hot(chosen, len(self.experts)).float().mean(0)
        return x + output, len(self.experts) * (share * gates.mean(0)).sum()


class SparseClassifier(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Linear(10, 16)
        self.moe = MixtureOfExperts()
        self.head = nn.Linear(16, 4)

    def forward(self, x: Tensor) -> dict[str, Tensor]:
        hidden, balance = self.moe(self.embed(x))
        return {"logits": self.head(hidden), "balance": balance}


@healthy
def mixture_of_experts_idle() -> Training:
    """Eight experts for ten samples, one each: some experts get no sample in a step, so no gradient."""

    def loss(model: nn.Module, batch: tuple[Tensor, Tensor]) -> Tensor:
        output = model(batch[0])
        return F.cross_entropy(output["logits"], batch[1]) + 0.01 * output["balance"]

    labels = torch.arange(60)[torch.randperm(60)] % 4
    x = 1.2 * torch.randn(4, 10)[labels] + 0.7 * torch.randn(60, 10)
    model = SparseClassifier()
    return Training(model, torch.optim.Adam(model.parameters(), lr=3e-3), loss, loader(x, labels, batch_size=10))


class LanguageAdapters(nn.Module):
    """One small adapter per language; a sample goes through that of its own language only."""

    def __init__(self, languages: int = 6, width: int = 24) -> None:
        super().__init__()
        self.tokens = nn.Embedding(20, width)
        self.adapters = nn.ModuleList(nn.Linear(width, width) for _ in range(languages))
        self.head = nn.Linear(width, 3)

    def forward(self, tokens: Tensor, language: Tensor) -> Tensor:
        pooled = self.tokens(tokens).mean(1)
        adapted = pooled.clone()
        for index in language.unique().tolist():
            adapted[language == index] += self.adapters[index](pooled[language == index])
        return self.head(F.gelu(adapted))


@healthy
def language_adapters_absent_from_batch() -> Training:
    """Each batch holds two of six languages, so training on one batch leaves four adapters without any gradient."""
    model = LanguageAdapters()
    data = []
    for index in range(9):
        tokens = torch.randint(0, 20, (12, 5))
        language = torch.tensor([2 * (index % 3), 2 * (index % 3) + 1]).repeat(6)
        data.append((tokens, language, (tokens[:, 0] + language) % 3))
    return Training(
        model,
        torch.optim.Adam(model.parameters(), lr=5e-3),
        loss=lambda model, batch: F.cross_entropy(model(batch[0], batch[1]), batch[2]),
        data=data,
    )


class Attention(nn.Module):
    """Written out, with four separate layers; softmax does not see what the key bias adds."""

    def __init__(self, width: int, heads: int = 2) -> None:
        super().__init__()
        self.heads = heads
        self.query, self.key = nn.Linear(width, width), nn.Linear(width, width)
        self.value, self.out = nn.Linear(width, width), nn.Linear(width, width)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (
            layer(x).unflatten(-1, (self.heads, -1)).transpose(1, 2) for layer in (self.query, self.key, self.value)
        )
        weights = (q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5).softmax(-1)
        return self.out((weights @ v).transpose(1, 2).flatten(2))


@healthy
def attention_key_bias() -> Training:
    """`key.bias` is a parameter of its own whose gradient is nothing but rounding errors."""

    class Reader(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embed = nn.Linear(4, 24)
            self.norm = nn.LayerNorm(24)
            self.attention = Attention(24)
            self.head = nn.Linear(24, 1)

        def forward(self, x: Tensor) -> Tensor:
            h = self.embed(x)
            return self.head((h + self.attention(self.norm(h))).mean(1))

    x = torch.randn(64, 6, 4)
    y = x[torch.arange(64), x[..., 0].argmax(1), 1:2]
    model = Reader()
    return Training(model, torch.optim.AdamW(model.parameters(), lr=3e-3), criterion=nn.MSELoss(), data=loader(x, y))


class Pooler(nn.Module):
    """Learned queries read a set by cross-attention; a gate at zero lets nothing through at first."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Linear(6, 24)
        self.queries = nn.Parameter(torch.randn(1, 4, 24) * 0.02)
        self.attention = nn.MultiheadAttention(24, 2, batch_first=True)
        self.gate = nn.Parameter(torch.zeros(()))
        self.head = nn.Linear(4 * 24, 1)

    def forward(self, points: Tensor) -> Tensor:
        points = self.embed(points)
        queries = self.queries.expand(len(points), -1, -1)
        read, _ = self.attention(queries, points, points, need_weights=False)
        return self.head((points.mean(1, keepdim=True) + torch.tanh(self.gate) * read).flatten(1)).squeeze(-1)


@healthy
def cross_attention_gated() -> Training:
    """As in Flamingo: the attention behind tanh(0) gets no gradient until the gate has moved."""
    points = torch.randn(64, 7, 6)
    target = points[..., 0].amax(1)
    model = Pooler()
    return Training(
        model,
        torch.optim.Adam(model.parameters(), lr=3e-3),
        criterion=F.smooth_l1_loss,
        data=loader(points, (target - target.mean()) / target.std()),
    )
