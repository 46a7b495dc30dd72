"""A project that has never heard of checks: what it is told, the file that is written for it, and first mistakes."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from pytest_trainhealth.plugin.first_minutes import what_to_write
from pytest_trainhealth.plugin.first_test import write_first_test
from pytest_trainhealth.plugin.project_sources import look_through
from pytest_trainhealth.settings import WrongSetting

from .conftest import Project

NET = """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self, width, *, depth=2, classes):
        super().__init__()

class Plain:
    pass

class Lit(pl.LightningModule):
    pass
"""
TRAIN = """
import argparse
from net import Net

def step(model, optimizer, batch):
    model(batch).backward()
    optimizer.step()

def train(model, data, epochs=3):
    for epoch in range(epochs):
        for batch in data:
            step(model, None, batch)

def main(epochs=3, verbose=True):
    train(Net(), [], epochs)

def cli():
    argparse.ArgumentParser().parse_args()
    main()

def _helper():
    main()

def report():
    print("trains nothing")

if __name__ == "__main__":
    main()
"""
SCRIPT = "for batch in range(3):\n    loss.backward()\n"


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    for name, text in {"net.py": NET, "train.py": TRAIN, "script.py": SCRIPT, "broken.py": "def ("}.items():
        (tmp_path / name).write_text(text)
    for folder in (".venv", "tests", "build"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "other.py").write_text(NET + TRAIN)
    return tmp_path


def test_models_and_loops_are_seen(sources: Path) -> None:
    found = look_through(sources)
    assert [(str(m), m.needs, m.lightning) for m in found.models] == [
        ("Net (net.py:5)", ("width", "classes"), False),
        ("Lit (net.py:12)", (), True),
    ]
    assert {loop.name: (loop.needs, loop.how_long) for loop in found.loops} == {
        "script.py": ((), ()),
        "step": (("model", "optimizer", "batch"), ()),
        "train": (("model", "data"), ("epochs",)),
        "main": ((), ("epochs",)),
        "cli": ((), ()),
    }
    assert [loop.name for loop in found.loops if loop.is_script] == ["script.py"]
    assert [loop.name for loop in found.loops if loop.reads_arguments] == ["cli"]
    assert [loop.name for loop in found.loops if loop.is_step] == ["step"]


def test_five_lines_to_begin_with(sources: Path) -> None:
    assert list(what_to_write(sources)) == [
        "no test asks for a check: give one a marker. Seen here: Net (net.py:5), Lit (net.py:12), "
        "script.py (script.py:1) and 4 more",
        "  @pytest.mark.trainhealth",
        "  def test_main():  # from train import main",
        "      main(epochs=1)  # whatever it trains is watched",
        "or let pytest --trainhealth-init write a first test file",
    ]


def test_five_lines_where_nothing_is_seen(tmp_path: Path) -> None:
    lines = list(what_to_write(tmp_path))
    assert len(lines) == 5
    assert lines[3] == "      return Training(model, optimizer=..., criterion=..., data=...)"


def test_the_file_that_is_written(sources: Path) -> None:
    said = write_first_test(sources)
    assert said.startswith("test_training_health.py written, with 4 tests: script.py (script.py:1), main (train.py:")
    text = (sources / "test_training_health.py").read_text()
    tests = [node.name for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)]
    assert tests == ["test_script", "test_main", "test_cli", "test_lit"]
    assert "main(epochs=1)" in text
    assert 'runpy.run_path(str(ROOT / "script.py"), run_name="__main__")' in text
    assert 'monkeypatch.setattr("sys.argv", ["train.py"])' in text
    assert "Training.from_lightning(model, data)" in text


def test_never_over_a_file(sources: Path) -> None:
    (sources / "test_training_health.py").write_text("mine")
    with pytest.raises(WrongSetting, match=r"test_training_health\.py is there already, and is not touched"):
        write_first_test(sources)
    assert (sources / "test_training_health.py").read_text() == "mine"


def test_what_is_written_runs(project: Project) -> None:
    """By the fake engine, which trains nothing: the real one is in the tutorial."""
    project.makepyfile(train="def main(epochs=9):\n    assert epochs == 1\n    if not epochs: loss.backward()\n")
    project.makepyfile(net=NET)
    written = project.runpytest("--trainhealth-init")
    assert written.ret == 0
    written.stdout.fnmatch_lines(["Run it with: pytest --trainhealth test_training_health.py"])
    result = project.runpytest("--trainhealth", "--trainhealth-checks=gradients_flow", "test_training_health.py")
    result.assert_outcomes(passed=1, skipped=1)
    again = project.runpytest("--trainhealth-init")
    assert again.ret == pytest.ExitCode.USAGE_ERROR


def test_told_only_where_no_test_asks_for_a_check(project: Project) -> None:
    project.makepyfile(test_it="def test_it(): pass", train=TRAIN)
    project.runpytest("--trainhealth").stdout.fnmatch_lines(
        ["*- training health -*", "no test asks for a check*", "  def test_main():  # from train import main"]
    )
    assert "no test asks" not in project.runpytest().stdout.str()
    assert "no test asks" not in project.runpytest("--trainhealth", "-k", "nothing").stdout.str()


def test_a_plain_test_under_pytestmark(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTEST_ADDOPTS", "-p no:hypothesispytest -p no:benchmark")
    pytester.makepyfile(
        """
        import unittest
        import pytest
        from torch import nn

        pytestmark = pytest.mark.gradients_flow

        def test_it():
            pass

        async def test_async():
            pass

        class TestOld(unittest.TestCase):
            def test_old(self):
                pass

        def make():
            pass

        def test_function():
            return make

        def test_model():
            return nn.Linear(2, 2)
        """
    )
    result = pytester.runpytest("--trainhealth")
    result.assert_outcomes(failed=5)
    result.stdout.fnmatch_lines(
        [
            "nothing to check: *The marker comes from the pytestmark of its file: mark the tests that train instead",
            "*install that, or write `def` instead of `async def`",
            "*move the test out of it, or call pytest_trainhealth.diagnose(make_training) there*",
            "the test returned the function make: call it, and return the Training that it makes",
            "the test returned a model (Linear): return Training(model, optimizer=..., criterion=..., data=...), or *",
        ]
    )
    assert "All traceback entries are hidden" not in result.stdout.str()
