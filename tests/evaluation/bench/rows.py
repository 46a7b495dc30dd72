"""`python -m tests.evaluation.bench.rows`: what a look through the data costs, from 10,000 rows to 1,000,000.

A table of 20 numbers and a class, with a tenth as many rows for validation, and every kind of fault that takes a look
at all samples: shared ones, repeated ones, wrong labels. Each size is run in a process of its own: processor seconds,
and by how much the peak of its memory rises above what the data themselves take.
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

SIZES = (10_000, 100_000, 1_000_000)
_FEATURES, _CLASSES = 20, 5


def measure(rows: int) -> str:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    from pytest_trainhealth import Training, diagnose

    torch.set_num_threads(1)

    def drawn(samples: int) -> tuple[torch.Tensor, torch.Tensor]:
        labels = torch.randint(_CLASSES, (samples,))
        return centres[labels] + torch.randn(samples, _FEATURES), labels

    torch.manual_seed(0)
    centres = 2 * torch.randn(_CLASSES, _FEATURES)
    (x, y), (val, val_y) = drawn(rows), drawn(rows // 10)
    x[-rows // 5 :] = x[: rows // 5]  # a fifth is there twice
    y[-rows // 5 :] = y[: rows // 5]
    y = torch.where(torch.rand(rows) < 0.1, torch.randint(_CLASSES, (rows,)), y)  # and some labels are wrong
    val[: rows // 50], val_y[: rows // 50] = x[: rows // 50], y[: rows // 50]  # and a fifth of val_data is shared
    model = nn.Linear(_FEATURES, _CLASSES)
    optimizer = torch.optim.Adam(model.parameters())
    training = Training(
        model, optimizer, criterion=nn.CrossEntropyLoss(),
        data=DataLoader(TensorDataset(x, y), 256, shuffle=True), val_data=DataLoader(TensorDataset(val, val_y), 256),
    )  # fmt: skip
    small = DataLoader(TensorDataset(x[:512], y[:512]), 256)
    diagnose(
        Training(model, optimizer, criterion=nn.CrossEntropyLoss(), data=small), ["data_is_healthy"]
    )  # what is imported once
    before, began = _forgotten_peak(), time.process_time()
    (verdict,) = diagnose(training, ["data_is_healthy"]).verdicts
    seconds = time.process_time() - began
    found = verdict.findings[0].cause if verdict.findings else verdict.outcome
    shared = verdict.symptom.measured if verdict.symptom is not None else 0
    data = (x.nbytes + y.nbytes + val.nbytes + val_y.nbytes) / 2**20
    return f"{rows:>9,} | {seconds:.2f} | {_peak() - before:.0f} | {data:.0f} | {found}, {shared:,.0f}"


def _forgotten_peak() -> float:
    """What is in memory now; from here on the peak is counted anew (Linux only)."""
    Path("/proc/self/clear_refs").write_text("5")
    return _peak()


def _peak() -> float:
    """In MB."""
    status = Path("/proc/self/status").read_text()
    return next(int(line.split()[1]) / 1024 for line in status.splitlines() if line.startswith("VmHWM"))


def main() -> None:
    if len(sys.argv) > 1:
        print(measure(int(sys.argv[1])))
        return
    print("rows | seconds | MB beyond | MB of data | found")
    for rows in SIZES:
        subprocess.run([sys.executable, "-m", __spec__.name, str(rows)], check=True)


if __name__ == "__main__":
    main()
