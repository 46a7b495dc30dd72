"""The result of one case with one seed, and the file of all results: one line each, so that a diff shows changes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

FILE = Path(__file__).parents[3] / "docs" / "scoreboard.json"


@dataclass(frozen=True)
class Result:
    """What our diagnosis says. `case` is the id of a case; the truth about it is in the corpus, not here."""

    case: str
    seed: int
    failed: tuple[str, ...] = ()
    #: Cause and certainty, best first.
    findings: tuple[tuple[str, str], ...] = ()
    #: Checks that could not judge.
    unjudged: tuple[str, ...] = ()
    #: Why there is no verdict: the program raised, hung or killed its process.
    error: str = ""
    seconds: float = 0.0
    #: Processor seconds of the diagnosis, and of the bare loop over as many steps as the longest check took.
    cpu: float = 0.0
    bare: float = 0.0
    steps: int = 0

    @property
    def alarm(self) -> bool:
        """The user sees a red test."""
        return bool(self.failed or self.error)

    def to_json(self) -> dict[str, Any]:
        return {key: value for key, value in asdict(self).items() if value or key == "seed"}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Result:
        findings = tuple((cause, certainty) for cause, certainty in data.get("findings", ()))
        lists = {key: tuple(data.get(key, ())) for key in ("failed", "unjudged")}
        return cls(**{**data, **lists, "findings": findings})


def in_short(error: BaseException | str) -> str:
    """The first line of an error, without paths of this machine."""
    text = error if isinstance(error, str) else f"{type(error).__name__}: {error}"
    return re.sub(r"(?<![\w.])/[\w./-]+/", "", text.strip().split("\n")[0])[:160]


def load(file: Path = FILE) -> dict[str, Any]:
    return json.loads(file.read_text()) if file.exists() else {}


def save(sections: dict[str, Any], file: Path = FILE) -> None:
    """Writes lists with one element a line, and everything else as usual."""
    parts = []
    for key, value in sections.items():
        if isinstance(value, list):
            lines = ",\n".join(f"  {json.dumps(each)}" for each in value)
            parts.append(f"{json.dumps(key)}: [\n{lines}\n]")
        else:
            parts.append(f"{json.dumps(key)}: {json.dumps(value)}")
    file.write_text("{\n" + ",\n".join(parts) + "\n}\n")


def merged(old: Iterable[Result], new: Iterable[Result], known: Iterable[str]) -> list[Result]:
    """New results replace old ones of the same case and seed; results of cases that no longer exist are dropped."""
    kept = {(result.case, result.seed): result for result in (*old, *new)}
    order = {case: index for index, case in enumerate(known)}
    return sorted((r for r in kept.values() if r.case in order), key=lambda r: (order[r.case], r.seed))
