"""An error in the user's code looks as if pytest had called it: their lines, torch's, and none of ours.

What a cause explains is a chart instead, with their lines in it.
"""

from __future__ import annotations

from pathlib import Path

import pytest
import torch._dynamo  # noqa: F401 - pytester forgets what a run inside it has imported, and this can be imported once

import pytest_trainhealth

TRAIN = """
    import torch
    from torch import nn
    from torch.nn import functional as F
    from pytest_trainhealth import Training

    def cross_entropy(model, batch):
        return F.cross_entropy(model(batch[0]), batch[1])

    def make(width=5, loss=cross_entropy):
        model = nn.Linear(width, 2)
        return Training(model, torch.optim.SGD(model.parameters(), 0.1), loss,
                        (torch.randn(8, 4), torch.zeros(8).long()))

    def loses(model, batch):
        loss = cross_entropy(model, batch)
        loss.register_hook(forgets)
        return loss

    def forgets(gradient):
        raise LookupError("of their own, in a backward pass")

    def hooked():
        return make(4, loses)

    def needs(width):
        return make(width)

    def train(loss=cross_entropy, width=4):
        training = make(width)
        (optimizer,) = training.optimizers.values()
        for _ in range(4):
            optimizer.zero_grad()
            loss(training.model, training.data).backward()
            optimizer.step()
"""
TESTS = """
    import pytest, train

    @pytest.mark.gradients_flow
    def test_hooked():
        return train.hooked()

    @pytest.mark.gradients_flow
    def test_arguments():
        return train.make(4, lambda model: 3)

    @pytest.mark.gradients_flow
    def test_watched():
        train.train(train.loses)

    def test_fixture(trainhealth):
        trainhealth.gradients_flow(train.hooked)

    def test_diagnosis(trainhealth):
        trainhealth.diagnose(train.hooked)

    def test_factory(trainhealth):
        trainhealth.gradients_flow(train.needs)
"""
EXPLAINED = """
    import pytest, train

    @pytest.mark.gradients_flow
    def test_shape():
        return train.make()

    @pytest.mark.gradients_flow
    def test_watched():
        train.train(width=5)

    def test_fixture(trainhealth):
        trainhealth.gradients_flow(train.make)

    def test_diagnosis(trainhealth):
        report = trainhealth.diagnose(train.make)
        assert [finding.cause for finding in report.findings] == ["shape-mismatch"]
        assert not report.healthy
"""
OUTCOMES = """
    import unittest
    import pytest, train

    @pytest.mark.gradients_flow
    def test_skips():
        train.train()
        pytest.skip("no more than that")

    @pytest.mark.gradients_flow
    def test_skips_as_unittest_does():
        train.train()
        raise unittest.SkipTest("no more than that")

    @pytest.mark.gradients_flow
    def test_expects_to_fail():
        train.train()
        pytest.xfail("known")

    @pytest.mark.xfail(raises=RuntimeError, strict=True)
    @pytest.mark.gradients_flow
    def test_expects_a_known_error():
        train.train(width=5)

    @pytest.mark.xfail(raises=LookupError, strict=True)
    @pytest.mark.gradients_flow
    def test_expects_an_error_of_its_own():
        return train.hooked()

    @pytest.mark.xfail(raises=KeyError, strict=True)
    @pytest.mark.gradients_flow
    def test_expects_another_error():
        return train.hooked()

    @pytest.mark.gradients_flow
    def test_fails_its_own_assertion():
        train.train()
        assert 1 == 2, "what the test is about"
"""
OURS = str(Path(pytest_trainhealth.__file__).parent)


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    monkeypatch.setenv("PYTEST_ADDOPTS", "-p no:hypothesispytest -p no:benchmark")
    pytester.makepyfile(train=TRAIN, test_it=TESTS)
    return pytester


def ours_in(result: pytest.RunResult) -> list[str]:
    # relative to the folder of the run, and absolute
    return [line for line in result.outlines if OURS in line or "plugin/hooks.py" in line or "run/hooks.py" in line]


def test_none_of_our_frames(project: pytest.Pytester) -> None:
    result = project.runpytest("--trainhealth")
    result.assert_outcomes(failed=6)
    assert not ours_in(result)
    result.stdout.fnmatch_lines(["*LookupError: of their own, in a backward pass", "*raised in step 0 of gradients_*"])
    result.stdout.fnmatch_lines(["*TypeError: *<lambda>() takes 1 positional argument but 2 were given"])
    result.stdout.fnmatch_lines(["needs() needs an argument but is called without any: *(needs, width=...)"])


def test_what_is_explained_has_their_lines_and_a_headline(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    pytester.makepyfile(train=TRAIN, test_it=EXPLAINED)
    result = pytester.runpytest("--trainhealth", "-p", "no:hypothesispytest", "-p", "no:benchmark")
    result.assert_outcomes(failed=3, passed=1)
    assert not ours_in(result)
    chart = [
        "shape-mismatch: Linear takes 5 features, and gets 4",
        "*symptom * step 0 raises RuntimeError: mat1 and mat2 shapes cannot be multiplied (8x4 and 5x2)",
        "*raised * train.py:* return F.cross_entropy(model(batch[[]0[]]), batch[[]1[]])",
        "*evidence * has the shape (8, 4)",
        "*fix * make Linear for what it gets (in_features=4), or change what comes before it",
    ]
    result.stdout.fnmatch_lines([*chart, *chart[:2], "*raised *test_it.py:9 *train.train(width=5)"])
    result.stdout.fnmatch_lines(["FAILED test_it.py::test_shape[[]gradients_flow[]] - shape-mismatch: *"])


def test_what_says_how_a_test_ends_keeps_its_meaning(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(train=TRAIN, test_it=OUTCOMES)
    result = pytester.runpytest("--trainhealth", "-rA", "-p", "no:hypothesispytest", "-p", "no:benchmark")
    result.assert_outcomes(skipped=2, xfailed=3, failed=2)
    result.stdout.fnmatch_lines(["*AssertionError: what the test is about"])
    result.stdout.fnmatch_lines(["FAILED test_it.py::test_expects_another_error* - LookupError*"])


def test_ctrl_c_ends_the_run(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        train=TRAIN,
        test_it="""
        import pytest, train

        def stops(model, batch):
            raise KeyboardInterrupt

        @pytest.mark.gradients_flow
        def test_returned():
            return train.make(4, stops)
        """,
    )
    settings = ("--trainhealth", "-p", "no:hypothesispytest", "-p", "no:benchmark")
    result = pytester.runpytest_inprocess(*settings, no_reraise_ctrlc=True)
    assert result.ret == pytest.ExitCode.INTERRUPTED


def test_all_of_them_on_request(project: pytest.Pytester) -> None:
    result = project.runpytest("--trainhealth", "--full-trace", "-k", "hooked")
    assert [line for line in result.outlines if OURS in line or "pipeline.py" in line]


def test_a_factory_on_the_command_line_that_needs_an_argument(project: pytest.Pytester) -> None:
    result = project.runpytest("--trainhealth", "--trainhealth-training=train:needs")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    (line,) = [line for line in result.errlines if line.strip()]
    assert line.startswith("ERROR: --trainhealth-training: needs() needs an argument but is called without any")
