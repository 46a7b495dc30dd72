"""What is seen of a long check while it runs: in a log, on a terminal, and from the workers of xdist."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from pytest_trainhealth.plugin.progress_line import LogLines, TerminalLine, WorkerNote
from pytest_trainhealth.plugin.progress_of_workers import WorkersProgress
from pytest_trainhealth.progress.standing import Standing

from .conftest import Project

LINE = "trainhealth: gradients_flow on test_it: closer look, step 12 of at most 200, loss 1.203, 40 s, up to 20 s left"
SLOW = """
    import pytest
    from pytest_trainhealth import Training

    @pytest.mark.gradients_flow
    def test_it(capfd):
        print("printed by the test")
        return Training(gradients_flow="slow")

    def test_other():
        pass
"""
STANDING = Standing("gradients_flow", "test_it", "", 12, 200, 1.2, 40.0, 20.0)


def test_a_log_gets_a_line_though_the_test_is_captured(project: Project) -> None:
    project.makepyfile(test_it=SLOW)
    result = project.runpytest("--trainhealth", "--junitxml=out.xml", "-o", "junit_logging=all")
    result.assert_outcomes(passed=2)
    assert LINE in result.outlines
    told = result.outlines.index(LINE)
    assert result.outlines[told - 1] == "test_it.py "
    assert result.outlines[told + 1] == "."  # as pytest goes on after lines of its own live log
    assert "closer look" not in (project.path / "out.xml").read_text()


@pytest.mark.parametrize("options", [("-q",), ("-p", "no:terminal")])
def test_quiet_is_quiet(project: Project, options: tuple[str, ...]) -> None:
    project.makepyfile(test_it=SLOW)
    assert "closer look" not in project.runpytest("--trainhealth", *options).stdout.str()


@pytest.mark.skipif(sys.platform == "win32", reason="it has no such terminals")
def test_a_terminal_has_it_under_the_current_line_and_nothing_in_the_end() -> None:
    master, slave = os.openpty()
    shown = TerminalLine(slave)
    shown.write("closer look")
    assert os.read(master, 100) == b"\x1bD\x1b7\r\x1b[2Kcloser look\x1b8\x1bM"
    shown.over()
    assert os.read(master, 100) == b"\x1bD\x1b7\r\x1b[2K\x1b8\x1bM"
    shown.over()  # nothing is there to be cleared
    os.close(master)
    shown.close()


class Written(LogLines):
    def __init__(self) -> None:
        self.lines: list[Standing] = []

    def write(self, standing: Standing) -> None:
        self.lines.append(standing)


def test_the_controller_reads_the_notes_of_its_workers() -> None:
    display = Written()
    progress = WorkersProgress(display)
    notes = [WorkerNote(progress.folder, worker) for worker in ("gw0", "gw1")]
    for seconds in (10.0, 40.0, 45.0, 71.0):
        notes[0].tell(STANDING._replace(seconds=seconds))
        progress._look()
    assert [standing.seconds for standing in display.lines] == [40.0, 71.0]
    notes[1].tell(STANDING._replace(seconds=50.0, check="overfits_one_batch"))
    notes[0].over()
    (progress.folder / "gw2").write_text("{half of it")
    progress._look()
    assert [standing.check for standing in display.lines[2:]] == ["overfits_one_batch"]
    progress.pytest_sessionfinish()
    assert not progress.folder.exists()


def test_a_worker_of_another_machine_has_no_such_folder(tmp_path: Path) -> None:
    note = WorkerNote(tmp_path / "not here" / "notes", "gw0")
    with pytest.raises(OSError, match="not here"):
        note.tell(STANDING)
