"""Calls models again with other inputs: what is found, what is ignored, and that no trace is left."""

from __future__ import annotations

from collections import deque
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from pytest_trainhealth import Training, diagnose
from pytest_trainhealth.programs.plan import Look, RunPlan
from pytest_trainhealth.programs.start import Start
from pytest_trainhealth.programs.training_program import TrainingProgram
from pytest_trainhealth.programs.watched_program import watch

from .trainings import Rows, probe, table, train


def test_mixing_is_located_at_the_line():
    def forward(self: Rows, x: Tensor) -> Tensor:
        hidden = self.enter(x)
        hidden = hidden.softmax(dim=0)
        return self.leave(hidden)

    (found,) = probe(train(Rows(forward), table())).mixing
    assert found.operation == "softmax"
    assert found.place is not None
    assert found.place.code == "hidden = hidden.softmax(dim=0)"


def test_samples_by_themselves_do_not_mix():
    found = probe(train(Rows(lambda self, x: self.leave(F.relu(self.enter(x)))), table()))
    assert found.judged["mixing"] == 1
    assert found.mixing == []
    assert found.ignored == []
    assert found.ignored_in_part == []


def test_similarities_of_all_pairs_are_meant():
    def forward(self: Rows, x: Tensor) -> Tensor:
        hidden = self.enter(x)
        return self.leave((hidden @ hidden.T).softmax(-1) @ hidden)

    found = probe(train(Rows(forward), table()))
    assert found.mixing == []
    assert "in pairs" in found.designs[0]


def test_time_first_is_left_alone():
    class Tagger(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.lstm, self.head = nn.LSTM(4, 8, bidirectional=True), nn.Linear(16, 3)

        def forward(self, x: Tensor) -> Tensor:
            return self.head(self.lstm(x)[0]).flatten(0, 1)

    found = probe(train(Tagger(), torch.randn(20, 16, 4), target=torch.randint(0, 3, (320,))))
    assert found.mixing == []


def test_a_column_that_is_cut_off_is_found():
    found = probe(train(Rows(lambda self, x: self.leave(self.enter(x[:, :-1])), inputs=9), table()))
    (record,) = found.ignored_in_part
    assert (record.unit, record.ignored_parts) == ("column", (9,))


def test_closed_gates_are_not_ignoring():
    class Gated(Rows):
        def __init__(self) -> None:
            super().__init__(lambda self, x: self.leave(self.enter(x * self.gates.relu())))
            self.gates = nn.Parameter(torch.linspace(-1, 1, 10))

    assert probe(train(Gated(), table())).ignored_in_part == []


def test_zero_initialised_heads_hide_nothing():
    model = Rows(lambda self, x: self.leave(self.enter(x)))
    nn.init.zeros_(model.leave.weight)
    optimizer = torch.optim.SGD(model.parameters(), 0.0)
    training = Training(model, optimizer, criterion=nn.CrossEntropyLoss(), data=(table(), torch.randint(0, 3, (16,))))
    assert probe(training).ignored == []


def test_a_loss_that_is_all_the_model_returns_still_tells():
    def forward(self: Rows, x: Tensor) -> Tensor:
        return self.leave(self.enter(x)).square().mean()

    training = Training(model := Rows(forward), torch.optim.SGD(model.parameters(), 0.01), lambda m, x: m(x), table())
    assert probe(training).ignored == []


class Stateful(nn.Module):
    """Writes to everything that a module can keep."""

    def __init__(self) -> None:
        super().__init__()
        self.linear, self.norm, self.drop = nn.Linear(10, 3), nn.BatchNorm1d(3), nn.Dropout(0.5)
        self.average = nn.Parameter(torch.zeros(3, 10), requires_grad=False)
        self.register_buffer("queue", torch.zeros(4, 10))
        self.calls, self.seen, self.last = 0, deque(maxlen=5), [0.0]

    def forward(self, x: Tensor) -> Tensor:
        self.calls += 1
        self.seen.append(float(x.detach()[0, 0]))
        self.last[0] = float(x.detach()[0, 1])
        with torch.no_grad():
            self.average.lerp_(self.linear.weight, 0.1)
        self.queue = torch.cat([x[:1].detach(), self.queue[:-1]])
        return self.norm(self.drop(self.linear(x)))


def left_behind(*signals: str) -> tuple[list[Any], list[Tensor]]:
    torch.manual_seed(0)
    model = Stateful()
    trace = TrainingProgram(Start(train(model, table()), seed=0)).record(
        RunPlan(max_steps=10, look=Look(signals=signals))
    )
    assert (trace.probe is not None) == bool(signals)
    return [trace.losses, model.calls, list(model.seen), model.last, model.training], [*model.state_dict().values()]


def test_everything_is_left_as_found():
    (state, tensors), (probed_state, probed_tensors) = left_behind(), left_behind("probes")
    assert state == probed_state
    assert all(torch.equal(a, b) for a, b in zip(tensors, probed_tensors, strict=True))


def test_a_watched_test_is_probed():
    torch.manual_seed(0)
    model = nn.LSTM(4, 8)
    head = nn.Linear(8, 3)

    class Last(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.lstm, self.head = model, head

        def forward(self, x: Tensor) -> Tensor:
            return self.head(self.lstm(x)[0][:, -1])

    with watch(("probes",)) as trace:
        net = Last()
        optimizer = torch.optim.SGD(net.parameters(), 0.01)
        for _ in range(5):
            optimizer.zero_grad()
            F.cross_entropy(net(torch.randn(16, 20, 4)), torch.randint(0, 3, (16,))).backward()
            optimizer.step()
    assert trace.probe is not None
    assert [record.operation for record in trace.probe.mixing] == ["lstm"]


def test_a_model_that_cannot_be_called_again_is_not_accused():
    class Once(Rows):
        def forward(self, x: Tensor) -> Tensor:
            if not self.training:
                raise RuntimeError("only in training")
            return self.leave(self.enter(x))

    (verdict,) = diagnose(lambda: train(Once(None), table()), "uses_its_input").verdicts
    assert verdict.outcome == "could not judge"
    assert "only in training" in verdict.reason


def sentences(length: int = 12) -> tuple[Tensor, Tensor]:
    """Tokens with 0 behind them, and how many there are."""
    tokens, lengths = torch.randint(1, 20, (16, length)), torch.arange(16) % (length - 3) + 3
    tokens[torch.arange(length) >= lengths[:, None]] = 0
    return tokens, lengths


class Reader(nn.Module):
    """A model of sentences whose forward pass is given; it knows twelve positions."""

    def __init__(self, forward: Any) -> None:
        super().__init__()
        self.embedding = nn.Embedding(20, 16, padding_idx=0)
        self.places = nn.Parameter(0.3 * torch.randn(12, 16))
        self.gru = nn.GRU(16, 16, batch_first=True)
        self.attention = nn.MultiheadAttention(16, 2, batch_first=True)
        self.leave = nn.Linear(16, 3)
        self._forward_pass = forward

    def forward(self, tokens: Tensor, lengths: Tensor | None = None) -> Tensor:
        return self.leave(self._forward_pass(self, tokens, lengths))


def last_state(self: Reader, tokens: Tensor, lengths: Tensor) -> Tensor:
    return self.gru(self.embedding(tokens))[1][-1]


def packed_state(self: Reader, tokens: Tensor, lengths: Tensor) -> Tensor:
    packed = nn.utils.rnn.pack_padded_sequence(self.embedding(tokens), lengths, batch_first=True, enforce_sorted=False)
    return self.gru(packed)[1][-1]


def attended(self: Reader, tokens: Tensor, masked: bool) -> Tensor:
    x = self.embedding(tokens) + self.places
    x, _ = self.attention(x, x, x, key_padding_mask=tokens == 0 if masked else None, need_weights=False)
    return x[:, 0]


def test_lengths_tell_where_the_padding_is():
    (found,) = probe(train(Reader(last_state), *sentences())).paddings
    assert (found.known_from, found.mask, found.operation, found.unused) == ("lengths", "lengths", "gru", True)
    judged = probe(train(Reader(packed_state), *sentences()))
    assert judged.paddings == []
    assert judged.judged["padding"] == 1


def test_attention_to_padding_is_found_without_a_mask_and_at_one_length_only():
    (found,) = probe(train(Reader(lambda self, t, _: attended(self, t, False)), sentences()[0])).paddings
    assert (found.known_from, found.longer, found.operation) == ("padding_idx", False, "multi_head_attention_forward")
    judged = probe(train(Reader(lambda self, t, _: attended(self, t, True)), sentences()[0]))
    assert judged.paddings == []
    assert judged.judged["padding"] == 1


def test_padding_of_zeros_may_be_read_where_nothing_marks_it():
    for forward in (last_state, lambda self, tokens, _: self.embedding(tokens).sum(1)):
        assert probe(train(Reader(forward), sentences()[0])).paddings == []


def test_pairs_of_positions_grow_with_the_sequence():
    class Graph(nn.Module):
        def __init__(self, masked: bool) -> None:
            super().__init__()
            self.enter, self.leave, self.masked = nn.Linear(4, 8), nn.Linear(8, 3), masked

        def forward(self, nodes: Tensor, bonds: Tensor, mask: Tensor) -> Tensor:
            hidden = self.enter(nodes + bonds @ nodes).relu()
            pooled = (hidden * mask[..., None]).sum(1) / mask.sum(1, keepdim=True) if self.masked else hidden.mean(1)
            return self.leave(pooled)

    mask = torch.arange(10) < (torch.arange(16) % 6 + 4)[:, None]
    nodes = torch.randn(16, 10, 4) * mask[..., None]
    bonds = (torch.rand(16, 10, 10) < 0.3) * mask[:, None] * mask[..., None] * 1.0
    (found,) = probe(train(Graph(masked=False), nodes, bonds, mask)).paddings
    assert (found.padded, found.operation) == ("nodes", "mean")
    judged = probe(train(Graph(masked=True), nodes, bonds, mask))
    assert judged.paddings == []
    assert judged.judged["padding"] > 0


class NextToken(nn.Module):
    """The labels are handed in as well, as Hugging Face's models take them."""

    def __init__(self, causal: bool, width: int = 24) -> None:
        super().__init__()
        self.embedding, self.qkv, self.leave = (
            nn.Embedding(20, width),
            nn.Linear(width, 3 * width),
            nn.Linear(width, 20),
        )
        self.causal = causal

    def forward(self, tokens: Tensor, labels: Tensor | None = None) -> dict[str, Tensor]:
        q, k, v = (t.unflatten(-1, (2, -1)).transpose(1, 2) for t in self.qkv(self.embedding(tokens)).chunk(3, -1))
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        logits = self.leave(mixed.transpose(1, 2).flatten(2))
        if labels is None:
            return {"logits": logits}
        return {"loss": F.cross_entropy(logits[:, :-1].flatten(0, 1), labels[:, 1:].flatten()), "logits": logits}


def text_training(model: nn.Module, loss: Any) -> Training:
    tokens = torch.randint(0, 20, (16, 12))
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    return Training(model, optimizer, loss=loss, data={"tokens": tokens, "labels": tokens.clone()})


def test_labels_that_are_handed_in_do_not_speak_for_the_tokens():
    def loss(model: nn.Module, batch: dict[str, Tensor]) -> Tensor:
        return model(batch["tokens"], batch["labels"])["loss"]

    (found,) = probe(text_training(NextToken(causal=False), loss)).leaks
    assert (found.name, found.kind, found.operation) == ("tokens", "future", "scaled_dot_product_attention")
    assert probe(text_training(NextToken(causal=True), loss)).leaks == []


class HandMasked(nn.Module):
    """Position t attends to positions up to t + `ahead`, by a mask of its own."""

    def __init__(self, ahead: int) -> None:
        super().__init__()
        self.embedding, self.qkv, self.leave = nn.Embedding(20, 24), nn.Linear(24, 72), nn.Linear(24, 20)
        self.ahead = ahead

    def forward(self, tokens: Tensor) -> Tensor:
        q, k, v = (t.unflatten(-1, (4, -1)).transpose(1, 2) for t in self.qkv(self.embedding(tokens)).chunk(3, -1))
        seen = torch.ones(tokens.shape[1], tokens.shape[1], dtype=torch.bool).tril(self.ahead)
        weights = (q @ k.transpose(-2, -1)).masked_fill(~seen, float("-inf")).softmax(-1)
        return self.leave((weights @ v).transpose(1, 2).flatten(2))


class FromASummary(nn.Module):
    """Says a sequence again, after a summary of it: an autoencoder that is told the elements before each."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding, self.leave = nn.Embedding(20, 24), nn.Linear(24, 20)
        self.encoder, self.decoder = nn.GRU(24, 24, batch_first=True), nn.GRU(24, 24, batch_first=True)

    def forward(self, tokens: Tensor) -> Tensor:
        given = self.embedding(tokens)
        return self.leave(self.decoder(given, self.encoder(given)[1])[0])


def next_tokens(model: nn.Module, samples: int) -> Training:
    tokens = torch.randint(0, 20, (samples, 13))
    return Training(
        model,
        torch.optim.SGD(model.parameters(), 0.01),
        loss=lambda m, batch: F.cross_entropy(m(batch[0]).flatten(0, 1), batch[1].flatten()),
        data=(tokens[:, :-1].contiguous(), tokens[:, 1:].contiguous()),
    )


@pytest.mark.parametrize("samples", [16, 12])
def test_as_many_samples_as_positions_hide_no_leak(samples: int) -> None:
    (found,) = probe(next_tokens(HandMasked(ahead=1), samples)).leaks
    assert (found.kind, found.operation) == ("future", "matmul")
    assert probe(next_tokens(HandMasked(ahead=0), samples)).leaks == []
    assert probe(next_tokens(FromASummary(), samples)).leaks == []


def test_labels_of_a_batch_may_be_shifted_by_a_loss_that_is_written_out():
    def loss(model: nn.Module, batch: dict[str, Tensor]) -> Tensor:
        said = model(batch["tokens"])["logits"][:, :-1].log_softmax(-1)
        return -said.gather(-1, batch["labels"][:, 1:, None]).mean()

    assert probe(text_training(NextToken(causal=True), loss)).leaks == []


class Forecast(nn.Module):
    def __init__(self, ahead: int) -> None:
        super().__init__()
        self.conv, self.leave, self.padding = nn.Conv1d(1, 8, 5), nn.Conv1d(8, 1, 1), (4 - ahead, ahead)

    def forward(self, x: Tensor) -> Tensor:
        return self.leave(self.conv(F.pad(x[:, None], self.padding)).relu()).squeeze(1)


def next_values(model: nn.Module) -> Training:
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    return Training(
        model, optimizer, loss=lambda m, x: F.mse_loss(m(x[:, :-1]), x[:, 1:]), data=torch.randn(16, 24).cumsum(1)
    )


def test_a_forecast_that_sees_the_next_value():
    (found,) = probe(next_values(Forecast(ahead=2))).leaks
    assert (found.name, found.module) == ("x", "conv")
    assert probe(next_values(Forecast(ahead=0))).leaks == []


def test_windows_are_forecast_from_the_whole_window():
    assert probe(next_values(nn.Sequential(nn.Linear(23, 12), nn.ReLU(), nn.Linear(12, 23)))).leaks == []
    assert probe(next_values(nn.Sequential(nn.Linear(23, 23), nn.ReLU(), nn.Linear(23, 23)))).leaks == []


class Clone(nn.Module):
    """Says each action at its observation; tokens of both stand in turns."""

    def __init__(self, causal: bool) -> None:
        super().__init__()
        self.see, self.act, self.leave = nn.Linear(4, 16), nn.Embedding(3, 16), nn.Linear(16, 3)
        self.attention = nn.MultiheadAttention(16, 2, batch_first=True)
        self.causal = causal

    def forward(self, seen: Tensor, action: Tensor) -> Tensor:
        x = torch.stack([self.see(seen), self.act(action)], 2).flatten(1, 2)
        mask = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).triu(1) if self.causal else None
        return self.leave(self.attention(x, x, x, attn_mask=mask, need_weights=False)[0][:, ::2]).flatten(0, 1)


def test_an_action_is_not_to_be_seen_beside_its_observation():
    def training(causal: bool) -> Training:
        action = torch.randint(0, 3, (16, 12))
        model = Clone(causal)
        return Training(
            model,
            torch.optim.SGD(model.parameters(), 0.01),
            loss=lambda m, batch: F.cross_entropy(m(*batch), batch[1].flatten()),
            data=(torch.randn(16, 12, 4), action),
        )

    (found,) = probe(training(causal=False)).leaks
    assert (found.name, found.shift, found.module) == ("action", 0, "attention")
    assert probe(training(causal=True)).leaks == []


def test_no_trace_is_left_in_torchs_tables() -> None:
    """`remove()` of a hook with keywords forgets one of them, and torch.compile warns of global hooks ever after."""
    from torch.nn.modules import module as tables

    before = dict(tables._global_forward_hooks_with_kwargs)
    model = nn.Linear(3, 2)
    batch = torch.randn(4, 3), torch.randint(2, (4,))
    training = Training(model, torch.optim.SGD(model.parameters(), 0.1), criterion=nn.CrossEntropyLoss(), data=batch)
    diagnose(training, checks=["uses_its_input"])
    assert tables._global_forward_hooks_with_kwargs == before
