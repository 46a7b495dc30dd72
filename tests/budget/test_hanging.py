"""A step that hangs is interrupted, and named with its line; the alarm is given back to whom it belongs."""

from __future__ import annotations

import queue
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, Dataset

from pytest_trainhealth import Training, Verdict, diagnose
from pytest_trainhealth.budget.budget import Budget
from pytest_trainhealth.observe.run import hanging
from pytest_trainhealth.observe.run.hanging import DidNotComeBack, interrupting

#: The shortest that a step may take before it is said to hang.
BUDGET = 1.0
FOREVER = 10**6

pytestmark = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="there is no alarm on this platform")


@pytest.fixture
def mine() -> Iterator[Callable[..., None]]:
    """A handler of the user's."""

    def handler(number: int, frame: Any) -> None:
        raise TimeoutError("mine")

    before = signal.signal(signal.SIGALRM, handler)
    yield handler
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


def training(wait: Callable[[], object]) -> Callable[[], Training]:
    def make() -> Training:
        model = nn.Linear(4, 2)
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        taken: list[int] = []

        def step(batch: Any) -> torch.Tensor:
            loss = F.cross_entropy(model(batch[0]), batch[1])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            taken.append(1)
            if len(taken) == 3:
                wait()
            return loss

        return Training(model, optimizer, step=step, data=(torch.randn(8, 4), torch.randint(0, 2, (8,))))

    return make


def judged(subject: Any, check: str = "trains_without_nan") -> Verdict:
    (verdict,) = diagnose(subject, check, budget=BUDGET).verdicts
    return verdict


def sleeps() -> None:
    time.sleep(FOREVER)


def receives() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.recv(1)


def spins() -> None:
    while True:
        pass


def shrugs() -> None:
    while True:
        with suppress(Exception):
            time.sleep(FOREVER)


@pytest.mark.parametrize(
    ("wait", "code"),
    [(sleeps, "time.sleep(FOREVER)"), (receives, "ours.recv(1)"), (shrugs, "time.sleep(FOREVER)")],
)
def test_it_is_interrupted_and_named(wait: Callable[[], object], code: str) -> None:
    verdict = judged(training(wait))
    assert verdict.outcome == "could not judge"
    assert verdict.reason.startswith("step 2 did not come back within 1 s: it was at tests/budget/test_hanging.py:")
    assert verdict.reason.endswith(f" `{code}`")


def test_a_loop_without_end_too() -> None:
    assert "step 2 did not come back" in judged(training(spins)).reason


@pytest.mark.parametrize("check", ["overfits_one_batch", "gradients_flow", "learns_from_data", "uses_its_input"])
def test_no_check_takes_it_for_anything_else(check: str) -> None:
    verdict = judged(training(sleeps), check)
    assert verdict.outcome == "could not judge"
    assert "did not come back within 1 s" in verdict.reason


def test_what_builds_the_training_is_named() -> None:
    verdict = judged(sleeps)
    assert verdict.outcome == "could not judge"
    assert verdict.reason.startswith("sleeps did not come back within 1 s: it was at tests/budget/test_hanging.py:")


def test_so_is_a_test_that_trains_by_itself() -> None:
    def watched() -> None:
        made = training(sleeps)()
        assert made.step is not None
        for _ in range(5):
            made.step(made.data)

    verdict = judged(watched)
    assert verdict.outcome == "could not judge"
    assert "did not come back within 1 s: it was at tests/budget/test_hanging.py:" in verdict.reason


class Waiting(Dataset[Any]):
    def __len__(self) -> int:
        return 8

    def __getitem__(self, index: int) -> Any:
        queue.Queue[int]().get()


def test_so_is_data_that_never_comes() -> None:
    model = nn.Linear(4, 2)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    data = DataLoader(Waiting(), batch_size=4)
    verdict = judged(Training(model, optimizer, criterion=F.cross_entropy, data=data))
    assert verdict.reason.startswith("the batch for step 0 did not come back within 1 s: it was at ")
    assert verdict.reason.endswith(" `queue.Queue[int]().get()`")


def test_the_model_is_as_before() -> None:
    made = training(sleeps)()
    before = {name: value.clone() for name, value in made.model.state_dict().items()}
    judged(made)
    assert all(torch.equal(value, before[name]) for name, value in made.model.state_dict().items())


def test_the_alarm_of_the_user_is_given_back_with_its_time(mine: Callable[..., None]) -> None:
    signal.setitimer(signal.ITIMER_REAL, 600, 7)
    with interrupting(Budget(BUDGET)):
        assert signal.getsignal(signal.SIGALRM) != mine
    assert signal.getsignal(signal.SIGALRM) is mine
    left, interval = signal.getitimer(signal.ITIMER_REAL)
    assert 0 < left <= 600
    assert interval == 7


def test_none_is_set_where_there_was_none() -> None:
    before = signal.getsignal(signal.SIGALRM)
    with interrupting(Budget(BUDGET)):
        pass
    assert signal.getsignal(signal.SIGALRM) == before
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def test_the_alarm_of_the_user_comes_first_if_it_is_due_first(mine: Callable[..., None]) -> None:
    """As that of pytest-timeout: it raises in the test, where it would have raised without us."""
    signal.setitimer(signal.ITIMER_REAL, 0.2)
    with pytest.raises(TimeoutError, match="mine"), interrupting(Budget(600)):
        time.sleep(FOREVER)
    assert signal.getsignal(signal.SIGALRM) is mine


def test_an_alarm_that_the_step_sets_stays() -> None:
    before = signal.getsignal(signal.SIGALRM)
    try:
        with interrupting(Budget(BUDGET)):
            signal.signal(signal.SIGALRM, signal.SIG_IGN)
        assert signal.getsignal(signal.SIGALRM) == signal.SIG_IGN
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_our_own_code_is_not_left_half_done(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[bool] = []

    def not_at_first(frame: Any) -> bool:
        asked.append(True)
        return len(asked) > 2

    monkeypatch.setattr(hanging, "_is_interruptible", not_at_first)
    with pytest.raises(DidNotComeBack), interrupting(Budget(BUDGET)):
        time.sleep(FOREVER)
    assert len(asked) == 3


def test_in_another_thread_it_is_named_while_it_hangs(capfd: pytest.CaptureFixture[str]) -> None:
    ends = threading.Event()

    def until_named() -> None:
        ends.wait()

    verdicts: list[Verdict] = []
    other = threading.Thread(target=lambda: verdicts.append(judged(training(until_named))))
    other.start()
    said = ""
    while "did not come back" not in said and other.is_alive():
        said += capfd.readouterr().err
        time.sleep(0.05)
    ends.set()
    other.join()
    assert "trainhealth: the step did not come back within 1 s: it was at " in said
    assert "`ends.wait()`, and cannot be interrupted here" in said
    assert not [each for each in threading.enumerate() if each.name == "trainhealth-watch"]
