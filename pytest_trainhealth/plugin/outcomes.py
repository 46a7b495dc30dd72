"""How an item ends when a check did not pass. Exceptions hold words and floats, never tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ..records.verdict import Verdict

if TYPE_CHECKING:  # mypy knows these classes by no public name
    from _pytest.outcomes import Failed, Skipped
else:
    Failed, Skipped = pytest.fail.Exception, pytest.skip.Exception

NOT_ENFORCED = "training health is not enforced: run pytest --trainhealth"


class Unhealthy(Failed):
    """A check failed. The text is the whole story, so no traceback is shown beside it."""

    def __init__(self, verdict: Verdict, text: str) -> None:
        super().__init__(text, pytrace=False)
        self.verdict = verdict


class NotJudged(Skipped):
    """A check could not judge, or was not asked to: never a silent pass."""
