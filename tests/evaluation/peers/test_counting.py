"""How the other tools are counted, on made-up answers; the tools themselves need not be installed."""

from __future__ import annotations

import pytest

from ..scoreboard.cases import Case
from ..scoreboard.counting import Judged
from ..scoreboard.results import Result
from .asking import TOOLS, tool
from .counting import ours, row, text

CASES = {
    "fault/a": Case("fault", "a", "mlp", "batch-mixing"),
    "twin/a": Case("twin", "a", "mlp"),
    "fault/b": Case("fault", "b", "mlp", "lr-too-low"),
    "healthy/c": Case("healthy", "c", "cnn"),
}
ANSWERS = [
    {"tool": "with_torchtest2", "case": "fault/a", "alarms": [("overfit_batch", True), ("batch_independence", False)]},
    {"tool": "with_torchtest2", "case": "twin/a", "alarms": [("output_varies", False)]},
    {"tool": "with_torchtest2", "case": "fault/b", "cannot": "takes one model, this has several"},
    {"tool": "with_torchtest2", "case": "healthy/c", "error": "ValueError: no"},
    {"tool": "with_torchtest2", "case": "fault/gone", "alarms": []},
]


def test_errors_alone_and_with_warnings():
    strict, lenient = (row("with_torchtest2", ANSWERS, CASES, warnings=w) for w in (False, True))
    assert (strict.found.good, strict.named.good, strict.false_alarms.good) == (1, 0, 0)
    assert (lenient.found.good, lenient.named.good, lenient.false_alarms.good) == (1, 1, 1)
    assert (strict.found.all, strict.false_alarms.all, strict.not_taken, strict.raised) == (1, 1, 1, 1)


def test_we_are_counted_alike():
    ours_ = [
        Judged(CASES["fault/a"], Result("fault/a", 0, ("x",), (("lr-too-low", "likely"), ("batch-mixing", "likely")))),
        Judged(CASES["fault/a"], Result("fault/a", 1)),
        Judged(CASES["fault/b"], Result("fault/b", 0, error="it hung")),
    ]
    mine = ours(ours_)
    assert (mine.found.good, mine.named.good, mine.found.all, mine.raised) == (1, 1, 1, 1)


def test_text_says_how_and_what_was_not_taken():
    section = text(ANSWERS, [], CASES)
    assert "torchtest2, warnings too" in section
    assert "- torchtest2: takes one model, this has several (1 programs)" in section
    assert "torch-audit" not in section.replace("torch-audit**", "")


@pytest.mark.parametrize("name", TOOLS)
def test_tool_says_what_it_is_and_means(name):
    assert tool(name).NAME
    assert tool(name).HOW
    assert all(causes for causes in tool(name).MEANS.values())
