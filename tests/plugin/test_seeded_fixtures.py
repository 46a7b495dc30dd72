"""What fixtures build for a judged test is the same in every run; everybody else's random numbers are left alone."""

from __future__ import annotations

import pytest

from .conftest import Project

TESTS = """
    import random
    import numpy
    import pytest
    import torch
    from pytest_trainhealth import Training

    def numbers():
        return [round(float(x), 6) for x in (random.random(), numpy.random.random(), torch.rand(()))]

    @pytest.fixture(scope="module")
    def data():
        return numbers()

    @pytest.fixture
    def model(data):
        return numbers()

    @pytest.mark.overfits_one_batch
    @pytest.mark.gradients_flow
    def test_judged(data, model):
        print("SEEN", data, model)
        return Training()

    @pytest.mark.gradients_flow
    def test_other(data, model):
        print("SEEN", data, model)
        return Training()
"""


@pytest.fixture(autouse=True)
def torch_stays() -> None:
    """pytester forgets what an inner run imports, and torch bears only one import."""
    import torch

    torch.manual_seed(torch.seed())


def seen(project: Project, *options: str) -> list[str]:
    result = project.runpytest("--trainhealth", "-s", *options)
    return [line[line.index("SEEN") :] for line in result.outlines if "SEEN" in line]


def test_the_same_for_all_checks_of_a_test_in_every_run(project: Project) -> None:
    project.makepyfile(test_it=TESTS)
    overfits, flow, other = seen(project)
    assert overfits == flow != other
    assert seen(project) == [overfits, flow, other]


def test_a_shared_fixture_does_not_depend_on_who_came_first(project: Project) -> None:
    project.makepyfile(test_it=TESTS)
    assert seen(project, "-k", "other") == seen(project)[2:]


def test_the_setting_changes_them(project: Project) -> None:
    project.makepyfile(test_it=TESTS)
    assert seen(project, "--trainhealth-seed=1") != seen(project)


def test_the_body_of_a_test_with_the_fixture(project: Project) -> None:
    project.makepyfile(
        test_it="""
        import pytest
        import torch

        @pytest.fixture
        def model():
            return torch.rand(())

        def test_fixture(trainhealth, model):
            print("SEEN", float(model), float(torch.rand(())))
        """
    )
    assert seen(project) == seen(project) != []


def test_random_numbers_of_others_go_on_undisturbed(project: Project) -> None:
    project.makepyfile("""
        import pytest
        import torch
        from pytest_trainhealth import Training

        torch.manual_seed(3)
        expected = torch.rand(2, generator=torch.Generator().manual_seed(3))

        @pytest.fixture
        def model():
            return torch.rand(5)

        @pytest.mark.gradients_flow
        def test_judged(model):
            return Training()

        def test_fixture(trainhealth, model):
            trainhealth.gradients_flow(Training())

        def test_after():
            assert torch.equal(torch.rand(2), expected)
    """)
    project.runpytest("--trainhealth").assert_outcomes(passed=3)


def test_a_fixture_that_seeds_is_obeyed(project: Project) -> None:
    project.makepyfile("""
        import pytest
        import torch
        from pytest_trainhealth import Training

        @pytest.fixture(scope="session", autouse=True)
        def seed():
            torch.manual_seed(3)

        @pytest.mark.gradients_flow
        def test_judged():
            return Training()

        def test_after():
            assert torch.initial_seed() == 3
    """)
    project.runpytest("--trainhealth").assert_outcomes(passed=2)


def test_unjudged_tests_are_not_seeded(project: Project) -> None:
    project.makepyfile("""
        import pytest
        import torch

        @pytest.fixture
        def model():
            return torch.rand(())

        @pytest.mark.parametrize("n", range(2))
        def test_plain(model, n, seen=[]):
            seen.append(float(model))
            assert len(set(seen)) == len(seen)
    """)
    project.runpytest("--trainhealth").assert_outcomes(passed=2)
