"""What the user's code raises is explained: the call, what it was given, the layer, the line, and how to mend it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.distributions import Distribution
from torch.nn import functional as F
from torch.utils.data import DataLoader, Dataset, TensorDataset

from pytest_trainhealth import Training, Verdict, diagnose, replay
from pytest_trainhealth.engine.request import Request
from pytest_trainhealth.examine import examine


@pytest.fixture(autouse=True)
def distributions_look_at_what_they_are_given() -> None:
    """torch.compile, wherever it was used in this process, has switched that off for good."""
    Distribution.set_default_validate_args(True)


X, Y = torch.randn(8, 4), torch.arange(8) % 3
Made = Callable[[], Training]


def judged(subject: Callable[[], object]) -> Verdict:
    return examine(subject, Request("gradients_flow", "raises", 0))


def made(model: nn.Module, loss: Callable[..., Any], data: Any = None, **settings: Any) -> Training:
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    return Training(model, optimizer, loss, (X, Y) if data is None else data, **settings)


def cross_entropy(model: nn.Module, batch: Any) -> Tensor:
    return F.cross_entropy(model(batch[0]), batch[1])


def watched(training: Made) -> Callable[[], None]:
    """The same training in a loop of the test's own, which is watched."""

    def test() -> None:
        it = training()
        data = it.data if isinstance(it.data, (list, DataLoader)) else [it.data]
        (optimizer,) = it.optimizers.values()
        for _ in range(4):
            for batch in data:
                if it.step is not None:
                    it.step(batch)
                    continue
                assert it.loss is not None
                optimizer.zero_grad()
                it.loss(it.model, batch).backward()
                optimizer.step()

    return test


class Words(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.table, self.head = nn.Embedding(50, 4), nn.Linear(4, 3)

    def forward(self, ids: Tensor) -> Any:
        return self.head(self.table(ids).mean(1))


class Policy(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.scores = nn.Linear(4, 3)

    def forward(self, x: Tensor) -> Tensor:
        scores = self.scores(x)
        return torch.log(scores - scores.max())


class Carries(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.memory, self.head = nn.GRU(4, 5, batch_first=True), nn.Linear(5, 3)
        self.state: Tensor | None = None

    def forward(self, x: Tensor) -> Any:
        read, self.state = self.memory(x, self.state)
        return self.head(read[:, -1])


class WritesOver(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(4, 4), nn.Linear(4, 3)

    def forward(self, x: Tensor) -> Any:
        hidden = torch.exp(self.first(x))
        scores = self.second(hidden)
        hidden += 1
        return scores


class WritesIntoItsWeight(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 3)

    def forward(self, x: Tensor) -> Any:
        self.layer.weight.clamp_(-1, 1)
        return self.layer(x)


class Ragged(Dataset[Any]):
    def __len__(self) -> int:
        return 8

    def __getitem__(self, index: int) -> Any:
        return torch.randn(3 + index % 2), index % 3


def looping(step: Callable[[nn.Module, Any, Any], Any]) -> Training:
    """A step of one's own, with a model of four inputs and three outputs."""
    model = nn.Linear(4, 3)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)

    def taken(batch: Any) -> Any:
        optimizer.zero_grad()
        loss = step(model, batch, optimizer)
        optimizer.step()
        return loss

    return Training(model, optimizer, step=taken, data=(X, Y))


def unknown_word() -> Training:
    ids = torch.arange(48).view(8, 6)
    ids[3, 2] = 61
    return made(Words(), cross_entropy, (ids, Y))


def unknown_class() -> Training:
    labels = Y.clone()
    labels[4] = 7
    return made(nn.Linear(4, 3), cross_entropy, (X, labels))


def unknown_column() -> Training:
    labels = Y.clone()
    labels[4] = 7
    return made(nn.Linear(4, 3), lambda m, b: F.mse_loss(m(b[0]), F.one_hot(b[1], 3).float()), (X, labels))


def nan_in_the_third_batch() -> Training:
    bad = X.clone()
    bad[5, 2] = float("nan")

    def loss(model: nn.Module, batch: Any) -> Tensor:
        return -torch.distributions.Categorical(logits=model(batch[0])).log_prob(batch[1]).mean()

    return made(nn.Linear(4, 3), loss, [(X, Y), (X, Y), (bad, Y)])


def nan_from_a_logarithm(check: Callable[[Tensor], Any]) -> Made:
    return lambda: made(Policy(), lambda model, batch: check(model(batch[0])))


def used_up() -> Training:
    batches = iter([(X, Y)] * 3)

    def step(model: nn.Module, batch: Any, _: Any) -> Tensor:
        loss = cross_entropy(model, next(batches))
        loss.backward()  # type: ignore[no-untyped-call]
        return loss

    return looping(step)


def twice(model: nn.Module, batch: Any, _: Any) -> Tensor:
    loss = cross_entropy(model, batch)
    loss.backward()  # type: ignore[no-untyped-call]
    loss.backward()  # type: ignore[no-untyped-call]
    return loss


def one_for_each(model: nn.Module, batch: Any, _: Any) -> Tensor:
    loss = F.cross_entropy(model(batch[0]), batch[1], reduction="none")
    loss.backward()  # type: ignore[no-untyped-call]
    return loss


def plain_number(model: nn.Module, batch: Any, _: Any) -> Any:
    loss: Any = cross_entropy(model, batch).item()
    loss.backward()
    return loss


def detached(model: nn.Module, batch: Any, _: Any) -> Tensor:
    loss = cross_entropy(model, batch).detach()
    loss.backward()  # type: ignore[no-untyped-call]
    return loss


def stepped_before_backward(model: nn.Module, batch: Any, optimizer: Any) -> Tensor:
    loss = F.cross_entropy(nn.functional.linear(model(batch[0]), model.weight[:, :3]), batch[1])
    for parameter in model.parameters():
        parameter.grad = torch.ones_like(parameter)
    optimizer.step()
    loss.backward()  # type: ignore[no-untyped-call]
    return loss


def wraps_its_errors(model: nn.Module, batch: Any) -> Tensor:
    try:
        return cross_entropy(model, batch)
    except RuntimeError as error:
        raise LookupError("in my own words") from error


def linear() -> nn.Module:
    return nn.Linear(4, 3)


KINDS: list[tuple[str, Made, str, str]] = [
    ("word", unknown_word, "id-out-of-range: id 61 is beyond Embedding table, which has 50 rows: 0 to 49",
     "the first in sample 3, position 2"),
    ("class", unknown_class, "invalid-labels: labels are 0 to 7, but cross_entropy takes 0 to 2", "7 in sample 4"),
    ("one hot", unknown_column, "invalid-labels: labels are 0 to 7, but one_hot takes 0 to 2", "7 in sample 4"),
    ("layers", lambda: made(nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(8, 3)), cross_entropy),
     "shape-mismatch: Linear 2 takes 8 features, and gets 16", "its input has the shape (8, 16)"),
    ("channels", lambda: made(nn.Sequential(nn.Conv2d(3, 4, 3), nn.Flatten(), nn.Linear(196, 3)), cross_entropy,
                              (torch.randn(8, 1, 9, 9), Y)),
     "shape-mismatch: Conv2d 0 takes 3 channels, and gets 1", "has the shape (8, 1, 9, 9)"),
    ("channels last", lambda: made(nn.Sequential(nn.Conv2d(3, 4, 3), nn.Flatten(), nn.Linear(196, 3)), cross_entropy,
                                   (torch.randn(8, 9, 9, 3), Y)),
     "shape-mismatch: Conv2d 0 takes 3 channels, and gets 9", "x = x.permute(0, 3, 1, 2)"),
    ("recurrent", lambda: made(Carries(), cross_entropy, (torch.randn(8, 6, 3), Y)),
     "shape-mismatch: GRU memory", "(8, 6, 3)"),
    ("targets", lambda: made(linear(), lambda m, b: F.mse_loss(m(b[0]), torch.randn(8, 5))),
     "target-shape-mismatch: mse_loss gets outputs of shape (8, 3) and targets of shape (8, 5)", "as many outputs"),
    ("batches", lambda: made(linear(), lambda m, b: F.cross_entropy(m(b[0]), b[1][:5])),
     "target-shape-mismatch: 8 outputs are compared with 5 targets", "(5,)"),
    ("column", lambda: made(linear(), lambda m, b: F.cross_entropy(m(b[0]), b[1][:, None])),
     "target-shape-mismatch: cross_entropy gets outputs of shape (8, 3) and targets of shape (8, 1)", "squeeze(1)"),
    ("samples", lambda: made(linear(), cross_entropy, DataLoader(Ragged(), batch_size=4)),
     "shape-mismatch: samples of one batch have different shapes: (3,) and (4,)", "number 1 the shape (4,)"),
    ("workers", lambda: made(linear(), cross_entropy, DataLoader(Ragged(), batch_size=4, num_workers=1)),
     "shape-mismatch: samples of one batch have different shapes: (3,) and (4,)", "number 1 the shape (4,)"),
    ("cat", lambda: made(nn.Linear(6, 3), lambda m, b: F.cross_entropy(m(torch.cat([b[0], b[0][:7]], 1)), b[1])),
     "shape-mismatch: cat is given shapes (8, 4) and (7, 4)", "(7, 4)"),
    ("view", lambda: made(linear(), lambda m, b: F.cross_entropy(m(b[0]).view(-1, 5), b[1])),
     "shape-mismatch: view of a tensor of shape (8, 3) does not come out even", "8 x 3 = 24"),
    ("double", lambda: made(linear(), cross_entropy, (X.double(), Y)),
     "dtype-mismatch: Linear gets float64, and its weights are float32", "of shape (8, 4) is float64"),
    ("labels", lambda: made(linear(), cross_entropy, (X, Y.float())),
     "dtype-mismatch: cross_entropy takes labels of type int64, and gets float32", "labels.long()"),
    ("device", lambda: made(linear(), lambda m, b: F.cross_entropy(m(b[0]) + torch.zeros(3, device="meta"), b[1])),
     "device-mismatch: add is given tensors on cpu and on meta", "of shape (3,) is on meta"),
    ("again", lambda: looping(twice), "graph-used-twice: backward() is called a second time", "through the same graph"),
    ("carried", lambda: made(Carries(), cross_entropy, (torch.randn(8, 6, 4), Y)),
     "graph-used-twice: step 1 goes back through a graph that an earlier step has freed", "self.memory(x, self.state)"),
    ("written", lambda: made(WritesOver(), cross_entropy), "in-place-modification: add_ (test_errors_explained.py:",
     "hidden += 1"),
    ("leaf", lambda: made(WritesIntoItsWeight(), cross_entropy),
     "in-place-modification: clamp_ writes into layer.weight, which needs a gradient", "no_grad"),
    ("too early", lambda: looping(stepped_before_backward), "in-place-modification: ", "optimizer.step()"),
    ("memory", lambda: made(linear(), lambda m, b: m(b[0]).sum() * torch.ones(1).expand(1 << 24, 1 << 24).clone()),
     "out-of-memory: clone asks for 1,130 TB at once", "(16777216, 16777216)"),
    ("not one number", lambda: looping(one_for_each),
     "loss-reduction: backward() is called on a loss of shape (8,), and not on one number", "loss.mean().backward()"),
    ("item", lambda: looping(plain_number), "disconnected-graph: the loss is a plain number", "loss.backward()"),
    ("detached", lambda: looping(detached), "disconnected-graph: no gradient comes back", "detach()"),
    ("used up", used_up, "data-used-up: an iterator that the step takes from has come to its end after 3 steps",
     "next(batches)"),
    ("one sample", lambda: made(nn.Sequential(nn.Linear(4, 5), nn.BatchNorm1d(5), nn.Linear(5, 3)), cross_entropy,
                                DataLoader(TensorDataset(X[:5], Y[:5]), 4)),
     "batch-too-small: BatchNorm1d 1", "drop_last=True"),
    ("wrapped", lambda: made(nn.Linear(5, 3), wraps_its_errors), "shape-mismatch: Linear takes 5 features, and gets 4",
     "raises LookupError: in my own words (from RuntimeError: mat1"),
    ("categorical", nan_from_a_logarithm(lambda z: torch.distributions.Categorical(logits=z).log_prob(Y).mean()),
     "unstable-operation: log in Policy makes nan", "logits of Categorical is nan at step 0"),
    ("probabilities", nan_from_a_logarithm(lambda z: F.binary_cross_entropy(z[:, 0], Y.clamp(max=1).float())),
     "unstable-operation: log in Policy makes nan", "the input of binary_cross_entropy is nan at step 0"),
    ("draw", nan_from_a_logarithm(lambda z: z.gather(1, torch.multinomial(torch.softmax(z, -1), 1)).mean()),
     "unstable-operation: log in Policy makes nan", "what multinomial is given is nan at step 0"),
    ("decomposition", nan_from_a_logarithm(lambda z: torch.linalg.svd(z)[1].sum()),
     "unstable-operation: log in Policy makes nan", "what linalg_svd is given is nan at step 0"),
    ("data", nan_in_the_third_batch, "nan-in-data: the batch of step 2 holds 1 value that is not finite",
     "first in sample 5"),
]  # fmt: skip


@pytest.mark.parametrize(("make", "headline", "told"), [kind[1:] for kind in KINDS], ids=[kind[0] for kind in KINDS])
@pytest.mark.parametrize("way", ["returned", "watched"])
def test_the_cause_is_named(way: str, make: Made, headline: str, told: str) -> None:
    verdict = judged(make if way == "returned" else watched(make))
    assert verdict.failed
    chart = " ".join(str(verdict).split())
    assert headline in f"{verdict.headline} {chart}", chart
    assert told in chart, chart


def test_the_users_own_lines_are_shown_and_no_others() -> None:
    verdict = judged(unknown_word)
    assert verdict.symptom is not None
    codes = [place.code for place in verdict.symptom.places]
    assert codes == ["return F.cross_entropy(model(batch[0]), batch[1])", "return self.head(self.table(ids).mean(1))"]
    assert "raised    tests/engine/test_errors_explained.py:" in str(verdict)
    assert Verdict.from_json(verdict.to_json()) == verdict


@pytest.mark.parametrize(
    "error", [KeyError("mine"), RuntimeError("mine"), ValueError("expected size 4"), AssertionError("nan")]
)
@pytest.mark.parametrize("way", ["returned", "watched"])
def test_an_error_of_their_own_stays_what_it_is(way: str, error: Exception) -> None:
    def loss(model: nn.Module, batch: Any) -> Tensor:
        cross_entropy(model, batch)
        raise error

    def make() -> Training:
        return made(linear(), loss)

    with pytest.raises(type(error)) as caught:
        judged(make if way == "returned" else watched(make))
    assert caught.value is error


def test_nan_that_marks_what_is_missing_is_not_what_a_shape_is_about() -> None:
    inputs = X.clone()
    inputs[0, 0] = float("nan")

    def loss(model: nn.Module, batch: Any) -> Any:
        return model(torch.nan_to_num(batch[0])).mean() + (batch[0] - torch.zeros(8, 5)).sum()

    assert judged(lambda: made(linear(), loss, (inputs, Y))).findings[0].cause == "shape-mismatch"


# -- what the code catches itself -------------------------------------------------------------------------------------


def test_a_step_that_falls_back_when_memory_is_short() -> None:
    def loss(model: nn.Module, batch: Any) -> Tensor:
        try:
            torch.ones(1).expand(1 << 24, 1 << 24).clone()
        except RuntimeError:
            return cross_entropy(model, batch)
        raise AssertionError

    assert judged(lambda: made(linear(), loss)).passed


def test_a_loader_that_is_begun_anew_when_it_ends() -> None:
    def make() -> Training:
        batches: Iterator[Any] = iter(())

        def step(model: nn.Module, batch: Any, _: Any) -> Tensor:
            nonlocal batches
            try:
                batch = next(batches)
            except StopIteration:
                batches = iter([(X, Y)] * 2)
                batch = next(batches)
            loss = cross_entropy(model, batch)
            loss.backward()  # type: ignore[no-untyped-call]
            return loss

        return looping(step)

    assert judged(make).passed
    assert judged(watched(make)).passed


def test_errors_that_a_watched_test_expects() -> None:
    def test() -> None:
        model = nn.Linear(4, 3)
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        with pytest.raises(RuntimeError, match="does not require grad"):
            model(X).detach().sum().backward()  # type: ignore[no-untyped-call]
        with pytest.raises(RuntimeError, match="cannot be multiplied"):
            model(X[:, :3])
        for _ in range(6):
            optimizer.zero_grad()
            cross_entropy(model, (X, Y)).backward()  # type: ignore[no-untyped-call]
            optimizer.step()

    assert judged(test).passed


def test_a_nan_that_an_error_has_noticed_is_replayed(tmp_path: Path) -> None:
    report = diagnose(nan_in_the_third_batch, checks=["trains_without_nan"], reproducers=tmp_path)
    (verdict,) = report.verdicts
    again = replay(verdict.reproducer, nan_in_the_third_batch)
    assert again.failed
    assert again.headline == verdict.headline
    assert "replayed: step 2, as recorded" in again.notes

    def mended() -> Training:
        training = nan_in_the_third_batch()
        loss = training.loss
        assert loss is not None
        return made(training.model, lambda m, b: loss(m, (torch.nan_to_num(b[0]), b[1])), training.data)

    assert replay(verdict.reproducer, mended).passed
