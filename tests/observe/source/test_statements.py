"""The statement of a line is the same whether its function or the whole file was parsed."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_trainhealth.observe.source import statements
from pytest_trainhealth.records.verdict import Place

SOURCE = '''"""Text that
begins at the margin."""
made = SGD(
    model.parameters(),
    lr=0.1,
)
if made:
    one = 1
else:
    two = (
        2,
    )


class Maker:
    text = """
at the margin, but inside"""

    def make(self):
        self.optimizers = [
            Adam(self.first),
            Adam(self.second),
        ]
        return self.optimizers
'''


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "train.py"
    path.write_text(SOURCE)
    return str(path)


@pytest.mark.parametrize(
    ("line", "statement"),
    [
        (3, "made = SGD( model.parameters(), lr=0.1, )"),
        (5, "made = SGD( model.parameters(), lr=0.1, )"),
        (8, "one = 1"),
        (11, "two = ( 2, )"),
        (21, "self.optimizers = [ Adam(self.first), Adam(self.second), ]"),
        (24, "return self.optimizers"),
    ],
)
def test_the_whole_statement_of_a_line(file: str, line: int, statement: str) -> None:
    assert statements.statement_at(Place(file, line)) == statement


def test_a_line_that_cannot_be_found_keeps_its_own_code(file: str) -> None:
    assert statements.statement_at(Place(file, 99, "code")) == "code"
    assert statements.statement_at(Place(file + "x", 1, "code")) == "code"
    assert statements.statement_at(None) == ""


def test_a_function_is_parsed_alone(file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[str] = []

    def spans(source: str) -> dict[int, tuple[int, int]]:
        parsed.append(source)
        return statements._spans.__wrapped__(source)

    spans.__wrapped__ = statements._spans.__wrapped__  # type: ignore[attr-defined]
    monkeypatch.setattr(statements, "_spans", spans)
    assert statements.statement_at(Place(file, 3)).startswith("made")
    assert parsed == ["made = SGD(\n    model.parameters(),\n    lr=0.1,\n)\n"]
