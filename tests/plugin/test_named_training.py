"""`--trainhealth-training package.module:factory`: the battery without a test file."""

from __future__ import annotations

import pytest

from pytest_trainhealth.settings import BATTERY

from .conftest import Project, ReadJson

SPEC = "models.classifier:make_training"


@pytest.fixture
def models(project: Project) -> Project:
    package = project.mkpydir("models")
    (package / "classifier.py").write_text(
        "from pytest_trainhealth import Training\n"
        "import sys\n"
        "\n"
        "def make_training():\n"
        "    return Training(gradients_flow='failed')\n"
        "\n"
        "class Makes:\n"
        "    @staticmethod\n"
        "    def training():\n"
        "        return Training()\n"
        "\n"
        "WIDTH = 8\n"
    )
    (package / "broken.py").write_text("raise OSError('no weights\\nin here')\n")
    (package / "needs.py").write_text("import not_there\n")
    project.makepyfile(test_other="def test_other(): pass")
    return project


@pytest.mark.parametrize("options", [(), ("-n2",)])
def test_the_battery_and_nothing_else(models: Project, read_json: ReadJson, options: tuple[str, ...]) -> None:
    result = models.runpytest("--trainhealth-training", SPEC, "--trainhealth-json=out.json", *options)
    result.assert_outcomes(passed=5, failed=1)
    assert {v["nodeid"]: (v["outcome"], v["training"]) for v in read_json()["verdicts"]} == {
        f"{SPEC}[overfits_one_batch]": ("passed", SPEC),
        f"{SPEC}[gradients_flow]": ("failed", SPEC),
        f"{SPEC}[trains_without_nan]": ("passed", SPEC),
        f"{SPEC}[uses_its_input]": ("passed", SPEC),
        f"{SPEC}[learns_from_data]": ("passed", SPEC),
        f"{SPEC}[data_is_healthy]": ("passed", SPEC),
    }
    assert len({v["seed"] for v in read_json()["verdicts"]}) == 1


def test_it_is_reported_like_a_test(models: Project) -> None:
    result = models.runpytest("--trainhealth-training", SPEC)
    result.stdout.fnmatch_lines(
        [
            "trainhealth: *, on (--trainhealth-training), seed 0 (default), threads 1 (default), "
            "training models.classifier:make_training (--trainhealth-training)",
            "collected 7 items",
            "  cause     confirmed: *",
            f"{SPEC}   overfits_one_batch  passed *",
            f"FAILED {SPEC}[[]gradients_flow] - parameters-*",
        ]
    )


def test_the_crash_is_at_the_factory(models: Project) -> None:
    result = models.runpytest("--trainhealth-training", SPEC, "--tb=line")
    result.stdout.fnmatch_lines(["*classifier.py:4: parameters-not-in-optimizer: *"])


def test_paths_given_are_collected_as_well(models: Project) -> None:
    models.runpytest("--trainhealth-training", SPEC, "test_other.py").assert_outcomes(passed=6, failed=1)


def test_checks_can_be_chosen(models: Project) -> None:
    result = models.runpytest("--trainhealth-training", SPEC, "--trainhealth-checks=overfits_one_batch")
    result.assert_outcomes(passed=1)


def test_k_and_last_failed_work(models: Project) -> None:
    models.runpytest("--trainhealth-training", SPEC, "-k", "overfits").assert_outcomes(passed=1, deselected=6)
    models.runpytest("--trainhealth-training", SPEC)
    models.runpytest("--trainhealth-training", SPEC, "--lf").assert_outcomes(failed=1, deselected=6)


def test_collect_only(models: Project) -> None:
    result = models.runpytest("--trainhealth-training", SPEC, "--collect-only", "-q")
    assert result.outlines[: len(BATTERY)] == [f"{SPEC}[{check}]" for check in BATTERY]


def test_throughput_needs_a_test_function(models: Project) -> None:
    result = models.runpytest("--trainhealth-training", SPEC, "--trainhealth-checks=keeps_throughput", "-rs")
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(["SKIPPED *keeps_throughput could not judge: *only a test function can request"])


def test_an_attribute_of_a_class(models: Project) -> None:
    models.runpytest("--trainhealth-training=models.classifier:Makes.training").assert_outcomes(passed=6)


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("models.classifier", "'models.classifier' does not read PACKAGE.MODULE:FACTORY"),
        ("models/classifier.py:make", "'models/classifier.py:make' does not read PACKAGE.MODULE:FACTORY"),
        ("modles.classifier:make", "there is no module 'modles'. Did you mean models?"),
        ("models.clasifier:make", "there is no module 'models.clasifier'. Did you mean classifier?"),
        (
            "models.classifier:make_trainin",
            "models.classifier has no 'make_trainin'. Did you mean make_training?",
        ),
        (
            "models.classifier:WIDTH",
            "models.classifier:WIDTH is an int, where a function that makes a Training is needed",
        ),
        ("models.broken:make", "importing models.broken failed: OSError: no weights in here"),
        ("models.needs:make", "importing models.needs failed: No module named 'not_there'"),
    ],
)
def test_wrong_names_are_told_in_one_line(models: Project, spec: str, said: str) -> None:
    result = models.runpytest("--trainhealth-training", spec)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert [line for line in result.errlines if line] == [f"ERROR: --trainhealth-training: {said}"]


def test_wrong_names_under_xdist(models: Project) -> None:
    result = models.runpytest("-n2", "--trainhealth-training=models.classifier:make")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert len([line for line in result.errlines if line]) == 1
