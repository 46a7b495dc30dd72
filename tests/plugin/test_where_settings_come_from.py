"""Marker keyword, then command line, then ini file, then default."""

from __future__ import annotations

import pytest

from pytest_trainhealth import __version__

from .conftest import Project, ReadJson


def steps(project: Project, read_json: ReadJson, keywords: str, *options: str) -> object:
    project.makepyfile(f"""
        import pytest
        from pytest_trainhealth import Training

        @pytest.mark.gradients_flow{keywords}
        def test_it():
            return Training()
    """)
    project.runpytest("--trainhealth", "--trainhealth-json=out.json", *options).assert_outcomes(passed=1)
    return read_json()["verdicts"][0]["figures"].get("steps")


def test_default(project: Project, read_json: ReadJson) -> None:
    assert steps(project, read_json, "") is None


def test_ini(project: Project, read_json: ReadJson) -> None:
    project.makeini("[pytest]\ntrainhealth_steps = 3")
    assert steps(project, read_json, "") == 3


def test_command_line_wins_over_ini(project: Project, read_json: ReadJson) -> None:
    project.makeini("[pytest]\ntrainhealth_steps = 3")
    assert steps(project, read_json, "", "--trainhealth-steps=4") == 4


def test_marker_wins_over_command_line(project: Project, read_json: ReadJson) -> None:
    assert steps(project, read_json, "(steps=5)", "--trainhealth-steps=4") == 5


TABLES = ["tool.pytest.ini_options"]
if pytest.version_tuple >= (9, 0):  # before, the native table was ignored
    TABLES.append("tool.pytest")


@pytest.mark.parametrize("table", TABLES)
def test_values_of_toml_keep_their_types(project: Project, read_json: ReadJson, table: str) -> None:
    project.makepyprojecttoml(f"""
        [{table}]
        trainhealth = true
        trainhealth_steps = 6
        trainhealth_budget = 20.5
        trainhealth_checks = ["gradients_flow", "trains_without_nan"]
    """)
    assert steps(project, read_json, "") == 6


def test_a_marker_on_a_parameter_overrides_keywords(project: Project, read_json: ReadJson) -> None:
    project.makepyfile("""
        import pytest
        from pytest_trainhealth import Training

        @pytest.mark.gradients_flow(steps=2)
        @pytest.mark.parametrize("size", ["small", pytest.param("big", marks=pytest.mark.gradients_flow(steps=9))])
        def test_it(size):
            return Training()
    """)
    project.runpytest("--trainhealth", "--trainhealth-json=out.json").assert_outcomes(passed=2)
    assert [verdict["figures"]["steps"] for verdict in read_json()["verdicts"]] == [2, 9]


def test_a_check_gets_only_what_concerns_it(project: Project, read_json: ReadJson) -> None:
    steps(project, read_json, "")
    assert set(read_json()["verdicts"][0]["figures"]) == {"budget", "threads"}


def test_ini_switches_it_on(project: Project) -> None:
    project.makeini("[pytest]\ntrainhealth = true")
    project.makepyfile("""
        import pytest
        from pytest_trainhealth import Training

        @pytest.mark.gradients_flow
        def test_it():
            return Training(gradients_flow="failed")
    """)
    project.runpytest().assert_outcomes(failed=1)


def test_the_header_says_where_the_seed_comes_from(project: Project) -> None:
    project.makeini("[pytest]\ntrainhealth_seed = 3\ntrainhealth_budget = 60")
    result = project.runpytest("--trainhealth", "--trainhealth-threads=2")
    result.stdout.fnmatch_lines(
        [
            f"trainhealth: {__version__}, on (--trainhealth), seed 3 (tox.ini), threads 2 (--trainhealth-threads), "
            "budget 60.0 (tox.ini)"
        ]
    )


def test_the_header_with_nothing_given(project: Project) -> None:
    project.runpytest("--trainhealth").stdout.fnmatch_lines(
        [f"trainhealth: {__version__}, on (--trainhealth), seed 0 (default), threads 1 (default)"]
    )


def test_the_header_says_what_is_on(project: Project) -> None:
    project.makeini("[pytest]\ntrainhealth = true\ntrainhealth_ignore = lr-too-low: it is a smoke test")
    result = project.runpytest("--trainhealth-json=deep/../out.json")
    result.stdout.fnmatch_lines(["*, on (tox.ini), *, ignore lr-too-low (tox.ini), json out.json (--trainhealth-json)"])


def test_no_header_when_not_enforced(project: Project) -> None:
    project.runpytest().stdout.no_fnmatch_line("trainhealth: *")
