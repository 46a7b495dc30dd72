"""Every verdict in one file, for machines."""

from __future__ import annotations

import json

from ..records.verdict import SCHEMA_VERSION
from . import RunResults


def text(results: RunResults) -> str:
    return json.dumps({"version": SCHEMA_VERSION, **vars(results)}, indent=1) + "\n"
