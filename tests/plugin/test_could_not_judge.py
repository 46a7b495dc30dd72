"""A check that could not judge is skipped with the reason, and counted; with strict it is a failure."""

from __future__ import annotations

import pytest

from .conftest import Project


@pytest.fixture
def unclear(project: Project) -> Project:
    project.makepyfile(
        test_it="""
        import pytest
        from pytest_trainhealth import Training

        @pytest.mark.overfits_one_batch
        def test_it():
            return Training(overfits_one_batch="could not judge")
    """
    )
    return project


def test_skipped_with_the_reason(unclear: Project) -> None:
    result = unclear.runpytest("--trainhealth", "-rs")
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(
        [
            "test_it   overfits_one_batch  not judged   the data is too small   0.4 s",
            "1 check could not judge (a failure with --trainhealth-strict)",
            "SKIPPED [[]1[]] test_it.py:4: overfits_one_batch could not judge: the data is too small",
        ]
    )


@pytest.mark.parametrize("how", ["option", "ini"])
def test_strict_makes_it_a_failure(unclear: Project, how: str) -> None:
    if how == "ini":
        unclear.makeini("[pytest]\ntrainhealth_strict = true")
    result = unclear.runpytest("--trainhealth", *(["--trainhealth-strict"] if how == "option" else []))
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "overfits_one_batch: the data is too small",
            "  symptom   none seen: the check could not judge*",
            "FAILED *- overfits_one_batch: the data is too small",
        ]
    )
