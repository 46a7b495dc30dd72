"""`--trainhealth-history PATH...`: every run whose log is found there is a test, without a test file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ..histories.find import runs_in
from ..histories.unreadable import shown_path
from ..records.harmless import harmless
from ..settings import HISTORY_IS_HEALTHY, WrongSetting
from .items import request_for
from .run_check import report_outcome, run_check
from .stash import CHECK

FLAG = "--trainhealth-history"


def find_runs(given: Iterable[str], folder: Path) -> tuple[Path, ...]:
    """The logs at these paths. Raises `WrongSetting`, in one line, for one that is not there or holds none."""
    found: dict[Path, None] = {}
    for text in given:
        path = folder / Path(text).expanduser()
        if not path.exists():
            raise WrongSetting(f"{FLAG}: there is no {text}")
        runs = runs_in(path) if path.is_dir() else [path]
        if not runs:
            raise WrongSetting(f"{FLAG}: there is no log of a run in {text}. A file of any name can be given itself")
        found.update(dict.fromkeys(runs))
    return tuple(found)


def refuse_foreign_settings(config: pytest.Config, given: Iterable[str]) -> None:
    """Raises `pytest.UsageError` if pytest has taken its settings from beside a log that lies elsewhere.

    Before it knows our options, pytest takes these paths for tests, and looks for settings where they are. Whoever
    reads a log that somebody sent must not run what that somebody has put beside it.
    """
    ini, here = config.inipath, config.invocation_params.dir
    known = config.known_args_namespace
    if ini is None or known.inifilename or known.rootdir:
        return
    tests = [here, *((here / str(path).partition("::")[0]) for path in known.file_or_dir)]
    if any(path == ini.parent or ini.parent in path.resolve().parents for path in tests):
        return
    for text in given:
        path = (here / text).resolve()
        if ini.parent == path or ini.parent in path.parents:
            why = f"{ini} lies beside {text}, and pytest took it for the settings of this run"
            raise pytest.UsageError(harmless(f"{FLAG}: {why}. Write {FLAG}={text}, with an equals sign"))


class HistoryCollector(pytest.Collector):
    """On the same level as test files, so that its items are collected, counted and listed like theirs."""

    def __init__(self, *, runs: tuple[Path, ...], **kwargs: Any) -> None:
        super().__init__(name=FLAG, nodeid=FLAG, **kwargs)
        self.runs = runs

    def collect(self) -> Iterator[HistoryItem]:
        for run in self.runs:
            name = f"{harmless(shown_path(run))}[{HISTORY_IS_HEALTHY}]"
            yield HistoryItem.from_parent(self, name=name, nodeid=name, run=run)


class HistoryItem(pytest.Item):
    """The log of one run."""

    def __init__(self, *, run: Path, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.log = run
        self.stash[CHECK] = HISTORY_IS_HEALTHY

    def runtest(self) -> None:
        __tracebackhide__ = True
        request = request_for(self, HISTORY_IS_HEALTHY, keywords={})
        report_outcome(self, run_check(self.config, request, str(self.log), benchmark=None))

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Not the item's name: pytest would write `metrics::csv` with -v."""
        return self.log, None, f"{HISTORY_IS_HEALTHY}: {shown_path(self.log)}"
