"""Findings that somebody has accepted: by a marker, in the configuration, in a file. All are counted."""

from __future__ import annotations

from pathlib import Path

import pytest

from .conftest import Project, ReadJson

SICK = """
    import pytest
    from pytest_trainhealth import Training

    @pytest.mark.trainhealth(checks=["overfits_one_batch", "gradients_flow"]{keywords})
    def test_it():
        return Training(overfits_one_batch="failed", gradients_flow="failed")
"""
CAUSE = "parameters-not-in-optimizer"
IGNORE = f', ignore={{"{CAUSE}": "the head is trained elsewhere"}}'


def write(project: Project, keywords: str = "") -> None:
    project.makepyfile(test_it=SICK.replace("{keywords}", keywords))


def test_by_a_marker(project: Project, read_json: ReadJson) -> None:
    write(project, IGNORE)
    result = project.runpytest("--trainhealth", "-q", "--trainhealth-json=out.json")
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(
        [
            "2 findings silenced",
            f"  {CAUSE} (2 times): the head is trained elsewhere   (marker of test_it.py::test_it)",
        ]
    )
    assert [v["silenced"][0]["finding"]["cause"] for v in read_json()["verdicts"]] == [CAUSE, CAUSE]


def test_in_the_configuration_and_under_xdist(project: Project) -> None:
    write(project)
    project.makeini(f"[pytest]\ntrainhealth_ignore =\n    {CAUSE}: the head is trained elsewhere\n    lr-too-low: no\n")
    result = project.runpytest("--trainhealth", "-n1")
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(
        [
            f"  {CAUSE} (2 times): the head is trained elsewhere   (tox.ini)",
            "silenced for nothing: lr-too-low is no longer found   (tox.ini)",
        ]
    )


def test_a_part_of_the_tests_does_not_show_what_is_of_no_use(project: Project) -> None:
    write(project, ', ignore={"lr-too-low": "no"}')
    assert "silenced for nothing" not in project.runpytest("--trainhealth", "-k", "gradients_flow").stdout.str()
    project.runpytest("--trainhealth").stdout.fnmatch_lines(
        ["silenced for nothing: lr-too-low is no longer found   (marker of test_it.py::test_it)"]
    )


def test_a_check_that_is_silenced_is_skipped_and_strict_does_not_mind(project: Project) -> None:
    write(project, ', ignore={"gradients_flow": "a rewrite"}')
    result = project.runpytest("--trainhealth", "--trainhealth-strict", "-rs")
    result.assert_outcomes(failed=1, skipped=1)
    result.stdout.fnmatch_lines(
        [
            f"  gradients_flow, {CAUSE}: a rewrite   (marker of test_it.py::test_it)",
            "SKIPPED *gradients_flow could not judge: gradients_flow is silenced (a rewrite)",
        ]
    )


def test_a_class_and_its_test_are_put_together(project: Project) -> None:
    project.makepyfile(f"""
        import pytest
        from pytest_trainhealth import Training

        @pytest.mark.trainhealth(checks="gradients_flow", ignore={{"{CAUSE}": "of the class"}})
        class TestIt:
            @pytest.mark.trainhealth(ignore={{"lr-too-low": "of the test"}})
            def test_it(self):
                return Training(gradients_flow="failed")
    """)
    project.runpytest("--trainhealth").assert_outcomes(passed=1)


def test_from_the_fixture(project: Project) -> None:
    project.makepyfile(f"""
        from pytest_trainhealth import Training

        def test_it(trainhealth):
            accepting = trainhealth.ignoring({{"{CAUSE}": "later"}})
            assert accepting.gradients_flow(Training(gradients_flow="failed")).silenced
    """)
    result = project.runpytest("--trainhealth")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["1 finding silenced"])


@pytest.mark.parametrize(
    ("ini", "words"),
    [
        (
            "trainhealth_ignore = lr-to-low: x",
            "*tox.ini: ignore: there is no cause or check 'lr-to-low'. Did you mean *",
        ),
        ("trainhealth_ignore = lr-too-low", "*tox.ini: trainhealth_ignore: *is not a table of causes and checks*"),
    ],
)
def test_a_wrong_configuration_is_one_line(project: Project, ini: str, words: str) -> None:
    write(project)
    project.makeini(f"[pytest]\n{ini}\n")
    result = project.runpytest("--trainhealth")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([words])


def test_a_repository_that_starts_red(project: Project) -> None:
    """What fails is written down once. From then on it is known, and only what is new fails."""
    write(project)
    known = "--trainhealth-known=known.txt"
    assert project.runpytest("--trainhealth", known).ret == pytest.ExitCode.USAGE_ERROR
    first = project.runpytest("--trainhealth", known, "--trainhealth-known-add")
    first.assert_outcomes(failed=2)
    first.stdout.fnmatch_lines(["2 findings added to known.txt"])
    file = Path(project.path, "known.txt")
    lines = [line for line in file.read_text().splitlines() if not line.startswith("#")]
    assert lines == [f"{check} {CAUSE} test_it.py::test_it" for check in ("overfits_one_batch", "gradients_flow")]
    second = project.runpytest("--trainhealth", known)
    second.assert_outcomes(passed=2)
    second.stdout.fnmatch_lines(["2 findings silenced", f"  {CAUSE} (2 times): known   (known.txt)"])
    file.write_text(f"{lines[0]}\ntrains_without_nan x test_it.py::test_it\n")
    third = project.runpytest("--trainhealth", known)
    third.assert_outcomes(passed=1, failed=1)  # the one that is not listed is new


def test_a_line_that_is_no_longer_found_can_go(project: Project) -> None:
    project.makepyfile(
        test_it="""
        import pytest
        from pytest_trainhealth import Training

        @pytest.mark.gradients_flow
        def test_it():
            return Training()
    """
    )
    Path(project.path, "known.txt").write_text(f"gradients_flow {CAUSE} test_it.py::test_it\n")
    project.runpytest("--trainhealth", "--trainhealth-known=known.txt").stdout.fnmatch_lines(
        [f"silenced for nothing: {CAUSE} of test_it.py::test_it is no longer found   (known.txt)"]
    )


def test_a_file_that_is_none(project: Project) -> None:
    write(project)
    Path(project.path, "known.txt").write_text("def test_it(): pass\n")
    result = project.runpytest("--trainhealth", "--trainhealth-known=known.txt")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*known.txt, line 1: *does not read CHECK CAUSE TEST"])
