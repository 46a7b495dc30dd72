"""Finds pages by what they are about: for those who know what they see and not what it is called.

Plain counting of words: a word that few pages use says more than one that all use, and one in a name or a title says
more than one in the text. No stemmer: two words are alike if one begins with the other.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

#: By judgement: fewer letters are "is", "the", "lr" (which is kept, for it is a word here) and endings.
_SHORTEST = 3
_KEPT = frozenset({"lr", "ce", "nn", "bn", "rl", "gan", "nan", "inf"})
_EMPTY = frozenset(
    {
        *("but", "does", "how", "into", "its", "what", "when", "why"),
        "the",
        "and",
        "for",
        "not",
        "that",
        "this",
        "with",
        "from",
        "are",
        "was",
        "has",
        "have",
    }
)
#: How much more a word counts in a name or a title than in the text. By judgement: the title is what a page is about.
_IN_TITLE = 4.0
#: The best have to have this share of what the query could score at most. By judgement: a single common word in the
#: text of a page is below it, one word of two in a title is above.
_ENOUGH = 0.3


class Page(NamedTuple):
    title: str
    text: str


def by_meaning(query: str, pages: Mapping[str, Page], most: int = 5) -> list[str]:
    """The names of the pages that the words of the query fit best; none if none fits."""
    wanted = words(query)
    if not wanted:
        return []
    titles = {name: words(f"{name} {page.title}") for name, page in pages.items()}
    texts = {name: words(page.text) for name, page in pages.items()}
    rarity = {
        word: math.log(1 + len(pages) / (1 + sum(_among(word, [*titles[n], *texts[n]]) for n in pages)))
        for word in wanted
    }
    possible = sum(rarity.values()) * (_IN_TITLE + 1)
    scored = {
        name: sum(
            rarity[word] * (_IN_TITLE * _among(word, titles[name]) + _among(word, texts[name])) for word in wanted
        )
        for name in pages
    }
    best = sorted((name for name in pages if scored[name] > 0), key=lambda name: -scored[name])
    return [name for name in best if scored[name] >= _ENOUGH * possible][:most]


def words(text: str) -> list[str]:
    found = dict.fromkeys(re.findall(r"[a-z0-9]+", text.lower()))
    return [word for word in found if word in _KEPT or (len(word) >= _SHORTEST and word not in _EMPTY)]


def _among(word: str, others: Sequence[str]) -> bool:
    """'gradients' is 'gradient', 'frozen' is not 'froze': endings differ, stems rarely do."""
    return any(
        other == word or (min(len(word), len(other)) > _SHORTEST and (other.startswith(word) or word.startswith(other)))
        for other in others
    )
