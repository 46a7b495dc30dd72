"""What a page shows, run as a reader would: files are written, commands typed, outputs held against the real ones.

A fenced block with a caption is a file; a `console` block is commands after `$` with what they print, where a line
`...` stands for any number of lines; any other `python` block is executed, and those of one page share their names.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_FENCE = re.compile(r"^(?P<fence>`{3,})(?P<what>[^`]*)$")
_CODE = re.compile(r"(?:\{code-block\}\s*)?(?P<language>[\w-]*)\s*")
_OPTION = re.compile(r"^:(?P<name>[\w-]+):\s*(?P<value>.*)$")
#: 2.303, 1e-3, 1,290; but how many tests passed or failed has to be right.
_NUMBER = re.compile(r"(?<![\w.])-?\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?(?![\w,]*\d)(?! passed| failed| skipped| items?)")
_BAR = re.compile(r"([=_-])\1{3,}")


@dataclass(frozen=True)
class Block:
    line: int
    language: str
    caption: str
    text: str


@dataclass(frozen=True)
class Command:
    words: str
    output: tuple[str, ...]


def blocks(page: Path) -> Iterator[Block]:
    lines = page.read_text(encoding="utf-8").splitlines()
    at = 0
    while at < len(lines):
        opened = _FENCE.match(lines[at].strip())
        at += 1
        if opened is None:
            continue
        start, inside = at, []
        while lines[at].strip() != opened["fence"]:
            inside.append(lines[at])
            at += 1
        at += 1
        options = {}
        while inside and (option := _OPTION.match(inside[0].strip())):
            options[option["name"]] = option["value"]
            inside.pop(0)
        text = textwrap.dedent("\n".join(inside)).strip("\n") + "\n"
        code = _CODE.fullmatch(opened["what"])
        if code is None:  # a toctree, an included file
            continue
        yield Block(start, code["language"], options.get("caption", ""), text)


def commands(block: Block) -> Iterator[Command]:
    words, output = None, []
    for line in block.text.splitlines():
        if line.startswith("$ "):
            if words is not None:
                yield Command(words, tuple(output))
            words, output = line.removeprefix("$ "), []
        else:
            output.append(line)
    if words is not None:
        yield Command(words, tuple(output))


def plain(line: str) -> str:
    """Without what differs from one run to the next: numbers, widths of columns and bars."""
    return " ".join(_BAR.sub(r"\1\1\1", _NUMBER.sub("#", line)).split())


def missing(shown: tuple[str, ...], real: list[str]) -> str | None:
    """The first part shown, between lines `...`, that does not come in its turn; None when all do.

    Words rather than lines are compared: a number of another length may break a line elsewhere.
    """
    there, at = " ".join(filter(None, map(plain, real))), 0
    for part in "\n".join(shown).split("\n...\n") if shown else ():
        words = " ".join(filter(None, (plain(line) for line in part.splitlines() if line != "...")))
        found = there.find(words, at)
        if found < 0:
            return words
        at = found + len(words)
    return None
