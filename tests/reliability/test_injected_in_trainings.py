"""Faults in the middle of real training steps: of the process, of the memory, of a loader's workers, of the clock.

Under `-n 2` with `tox -e faults`, where every worker imports torch first.
"""

from __future__ import annotations

import re
import signal
import sys
from collections.abc import Set as AbstractSet
from pathlib import Path

import pytest

from .injected_runs import Ended, Run, run

PLAIN_AND_WORKERS = pytest.mark.parametrize(
    "options", [(), pytest.param(("-n2",), marks=pytest.mark.faults)], ids=["plain", "workers"]
)
START = """
import os, signal, sys, time
import pytest, torch
from torch import nn
from torch.utils.data import DataLoader, Dataset
from pytest_trainhealth import Training

class Data(Dataset):
    def __init__(self, fault=None):
        self.fault = fault

    def __len__(self):
        return 32

    def __getitem__(self, index):
        if index == 20 and self.fault:
            self.fault()
        inputs = torch.randn(8, generator=torch.Generator().manual_seed(index))
        return inputs, inputs[:1].clone()

def training(fault=None, loader=None):
    model = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 1))
    optimizer = torch.optim.SGD(model.parameters(), 1e-2)
    steps = 0

    def step(batch):
        nonlocal steps
        steps += 1
        if steps == 3 and fault:
            fault()
        loss = nn.functional.mse_loss(model(batch[0]), batch[1])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    return Training(model, optimizer, step=step, data=loader or DataLoader(Data(), 8))

@pytest.mark.gradients_flow
def test_first():
    return training()
"""
OF_THE_PROCESS = """
@pytest.mark.gradients_flow
def test_exits():
    return training(lambda: os._exit(3))
"""
OF_THE_MEMORY = """
def no_memory():
    import resource

    size = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (size + 2**26, resource.RLIM_INFINITY))
    try:
        torch.zeros(2**30)
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))

@pytest.mark.gradients_flow
def test_out_of_memory():
    return training(no_memory)

def no_memory_of_python():
    raise MemoryError

@pytest.mark.gradients_flow
def test_memory_error():
    return training(no_memory_of_python)
"""
OF_A_LOADER = """
@pytest.mark.gradients_flow
def test_loader_exits():
    return training(loader=DataLoader(Data(lambda: os._exit(3)), 8, num_workers=1))

@pytest.mark.gradients_flow
def test_loader_killed():
    killed = lambda: os.kill(os.getpid(), signal.SIGTERM)
    return training(loader=DataLoader(Data(killed), 8, num_workers=1))
"""
OF_THE_CLOCK = """
def jumping_clock():
    real, hours = time.time, [0]

    def jumps():
        hours[0] += 1
        return real() + 7200 * (-1) ** hours[0]

    time.time = jumps

@pytest.mark.gradients_flow
def test_clock():
    return training(jumping_clock)
"""
HANGS = """
def hangs():
    open("ready", "w").close()
    time.sleep(600)

@pytest.mark.gradients_flow
def test_hangs():
    return training(loader=DataLoader(Data(hangs), 8, num_workers=1))
"""
#: An address space can be limited where /proc says how large it is. These are explained.
EXPLAINED = {"test_out_of_memory", "test_memory_error"} if sys.platform == "linux" else set()
RAISES = {
    # or the connection is seen to be gone before the process is
    "test_loader_exits": "DataLoader worker|Connection",
    "test_loader_killed": "DataLoader worker|Connection",
}


def write(folder: Path, *parts: str) -> Path:
    (folder / "test_it.py").write_text(START + "".join(parts))
    return folder


def in_every_outlet(ended: Ended, passed: set[str], failed: AbstractSet[str] = frozenset()) -> None:
    assert {test for test, outcome in ended.in_json.items() if outcome == "passed"} == passed
    assert ended.in_summary == passed | failed
    assert {test for test, outcome in (ended.in_junit or {}).items() if outcome == "passed"} == passed


@PLAIN_AND_WORKERS
def test_faults_that_raise_and_clocks_that_jump(tmp_path: Path, options: tuple[str, ...]) -> None:
    memory = OF_THE_MEMORY if EXPLAINED else ""
    ended = run(write(tmp_path, memory, OF_A_LOADER, OF_THE_CLOCK), *options)
    in_every_outlet(ended, {"test_first", "test_clock"}, EXPLAINED)
    causes = {v["nodeid"].partition("[")[0].rpartition("::")[2]: v["findings"] for v in ended.document["verdicts"]}
    assert all(causes[test][0]["cause"] == "out-of-memory" for test in EXPLAINED)
    messages = {error["nodeid"].rpartition("::")[2].partition("[")[0]: error for error in ended.document["errors"]}
    assert set(messages) == set(RAISES)
    for test, part in RAISES.items():
        assert messages[test]["outcome"] == "raised"
        assert re.search(part, messages[test]["message"])
    assert ended.document["complete"] is True
    assert ended.left == []


@PLAIN_AND_WORKERS
def test_a_step_that_ends_the_process(tmp_path: Path, options: tuple[str, ...]) -> None:
    ended = run(write(tmp_path, OF_THE_PROCESS), *options)
    died = {"test_exits": "worker died"} if options else {}
    assert ended.in_json == {"test_first": "passed", **died}
    assert ended.document["complete"] is bool(options)
    assert ended.left == []


@PLAIN_AND_WORKERS
def test_a_loader_that_hangs_does_not_outlive_the_run(tmp_path: Path, options: tuple[str, ...]) -> None:
    ended = Run(write(tmp_path, HANGS), *options).until("ready").send(signal.SIGTERM).wait()
    in_every_outlet(ended, {"test_first"})
    assert (ended.document["complete"], ended.document["interrupted"]) == (False, True)
    assert ended.left == []
