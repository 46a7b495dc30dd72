"""The summary section: what was wrong with which training, and what one fix would settle."""

from __future__ import annotations

import pytest

from .conftest import Project

MIXED = """
    import pytest
    from pytest_trainhealth import Training

    @pytest.mark.trainhealth
    def test_finetune():
        return Training(overfits_one_batch="failed", gradients_flow="failed")

    @pytest.mark.trainhealth
    def test_healthy():
        return Training()
"""
TABLE = [
    "*- training health -*",
    "test_finetune   overfits_one_batch  failed   parameters-not-in-optimizer (confirmed)   0.4 s",
    "                gradients_flow      failed   parameters-not-in-optimizer (confirmed)   0.4 s",
    "                trains_without_nan  passed                                             0.4 s",
    "                uses_its_input      passed                                             0.4 s",
    "                learns_from_data    passed                                             0.4 s",
    "                data_is_healthy     passed                                             0.4 s",
    "test_healthy    6 passed   overfits_one_batch, gradients_flow, trains_without_nan, uses_its_input, "
    "learns_from_data, data_is_healthy   2.4 s",
    "1 cause explains 2 failures: parameters-not-in-optimizer, see test_finetune[[]overfits_one_batch]",
]


@pytest.mark.parametrize("options", [(), ("-n2",)])
def test_one_line_for_each_check_of_a_sick_training(project: Project, options: tuple[str, ...]) -> None:
    project.makepyfile(MIXED)
    result = project.runpytest("--trainhealth", *options)
    result.assert_outcomes(failed=2, passed=10)
    lines = result.outlines
    for line in TABLE[1:]:
        assert line.replace("[[]", "[") in lines
    result.stdout.fnmatch_lines([TABLE[0]])


def test_quiet_leaves_out_the_healthy(project: Project) -> None:
    project.makepyfile(MIXED)
    result = project.runpytest("--trainhealth", "-q")
    result.stdout.fnmatch_lines([*TABLE[:4], TABLE[5]])
    result.stdout.no_fnmatch_line("test_healthy *")


def test_quiet_and_all_healthy_says_nothing(project: Project) -> None:
    project.makepyfile("""
        import pytest
        from pytest_trainhealth import Training

        @pytest.mark.trainhealth
        def test_it():
            return Training()
    """)
    project.runpytest("--trainhealth", "-q").stdout.no_fnmatch_line("*training health*")


def test_tests_of_the_same_name_are_told_apart(project: Project) -> None:
    source = """
        import pytest
        from pytest_trainhealth import Training

        @pytest.mark.gradients_flow
        def test_it():
            return Training()
    """
    project.makepyfile(test_a=source, test_b=source)
    project.runpytest("--trainhealth").stdout.fnmatch_lines(
        ["test_a.py::test_it   1 passed   gradients_flow   0.4 s", "test_b.py::test_it   1 passed *"]
    )


def test_colours_are_in_the_section_only(project: Project) -> None:
    project.makepyfile(MIXED)
    result = project.runpytest("--trainhealth", "--color=yes", "--junitxml=out.xml")
    assert "overfits_one_batch  \x1b[31mfailed\x1b[0m" in result.stdout.str()
    assert "\x1b" not in (project.path / "out.xml").read_text()


def test_a_repeated_attempt_counts_once(project: Project) -> None:
    """The way of pytest-rerunfailures: the reports of every attempt are logged."""
    project.makepyfile(
        again="""
        from _pytest.runner import runtestprotocol

        def pytest_runtest_protocol(item, nextitem):
            for attempt in range(2):
                for report in runtestprotocol(item, nextitem=nextitem, log=False):
                    item.ihook.pytest_runtest_logreport(report=report)
            return True
        """,
        test_it="""
        import pytest
        from pytest_trainhealth import Training

        @pytest.mark.gradients_flow
        def test_it():
            return Training()
        """,
    )
    project.syspathinsert()
    project.runpytest("--trainhealth", "-p", "again").stdout.fnmatch_lines(
        ["test_it   1 passed   gradients_flow   0.4 s"]
    )


CHARTS = """
    import pytest
    from pytest_trainhealth import Training

    class TestHeads:
        @pytest.mark.parametrize("kind", ["a::b"])
        @pytest.mark.trainhealth(checks=["overfits_one_batch", "gradients_flow", "trains_without_nan"])
        def test_finetune(self, kind):
            return Training(overfits_one_batch="failed", gradients_flow="failed", trains_without_nan="failed")
"""


@pytest.mark.parametrize("options", [(), ("-n2",)])
def test_one_chart_for_one_cause_of_a_training(project: Project, options: tuple[str, ...]) -> None:
    """Also under xdist, where any worker may be the first to report. Classes and parameters belong to the names."""
    project.makepyfile(test_it=CHARTS)
    result = project.runpytest("--trainhealth", "--junitxml=out.xml", *options)
    result.assert_outcomes(failed=3)
    text = result.stdout.str()
    assert text.count("  symptom   ") == 1
    chart = "TestHeads::test_finetune[a::b-overfits_one_batch]"
    assert text.count(f"parameters-not-in-optimizer: see {chart}\n") == 2
    assert "TestHeads::test_finetune[a::b]   overfits_one_batch  failed " in text
    # what one test's result is read from has all of it
    assert (project.path / "out.xml").read_text().count("  symptom   ") == 3


@pytest.mark.parametrize(
    ("columns", "line"),
    [
        (160, " - parameters-not-in-optimizer: the optimizer never updates head.weight and head.bias"),
        (80, " - parameters-not-in-optimizer"),
        (60, ""),
    ],
)
def test_the_short_summary_cuts_no_headline(
    project: Project, monkeypatch: pytest.MonkeyPatch, columns: int, line: str
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    project.makepyfile(test_it=MIXED)
    result = project.runpytest("--trainhealth", "-k", "test_finetune and gradients_flow")
    assert f"FAILED test_it.py::test_finetune[gradients_flow]{line}" in result.outlines


def test_verbose_shows_the_course_of_the_loss(project: Project) -> None:
    project.makepyfile(MIXED)
    result = project.runpytest("--trainhealth", "-v", "-k", "gradients_flow")
    assert "test_healthy    gradients_flow  passed" in result.stdout.str()
    result.stdout.fnmatch_lines(["test_finetune   gradients_flow * 0.4 s   2.303 ^-_ 2.100"])
