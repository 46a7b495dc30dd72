"""How a test is called where there is no room for its node id: class and parameters belong to its name."""

from __future__ import annotations

from collections.abc import Sequence


def title(nodeid: str) -> str:
    """Without the file. An id of the user's parameters may hold colons itself, so the first two are the ones."""
    file, _, inside = nodeid.partition("::")
    return inside or file


def titles(tests: Sequence[str]) -> dict[str, str]:
    """Of each node id, with its file where another test has the same title."""
    short = {test: title(test) for test in tests}
    names = list(short.values())
    return {test: name if names.count(name) == 1 else test for test, name in short.items()}
