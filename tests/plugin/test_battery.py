"""`@pytest.mark.trainhealth` stands for the battery."""

from __future__ import annotations

from pytest_trainhealth.settings import BATTERY

from .conftest import Project, ReadJson


def run(project: Project, markers: str, *options: str) -> None:
    project.makepyfile(f"""
        import pytest
        from pytest_trainhealth import Training

        {markers}
        def test_it():
            return Training()
    """)
    project.runpytest("--trainhealth", "--trainhealth-json=out.json", *options)


def checks(document: dict[str, list[dict[str, object]]]) -> list[object]:
    return [verdict["check"] for verdict in document["verdicts"]]


def test_it_is_five_checks(project: Project, read_json: ReadJson) -> None:
    run(project, "@pytest.mark.trainhealth")
    assert checks(read_json()) == list(BATTERY)


def test_checks_of_the_marker(project: Project, read_json: ReadJson) -> None:
    run(project, "@pytest.mark.trainhealth(checks=['gradients_flow'])")
    assert checks(read_json()) == ["gradients_flow"]


def test_checks_of_the_command_line(project: Project, read_json: ReadJson) -> None:
    run(project, "@pytest.mark.trainhealth", "--trainhealth-checks=gradients_flow,trains_without_nan")
    assert checks(read_json()) == ["gradients_flow", "trains_without_nan"]


def test_a_marker_beside_it_overrides_its_keywords_and_adds_no_item(project: Project, read_json: ReadJson) -> None:
    run(project, "@pytest.mark.trainhealth(steps=5, budget=9)\n        @pytest.mark.gradients_flow(steps=7)")
    figures = {v["check"]: (v["figures"]["steps"], v["figures"]["budget"]) for v in read_json()["verdicts"]}
    assert figures == {check: (7 if check == "gradients_flow" else 5, 9.0) for check in BATTERY}


def test_the_marker_of_the_function_wins_over_that_of_the_class(project: Project, read_json: ReadJson) -> None:
    project.makepyfile("""
        import pytest
        from pytest_trainhealth import Training

        @pytest.mark.overfits_one_batch(steps=5, ratio=0.3)
        class TestModel:
            @pytest.mark.overfits_one_batch(steps=6)
            def test_it(self):
                return Training()
    """)
    project.runpytest("--trainhealth", "--trainhealth-json=out.json").assert_outcomes(passed=1)
    (verdict,) = read_json()["verdicts"]
    assert (verdict["figures"]["steps"], verdict["figures"]["ratio"]) == (6, 0.3)


def test_with_val_data_it_is_one_more(project: Project, read_json: ReadJson) -> None:
    project.makepyfile("""
        import pytest
        from pytest_trainhealth import Training

        @pytest.mark.trainhealth
        def test_with():
            return Training(generalizes="passed")

        @pytest.mark.trainhealth
        def test_without():
            return Training()

        @pytest.mark.trainhealth(checks=["generalizes"])
        def test_asked_for_by_name():
            return Training()
    """)
    run = project.runpytest("--trainhealth", "--trainhealth-json=out.json", "--trainhealth-strict", "-rs")
    run.assert_outcomes(passed=2 * len(BATTERY) + 2)  # and no skip
    run.stdout.fnmatch_lines(["test_with_val_data*.py *......-.*100%*"])
    found = [(v["nodeid"].partition("::")[2], v["check"]) for v in read_json()["verdicts"]]
    assert [each for each in found if each[1] == "generalizes"] == [
        ("test_with[generalizes]", "generalizes"),
        ("test_asked_for_by_name[generalizes]", "generalizes"),
    ]
