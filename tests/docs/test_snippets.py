"""Every snippet of the docs is run, and every output shown is what is really printed, up to numbers."""

from __future__ import annotations

import linecache
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from pytest_trainhealth import Training, diagnose

from .snippets import Block, Command, blocks, commands, missing, plain

DOCS = Path(__file__).parents[2] / "docs"
WRITTEN_BY_HAND = sorted(p for p in DOCS.rglob("*.md") if not {"_build", "generated"} & set(p.relative_to(DOCS).parts))
PAGES = {p.relative_to(DOCS).with_suffix("").as_posix(): p for p in WRITTEN_BY_HAND if any(blocks(p))}

#: Shown, not run: they would change the machine that the tests run on.
_NOT_RUN = ("pip",)


@pytest.fixture(scope="module")
def everything_imported():
    """Inner runs share this process, and take what they import with them when they end. torch bears that only once."""
    model = torch.nn.Linear(1, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    diagnose(Training(model, optimizer, criterion=torch.nn.MSELoss(), data=(torch.ones(2, 1), torch.ones(2, 1))))


@pytest.fixture
def reader(everything_imported, pytester, monkeypatch):
    """Somebody who does what a page says, in an empty folder."""
    monkeypatch.setenv("COLUMNS", "88")
    monkeypatch.setenv("PYTEST_ADDOPTS", "-p no:hypothesispytest -p no:cacheprovider")
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)  # pytest-benchmark would not measure for the reader
    # a file that changes within a second, and not in size, must not be taken for its compiled self
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    return Reader(pytester)


#: Their snippets need packages that the ordinary tests do not have.
_WITH_FRAMEWORKS = ("how-to/hugging-face", "how-to/lightning", "how-to/other-frameworks")


@pytest.mark.parametrize(
    "page", [pytest.param(page, marks=[pytest.mark.frameworks] * (page in _WITH_FRAMEWORKS)) for page in PAGES]
)
def test_page(page, reader):
    for block in blocks(PAGES[page]):
        reader.follow(block, PAGES[page])


class Reader:
    def __init__(self, pytester: pytest.Pytester) -> None:
        self._pytester = pytester
        self._names = {"__name__": "__main__"}

    def follow(self, block: Block, page: Path) -> None:
        if block.caption:
            file = self._pytester.path / block.caption
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(block.text, encoding="utf-8")
        elif block.language == "console":
            for command in commands(block):
                self._type(command, f"{page.name}:{block.line}")
        elif block.language == "python":
            exec(compile(block.text, f"{page.name}:{block.line}", "exec"), self._names)

    def _type(self, command: Command, where: str) -> None:
        program, *arguments = shlex.split(command.words)
        if program in _NOT_RUN:
            return
        real = {"pytest": self._pytest, "python": self._python}[program](arguments)
        wrong = missing(command.output, real)
        assert wrong is None, f"{where}: $ {command.words}\nnot printed in its turn: {wrong}\n\n" + "\n".join(real)

    def _pytest(self, arguments: list[str]) -> list[str]:
        linecache.clearcache()
        result = self._pytester.runpytest_inprocess(*arguments)
        return [*result.outlines, *result.errlines]

    def _python(self, arguments: list[str]) -> list[str]:
        done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, cwd=self._pytester.path)
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()


def test_pages_without_a_snippet_are_no_accident():
    """A fence that is not recognised would go unnoticed."""
    without = {p.relative_to(DOCS).as_posix() for p in WRITTEN_BY_HAND} - {p + ".md" for p in PAGES}
    assert without <= {
        "how-to/index.md",
        "reference/index.md",
        "scoreboard.md",
        "numerics.md",
        "reliability.md",
        "real-loops.md",
    } | {f"explanation/{n}.md" for n in EXPLANATIONS}


EXPLANATIONS = ("index", "certainty", "never-cry-wolf", "cost", "same-start", "limits")


def test_outputs_are_held_against_real_ones():
    real = ["==== 2 failed in 3.21s ====", "loss 2.303 -> 0.021", "  now", "more"]
    assert missing(("=== 2 failed in 9.99s ===", "...", "more"), real) is None
    assert missing(("...", "loss 1.1 -> 2.2 now", "more", "..."), real) is None
    assert missing(("more", "...", "loss 1.1 -> 2.2"), real) == plain("loss 1.1 -> 2.2")
    assert missing(("==== 3 failed in 3.21s ====",), real) == plain("=== 3 failed in 1s ===")
    assert missing(("==== 2 failed in 3.21s ====", "more"), real) is not None
