"""Numbers and names as people read them, and the grammar around them; used wherever something is worded."""

from __future__ import annotations

import math
from collections.abc import Sequence

#: Of the value of a loss: smaller ones would show as 0.000, larger ones with more than 5 digits.
_SMALLEST_LOSS, _LARGEST_LOSS = 5e-4, 100
#: Between these, digits are grouped: 12,300 instead of 1.23e+04.
_GROUPED_FROM, _GROUPED_TO = 1000, 1e6
#: Each a thousand times the one before it.
_UNITS = ("bytes", "kB", "MB", "GB", "TB")
#: A percentage from here on would be rounded to 100.
_NOT_ALL, _ALL = 99.5, 100


def loss(value: float) -> str:
    """Three digits after the point below 100, otherwise three significant ones; `nan` and `inf` as such."""
    if not math.isfinite(value):
        return str(value)
    if value != 0 and abs(value) < _SMALLEST_LOSS:
        return f"{value:.1e}"
    return f"{value:.3f}" if abs(value) < _LARGEST_LOSS else short(value)


def change(before: float, after: float) -> str:
    return f"{loss(before)} -> {loss(after)}"


def count(value: int) -> str:
    return f"{value:,}"


def short(value: float) -> str:
    """Three significant digits, for rates, ratios and norms."""
    if math.isfinite(value) and _GROUPED_FROM <= abs(value) < _GROUPED_TO:
        return f"{float(f'{value:.3g}'):,.0f}"
    return f"{value:.3g}" if math.isfinite(value) else str(value)


def size(number_of_bytes: float) -> str:
    """In the unit that leaves one to three digits before the point: 512 bytes, 1.5 MB, 4 TB."""
    for unit in _UNITS[:-1]:
        if number_of_bytes < _GROUPED_FROM:
            return f"{number_of_bytes:.3g} {unit}"
        number_of_bytes /= _GROUPED_FROM
    return f"{short(number_of_bytes)} {_UNITS[-1]}"


def share(value: float) -> str:
    percent = 100 * value
    if _NOT_ALL <= percent < _ALL:
        return "over 99 %"  # "100 %" would say that nothing is left
    return f"{percent:.0f} %" if percent >= 1 or percent == 0 else f"{percent:.1g} %"


def names(items: Sequence[str], most: int = 2) -> str:
    """'a and b', 'a, b and 11 more'."""
    if len(items) > most:
        return f"{', '.join(items[:most])} and {len(items) - most} more"
    return " and ".join(items)


def plural(number: int, word: str) -> str:
    return f"{count(number)} {word}" if number == 1 else f"{count(number)} {word}s"


def is_or_are(number: int) -> str:
    return "is" if number == 1 else "are"


def was_or_were(number: int) -> str:
    return "was" if number == 1 else "were"


def with_article(word: str) -> str:
    return f"{'an' if word[:1].lower() in 'aeiou' else 'a'} {word}"
