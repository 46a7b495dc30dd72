"""`--trainhealth-init`: a first test file, for the models and loops that the project's sources show.

It runs as it is. Loops that can be called are called; where only somebody who knows the project can say what a model is
trained on, the test says so and is skipped until that is filled in.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path

from ..settings import WrongSetting
from ..wording import plural
from .project_sources import Loop, Model, Source, look_through

FLAG, NAME = "--trainhealth-init", "test_training_health.py"
#: Of each kind. By judgement: enough to see how it goes; a file of fifty tests is deleted unread.
_MOST = 3
_HEAD = '''\
"""Does it train? Run it with: pytest --trainhealth

A test with a marker hands in a Training, or trains: whatever it trains while it runs is watched. Each marker is a
promise that is kept or not; @pytest.mark.trainhealth stands for the usual ones. When one is broken, the failure says
why, and what was tried. More: pytest --trainhealth-explain
"""
'''


def write_first_test(root: Path) -> str:
    """Says what was written, in a few lines. Raises `WrongSetting` where a file of that name is there already."""
    found = look_through(root)
    loops = [loop for loop in found.loops if not loop.needs][:_MOST]
    steps = [loop for loop in found.loops if loop.is_step and loop.needs]
    models = [model for model in found.models if not loops or model.lightning or not model.needs][:_MOST]
    folder = _folder(root, [each for each in (*loops, *models) if not (isinstance(each, Loop) and each.is_script)])
    file = folder / NAME
    shown = file.relative_to(root).as_posix()
    if file.exists():
        raise WrongSetting(f"{FLAG}: {shown} is there already, and is not touched")
    text = "".join(_text(root, folder, loops, models, steps))
    try:
        with file.open("x", encoding="utf-8") as stream:
            stream.write(text)
    except FileExistsError:
        raise WrongSetting(f"{FLAG}: {shown} is there already, and is not touched") from None
    except OSError as error:
        raise WrongSetting(f"{FLAG}: cannot write {shown}: {error.strerror or error}") from None
    seen = ", ".join(str(each) for each in (*loops, *models)) or "no model and no loop was found: it holds an example"
    tests = plural(max(len(loops) + len(models), 1), "test")
    return f"{shown} written, with {tests}: {seen}\nRun it with: pytest --trainhealth {shown}"


def _folder(root: Path, imported: list[Source]) -> Path:
    """`tests`, unless what is tested can be imported only from beside it."""
    tests = root / "tests"
    if not tests.is_dir():
        return root
    return tests if all(_is_importable(root, each) for each in imported) else root


def _is_importable(root: Path, source: Source) -> bool:
    """Installed, or in a folder that the configuration adds (`pythonpath`), or beside a conftest.py."""
    top = module_name(source.file).partition(".")[0]
    try:
        spec = importlib.util.find_spec(top)
    except (ImportError, ValueError):
        return False
    places = [] if spec is None else [spec.origin or "", *(spec.submodule_search_locations or ())]
    here = any(place and Path(place).resolve().is_relative_to(root.resolve()) for place in places)
    from_elsewhere = [folder for folder in sys.path if folder and Path(folder).resolve() != Path.cwd().resolve()]
    return here and any(Path(folder).resolve().is_relative_to(root.resolve()) for folder in from_elsewhere)


def module_name(file: Path) -> str:
    parts = file.with_suffix("").parts
    parts = parts[1:] if parts[0] == "src" else parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _text(root: Path, folder: Path, loops: list[Loop], models: list[Model], steps: list[Loop]) -> Iterator[str]:
    yield _HEAD
    scripts = [loop for loop in loops if loop.is_script]
    if any(loop.is_script for loop in loops):
        yield "\nimport runpy\nfrom pathlib import Path\n"
    yield "\nimport pytest\n"
    if models or not loops:
        yield "import torch\n\nfrom pytest_trainhealth import Training\n"
    if scripts:
        up = "parent" if folder == root else "parents[1]"
        yield f"\nROOT = Path(__file__).{up}\n"
    for loop in loops:
        yield from _loop_test(loop, loops)
    for model in models:
        yield from _model_test(model, steps)
    if not loops and not models:
        yield _EXAMPLE


def _loop_test(loop: Loop, loops: list[Loop]) -> Iterator[str]:
    name = loop.name.removesuffix(".py")
    if [each.name for each in loops].count(loop.name) > 1:
        name = f"{loop.file.stem}_{name}" if not loop.is_script else f"{loop.file.parent.name}_{name}"
    argument = "monkeypatch" if loop.reads_arguments else ""
    yield f"\n\n# {loop.file.as_posix()}:{loop.line}: returns nothing, so whatever it trains is watched.\n"
    yield "# A few hundred steps show more than enough, and fewer than twenty show little.\n"
    yield f"@pytest.mark.trainhealth\ndef test_{_plain(name)}({argument}):\n"
    if loop.reads_arguments:
        yield f'    monkeypatch.setattr("sys.argv", ["{loop.file.name}"])  # add the options that make it short\n'
    if loop.is_script:
        yield f'    runpy.run_path(str(ROOT / "{loop.file.as_posix()}"), run_name="__main__")\n'
        return
    short = ", ".join(f"{name}={1 if 'epoch' in name else 100}" for name in loop.how_long[:1])
    yield f"    from {module_name(loop.file)} import {loop.name}\n\n    {loop.name}({short})\n"


def _model_test(model: Model, steps: list[Loop]) -> Iterator[str]:
    arguments = ", ".join(f"{name}=..." for name in model.needs)
    yield f"\n\n# {model.file.as_posix()}:{model.line}\n"
    yield f"@pytest.mark.trainhealth\ndef test_{_plain(model.name).lower()}():\n"
    yield f'    pytest.skip("say what {model.name} is trained on, then take this line out")\n'
    yield f"    from {module_name(model.file)} import {model.name}\n\n"
    yield f"    model = {model.name}({arguments})\n"
    if model.lightning:
        yield "    data = ...  # the training DataLoader\n    return Training.from_lightning(model, data)\n"
        return
    yield "    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)  # yours: its settings are tested too\n"
    yield "    data = [(torch.randn(16, 8), torch.randint(10, (16,)))]  # a few real batches, or your DataLoader\n"
    step = next((each for each in steps if each.file.parent == model.file.parent), None)
    if step is not None:
        yield f"    # your own step: from {module_name(step.file)} import {step.name}\n"
        called = f"{step.name}({', '.join(step.needs)})"
        yield f"    # return Training(model, optimizer, data=data, step=lambda batch: {called})\n"
    yield "    return Training(model, optimizer, criterion=torch.nn.CrossEntropyLoss(), data=data)\n"


def _plain(name: str) -> str:
    return "".join(letter if letter.isalnum() else "_" for letter in name)


_EXAMPLE = """

@pytest.mark.trainhealth
def test_example():
    model = torch.nn.Sequential(torch.nn.Linear(8, 32), torch.nn.ReLU(), torch.nn.Linear(32, 2))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    inputs = torch.randn(256, 8)
    labels = (inputs[:, 0] > 0).long()
    data = [(inputs[at : at + 32], labels[at : at + 32]) for at in range(0, 256, 32)]
    return Training(model, optimizer, criterion=torch.nn.CrossEntropyLoss(), data=data)
"""
