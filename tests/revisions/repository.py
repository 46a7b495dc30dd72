"""Small git repositories with a training in them, whose step costs what is asked."""

from __future__ import annotations

import subprocess
import textwrap
from pathlib import Path

#: `WORK` products of matrices in the model: real computing, and none of it sleeping.
MODEL = """
    import torch
    from torch import nn

    WORK = {work}


    class Slow(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = nn.Linear(64, 4)
            self.register_buffer("matrix", torch.randn({size}, {size}) / {size} ** 0.5)

        def forward(self, x):
            spent = self.matrix
            for _ in range(WORK):
                spent = spent @ self.matrix
            return self.inner(x) + 0 * spent.mean()
"""
TEST = """
    import pytest
    import torch
    from model import Slow
    from pytest_trainhealth import Training
    from torch import nn

    @pytest.mark.keeps_throughput
    def test_speed():
        model = Slow()
        data = [(torch.randn(8, 64), torch.randint(4, (8,))) for _ in range(4)]
        return Training(model, torch.optim.SGD(model.parameters(), 0.1), criterion=nn.CrossEntropyLoss(), data=data)
"""


#: Without pytest: a function at the top of a file.
FUNCTION = """
    from pytest_trainhealth import Training

    def training():
        model = Slow()
        data = [(torch.randn(8, 64), torch.randint(4, (8,))) for _ in range(4)]
        return Training(model, torch.optim.SGD(model.parameters(), 0.1), criterion=nn.CrossEntropyLoss(), data=data)
"""


def dedented(text: str) -> str:
    return textwrap.dedent(text).lstrip()


def training_file(work: int, size: int) -> str:
    return dedented(MODEL.format(work=work, size=size)) + "\n\n" + dedented(FUNCTION)


class Repository:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self.git("init", "-q", "-b", "main")
        self.write("pytest.ini", "[pytest]\n")

    def git(self, *arguments: str) -> str:
        who = ("-c", "user.name=somebody", "-c", "user.email=somebody@example.org", "-c", "commit.gpgsign=false")
        done = subprocess.run(
            ["git", *who, *arguments], cwd=self.folder, capture_output=True, text=True, check=True, timeout=60
        )
        return done.stdout.strip()

    def write(self, name: str, text: str) -> None:
        file = self.folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def commit(self, message: str = "a change") -> str:
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", message)
        return self.git("rev-parse", "HEAD")

    def train(self, work: int = 20, size: int = 96, test: str = TEST) -> None:
        self.write("model.py", dedented(MODEL.format(work=work, size=size)))
        self.write("test_speed.py", dedented(test))

    @property
    def worktrees(self) -> list[str]:
        return [
            line for line in self.git("worktree", "list", "--porcelain").splitlines() if line.startswith("worktree")
        ]
