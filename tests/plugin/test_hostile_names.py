"""Names from users arrive harmless in every outlet, and end no run, with and without workers."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from .conftest import Project, ReadJson

NAMES = {
    "surrogate": "a\udc80b",
    "escape code": "a\x1b[31mb",
    "command": "a\n::error::b",
    "direction": "a\u202eb",
    "html": "<script>alert(1)</script>",
    "long": "x" * 10_000,
}
TESTS = """
    import pytest
    from dataclasses import replace
    from pytest_trainhealth import Training
    import conftest

    NAME = {name!a}

    @pytest.fixture(autouse=True)
    def hostile(monkeypatch):
        monkeypatch.setattr(conftest, "FINDING", replace(conftest.FINDING, statement=f"never updates {{NAME}}"))

    @pytest.mark.gradients_flow
    def test_fails():
        return Training(NAME, gradients_flow="failed")

    @pytest.mark.gradients_flow
    def test_passes():
        return Training(NAME)

    @pytest.mark.gradients_flow
    def test_returns_something_else():
        return type(NAME.replace("\\0", ""), (), {{}})()
"""


@pytest.mark.parametrize("options", [(), ("-n2",)], ids=["plain", "workers"])
@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
def test_every_outlet(project: Project, read_json: ReadJson, name: str, options: tuple[str, ...]) -> None:
    project.makepyfile(test_it=TESTS.format(name=name))
    result = project.runpytest_subprocess(
        "--trainhealth", "--trainhealth-json=out.json", "--junitxml=out.xml", "--tb=line", *options
    )
    result.assert_outcomes(failed=2, passed=1)
    shown = result.stdout.str() + result.stderr.str()
    assert not any(letter in shown for letter in ("\x1b", "\udc80", "\u202e"))
    assert not any(line.lstrip().startswith("::error") for line in shown.splitlines())
    assert "INTERNALERROR" not in shown
    assert ElementTree.parse(project.path / "out.xml").getroot().find("testsuite") is not None
    document = read_json()
    assert document["complete"] is True
    assert len(document["verdicts"]) == 2
    assert {error["outcome"] for error in document["errors"]} == {"raised"}
    texts = [*(v["training"] for v in document["verdicts"]), *(error["message"] for error in document["errors"])]
    assert all(text.isprintable() and len(text) < 400 for text in texts)


def test_a_users_exception_does_not_end_a_run_with_workers(project: Project, read_json: ReadJson) -> None:
    """pytest shows it as it is; but a lone surrogate cannot be sent."""
    test = "import pytest\n@pytest.mark.gradients_flow\ndef test_{}(): raise ValueError('a\\udc80b')\n"
    project.makepyfile(test_a=test.format("a"), test_b=test.format("b"))
    project.runpytest_subprocess("--trainhealth", "--trainhealth-json=out.json", "-n2").assert_outcomes(failed=2)
    assert [error["message"] for error in read_json()["errors"]] == [r"ValueError: a\udc80b"] * 2


def test_a_green_run_in_which_a_worker_could_not_send_a_report(project: Project, read_json: ReadJson) -> None:
    """xdist ends with exit code 0 then, and nobody knows that a test is missing. Here it is a test of somebody else."""
    project.makepyfile("def test_it(record_property): record_property('name', 'a\\udc80b')")
    result = project.runpytest_subprocess("--trainhealth", "--trainhealth-json=out.json", "-n2")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["--trainhealth: 1 selected test without an outcome"])
    assert read_json()["complete"] is False
