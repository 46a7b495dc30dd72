"""What every user of the plugin pays in every run.

Looked up when the process ends, for some plugins import late: in their summary, or in `pytest_unconfigure`.
"""

from __future__ import annotations

import subprocess
import sys
from ast import literal_eval

import pytest

import pytest_trainhealth
from pytest_trainhealth import examine, plugin, settings
from pytest_trainhealth.plugin import hooks, options, session_results, stash, unmarked

LOOK_AT_THE_END = """
import atexit, sys

@atexit.register
def look():
    print("HEAVY", sorted({"torch", "numpy", "hypothesis"} & set(sys.modules)))
    print("OURS", sorted(name for name in sys.modules if name.startswith("pytest_trainhealth")))
"""
#: The few modules that a run without training tests may load.
AT_START = {
    module.__name__
    for module in (pytest_trainhealth, settings, plugin, hooks, options, session_results, stash, unmarked)
}


def run(pytester: pytest.Pytester, *arguments: str) -> tuple[list[str], list[str]]:
    pytester.makeconftest(LOOK_AT_THE_END)
    result = pytester.runpytest_subprocess(*arguments)
    heavy = next(line for line in result.outlines if line.startswith("HEAVY"))
    ours = next(line for line in result.outlines if line.startswith("OURS"))
    return literal_eval(heavy.removeprefix("HEAVY ")), literal_eval(ours.removeprefix("OURS "))


@pytest.fixture
def plain(pytester: pytest.Pytester) -> pytest.Pytester:
    pytester.makepyfile("def test_it(): pass")
    return pytester


def test_nothing_heavy_without_training_tests(plain: pytest.Pytester) -> None:
    heavy, ours = run(plain, "-p", "no:hypothesispytest", "-p", "no:benchmark")
    assert heavy == []
    assert set(ours) == AT_START


def test_no_torch_beside_other_plugins(plain: pytest.Pytester) -> None:
    heavy, ours = run(plain, "--trainhealth")
    assert "torch" not in heavy
    assert examine.__name__ not in ours


def test_no_torch_for_a_marked_test_that_is_not_enforced(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("import pytest\n@pytest.mark.trainhealth\ndef test_it(): pass")
    heavy, _ = run(pytester, "-p", "no:hypothesispytest", "-p", "no:benchmark")
    assert heavy == []


@pytest.mark.parametrize("name", ["lr-too-high", "gradients_flow", "plateau"])
def test_no_torch_for_an_explanation(pytester: pytest.Pytester, name: str) -> None:
    heavy, _ = run(pytester, "-p", "no:hypothesispytest", "-p", "no:benchmark", "--trainhealth-explain", name)
    assert heavy == []


def test_importing_the_package_is_light() -> None:
    code = "import sys, pytest_trainhealth; dir(pytest_trainhealth); sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
