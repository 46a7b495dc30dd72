"""What goes into a test's report: its verdicts, and a headline that fits every outlet."""

from __future__ import annotations

import os
from typing import Any

import pytest

from ..records.harmless import harmless
from ..reports.text import headline
from .items import test_of
from .junit_properties import junit_properties
from .outcomes import NotJudged, Unhealthy
from .stash import SILENCINGS, UNENFORCED, VERDICTS


def attach_to_report(
    report: pytest.TestReport, item: pytest.Item, error: BaseException | None, unenforced: int
) -> None:
    """Puts the verdicts on the report, because xdist sends reports from workers to the controller anyway.

    Uses builtin types only: anything else in a report would crash an xdist worker.
    """
    verdicts = item.stash.get(VERDICTS, [])
    item.user_properties.extend(junit_properties(verdicts))
    report.trainhealth = {  # type: ignore[attr-defined]
        "test": harmless(test_of(item)[0]),
        "place": _own_place(item),
        "verdicts": [verdict.to_json() for verdict in verdicts],
        #: Which of them the report's text is the chart of.
        "charted": verdicts.index(error.verdict) if isinstance(error, Unhealthy) else None,
        "unenforced": unenforced + item.stash.get(UNENFORCED, 0),
        "raised": _raised(report, error),
        "silencings": [list(each) for each in item.stash.get(SILENCINGS, [])],
    }
    _encodable(report)
    item.stash[VERDICTS] = []
    item.stash[UNENFORCED] = 0
    if isinstance(error, pytest.fail.Exception) and not error.pytrace:
        # pytest adds that all entries of the traceback are hidden, and how to see them: there is nothing in them to see
        traceback: Any = getattr(report.longrepr, "reprtraceback", None)
        if getattr(traceback, "extraline", None) is not None:
            traceback.extraline = None
    if isinstance(error, Unhealthy):
        # Short summary, JUnit and annotations show this message, which would otherwise be the whole chart. `reprcrash`
        # is not public in pytest: without it, those outlets are longer than they need to be, and nothing worse.
        crash = getattr(report.longrepr, "reprcrash", None)
        if crash is not None:
            crash.message = headline(error.verdict)
            crash.path, crash.lineno = _in_the_test(item, crash.path, crash.lineno)
    elif isinstance(error, NotJudged) and isinstance(report.longrepr, tuple):
        path, line, _ = report.longrepr
        report.longrepr = (*_in_the_test(item, path, line), f"Skipped: {error.msg}")


def _raised(report: pytest.TestReport, error: BaseException | None) -> str:
    """The exception in one line; empty if the test did not raise, or only what says its verdict."""
    if error is None or not report.failed or isinstance(error, (Unhealthy, NotJudged)):
        return ""
    message = harmless(" ".join(str(error).split()))
    return message if isinstance(error, pytest.fail.Exception) else f"{type(error).__name__}: {message}"


def _encodable(report: pytest.TestReport) -> None:
    """Without lone surrogates, on which a worker of xdist would end: a user's exception may hold some."""
    text = report.longreprtext
    if not text.isascii() and text != (shown := text.encode("utf-8", "backslashreplace").decode()):
        report.longrepr = shown


def _own_place(item: pytest.Item) -> dict[str, Any] | None:
    """Where the test itself stands, told from the working directory, as all places are."""
    path, line, _ = item.reportinfo()
    if line is None:
        return None
    shown = os.path.relpath(path)
    return {"file": harmless(str(path) if shown.startswith("..") else shown), "line": line + 1}


def _in_the_test(item: pytest.Item, path: str, line: int) -> tuple[str, int]:
    """A line of the test's file: where it calls the fixture, or its first line. A line of ours would help nobody."""
    test_path, test_line, _ = item.reportinfo()
    if test_line is None or str(test_path) == path:
        return path, line
    return str(test_path), test_line + 1
