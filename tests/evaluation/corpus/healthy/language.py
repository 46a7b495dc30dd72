"""Language models."""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint
from torch.utils.data import DataLoader, IterableDataset

from pytest_trainhealth import Training

from . import healthy
from .toydata import text

VOCAB = 20


class Block(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.project = nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x: Tensor) -> Tensor:
        n, t, width = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(n, t, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        attended = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.project(attended.transpose(1, 2).reshape(n, t, width))
        return x + self.mlp(self.norm2(x))


class GPT(nn.Module):
    """`recompute`: None, or whether checkpointing is to be the reentrant kind."""

    def __init__(self, width: int = 24, layers: int = 2, context: int = 32, recompute: bool | None = None) -> None:
        super().__init__()
        self.tokens = nn.Embedding(VOCAB, width)
        self.positions = nn.Embedding(context, width)
        self.blocks = nn.ModuleList(Block(width, 3) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, VOCAB, bias=False)
        self.recompute = recompute
        self.apply(self._init)
        self.head.weight = self.tokens.weight

    @staticmethod
    def _init(module: nn.Module) -> None:
        if isinstance(module, (nn.Linear, nn.Embedding)):
            nn.init.normal_(module.weight, std=0.02)

    def forward(self, tokens: Tensor) -> Tensor:
        h = self.tokens(tokens) + self.positions(torch.arange(tokens.shape[1]))
        for block in self.blocks:
            h = block(h) if self.recompute is None else checkpoint(block, h, use_reentrant=self.recompute)
        return self.head(self.norm(h))


def next_token_loss(model: nn.Module, tokens: Tensor) -> Tensor:
    return F.cross_entropy(model(tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten())


@healthy
def gpt_tied_weights() -> Training:
    """Head and embedding share one tensor; half of the positions lie beyond the length of the data."""
    model = GPT()
    decay = [p for p in model.parameters() if p.dim() >= 2]
    rest = [p for p in model.parameters() if p.dim() < 2]
    optimizer = torch.optim.AdamW(
        [{"params": decay, "weight_decay": 0.1}, {"params": rest, "weight_decay": 0.0}], lr=3e-3, betas=(0.9, 0.95)
    )
    return Training(model, optimizer, next_token_loss, list(text(64, 12).split(16)))


@healthy
def gpt_checkpointed() -> Training:
    """Gradient checkpointing: each block runs forward twice in a step."""
    model = GPT(recompute=False)
    return Training(model, torch.optim.AdamW(model.parameters(), lr=3e-3), next_token_loss, list(text(48, 10).split(8)))


@healthy
def gpt_checkpointed_reentrant() -> Training:
    """The older kind of checkpointing: the first forward of each block runs without gradients."""
    model = GPT(recompute=True)
    return Training(model, torch.optim.AdamW(model.parameters(), lr=3e-3), next_token_loss, list(text(48, 10).split(8)))


@healthy
def gpt_one_batch_only() -> Training:
    """`data` is a single tensor: one batch, and all there is."""
    model = GPT(layers=1)
    return Training(model, torch.optim.AdamW(model.parameters(), lr=3e-3), next_token_loss, text(16, 12))


@healthy
def lm_accumulates_eight() -> Training:
    """Eight micro-batches inside one step, each loss divided by eight; the model sees the last token only."""

    def step(tokens: Tensor) -> float:
        model.train()
        optimizer.zero_grad(set_to_none=True)
        total = 0.0
        for micro in tokens.chunk(8):
            loss = next_token_loss(model, micro) / 8
            loss.backward()
            total += loss.item()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        return total

    model = nn.Sequential(nn.Embedding(VOCAB, 16), nn.Linear(16, 32), nn.GELU(), nn.Linear(32, VOCAB))
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    return Training(model, optimizer, step=step, data=list(text(96, 10).split(32)))


class AccumulatingTrainer:
    """Steps the optimizer at each fourth call only."""

    def __init__(self, accumulate: int = 4) -> None:
        self.model = GPT(layers=1)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=4e-3)
        self.accumulate = accumulate
        self.calls = 0

    def step(self, tokens: Tensor) -> Tensor:
        loss = next_token_loss(self.model, tokens)
        (loss / self.accumulate).backward()
        self.calls += 1
        if self.calls % self.accumulate == 0:
            self.optimizer.step()
            self.optimizer.zero_grad()
        return loss


@healthy
def gpt_accumulates_over_four_calls() -> Training:
    """The parameters stand still in three of four calls while gradients add up, on purpose."""
    trainer = AccumulatingTrainer()
    return Training(trainer.model, trainer.optimizer, step=trainer.step, data=list(text(64, 10).split(8)))


@dataclass
class LMOutput:
    loss: Tensor | None
    logits: Tensor


class HubStyleLM(nn.Module):
    """Computes its own loss when labels are given, as models of the Hugging Face hub do."""

    def __init__(self) -> None:
        super().__init__()
        self.transformer = GPT(layers=1)

    def forward(self, input_ids: Tensor, labels: Tensor | None = None) -> LMOutput:
        logits = self.transformer(input_ids)
        loss = None
        if labels is not None:
            loss = F.cross_entropy(logits[:, :-1].flatten(0, 1), labels[:, 1:].flatten(), ignore_index=-100)
        return LMOutput(loss, logits)


@healthy
def hub_style_output_with_loss() -> Training:
    """No loss, no criterion: the output carries `.loss`, and batches are keyword arguments of the model."""
    model = HubStyleLM()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    data = []
    for tokens in text(64, 12).split(16):
        labels = tokens.clone()
        labels[:, :3] = -100  # the prompt is not learnt
        data.append({"input_ids": tokens, "labels": labels})
    return Training(model, optimizer, data=data)


class MaskedLM(nn.Module):
    def __init__(self, width: int = 24) -> None:
        super().__init__()
        self.tokens = nn.Embedding(VOCAB + 1, width)
        self.positions = nn.Parameter(0.02 * torch.randn(12, width))
        layer = nn.TransformerEncoderLayer(width, 2, 48, dropout=0.0, batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(width, VOCAB)

    def forward(self, tokens: Tensor) -> Tensor:
        return self.head(self.encoder(self.tokens(tokens) + self.positions))


@healthy
def masked_lm_fresh_masks() -> Training:
    """Other tokens are masked in each step, so the loss is noisy and slow, and what cannot be guessed remains."""

    def loss(model: nn.Module, tokens: Tensor) -> Tensor:
        masked = torch.rand(tokens.shape) < 0.2
        masked[:, 0] = True  # at least one
        logits = model(tokens.masked_fill(masked, VOCAB))
        return F.cross_entropy(logits[masked], tokens[masked])

    model = MaskedLM()
    return Training(model, torch.optim.AdamW(model.parameters(), lr=3e-3), loss, list(text(96, 12).split(32)))


@healthy
def skipgram_sparse_adam() -> Training:
    """Sparse gradients: both embeddings are `sparse=True`, the loss is negative sampling with fresh negatives."""

    class SkipGram(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.centre = nn.Embedding(VOCAB, 16, sparse=True)
            self.context = nn.Embedding(VOCAB, 16, sparse=True)

        def forward(self, centre: Tensor, context: Tensor) -> Tensor:
            return (self.centre(centre) * self.context(context)).sum(-1)

    def loss(model: nn.Module, batch: tuple[Tensor, Tensor]) -> Tensor:
        centre, context = batch
        negative = torch.randint(VOCAB, (len(centre), 5))
        return -(F.logsigmoid(model(centre, context)) + F.logsigmoid(-model(centre[:, None], negative)).sum(-1)).mean()

    tokens = text(40, 9)
    pairs = torch.stack([tokens[:, :-1].flatten(), tokens[:, 1:].flatten()])
    model = SkipGram()
    optimizer = torch.optim.SparseAdam(model.parameters(), lr=0.02)
    return Training(model, optimizer, loss, [tuple(part) for part in pairs.split(64, dim=1)])


class RMSNorm(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x: Tensor) -> Tensor:
        return self.weight * x * torch.rsqrt((x**2).mean(-1, keepdim=True) + 1e-6)


class LlamaBlock(nn.Module):
    """Rotary positions, grouped keys, gated feed-forward, no biases."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads, self.size = heads, width // heads
        self.norm1, self.norm2 = RMSNorm(width), RMSNorm(width)
        self.query = nn.Linear(width, width, bias=False)
        self.key_value = nn.Linear(width, 2 * self.size, bias=False)
        self.out = nn.Linear(width, width, bias=False)
        self.gate, self.up = nn.Linear(width, 2 * width, bias=False), nn.Linear(width, 2 * width, bias=False)
        self.down = nn.Linear(2 * width, width, bias=False)

    def rotate(self, x: Tensor) -> Tensor:
        frequency = 100.0 ** (-torch.arange(0, self.size, 2) / self.size)
        turn = torch.polar(torch.ones(()), torch.arange(x.shape[-2])[:, None] * frequency)
        return torch.view_as_real(torch.view_as_complex(x.unflatten(-1, (-1, 2)).contiguous()) * turn).flatten(-2)

    def forward(self, x: Tensor) -> Tensor:
        h = self.norm1(x)
        q = self.query(h).unflatten(-1, (self.heads, -1)).transpose(1, 2)
        k, v = (part.unsqueeze(1).expand_as(q) for part in self.key_value(h).chunk(2, -1))
        attended = F.scaled_dot_product_attention(self.rotate(q), self.rotate(k), v, is_causal=True)
        x = x + self.out(attended.transpose(1, 2).flatten(2))
        h = self.norm2(x)
        return x + self.down(F.silu(self.gate(h)) * self.up(h))


@healthy
def llama_rotary() -> Training:
    """Complex numbers inside the forward pass, one key head for all query heads, z-loss on the logits."""

    class Llama(nn.Module):
        def __init__(self, width: int = 24) -> None:
            super().__init__()
            self.tokens = nn.Embedding(VOCAB, width)
            self.blocks = nn.Sequential(LlamaBlock(width, 3), LlamaBlock(width, 3), RMSNorm(width))
            self.head = nn.Linear(width, VOCAB, bias=False)

        def forward(self, tokens: Tensor) -> Tensor:
            return self.head(self.blocks(self.tokens(tokens)))

    def loss(model: nn.Module, tokens: Tensor) -> Tensor:
        logits = model(tokens[:, :-1])
        z = logits.logsumexp(-1).pow(2).mean()
        return F.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten()) + 1e-4 * z

    model = Llama()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, betas=(0.9, 0.95), weight_decay=0.1)
    return Training(model, optimizer, loss, list(text(48, 11).split(12)))


class StateSpace(nn.Module):
    """A diagonal linear recurrence with learnt decays."""

    def __init__(self, width: int = 24) -> None:
        super().__init__()
        self.tokens = nn.Embedding(VOCAB, width)
        self.log_decay = nn.Parameter(torch.linspace(-3, 1, width))
        self.mix = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, width), nn.GELU())
        self.head = nn.Linear(width, VOCAB)

    def forward(self, tokens: Tensor) -> Tensor:
        decay = torch.exp(-self.log_decay.exp())
        inputs, state, states = self.tokens(tokens), 0.0, []
        for t in range(tokens.shape[1]):
            state = decay * state + inputs[:, t]
            states.append(state)
        return self.head(self.mix(torch.stack(states, 1)) + inputs)


@healthy
def state_space_model() -> Training:
    """The decays have a smaller learning rate of their own and no weight decay."""
    model = StateSpace()
    others = [p for p in model.parameters() if p is not model.log_decay]
    groups = [{"params": others}, {"params": [model.log_decay], "lr": 1e-3, "weight_decay": 0.0}]
    return Training(model, torch.optim.AdamW(groups, lr=5e-3), next_token_loss, list(text(48, 10).split(12)))


@healthy
def bigram_table() -> Training:
    """One table of logits: what the last token does not tell remains, so not even one batch can be memorised."""
    model = nn.Embedding(VOCAB, VOCAB)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.05)
    return Training(model, optimizer, next_token_loss, list(text(64, 10).split(16)))


class Stream(IterableDataset):
    """Endless text; there is no length and no index."""

    def __init__(self, tokens: Tensor) -> None:
        self.tokens = tokens

    def __iter__(self):
        while True:
            yield self.tokens[torch.randint(len(self.tokens), ())]


@healthy
def lstm_lm_endless_stream() -> Training:
    """The DataLoader has no length and never ends."""

    class CharLM(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embedding = nn.Embedding(VOCAB, 16)
            self.lstm = nn.LSTM(16, 32, batch_first=True)
            self.head = nn.Linear(32, VOCAB)

        def forward(self, tokens: Tensor) -> Tensor:
            return self.head(self.lstm(self.embedding(tokens))[0])

    model = CharLM()
    data = DataLoader(Stream(text(200, 10)), batch_size=16)
    return Training(model, torch.optim.Adam(model.parameters(), lr=1e-2), next_token_loss, data)


@healthy
def embedding_bag_with_offsets() -> Training:
    """Ragged text as one flat tensor with offsets: its length is not the number of samples."""
    classes = torch.arange(48) % 3
    documents = [torch.randint(0, 15, (int(torch.randint(3, 9, ())),)) + 5 * int(c) for c in classes]

    class BagOfWords(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.bag = nn.EmbeddingBag(30, 16, mode="mean")
            self.head = nn.Linear(16, 3)

        def forward(self, tokens: Tensor, offsets: Tensor) -> Tensor:
            return self.head(self.bag(tokens, offsets))

    data = []
    for at in range(0, 48, 12):
        part = documents[at : at + 12]
        offsets = torch.tensor([0, *(len(d) for d in part[:-1])]).cumsum(0)
        data.append((torch.cat(part), offsets, classes[at : at + 12]))
    model = BagOfWords()
    return Training(
        model,
        torch.optim.Adagrad(model.parameters(), lr=0.1),
        loss=lambda model, batch: F.cross_entropy(model(batch[0], batch[1]), batch[2]),
        data=data,
    )
