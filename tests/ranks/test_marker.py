"""The marker, on a test that sets everything up itself and is watched; and tests that start processes of their own."""

from __future__ import annotations

import pytest

WATCHED = """
import pytest, torch, torch.distributed as dist, torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

@pytest.fixture
def width():
    return 16

@pytest.mark.ranks_agree(ranks=2, timeout=10)
@pytest.mark.parametrize("lr", [0.1])
def test_main(width, lr):
    dist.init_process_group("gloo")
    data = TensorDataset(torch.arange(48.0).view(12, 4) / 48, torch.arange(12) % 3)
    model = nn.parallel.DistributedDataParallel(nn.Sequential(nn.Linear(4, width), nn.Tanh(), nn.Linear(width, 3)))
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    for epoch in range(2):
        sampler = DistributedSampler(data)
        sampler.set_epoch(epoch)
        for inputs, labels in DataLoader(data, batch_size=2, sampler=sampler):
            optimizer.zero_grad()
            F.cross_entropy(model(inputs), labels).backward()
            optimizer.step()
    dist.destroy_process_group()
"""
SPAWNING = """
import pytest, torch

def main(rank):
    pass

@pytest.mark.{check}
def test_spawning():
    torch.multiprocessing.spawn(main, nprocs=1)
"""


def test_a_test_that_trains_by_itself_is_watched_in_every_rank(pytester: pytest.Pytester):
    pytester.makepyfile(test_it=WATCHED)
    result = pytester.runpytest_subprocess("--trainhealth", "-p", "no:cacheprovider", "--trainhealth-json=out.json")
    result.assert_outcomes(passed=1)
    assert "not compared with one process: the test is watched" in (pytester.path / "out.json").read_text()


@pytest.mark.parametrize(
    ("check", "advice"),
    [
        ("trains_without_nan", "and what they train cannot be watched from here: use ranks_agree"),
        ("ranks_agree", "mark what each of them runs"),
    ],
)
def test_a_test_that_starts_processes_of_its_own_is_told_so(pytester: pytest.Pytester, check: str, advice: str):
    pytester.makepyfile(test_it=SPAWNING.format(check=check))
    result = pytester.runpytest_subprocess("--trainhealth", "-p", "no:cacheprovider")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        ["*nothing to check: this test starts processes of its own (torch.multiprocessing.spawn at test_it.py:8)*"]
    )
    result.stdout.fnmatch_lines([f"*{advice}*"])
