"""Collects the verdicts of all reports on the controller, for the summary and for files."""

from __future__ import annotations

from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

if TYPE_CHECKING:
    from ..reports import FileReport


class CheckedItem(NamedTuple):
    """One verdict, as it arrived with its report."""

    nodeid: str
    test: str
    verdict: dict[str, Any]
    #: The test was expected to fail, so the run is not red because of it.
    xfailed: bool


class SessionResults:
    """A plugin object on the controller: it sees every report exactly once, wherever the test ran."""

    def __init__(self) -> None:
        self._checked: dict[str, list[CheckedItem]] = {}
        self._unenforced: dict[str, int] = {}
        self._files: list[tuple[FileReport, Path]] = []

    @property
    def checked(self) -> list[CheckedItem]:
        return [checked for of_item in self._checked.values() for checked in of_item]

    @property
    def unenforced(self) -> int:
        return sum(self._unenforced.values())

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "setup":  # it may be a second attempt, and then the verdicts of the first do not count
            self._checked.pop(report.nodeid, None)
        brought = getattr(report, "trainhealth", None)
        if brought is None:
            return
        self._unenforced[report.nodeid] = brought["unenforced"]
        if brought["verdicts"]:
            xfailed = hasattr(report, "wasxfail")
            new = [CheckedItem(report.nodeid, brought["test"], verdict, xfailed) for verdict in brought["verdicts"]]
            self._checked.setdefault(report.nodeid, []).extend(new)
            with suppress(OSError):  # a full disk must not end the run; the last write reports it
                self._write(complete=False, interrupted=False)

    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        ended = exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.NO_TESTS_COLLECTED)
        stopped = bool(session.shouldstop or session.shouldfail)
        self._write(complete=ended and not stopped, interrupted=exitstatus == pytest.ExitCode.INTERRUPTED)

    def write_to(self, file: Path, report: str) -> None:
        """Writes every verdict from now on, with this module of `reports/`. Raises `OSError` if it cannot write."""
        from ..reports import file_report

        outlet = file_report(report)
        outlet.write(file, [], complete=False, interrupted=False)
        self._files.append((outlet, file))

    def _write(self, *, complete: bool, interrupted: bool) -> None:
        verdicts = [{"nodeid": e.nodeid, **e.verdict} for e in self.checked]
        with ExitStack() as every:  # if one file cannot be written, the others still are
            for outlet, file in self._files:
                every.callback(outlet.write, file, verdicts, complete=complete, interrupted=interrupted)
