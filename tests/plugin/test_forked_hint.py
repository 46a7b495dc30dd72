"""Whoever runs with `--forked` is told what to do if that plugin cannot run tests at all."""

from __future__ import annotations

import pytest

OPTION = """
def pytest_addoption(parser):
    parser.addoption("--forked", action="store_true")  # as pytest-forked does
"""
HINT = "trainhealth: if every test crashes, this pytest-forked does not work*use -n 2 instead of --forked"


@pytest.mark.parametrize("option", ["--forked", "-q"])
def test_the_header_says_what_to_use_instead(pytester: pytest.Pytester, option: str) -> None:
    pytester.makeconftest(OPTION)
    pytester.makepyfile("def test_it(): pass")
    lines = pytester.runpytest("--trainhealth", option, "-v").stdout
    if option == "--forked":
        lines.fnmatch_lines([HINT])
    else:
        lines.no_fnmatch_line(HINT)
