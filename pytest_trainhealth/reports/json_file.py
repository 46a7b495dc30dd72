"""Every verdict in one file, for machines: whole and readable at any moment of the run."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..records.verdict import SCHEMA_VERSION


def write(path: Path, verdicts: Sequence[dict[str, Any]], *, complete: bool, interrupted: bool) -> None:
    """Under another name first: a reader, or a run that is killed, never sees half a file."""
    content = {"version": SCHEMA_VERSION, "complete": complete, "interrupted": interrupted, "verdicts": verdicts}
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        unfinished.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)
