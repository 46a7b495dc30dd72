"""Which options a side's own pytest gets: those that the test needs, and none that write or leave out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pytest_trainhealth.revisions import child_process, revision
from pytest_trainhealth.revisions.import_paths import Folders
from pytest_trainhealth.revisions.test_locator import of_test

OPTIONS = '-m "not slow" --junitxml=report.xml --basetemp=files --import-mode=importlib -k nothing'
INI = f"[pytest]\naddopts = {OPTIONS}\nmarkers = slow\nlog_file = log.txt\ntrainhealth_json = verdicts.json\n"
TOML = f"[tool.pytest.ini_options]\naddopts = '''{OPTIONS}'''\nmarkers = ['slow']\ntrainhealth_json = 'verdicts.json'\n"


@pytest.mark.parametrize(("name", "text"), [("pytest.ini", INI), ("pyproject.toml", TOML)])
def test_what_a_project_does_in_every_run_is_not_for_a_side(
    pytester: pytest.Pytester, tmp_path: Path, name: str, text: str
) -> None:
    (pytester.path / name).write_text(text)
    pytester.makepyfile(test_a="import pytest\n\n@pytest.mark.slow\ndef test_a(tmp_path, caplog): pass\n")
    asked = of_test(pytester.parseconfig("-m", "slow"), "test_a.py::test_a")
    order = asked.order(Folders(pytester.path, pytester.path), tmp_path / "cache-0")
    assert "--import-mode=importlib" in order["arguments"]
    pytester.runpytest_subprocess(*order["arguments"], order["target"]).assert_outcomes(passed=1)
    written = {file.name for file in pytester.path.iterdir()}
    assert not written & {"report.xml", "files", "log.txt", "verdicts.json", ".pytest_cache"}
    assert (tmp_path / "cache-0-files").is_dir()
    assert (tmp_path / "cache-0").is_dir()


def test_options_of_the_environment_are_not_for_a_side(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: dict[str, Any] = {}

    def started(*_: object, **named: Any) -> None:
        seen.update(named["env"])
        raise OSError("no more processes")

    monkeypatch.setenv("PYTEST_ADDOPTS", "--junitxml=report.xml")
    monkeypatch.setattr(child_process.subprocess, "Popen", started)
    with pytest.raises(OSError, match="no more processes"):
        revision.Revision("here", {}, 0.0)
    assert seen["PYTEST_ADDOPTS"] == ""
    assert "PATH" in seen
