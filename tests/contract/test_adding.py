"""Adding things takes the files that CONTRIBUTING.md says it takes, and nothing else.

The examples are read from that page and laid over the package in a temporary folder: new files as they stand, changed
ones with the lines that the page adds. Whatever is imported from there comes before the package's own, in processes
that end with the test. What is added is made up, and seen to work as users would see it: in a pytest run with a marker,
the fixture, the options and the files, and through `diagnose()`.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import pytest_trainhealth

from ..docs.snippets import blocks

ROOT = Path(__file__).parents[2]
PACKAGE = "pytest_trainhealth"
PAGE = ROOT / "CONTRIBUTING.md"

#: What each addition takes. New files first; the others get the lines shown on the page.
FILES = {
    "check": [
        "pytest_trainhealth/checks/only_optimizers_write.py",
        "pytest_trainhealth/settings.py",
        "pytest_trainhealth/plugin/fixture.py",
    ],
    "signal": [
        "pytest_trainhealth/observe/signals/wiring/hand_edits.py",
        "pytest_trainhealth/records/wiring.py",
    ],
    "cause": [
        "pytest_trainhealth/causes/weights_overwritten.py",
        "docs/causes/weights-overwritten/broken.py",
        "docs/causes/weights-overwritten/fixed.py",
    ],
    "cure": ["pytest_trainhealth/interventions/optimizer/undo_edits.py"],
    "condition": [
        "pytest_trainhealth/interventions/inputs/shifted_inputs.py",
        "pytest_trainhealth/stress/circumstances.py",
        "pytest_trainhealth/settings.py",
        "pytest_trainhealth/plugin/fixture.py",
    ],
    "report": ["pytest_trainhealth/reports/markdown_table.py", "pytest_trainhealth/settings.py"],
}

#: Loaded by `-p laid_over`, before anything of the package is. Folders of the packages are looked through after these.
LAID_OVER = f"""
import sys
from importlib.machinery import PathFinder
from pathlib import Path

HERE = Path(__file__).parent

class LaidOver:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name.partition(".")[0] != "{PACKAGE}":
            return None
        spec, folder = PathFinder.find_spec(name, path), HERE.joinpath(*name.split("."))
        if spec is None or spec.submodule_search_locations is None:
            return None
        if folder.is_dir():
            spec.submodule_search_locations = [str(folder), *spec.submodule_search_locations]
        return spec

sys.meta_path.insert(0, LaidOver)
"""


#: What somebody does with them: a check that fails with a cause that is confirmed, a signal, and a condition.
USED = """
import broken, fixed, pytest, torch
from torch import nn
from pytest_trainhealth import Training, diagnose
from pytest_trainhealth.observe.signals import close_signals
from pytest_trainhealth.programs.plan import Look, RunPlan
from pytest_trainhealth.programs.start import Start
from pytest_trainhealth.programs.training_program import TrainingProgram

def test_the_cause_is_named_and_the_cure_confirms_it():
    (verdict,) = diagnose(broken.training, ["only_optimizers_write"]).verdicts
    assert verdict.symptom.summary == "1 parameter changed between optimizer steps (expected 0)"
    (finding,) = verdict.findings
    assert (finding.cause, finding.certainty) == ("weights-overwritten", "confirmed")
    assert [(rerun.cure, rerun.confirms) for rerun in finding.reruns] == [("what the loop wrote, taken back", True)]

def test_the_check_is_in_the_battery_and_the_mended_training_passes():
    report = diagnose(fixed.training)
    assert "only_optimizers_write" in [verdict.check for verdict in report.verdicts]
    assert report.healthy

@pytest.mark.only_optimizers_write
def test_of_broken():
    return broken.training()

@pytest.mark.only_optimizers_write(steps=4)
def test_of_fixed():
    return fixed.training()

def test_the_method_of_the_fixture(trainhealth):
    assert trainhealth.only_optimizers_write(fixed.training, steps=4).passed
    with pytest.raises(BaseException, match="2.weight changed between optimizer steps"):
        trainhealth.only_optimizers_write(broken.training)

def test_what_the_signal_sees_is_in_the_trace():
    program = TrainingProgram(Start(broken.training(), seed=0))
    trace = program.record(RunPlan(4, Look(("hand_edits",)), one_batch=False))
    assert trace.wiring.hand_edits == {"2.weight": [1, 2, 3]}

def test_the_closer_look_takes_the_signal():
    assert "hand_edits" in close_signals()

class Logarithm(nn.Module):
    def forward(self, x):
        return torch.log(x + 5)

def training():
    model = nn.Sequential(Logarithm(), nn.Linear(4, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    return Training(model, optimizer, criterion=nn.MSELoss(), data=(torch.rand(8, 4), torch.rand(8, 2)))

def test_the_condition_is_asked_for_and_told():
    assert diagnose(training, ["trains_without_nan"], shifts=(1.0,)).healthy
    (verdict,) = diagnose(training, ["trains_without_nan"], shifts=(1.0, -10.0)).verdicts
    assert verdict.symptom.summary.endswith(", with inputs shifted by -10")
    assert "  @pytest.mark.trains_without_nan(shifts=(-10.0,))" in verdict.notes

def test_the_condition_is_a_keyword_of_the_fixture(trainhealth):
    with pytest.raises(BaseException, match="inputs shifted by -10"):
        trainhealth.trains_without_nan(training, shifts=(-10.0,))
"""


def examples(what: str) -> list[tuple[str, str]]:
    """Of its section: the files with the code that the page shows for them."""
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    begin = next(number for number, line in enumerate(lines) if re.fullmatch(rf"### An? {what}", line))
    end = next(number for number, line in enumerate(lines) if number > begin and line.startswith("##"))
    shown = [block for block in blocks(PAGE) if begin < block.line < end]
    return [
        (block.text.splitlines()[0].removeprefix("# ").removeprefix("--- "), block.text)
        for block in shown
        if block.language in {"python", "diff"}
    ]


def add(what: str, folder: Path) -> list[str]:
    """Add it as the page says. Returns the files that it took."""
    took = []
    for name, code in examples(what):
        if code.startswith("--- "):
            head, *hunks = re.split(r"^@@.*\n", code, flags=re.MULTILINE)
            made_into = re.search(r"^\+\+\+ (.*)$", head, flags=re.MULTILINE)
            target = made_into[1] if made_into else name
            old = next(base / name for base in (folder, ROOT) if (base / name).exists())
            text = changed(old.read_text(encoding="utf-8"), hunks)
        else:
            target, text = name, code
            assert not (ROOT / name).exists(), f"{name} is made up, and must not be there"
        file = folder / target
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        took.append(target)
    return took


def changed(text: str, hunks: list[str]) -> str:
    for hunk in hunks:
        lines = hunk.splitlines(keepends=True)
        before = "".join(line[1:] for line in lines if line[0] != "+")
        assert text.count(before) == 1, f"not there, or not just once:\n{before}"
        text = text.replace(before, "".join(line[1:] for line in lines if line[0] != "-"))
    return text


@pytest.fixture(scope="module")
def everything(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All six, one after the other, in one folder."""
    folder = tmp_path_factory.mktemp("laid_over")
    for what in FILES:
        add(what, folder)
    (folder / "laid_over.py").write_text(LAID_OVER, encoding="utf-8")
    return folder


class Contributor:
    """Somebody who has added everything, and runs pytest."""

    def __init__(self, added: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.home = home
        package = Path(pytest_trainhealth.__file__).parents[1]
        monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(added), str(package)]))
        monkeypatch.setenv("COLUMNS", "120")

    def pytest(self, *options: str, cwd: Path | None = None) -> str:
        command = [sys.executable, "-m", "pytest", "-p", "laid_over", "-p", "no:cacheprovider", *options]
        done = subprocess.run(command, cwd=cwd or self.home, capture_output=True, text=True, check=False)
        return done.stdout + done.stderr


@pytest.fixture
def contributor(everything: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Contributor:
    for which in ("broken", "fixed"):
        shutil.copy(everything / f"docs/causes/weights-overwritten/{which}.py", tmp_path)
    return Contributor(everything, tmp_path, monkeypatch)


@pytest.mark.parametrize("what", FILES)
def test_the_files_that_it_takes(what: str, tmp_path: Path) -> None:
    assert add(what, tmp_path) == FILES[what]
    print(f"a {what}: {', '.join(FILES[what])}")


@pytest.mark.parametrize("what", FILES)
def test_the_page_names_the_same_files(what: str) -> None:
    section = re.split(r"^### ", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    table = next(part for part in section if re.match(rf"An? {what}\n", part)).partition("```")[0]
    rows = [
        cell for row in re.findall(r"^\| (`.*?) \|", table, flags=re.MULTILINE) for cell in re.findall("`(.*?)`", row)
    ]
    named = [re.sub(r"<.*?>", "[^/]+", row) for row in rows]
    assert len(named) == len(FILES[what])
    assert [file for shape, file in zip(named, FILES[what], strict=True) if not re.search(f"{shape}$", file)] == []


def test_all_of_it_works(contributor: Contributor) -> None:
    (contributor.home / "test_it.py").write_text(USED, encoding="utf-8")
    said = contributor.pytest("--trainhealth", "--strict-markers", "-v", "--trainhealth-markdown=verdicts.md")
    seen = dict(re.findall(r"^test_it\.py::(\w+)\S* (PASSED|FAILED|ERROR|SKIPPED)", said, flags=re.MULTILINE))
    assert seen == {name: "PASSED" for name in seen} | {"test_of_broken": "FAILED"}, said
    assert len(seen) == USED.count("\ndef test_")
    assert "weights-overwritten" in said
    first, second, *rows = (contributor.home / "verdicts.md").read_text(encoding="utf-8").splitlines()
    assert (first, second) == ("| training | check | outcome |", "| --- | --- | --- |")
    assert "| test_of_broken | only_optimizers_write | failed |" in rows
    assert "| test_of_fixed | only_optimizers_write | passed |" in rows
    assert all(row.startswith("| test_") for row in rows), "the last time it is written, the run is complete"


def test_whoever_asks_is_told_about_them(contributor: Contributor) -> None:
    assert "nothing but an optimizer changes a parameter" in contributor.pytest("--markers")
    assert "--trainhealth-markdown=FILE" in contributor.pytest("--help")
    for name in ("weights-overwritten", "only_optimizers_write"):
        assert f"{name}: " in contributor.pytest(f"--trainhealth-explain={name}")


def test_what_is_added_keeps_the_other_contracts(contributor: Contributor) -> None:
    """All but the README, whose tables are written anew by a command."""
    not_this = "not test_the_tables_of_the_readme"
    said = contributor.pytest("-n0", "-q", "-k", not_this, "tests/contract/test_tables_agree.py", cwd=ROOT)
    assert re.search(r"^\d+ passed, 1 deselected", said, flags=re.MULTILINE), said
