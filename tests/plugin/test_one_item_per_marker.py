"""One marker is one test item, with the check's name as its id."""

from __future__ import annotations

from .conftest import Project

TWO_MARKERS = """
    import pytest
    from pytest_trainhealth import Training

    @pytest.mark.overfits_one_batch
    @pytest.mark.gradients_flow
    def test_classifier():
        return Training()

    def test_plain():
        pass
"""


def collected(project: Project, *options: str) -> list[str]:
    result = project.runpytest("--trainhealth", "--collect-only", "-q", *options)
    return [line.partition("::")[2] for line in result.outlines if "::" in line]


def test_ids_are_the_names_of_the_checks(project: Project) -> None:
    project.makepyfile(TWO_MARKERS)
    assert collected(project) == [
        "test_classifier[overfits_one_batch]",
        "test_classifier[gradients_flow]",
        "test_plain",
    ]


def test_both_are_run(project: Project) -> None:
    project.makepyfile(TWO_MARKERS)
    project.runpytest("--trainhealth").assert_outcomes(passed=3)


def test_k_selects_a_check(project: Project) -> None:
    project.makepyfile(TWO_MARKERS)
    project.runpytest("--trainhealth", "-k", "gradients_flow").assert_outcomes(passed=1, deselected=2)


def test_an_item_is_selected_by_its_id(project: Project) -> None:
    project.makepyfile(test_it=TWO_MARKERS)
    project.runpytest("--trainhealth", "test_it.py::test_classifier[gradients_flow]").assert_outcomes(passed=1)


def test_m_selects_by_marker(project: Project) -> None:
    project.makepyfile(TWO_MARKERS)
    project.runpytest("--trainhealth", "-m", "gradients_flow").assert_outcomes(passed=1, deselected=2)


def test_m_selects_a_check_of_the_battery(project: Project) -> None:
    project.makepyfile("""
        import pytest
        from pytest_trainhealth import Training

        @pytest.mark.trainhealth
        def test_it():
            return Training()
    """)
    project.runpytest("--trainhealth", "-m", "gradients_flow").assert_outcomes(passed=1, deselected=6)


def test_own_parameters_come_first_in_the_id(project: Project) -> None:
    project.makepyfile("""
        import pytest
        from pytest_trainhealth import Training

        @pytest.mark.gradients_flow
        @pytest.mark.trains_without_nan
        @pytest.mark.parametrize("width", [8, 16])
        def test_widths(width, tmp_path):
            assert width in (8, 16) and tmp_path.exists()
            return Training()
    """)
    assert collected(project) == [
        "test_widths[8-gradients_flow]",
        "test_widths[8-trains_without_nan]",
        "test_widths[16-gradients_flow]",
        "test_widths[16-trains_without_nan]",
    ]
    project.runpytest("--trainhealth").assert_outcomes(passed=4)


def test_methods_inherit_markers_of_class_and_module(project: Project) -> None:
    project.makepyfile("""
        import pytest
        from pytest_trainhealth import Training

        pytestmark = pytest.mark.gradients_flow

        @pytest.mark.overfits_one_batch
        class TestModel:
            def test_method(self, request):
                assert request.instance is self
                return Training()

        def test_function():
            return Training()
    """)
    assert collected(project) == [
        "TestModel::test_method[overfits_one_batch]",
        "TestModel::test_method[gradients_flow]",
        "test_function[gradients_flow]",
    ]
    project.runpytest("--trainhealth").assert_outcomes(passed=3)


def test_fixtures_are_bound(project: Project) -> None:
    project.makepyfile("""
        import pytest
        from pytest_trainhealth import Training

        @pytest.fixture
        def broken():
            return Training(gradients_flow="failed")

        @pytest.mark.gradients_flow
        def test_it(broken):
            return broken
    """)
    project.runpytest("--trainhealth").assert_outcomes(failed=1)


def test_markers_are_registered_with_their_keywords(project: Project) -> None:
    result = project.runpytest("--markers")
    result.stdout.fnmatch_lines(
        [
            "@pytest.mark.trainhealth(checks=*budget=*steps=None): the whole battery*",
            "@pytest.mark.overfits_one_batch(*ratio=0.1): the training memorises one batch*",
            "@pytest.mark.keeps_throughput(*max_data_wait=None, *min_samples_per_second=None): *",
        ]
    )


def test_strict_markers_accept_them(project: Project) -> None:
    project.makepyfile(TWO_MARKERS)
    project.runpytest("--trainhealth", "--strict-markers").assert_outcomes(passed=3)
