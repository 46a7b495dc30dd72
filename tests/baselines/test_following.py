"""matches_baseline on real runs: what changes nothing passes, and what changes something is named for what it is."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
import torch
from torch.nn import functional as F

from pytest_trainhealth import Training, Verdict, diagnose
from pytest_trainhealth.baselines.file import read

from . import programs
from .programs import training


def judged(subject, file: Path, **settings) -> Verdict:
    return diagnose(subject, checks="matches_baseline", baseline=str(file), name="net", **settings).verdicts[0]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("baselines")


@pytest.fixture(scope="module")
def recorded(folder: Path) -> Path:
    verdict = judged(training(), folder / "net.json", update_baseline=True)
    assert verdict.passed
    assert verdict.notes[0].endswith("net.json was written: 10 steps, 8 seeds")
    return folder / "net.json"


@pytest.fixture(scope="module")
def shuffled(folder: Path) -> Path:
    assert judged(training(shuffle=True), folder / "shuffled.json", update_baseline=True).passed
    return folder / "shuffled.json"


def test_what_was_recorded(recorded):
    baseline = read(recorded)
    assert [layer.name for layer in baseline.layers][:3] == ["first.weight", "first.bias", "second.weight"]
    assert len(baseline.steps) == 10
    assert baseline.seeds == 8
    assert baseline.memorised is not None
    assert 5 < baseline.memorised.value < 200
    assert all(layer.start.spread > 0 for layer in baseline.layers)


@pytest.mark.parametrize(
    "same",
    [
        training(),
        training(programs.Renamed),
        training(programs.Reordered),
        training(programs.RenamedAndReordered),
        training(programs.WrittenOut),
        training(foreach=True),
    ],
    ids=["unchanged", "renamed", "reordered", "both", "written out", "foreach"],
)
def test_a_refactoring_that_changes_nothing_passes(same, recorded):
    verdict = judged(same, recorded)
    assert verdict.passed, verdict
    assert verdict.figures["same_steps"] == 10


def test_a_pass_says_what_is_otherwise(recorded):
    notes = judged(training(programs.RenamedAndReordered), recorded).notes
    assert "matched in the order of the forward pass: stem.weight was first.weight" in notes[0]
    assert "starts with other random numbers than recorded" in notes[1]
    assert "draws, from step 0 on, other random numbers" in judged(training(programs.NoDropout), recorded).notes[0]


CHANGES = {
    "initialisation": (
        training(programs.OtherInitialisation),
        "second.weight starts elsewhere than recorded",
        "initialisation: second.weight starts with norm 5.",
    ),
    "width": (
        training(programs.Wider),
        "the architecture is another one",
        "second.weight is 33 x 32, recorded 32 x 32",
    ),
    "depth": (training(programs.Deeper), "the architecture is another one", "extra.weight (32 x 32) is new"),
    "rate": (
        training(lr=3e-2),
        "learning rate 0.03, recorded 0.003",
        "start, batch, loss and gradients are as recorded",
    ),
    "scale of the loss": (
        training(reduction="sum"),
        "the loss is 16 times the recorded one",
        "and 16 is the batch size",
    ),
    "scale of the gradients": (
        training(clip=True),
        "the gradient of first.weight leaves the recorded run at step 0",
        "every gradient is 1 / 4 of the recorded one",
    ),
    "order": (
        training(reversed_order=True),
        "the data come in another order than recorded",
        "the same batches come in another order",
    ),
    "values": (training(scale=9), "the batch of step 0 is not the recorded one", "it holds other values: norm"),
    "optimizer": (
        training(optimizer=torch.optim.SGD),
        "the first update of first.weight is not the recorded one",
        "the optimizer is SGD, lr 0.003",
    ),
    "momentum": (
        training(betas=(0.5, 0.999)),
        "leaves the recorded run at step",
        "AdamW with betas[0] 0.5; recorded betas[0] 0.9",
    ),
    "frozen": (training(programs.Frozen), "the gradient of first.weight", "has none now, and had one when recorded"),
    "dropout": (training(programs.MoreDropout), "the loss leaves the recorded run at step 0", "start and batch are as"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_is_named_for_what_it_is(change, recorded):
    changed, headline, said = CHANGES[change]
    verdict = judged(changed, recorded)
    assert verdict.failed
    assert headline in verdict.headline
    assert "no known cause" not in str(verdict)
    assert said in " ".join(str(verdict).split())
    assert "update_baseline=True" in verdict.notes[-1]


def test_a_loader_that_no_longer_shuffles(shuffled):
    assert judged(training(shuffle=True), shuffled).passed
    verdict = judged(training(shuffle=False), shuffled)
    assert "another order" in verdict.headline
    assert "ordered by SequentialSampler, recorded RandomSampler" in verdict.symptom.summary


def test_other_surroundings_are_not_judged(recorded, folder):
    old = folder / "old.json"
    old.write_text(recorded.read_text().replace('"torch": "', '"torch": "1.'))
    assert judged(training(), old).passed, "what is the same is the same with any version"
    verdict = judged(training(programs.MoreDropout), old)
    assert verdict.outcome == "could not judge"
    assert "recorded with 1." in verdict.reason
    assert judged(training(lr=1.0), old).failed, "no version explains another rate"


def test_no_file_and_no_name_of_one(folder):
    assert judged(training(), folder / "none.json").reason.startswith("there is no none.json yet. diagnose(")
    (verdict,) = diagnose(training(), checks="matches_baseline").verdicts
    assert verdict.reason == "it needs the file of a recorded run: baseline= names it"


def test_a_damaged_file_says_which_line(recorded, folder):
    damaged = folder / "damaged.json"
    damaged.write_text("\n".join(recorded.read_text().splitlines()[:20]))
    assert "damaged.json: line 20 is not JSON" in judged(training(), damaged).reason


def test_a_file_that_is_still_true_is_left_alone(recorded):
    before = recorded.stat().st_mtime_ns
    verdict = judged(training(), recorded, update_baseline=True)
    assert verdict.notes == ("net.json is as it was",)
    assert recorded.stat().st_mtime_ns == before


def linear(steps_of: float = 0.6, *, noise: bool = False, nan: bool = False):
    """A line through two points, which is memorised in a few steps."""

    def factory() -> Training:
        model = torch.nn.Linear(2, 1)
        held = torch.optim.SGD(model.parameters(), steps_of)

        def loss(model, batch):
            made = F.mse_loss(model(batch), batch.sum(1, keepdim=True))
            return made * float("nan") if nan else made * (1 + random.SystemRandom().random() if noise else 1)

        return Training(model, held, loss, [torch.eye(2), torch.eye(2) * 2])

    return factory


@pytest.fixture(scope="module")
def of_a_line(folder: Path) -> str:
    assert judged(linear(), folder / "line.json", update_baseline=True).passed
    return (folder / "line.json").read_text()


@pytest.fixture
def line(of_a_line: str, tmp_path: Path) -> Path:
    (tmp_path / "line.json").write_text(of_a_line)
    return tmp_path / "line.json"


def test_an_update_tells_what_changed(line):
    (told,) = judged(linear(0.4), line, update_baseline=True).notes
    assert told.endswith("written anew: first difference: rate of step 0: learning rate 0.4, recorded 0.6")
    assert judged(linear(0.4), line).passed


def test_a_training_that_is_handed_in_as_it_is(folder):
    """Nobody knows what other seeds would come to: the same start is followed, and another one is not judged."""
    file = folder / "handed_in.json"
    torch.manual_seed(0)
    told = judged(linear()(), file, update_baseline=True).notes[0]
    assert told.endswith("10 steps, 1 seed; hand in a function that builds the training to have other seeds tried")
    torch.manual_seed(0)
    assert judged(linear()(), file).passed
    torch.manual_seed(1)
    other = judged(linear()(), file)
    assert other.outcome == "could not judge"
    assert "was recorded without other seeds" in other.reason


def test_only_what_is_healthy_is_recorded(tmp_path):
    file = tmp_path / "never.json"
    sick = judged(linear(nan=True), file, update_baseline=True)
    assert "nothing was recorded: a baseline is of a healthy run, and here the loss is nan at step 0" in sick.reason
    assert not file.exists()


def test_a_training_that_no_seed_decides_is_not_judged(line):
    verdict = judged(linear(noise=True), line)
    assert verdict.outcome == "could not judge", verdict
    assert "two runs with the same seeds differ" in verdict.reason


def test_a_sick_training_is_diagnosed_as_ever(line):
    verdict = judged(linear(nan=True), line)
    assert verdict.failed
    assert verdict.findings[0].cause == "unstable-operation"


def test_memorising_takes_longer(line):
    text = line.read_text()
    taken = next(row for row in text.splitlines() if row.startswith('"memorised"'))
    line.write_text(text.replace(taken, '"memorised": [4.0, 4.0, 0.0, 0.0],'))
    verdict = judged(linear(), line)
    assert verdict.failed, verdict
    assert "one batch is no longer memorised in 7 steps, recorded 4" in verdict.headline
