"""One line says what is the matter, out of what Python and pytest print about it."""

from __future__ import annotations

import pytest

from pytest_trainhealth.revisions.error_lines import first_line, last_line, of_error, with_hint


def test_where_a_syntax_error_is() -> None:
    """Of a traceback as pytest prints it, which may be that of a module that the test imports."""
    printed = (
        'E     File "/tmp/it/src/model.py", line 3\nE       def (:\nE           ^\nE   SyntaxError: invalid syntax\n\n'
    )
    assert last_line(printed) == "SyntaxError: invalid syntax (model.py, line 3)"
    assert first_line(printed.replace("E ", "")) == "SyntaxError: invalid syntax (model.py, line 3)"
    assert first_line("ValueError: odd\nvery odd") == "ValueError: odd"
    assert last_line("E   ValueError: odd\n") == "ValueError: odd"
    assert last_line(" \n") == ""


def test_an_error_that_says_nothing() -> None:
    assert of_error(KeyboardInterrupt()) == {"raised": "KeyboardInterrupt"}


@pytest.mark.parametrize("kind", ["ModuleNotFoundError", "ImportError", "FileNotFoundError"])
def test_what_may_be_missing_because_git_does_not_hold_it(kind: str) -> None:
    assert "(ignored files, submodules) is not there" in with_hint(f"the test raises at main: {kind}: data")


def test_other_errors_have_other_reasons() -> None:
    for said in ("the test raises at main: ValueError: odd data", "the test raises at main: MyImportErrors: three"):
        assert with_hint(said) == said
