"""Nothing breaks beside pytest's own options and other plugins."""

from __future__ import annotations

import pytest

from .conftest import Project, ReadJson

THREE = """
    import pytest
    from pytest_trainhealth import Training

    @pytest.mark.trainhealth
    def test_it():
        return Training(gradients_flow="failed")
"""


def test_last_failed(project: Project) -> None:
    project.makepyfile(THREE)
    project.runpytest("--trainhealth").assert_outcomes(failed=1, passed=5)
    project.runpytest("--trainhealth", "--lf").assert_outcomes(failed=1)


def test_exit_first(project: Project) -> None:
    project.makepyfile(THREE)
    project.runpytest("--trainhealth", "-x").assert_outcomes(failed=1, passed=1)


def test_no_terminal(project: Project, read_json: ReadJson) -> None:
    project.makepyfile(THREE)
    result = project.runpytest("--trainhealth", "--trainhealth-json=out.json", "-p", "no:terminal")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert len(read_json()["verdicts"]) == 6


@pytest.mark.parametrize(
    "option", ["-pno:cacheprovider", "-q", "-qq", "-v", "-vv", "--no-summary", "--fulltrace", "-s"]
)
def test_options_of_pytest(project: Project, option: str) -> None:
    project.makepyfile(THREE)
    result = project.runpytest("--trainhealth", option)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert not result.stderr.str()


def test_workers_are_told_how_many_they_are(project: Project, read_json: ReadJson) -> None:
    project.makepyfile(THREE)
    project.runpytest("--trainhealth", "--trainhealth-json=out.json", "-n2", "--dist=loadscope")
    assert {verdict["steps"] for verdict in read_json()["verdicts"]} == {2}


def test_the_chart_is_the_same_under_xdist(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "72")
    project.makepyfile(THREE)

    def chart(*options: str) -> list[str]:
        lines = project.runpytest("--trainhealth", *options).outlines
        begin = next(n for n, line in enumerate(lines) if line.startswith("parameters-not"))
        return lines[begin : begin + 8]

    assert chart() == chart("-n2")


def test_hypothesis_beside_it(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTEST_ADDOPTS", "-p no:benchmark")
    project.makepyfile("""
        import pytest
        from hypothesis import given, settings, strategies as st

        seen = []

        @pytest.mark.gradients_flow
        @settings(max_examples=5, database=None)
        @given(st.integers())
        def test_it(n):
            seen.append(n)

        def test_after():
            assert seen
    """)
    project.runpytest("--trainhealth").assert_outcomes(passed=2)
