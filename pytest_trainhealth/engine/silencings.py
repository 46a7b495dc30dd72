"""Reads what is silenced, as a marker, a configuration or a call gives it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..causes import cause_names
from ..records.silencing import Silencing, silencing
from ..settings import CHECKS, WrongSetting, near

_FROZEN = "frozen-parameters"


def silencings_in(keywords: Mapping[str, Any], where: str) -> Iterator[Silencing]:
    """Of `ignore=` and `frozen=`. Raises `WrongSetting` for names that there are not, and without a reason."""
    yield from accepted(keywords.get("ignore") or {}, where)
    reason = keywords.get("frozen")
    if reason is not None:
        yield _read(_FROZEN, reason, where, "frozen=", of_a_part=True)


def accepted(given: Mapping[str, str], where: str) -> Iterator[Silencing]:
    possible = [*cause_names(), *CHECKS]
    for name, text in given.items():
        meant = next((each for each in possible if each.replace("_", "-") == name.strip().replace("_", "-")), None)
        if meant is None:
            raise WrongSetting(f"{where}: ignore: there is no cause or check {name!r}{near(name, possible)}")
        yield _read(meant, text, where, "ignore")


def _read(name: str, text: str, where: str, keyword: str, *, of_a_part: bool = False) -> Silencing:
    try:
        return silencing(name, text, where, of_a_part=of_a_part)
    except ValueError as error:
        raise WrongSetting(f"{where}: {keyword}: {error}") from None
