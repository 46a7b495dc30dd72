"""A mask that is the wrong way round lets only the padding through."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from pytest_trainhealth import Training
from pytest_trainhealth.engine.request import Request
from pytest_trainhealth.examine import examine


class Pooled(nn.Module):
    """A learned query attends to the tokens."""

    def __init__(self, hidden: Callable[[Tensor], Tensor | None]) -> None:
        super().__init__()
        self.embed, self.hidden = nn.Embedding(20, 16, padding_idx=0), hidden
        self.query, self.attention = nn.Parameter(torch.randn(1, 1, 16)), nn.MultiheadAttention(16, 2, batch_first=True)
        self.out = nn.Linear(16, 3)

    def forward(self, ids: Tensor) -> Tensor:
        tokens, query = self.embed(ids), self.query.expand(len(ids), -1, -1)
        return self.out(self.attention(query, tokens, tokens, key_padding_mask=self.hidden(ids))[0].squeeze(1))


def words(hidden: Callable[[Tensor], Tensor | None]) -> Training:
    ids, y = torch.randint(1, 20, (64, 10)), torch.randint(0, 3, (64,))
    ids[torch.arange(10) >= torch.randint(3, 9, (64, 1))] = 0
    model = Pooled(hidden)
    data = list(zip(ids.split(16), y.split(16), strict=True))
    return Training(model, torch.optim.Adam(model.parameters()), lambda m, b: F.cross_entropy(m(b[0]), b[1]), data)


def test_only_the_padding_is_read() -> None:
    verdict = examine(lambda: words(lambda ids: ids != 0), Request("uses_its_input", "words", 0, {}))
    assert verdict.symptom is not None
    assert verdict.symptom.headline == "only the padding of ids is read"
    assert verdict.findings[0].cause == "ignores-input"
    assert verdict.findings[0].statement == "Pooled reads only the padding of ids"


@pytest.mark.parametrize("hidden", [lambda ids: ids == 0, lambda ids: ids < 2], ids=["padding", "and some words"])
def test_what_is_real_is_read(hidden: Callable[[Tensor], Tensor | None]) -> None:
    assert examine(lambda: words(hidden), Request("uses_its_input", "words", 0, {})).passed
