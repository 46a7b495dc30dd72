"""What was measured is kept in a small file, line by line, and not measured again after an interruption.

A line belongs to one training, known by its fingerprint: another training, other code, another machine or version make
another one. Lines that cannot be read are left alone, and a file that cannot be written is no reason to stop.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ..records.advice import PairOfRuns, TimedRun


class KeptPairs:
    """`file`: None keeps nothing beyond this process."""

    def __init__(self, file: Path | None, fingerprint: str) -> None:
        self._file, self._fingerprint = file, fingerprint
        self._pairs = {} if file is None else _read(file, fingerprint)
        #: How many pairs are from an earlier session.
        self.found = len(self._pairs)
        self.trouble = ""

    def get(self, change: str, seed: int) -> PairOfRuns | None:
        return self._pairs.get((change, seed))

    def add(self, change: str, pair: PairOfRuns) -> None:
        self._pairs[change, pair.seed] = pair
        if self._file is None or self.trouble:
            return
        line = json.dumps({"training": self._fingerprint, "change": change, **asdict(pair)})
        try:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            with self._file.open("a", encoding="utf-8") as file:  # one write: workers of xdist append to the same file
                file.write(f"{line}\n")
        except OSError as error:
            self.trouble = f"{self._file.name} cannot be written ({error.strerror or error}): nothing is kept"


def _read(file: Path, fingerprint: str) -> dict[tuple[str, int], PairOfRuns]:
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return {}
    found = {}
    for line in lines:
        try:
            data = json.loads(line)
            if data["training"] == fingerprint:
                found[data["change"], data["seed"]] = _pair(data)
        except (ValueError, KeyError, TypeError):  # the last line of a run that was killed is cut
            continue
    return found


def _pair(data: dict[str, Any]) -> PairOfRuns:
    sides = [TimedRun(**{**data[side], "losses": tuple(data[side]["losses"])}) for side in ("unchanged", "changed")]
    return PairOfRuns(data["seed"], *sides)
