"""`keeps_throughput` measures with pytest-benchmark, and says why where that cannot measure."""

from __future__ import annotations

import pytest

from .conftest import Project

MARKED = """
    import pytest
    from pytest_trainhealth import Training

    @pytest.mark.keeps_throughput
    @pytest.mark.gradients_flow
    def test_it():
        return Training()
"""


@pytest.fixture
def benchmarks(project: Project, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.setenv("PYTEST_ADDOPTS", "-p no:hypothesispytest")
    project.makepyfile(MARKED)
    return project


def test_it_appears_in_the_table_of_pytest_benchmark(benchmarks: Project) -> None:
    result = benchmarks.runpytest("--trainhealth", "-W", "error")
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["*benchmark: 1 tests*", "test_it[[]keeps_throughput] *"])


def test_benchmark_only_selects_it(benchmarks: Project) -> None:
    benchmarks.runpytest("--trainhealth", "--benchmark-only").assert_outcomes(passed=1, skipped=1)


@pytest.mark.parametrize(
    ("option", "reason"),
    [
        ("--benchmark-disable", "pytest-benchmark measures nothing with --benchmark-disable"),
        ("--benchmark-skip", "pytest-benchmark measures nothing with --benchmark-skip"),
        ("-pno:benchmark", "it is measured with pytest-benchmark, which is not installed or is switched off"),
        ("-n2", "pytest-benchmark does not measure under xdist: run it without -n"),
    ],
)
def test_where_it_cannot_measure(benchmarks: Project, option: str, reason: str) -> None:
    result = benchmarks.runpytest("--trainhealth", "-rs", option)
    result.assert_outcomes(passed=1, skipped=1)
    result.stdout.fnmatch_lines([f"SKIPPED *: keeps_throughput could not judge: {reason}"])
    result.stdout.no_fnmatch_line("*Benchmark fixture was not used*")


def test_a_test_that_raises_has_used_no_benchmark_and_that_is_no_news(project: Project) -> None:
    project.makepyfile("""
        import pytest

        @pytest.mark.keeps_throughput
        def test_it():
            raise ValueError("no such file")
    """)
    result = project.runpytest("--trainhealth")
    result.assert_outcomes(failed=1, warnings=0)
    result.stdout.fnmatch_lines(["*ValueError: no such file*"])


def test_enabled_over_the_configuration(benchmarks: Project) -> None:
    benchmarks.makeini("[pytest]\naddopts = --benchmark-disable")
    benchmarks.runpytest("--trainhealth", "--benchmark-enable").assert_outcomes(passed=2)


def test_where_it_is_disabled_for_reasons_of_its_own(benchmarks: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTEST_XDIST_WORKER", "gw7")
    result = benchmarks.runpytest("--trainhealth", "-rs")
    result.assert_outcomes(passed=1, skipped=1)
    result.stdout.fnmatch_lines(["SKIPPED *: pytest-benchmark is disabled in this run"])


def test_a_fixture_without_statistics(project: Project) -> None:
    """The way of pytest-codspeed, which takes the place of pytest-benchmark."""
    project.makepyfile(
        codspeed_like="""
        import pytest

        @pytest.fixture
        def benchmark():
            return object()

        def pytest_configure(config):
            config.pluginmanager.register(object(), "codspeed")
        """,
        test_it=MARKED,
    )
    project.syspathinsert()
    result = project.runpytest("--trainhealth", "-rs", "-p", "codspeed_like")
    result.assert_outcomes(passed=1, skipped=1)
    result.stdout.fnmatch_lines(["SKIPPED *the benchmark fixture of builtins keeps no statistics"])


def test_through_the_fixture(benchmarks: Project) -> None:
    benchmarks.makepyfile("""
        from pytest_trainhealth import Training

        def test_it(trainhealth):
            assert trainhealth.keeps_throughput(Training(), max_data_wait=0.9).passed
    """)
    result = benchmarks.runpytest("--trainhealth")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["*benchmark: 1 tests*"])


@pytest.mark.parametrize("options", [("-n", "1"), ("--benchmark-disable",)])
def test_a_test_that_breaks_is_noticed_where_nothing_is_measured(benchmarks: Project, options: tuple[str, ...]) -> None:
    benchmarks.makepyfile("""
        import pytest

        @pytest.mark.keeps_throughput
        def test_it():
            assert 1 == 2
    """)
    benchmarks.runpytest("--trainhealth", *options).assert_outcomes(failed=1)


def test_twice_in_one_test(benchmarks: Project) -> None:
    """The fixture measures once: the second training is timed without it."""
    benchmarks.makepyfile("""
        from pytest_trainhealth import Training

        def test_it(trainhealth):
            for _ in range(2):
                assert trainhealth.keeps_throughput(Training()).passed
    """)
    result = benchmarks.runpytest("--trainhealth")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["*benchmark: 1 tests*"])


def test_through_the_fixture_where_it_cannot_measure(project: Project) -> None:
    project.makepyfile("""
        from pytest_trainhealth import Training

        def test_it(trainhealth):
            trainhealth.keeps_throughput(Training())
    """)
    project.runpytest("--trainhealth").assert_outcomes(skipped=1)
