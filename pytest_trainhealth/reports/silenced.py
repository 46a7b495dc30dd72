"""What was silenced in a run, counted and with its reasons, and what was silenced for nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from ..records.verdict import Silenced, Verdict
from ..wording import is_or_are, plural


class Offered(NamedTuple):
    """A silencing that was there for a check."""

    name: str
    reason: str
    given: str
    #: The test that it is for; empty: for all.
    test: str


def silenced_lines(found: Sequence[tuple[str, Verdict]]) -> Iterator[str]:
    """How many findings, and of each silencing how often and why; `found`: verdicts, each with its test's node id."""
    silenced = [each for _, verdict in found for each in verdict.silenced]
    if not silenced:
        return
    yield f"{plural(len(silenced), 'finding')} silenced"
    counted = Counter((_what(each), each.reason, each.given) for each in silenced)
    for (what, reason, given), times in counted.items():
        often = f" ({times} times)" if times > 1 else ""
        yield f"  {what}{often}: {reason}   ({given})"


def unused_lines(found: Sequence[tuple[str, Verdict]], offered: Iterable[Offered]) -> Iterator[str]:
    """For a run of all tests: silencings that silenced nothing. Those can go, before they hide what comes later."""
    used = {(each.name, each.given, test) for test, verdict in found for each in verdict.silenced}
    everywhere = {(name, given) for name, given, _ in used}
    for each in dict.fromkeys(offered):
        needed = (each.name, each.given, each.test) in used if each.test else (each.name, each.given) in everywhere
        if not needed:
            about = f" of {each.test}" if each.test and each.test not in each.given else ""
            yield f"silenced for nothing: {each.name}{about} {is_or_are(1)} no longer found   ({each.given})"


def _what(silenced: Silenced) -> str:
    """The cause; of a check that is silenced, what it had found."""
    found = silenced.finding.cause if silenced.finding is not None else ""
    return f"{silenced.name}, {found}" if found and found != silenced.name else silenced.name
