"""How an item ends when a check did not pass. Exceptions hold words and floats, never tensors."""

from __future__ import annotations

import pytest

from .facts import Verdict

NOT_ENFORCED = "training health is not enforced: run pytest --trainhealth"


class Unhealthy(pytest.fail.Exception):
    """A check failed. The text is the whole story, so no traceback is shown beside it."""

    def __init__(self, verdict: Verdict, text: str) -> None:
        super().__init__(text, pytrace=False)
        self.verdict = verdict


class NotJudged(pytest.skip.Exception):
    """A check could not judge, or was not asked to: never a silent pass."""
