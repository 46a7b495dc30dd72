"""Attention."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.data import DataLoader

from pytest_trainhealth import Training

from ..healthy.toydata import images, loader, text
from . import fault


def sentences(n: int = 192, vocab: int = 24, longest: int = 10) -> tuple[Tensor, Tensor]:
    """Padded with 0 behind 4 to 10 tokens; the class is in the first two tokens."""
    tokens = text(n, longest, vocab, first=1)
    tokens[torch.arange(longest) >= torch.randint(4, longest + 1, (n, 1))] = 0
    return tokens, (tokens[:, 0] > vocab // 2).long() + (tokens[:, 1] % 2)


class Encoder(nn.Module):
    def __init__(self, layers: int = 1, masked: bool = True, batch_first: bool = True, classes: int = 3) -> None:
        super().__init__()
        self.masked, self.batch_first = masked, batch_first
        self.tokens = nn.Embedding(24, 24, padding_idx=0)
        self.positions = nn.Parameter(0.5 * torch.randn(10, 24))
        layer = nn.TransformerEncoderLayer(24, 2, 48, dropout=0.0, batch_first=batch_first)
        self.encoder = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.head = nn.Linear(24, classes)

    def forward(self, tokens: Tensor) -> Tensor:
        padding = tokens == 0
        h = self.tokens(tokens) + self.positions
        h = self.encoder(h, src_key_padding_mask=padding if self.masked else None)
        kept = (~padding).unsqueeze(-1)
        return self.head((h * kept).sum(1) / kept.sum(1))


@fault("mask-ignored", hard=True)
def padding_mask_forgotten(broken: bool) -> Training:
    """No `src_key_padding_mask`: every word attends to the padding behind its sentence. The loss hardly shows it."""
    model = Encoder(masked=not broken)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    return Training(model, optimizer, criterion=nn.CrossEntropyLoss(), data=loader(*sentences(), batch_size=16))


class Attending(nn.Module):
    """One attention block over a window of measurements."""

    def __init__(self, batch_first: bool) -> None:
        super().__init__()
        self.embed = nn.Linear(4, 24)
        self.attention = nn.MultiheadAttention(24, 2, batch_first=batch_first)
        self.norm = nn.LayerNorm(24)
        self.head = nn.Linear(24, 1)

    def forward(self, x: Tensor) -> Tensor:
        h = self.embed(x)
        attended, _ = self.attention(h, h, h, need_weights=False)
        return self.head(self.norm(h + attended)[:, -1])


@fault("batch-mixing", hard=True)
def attends_to_the_other_samples(broken: bool) -> Training:
    """MultiheadAttention without batch_first on (N, T, C): position t of each sample attends to that of the others.

    A prediction depends on who is in the batch, and sees only its own last moment. The loss still falls.
    """
    x = torch.randn(256, 6, 4)
    y = x[..., 0].mean(1, keepdim=True) * 2 + x[:, -1, 1:2]
    model = Attending(batch_first=not broken)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    return Training(model, optimizer, criterion=nn.MSELoss(), data=loader(x, y, batch_size=32))


class MiniViT(nn.Module):
    def __init__(self, classes: int = 4, width: int = 24) -> None:
        super().__init__()
        self.patch = nn.Conv2d(1, width, 4, stride=4)
        self.cls = nn.Parameter(0.02 * torch.randn(1, 1, width))
        self.position = nn.Parameter(0.02 * torch.randn(1, 10, width))
        self.block = nn.TransformerEncoderLayer(width, 2, 48, dropout=0.0, batch_first=True, norm_first=True)
        self.norm = nn.LayerNorm(width)
        self.fc = nn.Linear(width, classes)

    def tokens(self, x: Tensor) -> Tensor:
        patches = self.patch(x).flatten(2).transpose(1, 2)
        return torch.cat([self.cls.expand(len(x), -1, -1), patches], 1) + self.position

    def forward(self, x: Tensor) -> Tensor:
        return self.fc(self.norm(self.block(self.tokens(x))[:, 0]))


class Secluded(MiniViT):
    """Windowed attention: a token sees those at most `window` away."""

    def __init__(self, window: int) -> None:
        super().__init__()
        place = torch.arange(10)
        self.register_buffer("hidden", (place[:, None] - place[None]).abs() > window)

    def forward(self, x: Tensor) -> Tensor:
        return self.fc(self.norm(self.block(self.tokens(x), src_mask=self.hidden)[:, 0]))


@fault("ignores-input")
def class_token_sees_only_itself(broken: bool) -> Training:
    """An attention window of 0 (10 was meant): the class token sees nothing but itself, every image scores the same."""
    model = Secluded(window=0 if broken else 10)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    return Training(model, optimizer, criterion=nn.CrossEntropyLoss(), data=loader(*images(192), batch_size=24))


@fault("parameters-not-in-optimizer", hard=True)
def groups_by_hand_leave_some_out(broken: bool) -> Training:
    """Weight-decay groups by name: matrices in one, `bias` in the other; class token and positions are in neither."""
    model = MiniViT()
    decay, rest = [], []
    for name, p in model.named_parameters():
        if name.endswith("weight") and p.ndim > 1:
            decay.append(p)
        elif name.endswith(("bias", "weight")) or not broken:
            rest.append(p)
    groups = [{"params": decay, "weight_decay": 0.05}, {"params": rest, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=3e-3)
    return Training(model, optimizer, criterion=nn.CrossEntropyLoss(), data=loader(*images(192), batch_size=24))


class SelfAttention(nn.Module):
    def __init__(self, width: int, heads: int = 2) -> None:
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in self.qkv(x).chunk(3, dim=-1))
        weights = (q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])).softmax(-1)
        return self.out((weights @ v).transpose(1, 2).flatten(2))


class Block(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = SelfAttention(width)
        self.mlp = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))


@dataclass
class Output:
    """As Hugging Face's models return."""

    logits: Tensor
    loss: Tensor | None = None


class ForClassification(nn.Module):
    def __init__(self, width: int = 24, layers: int = 1, std: float = 0.02, classes: int = 3) -> None:
        super().__init__()
        self.std = std
        self.embed = nn.Embedding(24, width)
        self.positions = nn.Embedding(10, width)
        self.blocks = nn.ModuleList(Block(width) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        self.score = nn.Linear(width, classes)
        self.apply(self._init_weights)

    def _init_weights(self, module: nn.Module) -> None:
        if isinstance(module, (nn.Linear, nn.Embedding)):
            nn.init.normal_(module.weight, std=self.std)
            if isinstance(module, nn.Linear):
                nn.init.zeros_(module.bias)

    def hidden(self, input_ids: Tensor) -> Tensor:
        x = self.embed(input_ids) + self.positions(torch.arange(input_ids.shape[1]))
        for block in self.blocks:
            x = block(x)
        return self.norm(x).mean(1)

    def forward(self, input_ids: Tensor, labels: Tensor | None = None) -> Output:
        logits = self.score(self.hidden(input_ids))
        return Output(logits, None if labels is None else F.cross_entropy(logits, labels))


def as_dicts(samples: list[tuple[Tensor, Tensor]]) -> dict[str, Tensor]:
    ids, labels = zip(*samples, strict=True)
    return {"input_ids": torch.stack(ids), "labels": torch.stack(labels)}


def dicts(n: int = 192, batch_size: int = 16) -> DataLoader:
    tokens = text(n, 10, 24)
    labels = (tokens[:, 0] > 12).long() + tokens[:, 1] % 2
    return DataLoader(list(zip(tokens, labels, strict=True)), batch_size, shuffle=True, collate_fn=as_dicts)


class Pooled(ForClassification):
    """Made with a pooler as in the paper; whether `forward` calls it is another matter."""

    def __init__(self, pools: bool) -> None:
        super().__init__()
        self.pools = pools
        self.pooler = nn.Linear(24, 24)

    def forward(self, input_ids: Tensor, labels: Tensor | None = None) -> Output:
        pooled = self.hidden(input_ids)
        if self.pools:
            pooled = torch.tanh(self.pooler(pooled))
        logits = self.score(pooled)
        return Output(logits, None if labels is None else F.cross_entropy(logits, labels))


@fault("unused-parameters", hard=True)
def pooler_never_called(broken: bool) -> Training:
    """The pooler that `__init__` makes is not called in `forward`: the model is not that of the paper, yet learns."""
    model = Pooled(pools=not broken)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    return Training(model, optimizer, data=dicts())


@fault("lr-too-high")
def post_norm_without_warmup(broken: bool) -> None:
    """A post-norm encoder at lr 0.3 where 0.003 was meant: the first steps break it and the loss stays at chance."""
    model = Encoder()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.3 if broken else 0.003)
    data = loader(*sentences(), batch_size=16)
    for _ in range(12):
        for tokens, labels in data:
            loss = F.cross_entropy(model(tokens), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


class HalfPrecisionScores(nn.Module):
    """Attention over points, whose scores are computed in half precision to save memory."""

    def __init__(self, dtype: torch.dtype, width: int = 32) -> None:
        super().__init__()
        self.dtype = dtype
        self.embed = nn.Sequential(nn.Linear(3, width), nn.ReLU(), nn.Linear(width, width))
        self.head = nn.Linear(width, 1)

    def forward(self, points: Tensor) -> Tensor:
        h = 24 * F.normalize(self.embed(points), dim=-1)
        q = (h * 12).to(self.dtype)
        scores = q @ q.transpose(-1, -2) / (12 * 12 * 24 * 4)  # guilty
        return self.head((scores.float().softmax(-1) @ h).mean(1))


@fault("low-precision-overflow", operation="bmm")
def attention_scores_in_half(broken: bool) -> Training:
    """Scores are multiplied in float16 and only then scaled down: 83 000 is beyond 65 504, softmax makes NaN of Inf."""
    points = torch.randn(192, 6, 3)
    target = points[..., 0].amax(1, keepdim=True) - points[..., 1].mean(1, keepdim=True)
    model = HalfPrecisionScores(torch.float16 if broken else torch.float32)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    return Training(model, optimizer, criterion=nn.MSELoss(), data=loader(points, target, batch_size=24))


@fault("frozen-parameters")
def encoder_left_frozen(broken: bool) -> Training:
    """`requires_grad_(False)` on the blocks, left over from an experiment with a pretrained encoder; this one is new.

    What is left to train is a linear layer on the mean of random features, which cannot tell who came first.
    """
    model = ForClassification(std=0.2)
    if broken:
        model.embed.requires_grad_(False)
        model.positions.requires_grad_(False)
        model.blocks.requires_grad_(False)
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=3e-3)
    return Training(model, optimizer, data=dicts(batch_size=48))


@fault("scheduler-misuse", also=("lr-decayed-too-early",))
def step_lr_called_every_batch(broken: bool) -> Training:
    """StepLR meant for epochs is stepped after every batch: a tenth of the rate each 3 batches, none left after 15.

    That the rate is gone too early is the same thing, seen from the other end.
    """
    model = ForClassification()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=3, gamma=0.1)
    data = dicts(n=128)
    batches = 0

    def step(batch: dict[str, Tensor]) -> Tensor:
        nonlocal batches
        loss = model(**batch).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        batches += 1
        if broken or batches % (20 * len(data)) == 0:
            scheduler.step()
        return loss

    return Training(model, optimizer, step=step, data=data)
