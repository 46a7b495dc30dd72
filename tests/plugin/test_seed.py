"""The seed comes from the test's id and `--trainhealth-seed`: all checks of a test start from the same point."""

from __future__ import annotations

import textwrap
import zlib

from .conftest import Project, ReadJson

TWO_TESTS = """
    import pytest
    from pytest_trainhealth import Training

    @pytest.mark.trainhealth
    @pytest.mark.parametrize("n", [1, 2])
    def test_it(n):
        return Training()

    def test_fixture(trainhealth):
        trainhealth.gradients_flow(Training())
"""


def seeds(project: Project, read_json: ReadJson, *options: str) -> dict[str, int]:
    project.makepyfile(test_it=TWO_TESTS)
    project.runpytest("--trainhealth", "--trainhealth-json=out.json", *options)
    return {verdict["nodeid"]: verdict["seed"] for verdict in read_json()["verdicts"]}


def test_shared_by_the_checks_of_a_test_and_by_no_other(project: Project, read_json: ReadJson) -> None:
    found = seeds(project, read_json)
    of_one = {seed for nodeid, seed in found.items() if "[1-" in nodeid}
    of_two = {seed for nodeid, seed in found.items() if "[2-" in nodeid}
    assert len(found) == 13
    assert len(of_one) == len(of_two) == 1
    assert len(set(found.values())) == 3


def test_the_same_in_every_process(project: Project, read_json: ReadJson) -> None:
    """The very number: a changed rule would silently change everybody's verdicts."""
    found = seeds(project, read_json, "-n2")
    assert found["test_it.py::test_it[1-gradients_flow]"] == 1960121932 == zlib.crc32(b"0:test_it.py::test_it[1]")


def test_the_setting_changes_all(project: Project, read_json: ReadJson) -> None:
    before = seeds(project, read_json)
    after = seeds(project, read_json, "--trainhealth-seed=1")
    assert before.keys() == after.keys()
    assert not set(before.values()) & set(after.values())


def test_selecting_one_check_changes_nothing(project: Project, read_json: ReadJson) -> None:
    every = seeds(project, read_json)
    one = seeds(project, read_json, "-k", "gradients_flow and 1")
    assert one.items() <= every.items()
    assert len(one) == 1


def test_the_same_wherever_pytest_is_started(project: Project, read_json: ReadJson) -> None:
    """A configuration file further up, or none, makes another root directory, and other node ids."""
    inner = project.mkpydir("inner")
    (inner / "test_there.py").write_text(textwrap.dedent(TWO_TESTS))
    found = []
    for root in (project.path, inner):
        options = (f"--rootdir={root}", f"--confcutdir={project.path}")
        project.runpytest("--trainhealth", "--trainhealth-json=out.json", *options, str(inner))
        found.append({verdict["nodeid"]: verdict["seed"] for verdict in read_json()["verdicts"]})
    above, within = found
    assert above == {f"inner/{nodeid}": seed for nodeid, seed in within.items()}
    assert len(above) == 13
