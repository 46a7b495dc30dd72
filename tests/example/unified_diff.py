"""Applies the patches of the example without git, so that these tests run wherever Python does."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

_HUNK = re.compile(r"@@ -(\d+)(?:,\d+)? \+\d+(?:,\d+)? @@")


def apply_patch(patch: Path, root: Path) -> None:
    """Strict: every context line has to be where the patch says, or it is a ValueError."""
    for name, hunks in _files(patch.read_text(encoding="utf-8")):
        path = root / name
        old = path.read_text(encoding="utf-8").splitlines()
        new: list[str] = []
        position = 0
        for start, lines in hunks:
            new += old[position : start - 1]
            position = start - 1
            for line in lines:
                kind, text = line[:1], line[1:]
                if kind != "+":
                    if old[position : position + 1] != [text]:
                        raise ValueError(f"{patch.name} does not fit {name}, line {position + 1}: {text!r} expected")
                    position += 1
                if kind != "-":
                    new.append(text)
        path.write_text("\n".join(new + old[position:]) + "\n", encoding="utf-8")


def _files(text: str) -> Iterator[tuple[str, list[tuple[int, list[str]]]]]:
    """The names of the files with their hunks; whatever stands before the first one is for people."""
    for part in re.split(r"^--- a/.*\n", text, flags=re.MULTILINE)[1:]:
        name, *lines = part.splitlines()
        hunks: list[tuple[int, list[str]]] = []
        for line in lines:
            if header := _HUNK.match(line):
                hunks.append((int(header[1]), []))
            else:
                hunks[-1][1].append(line or " ")  # editors strip the blank of an empty context line
        yield name.removeprefix("+++ b/"), hunks
