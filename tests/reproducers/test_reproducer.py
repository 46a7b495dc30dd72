"""What is kept of a failure: enough to take the one step again, and nothing that has to be trusted."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F

from pytest_trainhealth import Training, Verdict, diagnose, replay
from pytest_trainhealth.programs.plan import RunPlan
from pytest_trainhealth.programs.training_program import TrainingProgram
from pytest_trainhealth.records.trace import Trace
from pytest_trainhealth.reproducers import step_state
from pytest_trainhealth.reproducers.reproducer import file_name

GUILTY_STEP = 3


def batches(make: Callable[[torch.Tensor, torch.Tensor], Any] = lambda x, y: (x, y)) -> list[Any]:
    generator = torch.Generator().manual_seed(0)
    given = [(torch.rand(8, 4, generator=generator), torch.rand(8, 1, generator=generator)) for _ in range(6)]
    given[GUILTY_STEP][0][5] = 0
    return [make(*pair) for pair in given]


def loss(model: nn.Module, batch: Any) -> torch.Tensor:
    light = batch[0].sum(1, keepdim=True).log()
    return F.mse_loss(model(batch[0]) * light, batch[1])


def network() -> nn.Module:
    return nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Linear(8, 1))


def training() -> Training:
    model = network()
    return Training(model, torch.optim.Adam(model.parameters(), 1e-2), loss, batches())


def failure(subject: Any, folder: Path, **more: Any) -> Verdict:
    report = diagnose(subject, ["trains_without_nan"], name="it", reproducers=folder, **more)
    (verdict,) = report.verdicts
    assert verdict.failed
    return verdict


def content(verdict: Verdict) -> dict[str, Any]:
    loaded: dict[str, Any] = torch.load(verdict.reproducer, weights_only=True)
    return loaded


def notes(verdict: Verdict) -> str:
    return " | ".join(verdict.notes)


def plain(value: Any) -> bool:
    if isinstance(value, dict):
        return all(plain(each) for each in (*value.keys(), *value.values()))
    if isinstance(value, (list, tuple)):
        return type(value) in (list, tuple) and all(map(plain, value))
    return value is None or type(value) in (torch.Tensor, int, float, bool, str)


@pytest.fixture(params=[1, 2])
def threads(request: pytest.FixtureRequest) -> Iterator[int]:
    """What torch has by itself, one for each core, is what most users have."""
    before = torch.get_num_threads()
    torch.set_num_threads(request.param)
    yield request.param
    torch.set_num_threads(before)


def test_the_state_is_that_before_the_guilty_step(tmp_path: Path, threads: int) -> None:
    """Bit for bit, with the one thread of a check, however many there are: sums of several are rounded otherwise."""
    kept = content(failure(training, tmp_path))
    assert torch.get_num_threads() == threads
    torch.set_num_threads(1)
    torch.manual_seed(kept["seed"])
    by_hand = training()
    model, optimizer = by_hand.model, by_hand.optimizers["Adam"]
    assert isinstance(model, nn.Module)
    for batch in by_hand.data[:GUILTY_STEP]:
        optimizer.zero_grad()
        loss(model, batch).backward()
        optimizer.step()
    state = kept["state"]
    assert kept["step"] == GUILTY_STEP
    for name, value in {**dict(model.named_parameters()), **dict(model.named_buffers())}.items():
        assert torch.equal({**state["parameters"], **state["buffers"]}[name], value), name
    moments = optimizer.state_dict()["state"]
    assert state["optimizers"]["Adam"]["state"].keys() == moments.keys()
    assert all(torch.equal(state["optimizers"]["Adam"]["state"][i]["exp_avg"], moments[i]["exp_avg"]) for i in moments)
    assert all(map(torch.equal, state["batch"]["whole"], by_hand.data[GUILTY_STEP]))
    assert torch.equal(state["gradients"]["0.weight"], model[0].weight.grad)  # type: ignore[index]


def test_plain_values_only(tmp_path: Path) -> None:
    kept = content(failure(training, tmp_path))
    assert plain(kept)
    assert (kept["check"], kept["training"], kept["test"], kept["conditions"]) == ("trains_without_nan", "it", "", ())
    assert kept["factory"] == f"{__name__}:training"
    assert kept["culprit"]["operation"] == "log"


def test_three_lines_of_python(tmp_path: Path) -> None:
    written = failure(training, tmp_path)
    assert Verdict.from_json(written.to_json()).to_json() == written.to_json()  # a nan equals nothing
    again = replay(written.reproducer, training)
    assert again.findings == written.findings
    assert again.symptom == written.symptom
    assert str(again).startswith("unstable-operation: log before the model (test_reproducer.py:")
    assert f"  replay    pytest_trainhealth.replay({written.reproducer!r}, factory)" in str(again).splitlines()


def test_a_replay_that_is_cut_short_proves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written = failure(training, tmp_path)
    original = TrainingProgram.record

    def cut(self: TrainingProgram, plan: RunPlan) -> Trace:
        original(self, plan)
        return Trace(cut_short="cut")

    monkeypatch.setattr(TrainingProgram, "record", cut)
    again = replay(written.reproducer, training)
    assert (again.outcome, again.reason) == ("could not judge", "cut")


def test_a_training_rather_than_a_factory_is_left_as_it_was(tmp_path: Path) -> None:
    subject = training()
    before = {name: p.detach().clone() for name, p in subject.parameters().items()}
    torch.manual_seed(1)
    numbers = torch.get_rng_state()
    written = failure(subject, tmp_path)
    assert replay(written.reproducer, subject).findings == written.findings
    assert all(torch.equal(before[name], p) for name, p in subject.parameters().items())
    assert subject.optimizers["Adam"].state_dict()["state"] == {}
    assert torch.equal(torch.get_rng_state(), numbers)


def test_nothing_is_written_unasked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    report = diagnose(training, ["trains_without_nan"])
    assert not report.healthy
    assert report.verdicts[0].reproducer == ""
    assert list(tmp_path.iterdir()) == []


def too_fast() -> Training:
    model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1))
    data = [(x, x.sum(1, keepdim=True)) for x in torch.randn(4, 16, 4)]
    return Training(model, torch.optim.SGD(model.parameters(), 10.0), criterion=F.mse_loss, data=data)


def test_every_check_that_explodes_keeps_one(tmp_path: Path) -> None:
    """Also one for which nothing was left to find: its cause is known from the check before."""
    checks = ("overfits_one_batch", "trains_without_nan")
    report = diagnose(too_fast, checks, name="it", reproducers=tmp_path)
    for check, verdict in zip(checks, report.verdicts, strict=True):
        assert verdict.symptom is not None
        assert verdict.symptom.category == "explosion"
        assert verdict.findings[0].confirmed
        assert content(verdict)["check"] == check
        assert replay(verdict.reproducer, too_fast).findings == verdict.findings


@pytest.mark.parametrize("source", ["torch", "python", "numpy"])
def test_random_numbers_go_on_where_they_stood(tmp_path: Path, capsys: pytest.CaptureFixture[str], source: str) -> None:
    """Told by printing: whatever else the step changes is put back."""
    draw: dict[str, Callable[[], float]] = {
        "torch": lambda: float(torch.rand(())),
        "python": random.random,
        "numpy": lambda: float(np.random.rand()),
    }

    def noisy(model: nn.Module, batch: Any) -> torch.Tensor:
        print(draw[source]())
        return loss(model, batch)

    def factory() -> Training:
        model = network()
        return Training(model, torch.optim.Adam(model.parameters(), 1e-2), noisy, batches())

    written = failure(factory, tmp_path)
    drawn = capsys.readouterr().out.split()
    assert len(set(drawn)) == GUILTY_STEP + 1
    assert replay(written.reproducer, factory).failed
    assert capsys.readouterr().out.split() == [drawn[GUILTY_STEP]]


def counted(optimizer: torch.optim.Optimizer) -> float:
    return float(next((state["step"] for state in optimizer.state.values()), 0))


@pytest.mark.parametrize("what", ["gradient", "buffer", "optimizer", "rate"])
def test_each_part_of_the_state_is_put_back(tmp_path: Path, what: str) -> None:
    """The step goes wrong because of this part alone, and is not said to hang on anything else."""

    def factory() -> Training:
        model = nn.Linear(1, 1)
        model.register_buffer("count", torch.zeros(()), persistent=False)
        optimizer = torch.optim.Adam(model.parameters(), 1e-3)
        weight = model.weight
        used: dict[str, Callable[[], float]] = {
            "gradient": lambda: 0.0 if weight.grad is None else float(weight.grad),
            "buffer": lambda: float(model.count),  # type: ignore[arg-type]
            "optimizer": lambda: counted(optimizer),
            "rate": lambda: 1e3 * optimizer.param_groups[0]["lr"] - 1,
        }

        def step(batch: torch.Tensor) -> torch.Tensor:
            if what != "gradient":
                optimizer.zero_grad()
            value = model(batch).mean() + torch.log(torch.tensor(2.5 - used[what]()))
            value.backward()
            optimizer.step()
            model.count += 1  # type: ignore[operator, assignment]
            optimizer.param_groups[0]["lr"] += 1e-3
            return value

        return Training(model, optimizer, step=step, data=torch.ones(4, 1))

    written = failure(factory, tmp_path)
    kept = content(written)
    assert kept["step"] == 3
    assert kept["culprit"]["operation"] == "log"
    assert kept["state"] is not None
    assert "replayed: step 3, as recorded" in replay(written.reproducer, factory).notes


@dataclass
class Images:
    pixels: torch.Tensor
    light: torch.Tensor
    source: str = "camera"

    def __getitem__(self, index: int) -> torch.Tensor:
        return (self.pixels, self.light)[index]


def test_batches_of_a_class_of_the_users(tmp_path: Path) -> None:
    def factory() -> Training:
        model = network()
        return Training(model, torch.optim.Adam(model.parameters(), 1e-2), loss, batches(Images))

    written = failure(factory, tmp_path)
    assert set(content(written)["state"]["batch"]["parts"]) == {".pixels", ".light"}
    assert replay(written.reproducer, factory).findings == written.findings


def test_a_step_that_counts_is_replayed_from_the_start(tmp_path: Path) -> None:
    """Nothing but the user's code knows of the counter, so the step alone would be said to be mended."""

    def factory() -> Training:
        model, count = nn.Linear(4, 1), [0]
        optimizer = torch.optim.SGD(model.parameters(), 1e-3)

        def step(batch: Any) -> torch.Tensor:
            optimizer.zero_grad()
            value = model(batch[0]).pow(2).mean() * torch.log(torch.tensor(2.0 - min(count[0], 2)))
            value.backward()
            optimizer.step()
            count[0] += 1
            return value

        return Training(model, optimizer, step=step, data=batches()[0])

    written = failure(factory, tmp_path)
    kept = content(written)
    assert kept["state"] is None
    assert kept["why"].startswith("the step alone does not show it")
    again = replay(written.reproducer, factory)
    assert again.findings == written.findings
    assert f"replayed: the run up to step {kept['step']}, as recorded" in again.notes


def test_the_conditions_of_the_run_are_kept(tmp_path: Path) -> None:
    def factory() -> Training:
        torch.manual_seed(0)
        model = nn.Linear(4, 1)
        return Training(
            model, torch.optim.SGD(model.parameters(), 1e-3), lambda m, b: m(b[0]).exp().mean(), batches()[0]
        )

    written = failure(factory, tmp_path, scales=(1e4,))
    conditions = content(written)["conditions"]
    assert [condition["kind"] for condition in conditions] == ["scaled_inputs"]
    assert replay(written.reproducer, factory).findings == written.findings


def test_settings_of_the_optimizer_are_those_of_the_training(tmp_path: Path) -> None:
    """An epsilon that was mended has to count; the learning rate is where the schedule had brought it."""

    def made(eps: float) -> Training:
        model = nn.Linear(4, 1)
        optimizer = torch.optim.Adam(model.parameters(), 1e-2, eps=eps)
        still = batches()[0][0] * 0
        schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)
        return Training(model, optimizer, lambda m, b: m(b).sum() * 0, still, scheduler=schedule)

    written = failure(lambda: made(0.0), tmp_path)
    assert replay(written.reproducer, lambda: made(0.0)).failed
    mended = replay(written.reproducer, lambda: made(1e-8))
    assert mended.passed
    assert "is finite now" in str(mended)


class Marked(torch.Tensor):
    """As libraries make them."""


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda x: x.as_subclass(Marked), "no reproducer: extra is a Marked"),
        (lambda x: x.to_sparse(), "no reproducer: extra is a tensor without plain values (torch.sparse_coo"),
    ],
    ids=["subclass", "sparse"],
)
def test_tensors_that_cannot_be_kept(tmp_path: Path, make: Callable[[torch.Tensor], Any], said: str) -> None:
    def factory() -> Training:
        model = network()
        model.register_buffer("extra", make(torch.eye(2)))
        return Training(model, torch.optim.Adam(model.parameters(), 1e-2), loss, batches())

    verdict = failure(factory, tmp_path)
    assert verdict.findings
    assert verdict.reproducer == ""
    assert said in notes(verdict)
    assert not list(tmp_path.glob("*.pt"))


def test_too_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(step_state, "LARGEST", 2**8)
    verdict = failure(training, tmp_path)
    assert verdict.findings
    assert verdict.reproducer == ""
    assert "no reproducer: batch and state take more than 0 MB" in notes(verdict)
    assert not list(tmp_path.glob("*.pt"))


def test_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = failure(training, tmp_path).reproducer
    was = Path(old).read_bytes()

    def full(content: Any, file: Any) -> None:
        file.write(b"half of it")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(torch, "save", full)
    verdict = failure(training, tmp_path)
    assert verdict.findings
    assert verdict.reproducer == ""
    assert "no reproducer: OSError: [Errno 28] No space left on device" in notes(verdict)
    assert Path(old).read_bytes() == was
    assert os.listdir(tmp_path) == [Path(old).name]


def test_a_folder_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("")
    verdict = failure(training, tmp_path / "taken")
    assert verdict.findings
    assert "no reproducer: " in notes(verdict)


def test_only_a_folder_of_our_own_is_hidden_from_git(tmp_path: Path) -> None:
    failure(training, tmp_path)
    assert not (tmp_path / ".gitignore").exists()
    failure(training, tmp_path / "new")
    assert (tmp_path / "new" / ".gitignore").read_text() == "*\n"


def test_a_folder_that_cannot_be_hidden_does_not_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise the next run finds it, takes it for the user's own, and its files are committed one day."""
    write_text = Path.write_text

    def full(self: Path, text: str) -> int:
        write_text(self, "")
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_text", full)
        assert failure(training, tmp_path / "new").reproducer == ""
    assert not (tmp_path / "new").exists()


def test_two_workers_make_the_folder_at_the_same_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "new").mkdir()
    exists = Path.exists
    # as it was when this one looked
    monkeypatch.setattr(Path, "exists", lambda self: exists(self) and self != tmp_path / "new")
    assert failure(training, tmp_path / "new").reproducer


def test_file_names() -> None:
    nan = "trains_without_nan"
    assert file_name("tests/test_a.py::TestB::test_c[trains_without_nan]", nan) == f"tests-test_a-TestB-test_c-{nan}.pt"
    assert file_name("test_a.py::test_c[small-trains_without_nan]", nan) == f"test_a-test_c-small-{nan}.pt"
    assert file_name("test_a.py::test_c", nan) == f"test_a-test_c-{nan}.pt"
    assert file_name("recipe:small[trains_without_nan]", nan) == f"recipe-small-{nan}.pt"
    alike = {file_name(f"test_a.py::test_c[{each}-{nan}]", nan) for each in ("a/b", "a b", "a-b", "../a-b", "ä-b")}
    assert len(alike) == 5
    assert not any("/" in name for name in alike)
    assert len(file_name(f"test_a.py::test_c[{'x' * 500}-{nan}]", nan)) < 150


def test_two_processes_of_one_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In two containers that share the folder, both are process 1; what one has half written is not the other's."""
    monkeypatch.setattr(os, "getpid", lambda: 1)
    half_written = tmp_path / ".1.tmp"
    half_written.write_text("of the other one")
    assert failure(training, tmp_path).reproducer
    assert half_written.read_text() == "of the other one"


def test_a_batch_of_a_million_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is written has to be within the limits of the reader."""
    monkeypatch.setattr(step_state, "_MOST_PLAIN", 5_000)
    words = ["a word of sixteen"] * 2_000

    def factory() -> Training:
        model = network()
        data = [(*pair, words) for pair in batches()]
        return Training(model, torch.optim.Adam(model.parameters(), 1e-2), loss, data)

    verdict = failure(factory, tmp_path)
    assert verdict.reproducer == ""
    assert "no reproducer: the batch holds more than 5,000 values outside of tensors" in notes(verdict)
