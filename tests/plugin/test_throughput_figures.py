"""What users see of a measured training: pytest-benchmark's table and JSON, our summary, and the verdict."""

from __future__ import annotations

import json

import pytest

KEEPS_THROUGHPUT = """
    import time
    import pytest
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, Dataset
    from pytest_trainhealth import Training

    class Slow(Dataset):
        def __len__(self):
            return 16

        def __getitem__(self, index):
            time.sleep(0.005)
            return torch.randn(8), index % 2

    def training(data):
        model = nn.Linear(8, 2)
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        return Training(model, optimizer, criterion=nn.CrossEntropyLoss(), data=data)

    @pytest.mark.keeps_throughput(steps=8, max_data_wait=0.95, max_step_ms=60_000, max_memory_growth=500)
    def test_fast():
        return training((torch.randn(4, 8), torch.tensor([0, 1, 0, 1])))

    @pytest.mark.keeps_throughput(steps=8)
    def test_slow():
        return training(DataLoader(Slow(), batch_size=4))
"""
EVERY = (
    "step_seconds samples_per_second tokens_per_second data_wait wait_ms transfer_ms forward_ms backward_ms "
    "optimizer_ms rest_ms flops_per_step flops_per_second peak_memory_mb memory_growth_mb warm_up_steps"
)


@pytest.fixture
def ran(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.RunResult:
    monkeypatch.setenv("PYTEST_ADDOPTS", "-p no:hypothesispytest")
    monkeypatch.setenv("COLUMNS", "100")
    for outer in ("CI", "PYTEST_XDIST_WORKER"):
        monkeypatch.delenv(outer, raising=False)
    pytester.makepyfile(test_speed=KEEPS_THROUGHPUT)
    return pytester.runpytest_subprocess("--trainhealth", "--benchmark-json=out.json", "--trainhealth-json=ours.json")


def test_table_json_summary_and_verdict(ran: pytest.RunResult, pytester: pytest.Pytester) -> None:
    """One run, which takes seconds, for all of them."""
    ran.assert_outcomes(passed=1, failed=1)
    ran.stdout.fnmatch_lines(
        [
            "data-loading-bottleneck: each step waits * ms for data and computes * ms",
            "*confirmed: Slow.__getitem__ takes longer to make a batch than a step takes to learn from",
            "            it",
            "*test_speed.py:*time.sleep(0.005)",
            "*the same batches, preloaded * x faster   passes, which confirms the cause",
            "*- training health -*",
            "test_fast   *samples/s * ms a step   |*|  *forward *",
            "test_slow   *samples/s * ms a step   |wwwwwwwwwwwwwwwwwww*|  wait *",
            "*benchmark: 2 tests*",
            "test_fast[[]keeps_throughput] *",
            "test_slow[[]keeps_throughput] *",
        ]
    )
    kept = {b["name"]: b for b in json.loads((pytester.path / "out.json").read_text())["benchmarks"]}
    fast, slow = kept["test_fast[keeps_throughput]"], kept["test_slow[keeps_throughput]"]
    assert set(fast["extra_info"]) == set(EVERY.split()) == set(slow["extra_info"])
    assert fast["stats"]["rounds"] == 8 == slow["stats"]["rounds"]
    # a matrix product of (4, 8) x (8, 2), and one for the gradient of its weight
    assert fast["extra_info"]["flops_per_step"] == 2 * 2 * 4 * 8 * 2
    # pytest-benchmark's clock and ours agree about the same steps
    assert slow["extra_info"]["step_seconds"] == pytest.approx(slow["stats"]["median"], rel=0.02)
    assert fast["extra_info"]["step_seconds"] == pytest.approx(fast["stats"]["median"], rel=0.05)
    assert slow["extra_info"]["data_wait"] > 0.8 > fast["extra_info"]["data_wait"]
    figures = [v["figures"] for v in json.loads((pytester.path / "ours.json").read_text())["verdicts"]]
    assert all({"samples_per_second", "wait_ms"} <= set(each) for each in figures)
    assert all(each["flops_per_step"] == 2 * 2 * 4 * 8 * 2 for each in figures)


def test_quiet_leaves_the_bars_out(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTEST_ADDOPTS", "-p no:hypothesispytest")
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)
    pytester.makepyfile(test_speed=KEEPS_THROUGHPUT)
    result = pytester.runpytest_subprocess("--trainhealth", "-q", "-k", "fast")
    result.assert_outcomes(passed=1)
    result.stdout.no_fnmatch_line("*samples/s*")
