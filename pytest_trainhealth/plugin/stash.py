"""Everything the plugin keeps on pytest's own objects, with types, in one place."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections import Counter
    from pathlib import Path

    from ..records.verdict import Verdict
    from .factory_items import Factory
    from .options import Options
    from .progress_line import LogLines, TerminalLine, WorkerNote
    from .session_results import SessionResults
    from .silencing import KnownFindings

#: On the config: the settings of this run and, on the controller, the results that reports have brought in.
OPTIONS: pytest.StashKey[Options] = pytest.StashKey()
RESULTS: pytest.StashKey[SessionResults] = pytest.StashKey()
#: On the config: the factory that --trainhealth-training names.
FACTORY: pytest.StashKey[Factory] = pytest.StashKey()
#: On the config: the logs that --trainhealth-history has found.
RUNS: pytest.StashKey[tuple[Path, ...]] = pytest.StashKey()
#: On the config: what shows how far a check has come.
SHOW: pytest.StashKey[TerminalLine | LogLines | WorkerNote] = pytest.StashKey()
#: On the config: the columns of the terminal, where there is one.
WIDTH: pytest.StashKey[int] = pytest.StashKey()
#: On the config: whether the item that is being set up is going to be judged.
SEEDS_FIXTURES: pytest.StashKey[bool] = pytest.StashKey()
#: On the config: the findings that --trainhealth-known names.
KNOWN_FINDINGS: pytest.StashKey[KnownFindings] = pytest.StashKey()
#: On an item: what was accepted in its checks: name, reason, where that was said, and for which test (empty: for all).
SILENCINGS: pytest.StashKey[list[tuple[str, str, str, str]]] = pytest.StashKey()
#: On an item: its check, if that is not a parameter.
CHECK: pytest.StashKey[str] = pytest.StashKey()
#: On an item: its check is one of the battery only where the training has `val_data`.
IF_VAL_DATA: pytest.StashKey[bool] = pytest.StashKey()
#: On the config: by test, whether its training has `val_data`, as far as a check has seen it.
VAL_DATA: pytest.StashKey[dict[str, bool]] = pytest.StashKey()
#: On an item: how many times each check was requested: the fixture may ask for several trainings.
CALLS: pytest.StashKey[Counter[str]] = pytest.StashKey()
#: On an item: verdicts, and the number of checks not enforced, that no report has picked up yet.
VERDICTS: pytest.StashKey[list[Verdict]] = pytest.StashKey()
UNENFORCED: pytest.StashKey[int] = pytest.StashKey()
#: On an item: it has returned a `Training`, and no marker says what to check.
UNMARKED: pytest.StashKey[bool] = pytest.StashKey()
#: On an item: its training was given advice.
ADVISED: pytest.StashKey[bool] = pytest.StashKey()
