"""One file that a run writes its results to, and that holds all of them at any moment: the run may be killed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from . import FileReport, GrowingReport, RunResults
from .growing_file import GrowingFile
from .target import write


class Outlet:
    def __init__(self, report: FileReport, file: Path, given: str) -> None:
        self._report = report
        self.file = file
        #: The option or the ini key that names the file.
        self.given = given
        self._growing: GrowingFile | None = None
        self._count = 0

    @property
    def remark(self) -> str:
        """What a user should know about the file that was written, in one line: a report may define `remark`."""
        remark = getattr(self._report, "remark", None)
        return remark() if remark is not None else ""

    def write(self, results: RunResults, *, last: bool) -> None:
        """The whole document. Raises `OSError` if it cannot."""
        self._growing = None
        text = self._report.text(replace(results, ended=last))
        write(self.file, text, last=last)
        if isinstance(self._report, GrowingReport) and not last:
            self._growing = GrowingFile.just_written(self.file, text, self._report.end(results))
            self._count = len(results.verdicts)

    def add(self, new: RunResults) -> bool:
        """Adds the verdicts, and says so; False if the document has to be written as a whole. Raises `OSError`.

        A file of n verdicts that is written anew after each of them takes time in proportion to n squared: 98 s for
        2,000 verdicts of 1.2 kB.
        """
        growing, self._growing = self._growing, None  # not known what a write that raises has left
        report = self._report
        if growing is None or not isinstance(report, GrowingReport):
            return False
        if not growing.add(report.added(new.verdicts, first=self._count == 0), report.end(new)):
            return False
        self._growing = growing
        self._count += len(new.verdicts)
        return True
