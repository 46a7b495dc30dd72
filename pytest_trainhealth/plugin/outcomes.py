"""How an item ends if its check did not pass. Exceptions hold strings and floats, never tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ..records.harmless import harmless
from ..records.verdict import Verdict

if TYPE_CHECKING:  # mypy cannot use the public names of these classes
    from _pytest.outcomes import Failed, Skipped
else:
    Failed, Skipped = pytest.fail.Exception, pytest.skip.Exception

NOT_ENFORCED = "training health is not enforced: run pytest --trainhealth"

#: How the reason begins where a test has neither trained nor handed in a training.
NOTHING_TO_CHECK = "nothing to check"


class Unhealthy(Failed):
    """A check failed. The text says everything, so there is no traceback."""

    def __init__(self, verdict: Verdict, text: str) -> None:
        super().__init__(text, pytrace=False)
        self.verdict = verdict


class NotJudged(Skipped):
    """A check could not judge, or was not enforced. The item is skipped, because it must never pass silently."""


class NotApplicable(NotJudged):
    """The check is one of the battery only for other trainings: it is neither shown nor counted."""

    #: What pytest's report of such an item is told by, without importing this module.
    trainhealth_absent = True


def misused(error: Exception) -> Failed:
    """For a test that asks for something impossible: one line, without a traceback."""
    return Failed(harmless(str(error)), pytrace=False)
