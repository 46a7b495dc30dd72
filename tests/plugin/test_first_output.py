"""What a failing test shows as its own output: that of its first run, although it was run many times."""

from __future__ import annotations

import pytest

from .conftest import Project

LOOP = """
import pytest
import torch

@pytest.mark.overfits_one_batch
def test_loop():
    print("begins")
    torch.manual_seed(0)
    model = torch.nn.Linear(4, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    inputs, targets = torch.randn(8, 4), torch.arange(8) % 3
    for step in range(40):
        loss = torch.nn.functional.cross_entropy(model(inputs), targets)
        loss.backward()
        optimizer.zero_grad()
        optimizer.step()
    print("ends")
    RAISES
"""


@pytest.fixture
def real(project: Project) -> Project:
    (project.path / "conftest.py").write_text("")  # the real engine, which runs the test again
    return project


@pytest.mark.parametrize("capture", ["fd", "sys"])
def test_it_is_there_once(real: Project, capture: str) -> None:
    real.makepyfile(LOOP.replace("RAISES", ""))
    result = real.runpytest_subprocess("--trainhealth", f"--capture={capture}")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["gradients-cleared-before-step: *", "*Captured stdout call*", "begins", "ends"])
    assert result.outlines.count("begins") == result.outlines.count("ends") == 1


def test_with_s_everything_is_shown_as_it_comes(real: Project) -> None:
    real.makepyfile(LOOP.replace("RAISES", ""))
    result = real.runpytest_subprocess("--trainhealth", "-s")
    result.assert_outcomes(failed=1)
    assert result.outlines.count("ends") > 1


def test_a_test_that_raises_keeps_what_it_wrote(real: Project) -> None:
    real.makepyfile(LOOP.replace("RAISES", 'raise RuntimeError("at the end")'))
    result = real.runpytest_subprocess("--trainhealth")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*RuntimeError: at the end", "*Captured stdout call*", "begins", "ends"])
