"""Collects the verdicts of all reports on the controller, for the summary and for files."""

from __future__ import annotations

import traceback
from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from .stash import OPTIONS

if TYPE_CHECKING:
    from ..reports import RunResults
    from ..reports.outlet import Outlet
    from .failure_texts import FailureTexts


class CheckedItem(NamedTuple):
    """One verdict, as it arrived with its report."""

    nodeid: str
    test: str
    verdict: dict[str, Any]
    #: The test was expected to fail, so the run is not red because of it.
    xfailed: bool
    #: File and line of the test.
    place: dict[str, Any] | None = None


class SessionResults:
    """A plugin object on the controller: it sees every report exactly once, wherever the test ran."""

    def __init__(self, *, enforced: bool) -> None:
        #: Otherwise nothing is judged, and nothing that costs time is done either.
        self._enforced = enforced
        self._checked: dict[str, list[CheckedItem]] = {}
        self._unenforced: dict[str, int] = {}
        self._errors: dict[str, dict[str, str]] = {}
        self._outlets: list[Outlet] = []
        #: Node ids: selected tests that have no outcome yet, and those that have one.
        self._awaited: set[str] = set()
        self._finished: set[str] = set()
        self._collected_all = True
        #: Set in the end: nothing was cut short.
        self.complete = False
        #: Files may hold what no longer counts.
        self._withdrawn = False
        self._interrupted = False
        self._complete = False
        #: What was accepted: name, reason, where that was said, for which test.
        self.offered: list[tuple[str, str, str, str]] = []
        #: What pytest prints of the failures, while it does.
        self.texts: FailureTexts | None = None
        #: One line for everything that went wrong with the results themselves.
        self.troubles: list[str] = []
        #: What a user should know about the files that were written, in one line each.
        self.remarks: list[str] = []

    @property
    def checked(self) -> list[CheckedItem]:
        return [checked for of_item in self._checked.values() for checked in of_item]

    @property
    def errors(self) -> list[dict[str, str]]:
        return list(self._errors.values())

    @property
    def asked_for_nothing(self) -> bool:
        """A whole run, with nothing wrong, in which no test asked for a check."""
        return self.complete and not (self._checked or self._errors or self._unenforced or self.troubles)

    @property
    def unenforced(self) -> int:
        return sum(self._unenforced.values())

    def write_to(self, file: Path, report: str, given: str) -> None:
        """Writes every verdict from now on, with this module of `reports/`. Raises `OSError` if it cannot write."""
        from ..reports import file_report
        from ..reports.outlet import Outlet

        outlet = Outlet(file_report(report), file, given)
        outlet.write(self._results([], complete=False), last=False)
        self._outlets.append(outlet)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self._collected_all = False

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        if self._enforced:
            self._awaited.update(item.nodeid for item in session.items)

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: list[str]) -> None:
        """For xdist, whose controller collects nothing itself. A worker that replaces another collects once more."""
        if self._enforced:
            self._awaited.update(set(ids) - self._finished)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """First, because the terminal's may raise: it is a pipe that somebody has closed, say."""
        if report.when == "setup":  # it may be a second attempt, and then the results of the first do not count
            self._withdrawn |= bool(self._checked.pop(report.nodeid, None))
            self._withdrawn |= bool(self._errors.pop(report.nodeid, None))
        brought = getattr(report, "trainhealth", None)
        died = report.when not in ("setup", "call", "teardown")  # xdist reports a test whose worker is gone
        if self._enforced and (report.when == "teardown" or died):
            self._awaited.discard(report.nodeid)
            self._finished.add(report.nodeid)
        if died and self._enforced:
            self._note_error(report.nodeid, "worker died", " ".join(str(report.longrepr).split()))
        if brought is None and not died:
            return
        new = [] if brought is None else self._take(report, brought)
        if self._outlets:
            self._add(new)

    def _take(self, report: pytest.TestReport, brought: dict[str, Any]) -> list[CheckedItem]:
        from ..records.harmless import harmless

        self._unenforced[report.nodeid] = brought["unenforced"]
        xfailed, nodeid = hasattr(report, "wasxfail"), harmless(report.nodeid)
        test, place = brought["test"], brought.get("place")
        new = [CheckedItem(nodeid, test, verdict, xfailed, place) for verdict in brought["verdicts"]]
        if new:
            self._checked.setdefault(report.nodeid, []).extend(new)
        self.offered += [tuple(each) for each in brought.get("silencings", ())]
        if brought["raised"]:
            self._note_error(report.nodeid, "raised", brought["raised"])
        return new

    def _note_error(self, nodeid: str, outcome: str, message: str) -> None:
        from ..records.harmless import harmless

        if nodeid not in self._errors:  # what comes later, in the teardown say, often follows from the first
            self._errors[nodeid] = {"nodeid": harmless(nodeid), "outcome": outcome, "message": harmless(message)}

    @pytest.hookimpl(tryfirst=True)
    def pytest_keyboard_interrupt(self) -> None:
        """Noted here: if Ctrl-C is pressed once more, pytest does not get to saying so in its exit status."""
        self._interrupted = True

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """First, because other plugins' may raise. Never raises itself: failures and summary are still to be shown."""
        self._interrupted |= exitstatus == pytest.ExitCode.INTERRUPTED
        ended = exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.NO_TESTS_COLLECTED)
        complete = self._complete = ended and not self._interrupted and self._collected_all and not self._awaited
        if self._awaited and exitstatus == pytest.ExitCode.OK and not self._interrupted:
            from ..wording import plural

            # xdist ends like this, green, when a worker cannot send a report
            self.troubles.append(f"--trainhealth: {plural(len(self._awaited), 'selected test')} without an outcome")
        self.complete = complete
        if self._outlets:
            self.troubles += self._write(complete=complete, last=True)
            self.remarks += [f"{each.given}: {each.remark}" for each in self._outlets if each.remark]
        self._add_known(session)
        self._not_green(session)

    def _add_known(self, session: pytest.Session) -> None:
        """What fails now is known from the next run on. This one shows all of it, and fails, once more."""
        if not self._enforced or not session.config.stash[OPTIONS]["known_add"]:
            return
        from .silencing import add_known

        try:
            self.remarks.append(add_known(session.config, self.checked))
        except OSError as error:
            self.troubles.append(f"--trainhealth-known-add: {error.strerror or error}")

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> Generator[None, object, object]:
        """Around pytest's own, which prints the failures first of all."""
        if not self._checked:
            return (yield)
        from .failure_texts import FailureTexts

        self.texts = FailureTexts(terminalreporter)
        with self.texts.shown():
            return (yield)

    def note_failed_plugin(self, session: pytest.Session, error: OSError) -> None:
        """Another plugin could not write its report when the run ended; or pytest could not, its JUnit file say."""
        modules = [str(frame.f_globals.get("__name__")) for frame, _ in traceback.walk_tb(error.__traceback__)]
        not_theirs = ("pluggy", __name__.partition(".")[0])
        whose = next((name for name in modules if name.partition(".")[0] not in not_theirs), "a plugin")
        self.note_trouble(session, f"{whose} did not finish: {' '.join(f'{type(error).__name__}: {error}'.split())}")

    def note_trouble(self, session: pytest.Session, line: str) -> None:
        """A line at the end of the summary, and a run that is not green."""
        self.troubles.append(line)
        self._not_green(session)

    def so_far(self) -> RunResults:
        """All that there is, as files get it."""
        return self._results(self.checked, complete=self._complete)

    def _not_green(self, session: pytest.Session) -> None:
        if self.troubles and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def _results(self, checked: list[CheckedItem], *, complete: bool) -> RunResults:
        from ..reports import RunResults

        verdicts = [{"nodeid": e.nodeid, "place": e.place, "expected": e.xfailed, **e.verdict} for e in checked]
        return RunResults(complete, self._interrupted, verdicts, list(self._errors.values()))

    def _add(self, new: list[CheckedItem]) -> None:
        """Files that cannot be added to are written as a whole, and what fails now is told if it fails in the end."""
        if self._withdrawn or self._interrupted:
            self._withdrawn = bool(self._write(complete=False, last=False))
            return
        for outlet in self._outlets:
            try:
                added = outlet.add(self._results(new, complete=False))
            except Exception:
                continue
            if not added:
                self._write_one(outlet, complete=False, last=False)

    def _write(self, *, complete: bool, last: bool) -> list[str]:
        """What could not be written, in one line each; the next write may succeed, and the last one counts."""
        troubles = [self._write_one(outlet, complete=complete, last=last) for outlet in self._outlets]
        return [line for line in troubles if line is not None]

    def _write_one(self, outlet: Outlet, *, complete: bool, last: bool) -> str | None:
        try:
            outlet.write(self._results(self.checked, complete=complete), last=last)
        except Exception as error:
            reason = getattr(error, "strerror", None) or f"{type(error).__name__}: {error}"
            return f"{outlet.given}: cannot write {outlet.file}: {' '.join(str(reason).split())}"
        return None
