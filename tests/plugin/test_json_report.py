"""`--trainhealth-json`: every verdict, in a file that is whole at any moment."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time

import pytest

from pytest_trainhealth.records.verdict import Verdict

from .conftest import Project, ReadJson

BATTERY = """
    import pytest
    from pytest_trainhealth import Training

    @pytest.mark.trainhealth
    def test_it():
        return Training(gradients_flow="failed", trains_without_nan="could not judge")
"""


@pytest.mark.parametrize("options", [(), ("-n2",)])
def test_all_verdicts_with_and_without_xdist(project: Project, read_json: ReadJson, options: tuple[str, ...]) -> None:
    project.makepyfile(test_it=BATTERY)
    project.runpytest("--trainhealth", "--trainhealth-json=out.json", *options)
    document = read_json()
    verdicts = {verdict.pop("nodeid"): Verdict.from_json(verdict) for verdict in document["verdicts"]}
    assert {nodeid: verdict.outcome for nodeid, verdict in verdicts.items()} == {
        "test_it.py::test_it[overfits_one_batch]": "passed",
        "test_it.py::test_it[gradients_flow]": "failed",
        "test_it.py::test_it[trains_without_nan]": "could not judge",
        "test_it.py::test_it[uses_its_input]": "passed",
        "test_it.py::test_it[learns_from_data]": "passed",
        "test_it.py::test_it[data_is_healthy]": "passed",
    }
    assert verdicts["test_it.py::test_it[gradients_flow]"].findings[0].confirmed
    assert (document["version"], document["complete"], document["interrupted"]) == (1, True, False)


def test_parent_folders_are_made(project: Project) -> None:
    project.makepyfile(BATTERY)
    project.runpytest("--trainhealth", "--trainhealth-json=reports/today/out.json")
    assert [path.name for path in (project.path / "reports/today").iterdir()] == ["out.json"]


def test_a_path_in_the_ini_file_is_relative_to_it(project: Project) -> None:
    project.makeini("[pytest]\ntrainhealth = true\ntrainhealth_json = out.json")
    folder = project.mkdir("folder")
    (folder / "test_it.py").write_text("def test_it(): pass")
    project.chdir()
    project.runpytest("folder")
    assert (project.path / "out.json").exists()


def test_ini_writes_nothing_while_nothing_is_judged(project: Project) -> None:
    project.makeini("[pytest]\ntrainhealth_json = out.json")
    project.makepyfile(BATTERY)
    project.runpytest().assert_outcomes(skipped=1)
    assert not (project.path / "out.json").exists()


def test_collecting_leaves_an_older_file_alone(project: Project) -> None:
    project.makepyfile(BATTERY)
    (project.path / "out.json").write_text("older")
    project.runpytest("--trainhealth", "--trainhealth-json=out.json", "--collect-only")
    assert (project.path / "out.json").read_text() == "older"


def test_a_run_that_stops_early_is_not_complete(project: Project, read_json: ReadJson) -> None:
    project.makepyfile(BATTERY)
    project.runpytest("--trainhealth", "--trainhealth-json=out.json", "-x")
    assert [verdict["outcome"] for verdict in read_json()["verdicts"]] == ["passed", "failed"]
    assert read_json()["complete"] is False


def test_ctrl_c_inside_a_check_passes_through_and_keeps_what_there_is(project: Project, read_json: ReadJson) -> None:
    project.makepyfile("""
        import pytest
        from pytest_trainhealth import Training

        @pytest.mark.trainhealth
        def test_it():
            return Training(gradients_flow="interrupt")
    """)
    result = project.runpytest("--trainhealth", "--trainhealth-json=out.json", no_reraise_ctrlc=True)
    assert result.ret == pytest.ExitCode.INTERRUPTED
    document = read_json()
    assert [verdict["check"] for verdict in document["verdicts"]] == ["overfits_one_batch"]
    assert (document["complete"], document["interrupted"]) == (False, True)


def test_a_run_that_is_killed_leaves_the_verdicts_so_far(project: Project, read_json: ReadJson) -> None:
    project.makepyfile("""
        import time
        import pytest
        from pytest_trainhealth import Training

        @pytest.mark.gradients_flow
        def test_it():
            return Training()

        def test_slow():
            time.sleep(60)
    """)
    process = subprocess.Popen(
        [sys.executable, "-m", "pytest", "--trainhealth", "--trainhealth-json=out.json"],
        cwd=project.path,
        stdout=subprocess.DEVNULL,
    )
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline and process.poll() is None:
        time.sleep(0.05)
        try:
            if read_json()["verdicts"]:
                break
        except FileNotFoundError:
            continue
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert json.dumps(read_json())
    assert [verdict["check"] for verdict in read_json()["verdicts"]] == ["gradients_flow"]
    assert read_json()["complete"] is False
