"""Beside other plugins of pytest: each works, or is told in one line what to do.

Run by `tox -e plugins`, which installs them; other runs leave these tests out by their marker. Each inner run loads
this plugin, xdist and the one that it is about.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from .injected_runs import FAKE_ENGINE, Ended, run

pytestmark = pytest.mark.plugins
PLAIN_AND_WORKERS = pytest.mark.parametrize("options", [(), ("-n2",)], ids=["plain", "workers"])
START = """
import asyncio, os, time
import pytest
from pytest_trainhealth import Training
"""
TWO = """
@pytest.mark.gradients_flow
def test_fails():
    return Training(gradients_flow="failed")

@pytest.mark.gradients_flow
@pytest.mark.overfits_one_batch
def test_passes():
    return Training()
"""


@pytest.fixture(autouse=True)
def no_plugins_but_those_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")


def beside(plugin: str, folder: Path, tests: str, *options: str, enforced: bool = True) -> Ended:
    (folder / "conftest.py").write_text(FAKE_ENGINE.read_text())
    (folder / "test_it.py").write_text(START + tests)
    names = [name for each in ("trainhealth", "xdist", *plugin.split()) for name in ("-p", each)]
    return run(folder, *names, *options, enforced=enforced)


def both_are_judged(ended: Ended) -> None:
    assert ended.code == pytest.ExitCode.TESTS_FAILED
    outcomes = sorted((entry["nodeid"], entry["outcome"]) for entry in ended.document["verdicts"])
    assert outcomes == [
        ("test_it.py::test_fails[gradients_flow]", "failed"),
        ("test_it.py::test_passes[gradients_flow]", "passed"),
        ("test_it.py::test_passes[overfits_one_batch]", "passed"),
    ]
    assert ended.document["errors"] == []
    assert ended.document["complete"] is True
    assert ended.in_summary == {"test_fails", "test_passes"}
    assert "parameters-not-in-optimizer: the optimizer never updates head.weight and head.bias" in ended.output


@PLAIN_AND_WORKERS
def test_randomly(tmp_path: Path, options: tuple[str, ...]) -> None:
    """Neither its order nor its seeds reach a verdict."""
    seeds = []
    for seed in (1, 2, 3):
        ended = beside("randomly", tmp_path, TWO, f"--randomly-seed={seed}", *options)
        both_are_judged(ended)
        seeds.append({entry["nodeid"]: entry["seed"] for entry in ended.document["verdicts"]})
    assert seeds[0] == seeds[1] == seeds[2]


@PLAIN_AND_WORKERS
def test_rerunfailures(tmp_path: Path, options: tuple[str, ...]) -> None:
    """A verdict is the same each time, and counts once."""
    ended = beside("rerunfailures", tmp_path, TWO, "--reruns=2", *options)
    both_are_judged(ended)
    assert "2 rerun" in ended.output


@PLAIN_AND_WORKERS
def test_rerunfailures_of_what_raises_once(tmp_path: Path, options: tuple[str, ...]) -> None:
    flaky = """
@pytest.mark.gradients_flow
def test_flaky():
    if not os.path.exists("ready"):
        open("ready", "w").close()
        raise OSError("once")
    return Training()
"""
    ended = beside("rerunfailures", tmp_path, flaky, "--reruns=2", *options)
    assert ended.code == 0
    assert ended.in_json == {"test_flaky": "passed"}
    assert (ended.document["errors"], ended.document["complete"]) == ([], True)


HANGS = """
@pytest.mark.gradients_flow
def test_first():
    return Training()

@pytest.mark.gradients_flow
def test_hangs():
    time.sleep(60)
"""


@PLAIN_AND_WORKERS
def test_timeout_by_signal(tmp_path: Path, options: tuple[str, ...]) -> None:
    ended = beside("timeout", tmp_path, HANGS, "--timeout=2", "--timeout-method=signal", *options)
    assert ended.in_json == {"test_first": "passed", "test_hangs": "raised"}
    assert "Timeout" in ended.document["errors"][0]["message"]
    assert ended.document["complete"] is True
    assert ended.left == []


@PLAIN_AND_WORKERS
def test_timeout_by_thread(tmp_path: Path, options: tuple[str, ...]) -> None:
    """It ends the process."""
    ended = beside("timeout", tmp_path, HANGS, "--timeout=2", "--timeout-method=thread", *options)
    assert ended.code != 0
    assert ended.in_json == {"test_first": "passed", **({"test_hangs": "worker died"} if options else {})}
    assert ended.document["complete"] is bool(options)
    assert ended.left == []


@PLAIN_AND_WORKERS
def test_cov(tmp_path: Path, options: tuple[str, ...]) -> None:
    both_are_judged(beside("pytest_cov", tmp_path, TWO, "--cov=.", "--cov-report=term", *options))


def test_cov_counts_every_line_of_a_training(tmp_path: Path) -> None:
    """With the real engine, and a failure, which is looked at closely."""
    (tmp_path / "test_it.py").write_text("""
import pytest, torch
from pytest_trainhealth import Training

@pytest.mark.gradients_flow
def test_it():
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
    optimizer = torch.optim.SGD(model[0].parameters(), 0.1)

    def step(batch):
        loss = (model(batch) - batch[:, :1]).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    return Training(model, optimizer, step=step, data=[torch.randn(16, 4)])

def test_after():
    one = 1
    assert one == 1
""")
    names = ("-p", "trainhealth", "-p", "xdist", "-p", "pytest_cov")
    ended = run(tmp_path, *names, "--cov=test_it", "--cov-report=term-missing")
    assert ended.in_json == {"test_it": "failed"}
    assert re.search(r"^test_it.py +\d+ +0 +100%", ended.output, re.MULTILINE)


ASYNC = """
@pytest.mark.asyncio
@pytest.mark.gradients_flow
async def test_watched():
    await asyncio.sleep(0)
"""


@PLAIN_AND_WORKERS
def test_asyncio(tmp_path: Path, options: tuple[str, ...]) -> None:
    ended = beside("asyncio", tmp_path, ASYNC, *options)
    assert ended.code == 0
    assert ended.in_json == {"test_watched": "passed"}
    assert ended.document["complete"] is True


@pytest.mark.parametrize("enforced", [True, False])
@pytest.mark.parametrize("marker", ["gradients_flow", "filterwarnings('ignore')"])
def test_asyncio_drops_what_a_coroutine_returns(tmp_path: Path, marker: str, enforced: bool) -> None:
    test = ASYNC.replace("await asyncio.sleep(0)", "return Training()").replace("gradients_flow", marker)
    ended = beside("asyncio", tmp_path, test, enforced=enforced)
    assert ended.code == pytest.ExitCode.TESTS_FAILED
    said = {
        "gradients_flow": "a coroutine is watched while it trains, and cannot hand in a Training: return it from "
        "a test that is no coroutine",
        "filterwarnings('ignore')": "the test returns a Training, but no marker says what to check",
    }
    assert said[marker] in ended.output.replace("\nE     ", " ")


@PLAIN_AND_WORKERS
def test_html(tmp_path: Path, options: tuple[str, ...]) -> None:
    both_are_judged(beside("metadata html", tmp_path, TWO, "--html=tmp/out.html", "--self-contained-html", *options))
    page = (tmp_path / "tmp/out.html").read_text()
    assert "parameters-not-in-optimizer" in page
    assert ".trainhealth.within" in page  # ready for plots, of which these made-up verdicts have none


@PLAIN_AND_WORKERS
def test_forked(tmp_path: Path, options: tuple[str, ...]) -> None:
    """If it can run a test at all: with pytest 9.2 neither 1.6 nor 1.7.5 can, and says that the process ended."""
    (tmp_path / "alone").mkdir()
    (tmp_path / "alone/test_it.py").write_text("def test_it(): pass")
    works = run(tmp_path / "alone", "-p", "trainhealth", "-p", "pytest_forked", "--forked").code == 0
    shutil.rmtree(tmp_path / "alone")
    ended = beside("pytest_forked", tmp_path, TWO, "--forked", *options)
    assert "use -n 2 instead of --forked" in ended.output
    if works:
        both_are_judged(ended)
    else:
        assert ended.code == pytest.ExitCode.TESTS_FAILED
        assert ended.in_json == dict.fromkeys(("test_fails", "test_passes"), "worker died")
    assert ended.document["complete"] is True


def test_forked_can_carry_verdicts(tmp_path: Path) -> None:
    """It sends reports in its own way, which knows builtin types only."""
    sends = """
import marshal
import pytest

@pytest.hookimpl(tryfirst=True)
def pytest_runtest_logreport(report):
    assert marshal.loads(marshal.dumps(getattr(report, "trainhealth", None))) == getattr(report, "trainhealth", None)
"""
    (tmp_path / "sends_plugin.py").write_text(sends)
    both_are_judged(beside("sends_plugin", tmp_path, TWO))


@PLAIN_AND_WORKERS
def test_sugar(tmp_path: Path, options: tuple[str, ...]) -> None:
    both_are_judged(beside("sugar", tmp_path, TWO, "--force-sugar", *options))


@PLAIN_AND_WORKERS
def test_subtests(tmp_path: Path, options: tuple[str, ...]) -> None:
    """pytest's own since 9.0."""
    tests = (
        TWO
        + """
@pytest.mark.gradients_flow
def test_parts(subtests):
    for part in range(3):
        with subtests.test(part=part):
            assert part != 1
    return Training()
"""
    )
    ended = beside("", tmp_path, tests, *options)
    (verdict,) = [entry for entry in ended.document["verdicts"] if "test_parts" in entry["nodeid"]]
    (error,) = ended.document["errors"]
    assert (verdict["outcome"], error["outcome"]) == ("passed", "raised")
    assert "test_parts" in error["nodeid"]
    assert ended.document["complete"] is True
    assert ended.code == pytest.ExitCode.TESTS_FAILED


@PLAIN_AND_WORKERS
def test_unittest_and_doctests_beside_it(tmp_path: Path, options: tuple[str, ...]) -> None:
    tests = """
import unittest

pytestmark = pytest.mark.gradients_flow

def double(number):
    '''
    >>> double(2)
    4
    '''
    return 2 * number

class TestOld(unittest.TestCase):
    def test_old(self):
        assert double(1) == 2

def test_judged():
    return Training()
"""
    ended = beside("", tmp_path, tests, "--doctest-modules", *options)
    assert ended.in_json == {"test_judged": "passed", "test_old": "raised"}
    (error,) = ended.document["errors"]
    assert "unittest.TestCase (there, use pytest_trainhealth.diagnose)" in error["message"]
    assert "1 failed, 2 passed" in ended.output
    assert "a doctest is not watched: training health markers work on test functions" in ended.output
    assert ended.document["complete"] is True
