"""Models that say the next token."""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset

from pytest_trainhealth import Training

from ..healthy.toydata import text
from . import fault

VOCAB = 20


@dataclass
class CausalLMOutput:
    logits: Tensor
    loss: Tensor | None = None


class CausalAttention(nn.Module):
    def __init__(self, width: int, causal: bool, heads: int = 2) -> None:
        super().__init__()
        self.heads, self.causal = heads, causal
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in self.qkv(x).chunk(3, dim=-1))
        attended = F.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        return self.out(attended.transpose(1, 2).flatten(2))


class GPTBlock(nn.Module):
    def __init__(self, width: int, causal: bool) -> None:
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = CausalAttention(width, causal)
        self.mlp = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attention(self.ln1(x))
        return x + self.mlp(self.ln2(x))


class TinyGPT(nn.Module):
    """As in nanoGPT; `shift`: by how many places the labels lie behind the inputs."""

    def __init__(self, width: int = 24, layers: int = 1, causal: bool = True, shift: int = 1) -> None:
        super().__init__()
        self.shift = shift
        self.wte = nn.Embedding(VOCAB, width)
        self.wpe = nn.Embedding(16, width)
        self.blocks = nn.ModuleList(GPTBlock(width, causal) for _ in range(layers))
        self.ln_f = nn.LayerNorm(width)
        self.lm_head = nn.Linear(width, VOCAB, bias=False)
        self.apply(self._init)

    def _init(self, module: nn.Module) -> None:
        if isinstance(module, (nn.Linear, nn.Embedding)):
            nn.init.normal_(module.weight, std=0.08)

    def forward(self, input_ids: Tensor, labels: Tensor | None = None) -> CausalLMOutput:
        x = self.wte(input_ids) + self.wpe(torch.arange(input_ids.shape[1]))
        for block in self.blocks:
            x = block(x)
        logits = self.lm_head(self.ln_f(x))
        if labels is None:
            return CausalLMOutput(logits)
        length = logits.shape[1] - self.shift
        loss = F.cross_entropy(logits[:, :length].flatten(0, 1), labels[:, self.shift :].flatten())
        return CausalLMOutput(logits, loss)


class Corpus(Dataset):
    """Lines of text as tokens; inputs and labels are the same, the model does the shifting."""

    def __init__(self, n: int = 192, length: int = 12) -> None:
        self.tokens = text(n, length, VOCAB)

    def __len__(self) -> int:
        return len(self.tokens)

    def __getitem__(self, index: int) -> dict[str, Tensor]:
        return {"input_ids": self.tokens[index], "labels": self.tokens[index]}


def lines(batch_size: int = 16) -> DataLoader:
    return DataLoader(Corpus(), batch_size=batch_size, shuffle=True)


@fault("target-leakage", hard=True)
def causal_mask_forgotten(broken: bool) -> Training:
    """Attention without its causal mask: each position sees the token it has to say. The loss falls to nothing, and
    generated text is gibberish."""
    model = TinyGPT(causal=not broken)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    return Training(model, optimizer, data=lines())


@fault("target-leakage", hard=True)
def labels_not_shifted(broken: bool) -> Training:
    """Labels are the inputs, unshifted (the shift was left to a collator that does not do it): it learns to copy."""
    model = TinyGPT(shift=0 if broken else 1)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    return Training(model, optimizer, data=lines())


class TiedGPT(TinyGPT):
    def __init__(self, share: bool) -> None:
        super().__init__()
        if share:
            self.lm_head.weight = self.wte.weight
        else:
            self.lm_head.weight = nn.Parameter(self.wte.weight.clone())  # tie the weights


@fault("tied-weights-broken", hard=True)
def output_layer_gets_a_copy(broken: bool) -> Training:
    """ "Tied" by a copy: embedding and output layer start equal and drift apart, the model has a third more weights."""
    model = TiedGPT(share=not broken)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    return Training(model, optimizer, data=lines())


@fault("duplicate-parameters", hard=True)
def tied_weights_in_both_optimizers(broken: bool) -> Training:
    """One optimizer for the embeddings, one for the rest; the tied output layer is in both, so it steps twice."""
    model = TiedGPT(share=True)
    embeddings = [model.wte.weight, model.wpe.weight]
    held = {id(p) for p in embeddings}
    rest = [p for name, p in model.named_parameters(remove_duplicate=False) if not name.startswith(("wte", "wpe"))]
    if not broken:
        rest = [p for p in rest if id(p) not in held]
    slow = torch.optim.Adam(embeddings, lr=1e-3)
    fast = torch.optim.AdamW(rest, lr=3e-3)

    def step(batch: dict[str, Tensor]) -> Tensor:
        loss = model(**batch).loss
        slow.zero_grad()
        fast.zero_grad()
        loss.backward()
        slow.step()
        fast.step()
        return loss

    return Training(model, [slow, fast], step=step, data=lines())


class Padded(Dataset):
    """Lines of unlike length: the rest of the labels is -1, for the loss to leave out."""

    def __init__(self, n: int = 192) -> None:
        self.tokens = text(n, 12, VOCAB)
        self.lengths = torch.randint(5, 13, (n,)).tolist()

    def __len__(self) -> int:
        return len(self.lengths)

    def __getitem__(self, index: int) -> dict[str, Tensor]:
        tokens, length = self.tokens[index].clone(), self.lengths[index]
        labels = tokens.clone()
        tokens[length:], labels[length:] = 0, -1
        return {"tokens": tokens, "labels": labels}


@fault("invalid-labels")
def padding_label_not_ignored(broken: bool) -> Training:
    """Padded labels are -1, but cross_entropy leaves out -100 unless told otherwise: it crashes on the first batch."""
    model = TinyGPT()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    ignored = -100 if broken else -1

    def loss(model: nn.Module, batch: dict[str, Tensor]) -> Tensor:
        logits = model(batch["tokens"]).logits[:, :-1]
        return F.cross_entropy(logits.flatten(0, 1), batch["labels"][:, 1:].flatten(), ignore_index=ignored)

    return Training(model, optimizer, loss, DataLoader(Padded(), batch_size=16, shuffle=True))


@fault("lr-too-low")
def rate_for_fine_tuning(broken: bool) -> None:
    """A language model from scratch with the 2e-6 of somebody's fine-tuning script: the loss creeps at ln(20)."""
    model = TinyGPT()
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-6 if broken else 5e-3)
    data = lines(batch_size=32)
    model.train()
    for _ in range(20):
        for batch in data:
            loss = model(**batch).loss
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


class WindowModel(nn.Module):
    """Reads a window of three tokens; `outputs` is the vocabulary, or 1."""

    def __init__(self, outputs: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(VOCAB, 16)
        self.mlp = nn.Sequential(nn.Linear(48, 64), nn.ReLU(), nn.Linear(64, outputs))

    def forward(self, window: Tensor) -> Tensor:
        return self.mlp(self.embedding(window).flatten(1))


@fault("wrong-loss-for-task", hard=True)
def regression_on_token_ids(broken: bool) -> Training:
    """MSE on the id of the next token: ids are names, not amounts, and "between 3 and 17" means nothing. It falls."""
    tokens = text(128, 8, VOCAB)
    windows, following = tokens.unfold(1, 4, 1).flatten(0, 1).split([3, 1], dim=1)
    model = WindowModel(1 if broken else VOCAB)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)

    def loss(model: nn.Module, batch: list[Tensor]) -> Tensor:
        output = model(batch[0])
        if broken:
            return F.mse_loss(output.squeeze(1), batch[1].float())
        return F.cross_entropy(output, batch[1])

    data = list(zip(windows.split(40), following.squeeze(1).split(40), strict=True))
    return Training(model, optimizer, loss, data)


@fault("lr-decayed-too-early", also=("scheduler-misuse",))
def linear_schedule_over_epochs(broken: bool) -> Training:
    """A linear decay over `num_training_steps`, which was given the number of epochs (10): no rate is left after that.

    It is the scheduler's argument that is wrong, so that name is as good.
    """
    data = lines()
    epochs = 10
    total = epochs if broken else 100 * len(data)
    model = TinyGPT()
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: max(0.0, 1 - step / total))
    return Training(model, optimizer, data=data, scheduler=scheduler, scheduler_every="batch")


@fault("accumulation-not-scaled")
def micro_batches_summed(broken: bool) -> Training:
    """A batch in eight micro-batches, whose mean losses are added up, not averaged: SGD steps eight times too far."""
    tokens = text(128, 8, VOCAB)
    windows, following = tokens.unfold(1, 4, 1).flatten(0, 1).split([3, 1], dim=1)
    model = WindowModel(VOCAB)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.2, momentum=0.9)
    parts = 8

    def step(batch: tuple[Tensor, Tensor]) -> float:
        optimizer.zero_grad()
        losses = []
        for inputs, targets in zip(batch[0].chunk(parts), batch[1].chunk(parts), strict=True):
            loss = F.cross_entropy(model(inputs), targets)
            losses.append(loss.item())
            (loss if broken else loss / parts).backward()
        optimizer.step()
        return sum(losses) / parts

    return Training(
        model, optimizer, step=step, data=list(zip(windows.split(64), following.squeeze(1).split(64), strict=True))
    )


@fault("loss-reduction")
def summed_over_tokens(broken: bool) -> Training:
    """The loss is the sum over all tokens, with a rate made for the mean: each step is 176 times too long."""
    model = TinyGPT()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.3, momentum=0.9)

    def loss(model: nn.Module, batch: dict[str, Tensor]) -> Tensor:
        logits = model(batch["input_ids"]).logits[:, :-1]
        each = F.cross_entropy(logits.flatten(0, 1), batch["labels"][:, 1:].flatten(), reduction="none")
        return each.sum() if broken else each.mean()

    return Training(model, optimizer, loss, lines())


class LSTMLanguageModel(nn.Module):
    def __init__(self, detach: bool) -> None:
        super().__init__()
        self.detach = detach
        self.embedding = nn.Embedding(VOCAB, 24)
        self.lstm = nn.LSTM(24, 32, batch_first=True)
        self.decoder = nn.Linear(32, VOCAB)

    def forward(self, tokens: Tensor) -> Tensor:
        embedded = self.embedding(tokens)
        if self.detach:
            embedded = embedded.detach()
        return self.decoder(self.lstm(embedded)[0])


@fault("disconnected-graph", second="bad-gradient-clipping")
def detached_embedding_and_tiny_clip(broken: bool) -> Training:
    """`detach()` meant for the hidden state is on the embedding, and the gradients are clipped to a norm of 1e-5."""
    model = LSTMLanguageModel(detach=broken)
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0, momentum=0.9)
    max_norm = 1e-5 if broken else 1.0

    def step(batch: dict[str, Tensor]) -> Tensor:
        tokens = batch["input_ids"]
        optimizer.zero_grad()
        loss = F.cross_entropy(model(tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten())
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), max_norm)
        optimizer.step()
        return loss

    return Training(model, optimizer, step=step, data=lines())


@fault("wrong-loss-sign")
def likelihood_not_negated(broken: bool) -> Training:
    """The mean log-likelihood is minimised, a minus sign short: the model learns to say the right token last of all."""
    model = TinyGPT()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)

    def loss(model: nn.Module, batch: dict[str, Tensor]) -> Tensor:
        log_probs = model(batch["input_ids"]).logits[:, :-1].log_softmax(-1)
        likelihood = log_probs.gather(-1, batch["labels"][:, 1:].unsqueeze(-1)).mean()
        return likelihood if broken else -likelihood

    return Training(model, optimizer, loss, lines())
