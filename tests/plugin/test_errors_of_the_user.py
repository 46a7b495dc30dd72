"""An error in the user's code looks as if pytest had called it: their lines, torch's, and none of ours."""

from __future__ import annotations

from pathlib import Path

import pytest

import pytest_trainhealth

TRAIN = """
    import torch
    from torch import nn
    from torch.nn import functional as F
    from pytest_trainhealth import Training

    def make(width=5, loss=None):
        model = nn.Linear(width, 2)
        loss = loss or (lambda model, batch: F.cross_entropy(model(batch[0]), batch[1]))
        return Training(model, torch.optim.SGD(model.parameters(), 0.1), loss,
                        (torch.randn(8, 4), torch.zeros(8).long()))

    def needs(width):
        return make(width)
"""
TESTS = """
    import pytest, train

    @pytest.mark.gradients_flow
    def test_shape():
        return train.make()

    @pytest.mark.gradients_flow
    def test_arguments():
        return train.make(4, lambda model: 3)

    def test_fixture(trainhealth):
        trainhealth.gradients_flow(train.make)

    def test_diagnosis(trainhealth):
        trainhealth.diagnose(train.make)

    def test_factory(trainhealth):
        trainhealth.gradients_flow(train.needs)
"""
OURS = str(Path(pytest_trainhealth.__file__).parent)


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    monkeypatch.setenv("PYTEST_ADDOPTS", "-p no:hypothesispytest -p no:benchmark")
    pytester.makepyfile(train=TRAIN, test_it=TESTS)
    return pytester


def test_none_of_our_frames(project: pytest.Pytester) -> None:
    result = project.runpytest("--trainhealth")
    result.assert_outcomes(failed=5)
    # relative to the folder of the run, and absolute
    assert not [line for line in result.outlines if OURS in line or "plugin/hooks.py" in line]
    result.stdout.fnmatch_lines(["*shapes cannot be multiplied (8x4 and 5x2)", "*raised in step 0 of gradients_flow*"])
    result.stdout.fnmatch_lines(["*TypeError: *<lambda>() takes 1 positional argument but 2 were given"])
    result.stdout.fnmatch_lines(["needs() needs an argument but is called without any: *(needs, width=...)"])


def test_all_of_them_on_request(project: pytest.Pytester) -> None:
    result = project.runpytest("--trainhealth", "--full-trace", "-k", "shape")
    assert [line for line in result.outlines if OURS in line or "examine.py" in line]


def test_a_factory_on_the_command_line_that_needs_an_argument(project: pytest.Pytester) -> None:
    result = project.runpytest("--trainhealth", "--trainhealth-training=train:needs")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    (line,) = [line for line in result.errlines if line.strip()]
    assert line.startswith("ERROR: --trainhealth-training: needs() needs an argument but is called without any")
