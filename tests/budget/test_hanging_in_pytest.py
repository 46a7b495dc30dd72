"""A step that hangs under pytest: plain and in workers, with a timer such as pytest-timeout's around it or not."""

from __future__ import annotations

import signal

import pytest

pytestmark = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="there is no alarm on this platform")

TEST = """
import time, pytest, torch
from torch import nn
from pytest_trainhealth import Training

@pytest.mark.trains_without_nan
def test_waits():
    model = nn.Linear(4, 2)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)

    def step(batch):
        loss = model(batch).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        time.sleep(10**6)
        return loss

    return Training(model, optimizer, step=step, data=torch.randn(8, 4))
"""
#: What pytest-timeout does with its method `signal`, without the rest of it.
TIMER = """
import signal, pytest

@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    def handler(number, frame):
        pytest.fail("Timeout of the plugin")

    signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, {seconds})
    try:
        return (yield)
    finally:
        left = signal.getitimer(signal.ITIMER_REAL)[0]
        assert signal.getsignal(signal.SIGALRM) is handler
        assert (left > 0) == {still_left}
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
"""


def waits(pytester: pytest.Pytester, *options: str) -> pytest.RunResult:
    pytester.makepyfile(test_it=TEST)
    return pytester.runpytest_subprocess("--trainhealth", "--trainhealth-budget=2", "-rs", *options)


@pytest.mark.parametrize("options", [(), ("-n2",)], ids=["plain", "workers"])
def test_it_is_skipped_with_its_line(pytester: pytest.Pytester, options: tuple[str, ...]) -> None:
    result = waits(pytester, *options)
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(
        ["SKIPPED*could not judge: step 0 did not come back within 2 s: it was at test_it.py:1? `time.sleep(*"]
    )


def test_a_timer_that_is_due_later_is_left_running(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(TIMER.format(seconds=600, still_left=True))
    waits(pytester).assert_outcomes(skipped=1)


def test_a_timer_that_is_due_earlier_comes_first(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(TIMER.format(seconds=3, still_left=False))
    result = waits(pytester, "--trainhealth-budget=600")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*Timeout of the plugin*"])
