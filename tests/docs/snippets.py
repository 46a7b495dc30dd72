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

_FENCE = re.compile(r"^(?P<fence>`{3,})(?:\{code-block\}\s*)?(?P<language>[\w-]*)\s*$")
_OPTION = re.compile(r"^:(?P<name>[\w-]+):\s*(?P<value>.*)$")
#: 2.303, 1e-3, 1,290, 0.4 s, 12 %
_NUMBER = re.compile(r"(?<![\w.])-?\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?\b|\bnan\b|\binf\b")
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
        yield Block(start, opened["language"], options.get("caption", ""), text)


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
    """The first line shown that does not come in its turn, or None."""
    there = [plain(line) for line in real]
    at, anywhere = 0, True
    for line in map(plain, shown):
        if line == "...":
            anywhere = True
            continue
        places = range(at, len(there) if anywhere else min(at + 1, len(there)))
        found = next((n for n in places if there[n] == line), None)
        if found is None:
            return line
        at, anywhere = found + 1, False
    return None
