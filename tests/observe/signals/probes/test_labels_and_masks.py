"""Labels that were moved twice, padding in the labels, and masks: seen in small models that are made here."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from pytest_trainhealth import Training, diagnose
from pytest_trainhealth.observe.signals.probes.given_mask import misused_mask
from pytest_trainhealth.observe.signals.probes.loss_padding import padding_in_loss
from pytest_trainhealth.observe.signals.probes.padded_tokens import padded_tokens
from pytest_trainhealth.observe.signals.probes.repeat_call import Call, Repeater, repeating
from pytest_trainhealth.observe.signals.probes.use_of_labels import moves_labels

PAD, EOS, WORDS = 0, 1, 20


def tokens(side: str = "right") -> Tensor:
    """Sequences that count up, of 4 to 11 words, and end."""
    rows = []
    for start in range(16):
        length = 4 + start % 8
        row, fill = [2 + (start + n * (1 + start % 3)) % 18 for n in range(length)] + [EOS], [PAD] * (11 - length)
        rows.append(row + fill if side == "right" else fill + row)
    return torch.tensor(rows)


class Speaker(nn.Module):
    """Predicts the next word. `moves`: it moves the labels itself, as models of Hugging Face do."""

    def __init__(self, causal: bool = True, moves: bool = True, unseen: bool = False, end: int | None = EOS) -> None:
        super().__init__()
        self.words = nn.Embedding(WORDS, 16)
        self.places = nn.Parameter(0.1 * torch.randn(12, 16))
        self.mix = nn.Linear(16, 48)
        self.head = nn.Linear(16, WORDS)
        self.causal, self.moves, self.unseen = causal, moves, unseen
        self.config = SimpleNamespace(pad_token_id=PAD, eos_token_id=end)

    def forward(self, input_ids: Tensor, attention_mask: Tensor | None = None, labels: Tensor | None = None) -> Any:
        x = self.words(input_ids) + self.places
        query, key, value = self.mix(x).chunk(3, -1)
        scores = query @ key.transpose(1, 2) / 4
        if self.causal:
            scores = scores.masked_fill(torch.ones(12, 12).triu(1).bool(), -1e9)
        if attention_mask is not None:
            hidden = (attention_mask[:, None] == 0) & ~torch.eye(12).bool()  # padding sees itself, and not all
            scores = scores.masked_fill(hidden, -1e9)
        logits = self.head(x + scores.softmax(-1) @ value)
        if labels is None:
            return {"logits": logits}
        if self.moves:
            labels = F.pad(labels, (0, 1), value=-100)[:, 1:]
        if not self.unseen:
            loss = F.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=-100)
            return SimpleNamespace(loss=loss, logits=logits)
        chosen = logits.log_softmax(-1).gather(-1, labels.clamp(min=0)[..., None])[..., 0] * (labels >= 0)
        return {"loss": -chosen.sum() / (labels >= 0).sum()}


def batch(labels: str = "", side: str = "right") -> dict[str, Tensor]:
    ids = tokens(side)
    given = ids.clone() if labels == "padding" else ids.masked_fill(ids == PAD, -100)
    if labels == "moved":
        given = F.pad(given, (0, 1), value=-100)[:, 1:]
    return {"input_ids": ids, "attention_mask": (ids != PAD).long(), "labels": given}


def said(model: nn.Module, data: dict[str, Tensor]) -> tuple[str, str]:
    report = diagnose(
        lambda: Training(model, torch.optim.AdamW(model.parameters(), 1e-2), data=[data] * 4), checks=["uses_its_input"]
    )
    verdict = report.verdicts[0]
    return (verdict.findings[0].cause, verdict.findings[0].certainty) if verdict.findings else (verdict.outcome, "")


@pytest.mark.parametrize("unseen", [False, True])
def test_labels_that_are_moved_twice(unseen: bool) -> None:
    assert said(Speaker(unseen=unseen), batch("moved")) == ("labels-not-aligned", "confirmed")
    assert said(Speaker(unseen=unseen), batch()) == ("passed", "")
    assert said(Speaker(moves=False, unseen=unseen), batch("moved")) == ("passed", "")


def test_a_loss_that_leaves_out_the_first_position_moves_nothing() -> None:
    """Both are cut alike: the targets are two ahead of the first tokens, and one ahead of those that they belong to."""

    class Later(Speaker):
        def forward(self, input_ids: Tensor, attention_mask: Any = None, labels: Any = None) -> Any:
            logits = super().forward(input_ids, attention_mask)["logits"]
            return SimpleNamespace(
                loss=F.cross_entropy(logits[:, 1:].flatten(0, 1), labels[:, 1:].flatten()), logits=logits
            )

    assert said(Later(), batch("moved")) == ("passed", "")


def test_several_heads_have_targets_further_ahead() -> None:
    class Two(Speaker):
        def forward(self, input_ids: Tensor, attention_mask: Any = None, labels: Any = None) -> Any:
            logits = super().forward(input_ids, attention_mask)["logits"]
            later = F.pad(labels, (0, 1), value=-100)[:, 1:]
            loss = F.cross_entropy(logits.flatten(0, 1), labels.flatten())
            return SimpleNamespace(loss=loss + F.cross_entropy(logits.flatten(0, 1), later.flatten()), logits=logits)

    assert said(Two(), batch("moved")) == ("passed", "")


@pytest.mark.parametrize("unseen", [False, True])
@pytest.mark.parametrize("side", ["right", "left"])
def test_padding_in_the_labels(side: str, unseen: bool) -> None:
    assert said(Speaker(unseen=unseen), batch("padding", side)) == ("mask-ignored", "confirmed")
    assert said(Speaker(unseen=unseen), batch("", side)) == ("passed", "")


def test_padding_that_ends_sequences_may_be_learnt() -> None:
    assert said(Speaker(end=PAD), batch("padding")) == ("passed", "")


@contextmanager
def asked(model: nn.Module, given: dict[str, Any]) -> Iterator[Repeater]:
    with repeating() as repeat:
        yield repeat(Call(model, (), given))


@pytest.mark.parametrize(
    ("causal", "side", "mask", "expected"),
    [
        (False, "right", "none", "missing"),
        (False, "right", "ones", "missing"),
        (False, "right", "inverted", "inverted"),
        (True, "left", "none", "missing"),
        (True, "left", "inverted", "inverted"),
        (False, "right", "right", ""),
        (True, "left", "right", ""),
        # a causal model never sees what comes after
        (True, "right", "none", ""),
        (True, "right", "ones", ""),
    ],
)
def test_the_model_is_asked_which_mask_it_needs(causal: bool, side: str, mask: str, expected: str) -> None:
    ids = tokens(side)
    real = (ids != PAD).long()
    given = {"right": real, "ones": torch.ones_like(real), "inverted": 1 - real}
    call = {"input_ids": ids, **({} if mask == "none" else {"attention_mask": given[mask]})}
    with asked(Speaker(causal), call) as repeater:
        found, judged = misused_mask(repeater)
    assert judged == 1
    assert ("" if found is None else found.misused) == expected


def test_tokens_without_padding_are_not_looked_at() -> None:
    for ids in (torch.randint(2, WORDS, (16, 12)), torch.randint(0, WORDS, (16, 12))):
        with asked(Speaker(causal=False), {"input_ids": ids}) as repeater:
            assert list(padded_tokens(repeater.call)) == []
            assert misused_mask(repeater) == (None, 0)


def test_a_model_is_asked_whether_it_moves_labels() -> None:
    for moves in (True, False):
        with asked(Speaker(moves=moves, unseen=True), batch()) as repeater:
            leaves = {leaf.name: leaf for leaf in repeater.call.leaves}
            assert moves_labels(repeater, leaves["input_ids"], leaves["labels"]) is moves
    with asked(Speaker(causal=False, unseen=True), batch()) as repeater:  # every position sees every other
        leaves = {leaf.name: leaf for leaf in repeater.call.leaves}
        assert not moves_labels(repeater, leaves["input_ids"], leaves["labels"])


def test_a_mask_is_not_taken_for_labels() -> None:
    """Both have zeros where the padding is, if its number is 0."""
    with asked(Speaker(unseen=True), batch()) as repeater:
        assert padding_in_loss(repeater, {}, {}, []) == (None, 0)
