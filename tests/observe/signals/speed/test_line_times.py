"""Time per line, and the loops that contain lines."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
import torch
from torch import nn

from pytest_trainhealth.observe.signals.speed import line_times
from pytest_trainhealth.observe.signals.speed.line_times import LineTimes, slowest_line, slowest_loop
from pytest_trainhealth.observe.signals.speed.source_loops import loops_around


class Clock:
    """Advances only when told to, so that other work on the machine does not count."""

    now = 0


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(line_times.time, "perf_counter", lambda: made.now)
    return made


def module(tmp_path: Path, source: str, clock: Clock | None = None) -> ModuleType:
    """A file of the user's own."""
    file = tmp_path / "own.py"
    file.write_text(textwrap.dedent(source).lstrip())
    made = ModuleType("own")
    made.__dict__["clock"] = clock
    exec(compile(file.read_text(), str(file), "exec"), made.__dict__)
    return made


WORK = """
    def spend(ticks):
        while ticks > 0:
            clock.now += 1
            ticks -= 1

    def forward(rounds):
        total = 0.0
        for n in range(rounds):
            total += n
            helper()
        spend(20)
        return total

    def helper():
        spend(5)

    def step(times):
        for micro in range(4):
            forward(4)
            times.phase_begins(), setattr(clock, 'now', clock.now + 200), times.phase_ends()
"""


def untraced(action: Callable[[], object]) -> LineTimes:
    with LineTimes(traced=False) as times:
        action()
    return times


def test_time_goes_to_the_innermost_line(tmp_path: Path, clock: Clock) -> None:
    own = module(tmp_path, WORK, clock)
    with LineTimes() as times:
        own.forward(8)
    slowest = slowest_line(times, untraced(lambda: own.forward(8)))
    assert slowest is not None
    assert slowest.place.code == "clock.now += 1"
    assert (slowest.seconds, slowest.share) == (20 + 8 * 5, 1.0)
    assert times.rounds[str(tmp_path / "own.py"), 10] == 8  # helper()


def test_backward_passes_and_updates_are_nobodys(tmp_path: Path, clock: Clock) -> None:
    own = module(tmp_path, WORK, clock)
    with LineTimes() as times:
        own.step(times)
    assert times.total == clock.now - 4 * 200 == 4 * (20 + 4 * 5)
    assert times.whole == clock.now
    assert untraced(lambda: own.spend(10)).total == 10


def test_a_loop_that_goes_through_whole_steps_is_none(tmp_path: Path, clock: Clock) -> None:
    """Micro-batches: there is a backward pass in it."""
    own = module(tmp_path, WORK, clock)
    with LineTimes() as times:
        own.step(times)
    loop = slowest_loop(times, times)
    assert loop is not None
    assert loop.place.line == 2


def test_the_rounds_of_a_loop(tmp_path: Path, clock: Clock) -> None:
    own = module(tmp_path, """
        def forward(rounds):
            total = 0.0
            for n in range(rounds):
                total += n
                clock.now += 1
            return total
    """, clock)  # fmt: skip
    with LineTimes() as times:
        own.forward(3000)
    loop = slowest_loop(times, untraced(lambda: own.forward(3000)))
    assert loop is not None
    assert (loop.rounds, loop.place.code) == (3000, "for n in range(rounds):")


def test_a_step_that_is_interrupted_does_not_count(tmp_path: Path, clock: Clock) -> None:
    own = module(tmp_path, """
        def forward(interrupted):
            clock.now += 1 + 1000 * interrupted
            clock.now += 9
    """, clock)  # fmt: skip
    times, whole = LineTimes(), LineTimes(traced=False)
    for interrupted in (False, True, False):
        for each in (times, whole):
            with each:
                own.forward(interrupted)
    line = slowest_line(times, whole)
    assert line is not None
    assert (line.place.line, line.seconds, line.share, line.rounds) == (3, 9, 0.9, 1)
    assert whole.whole == whole.total == 10


def test_being_told_is_not_taken_for_the_loop() -> None:
    """Three seconds in a loop and one elsewhere, of which tracing took two: really one second each."""
    loop, other, overhead = ("own.py", 4), ("own.py", 9), ("", -1)
    times, whole = LineTimes(), LineTimes(traced=False)
    times.steps, whole.steps = [{loop: 3.0, other: 1.0, overhead: 7.0}], [{("", 0): 2.0, overhead: 7.0}]
    times.events.update({loop: 20_000, other: 1, overhead: 50_000})
    assert times.own(whole) == pytest.approx({loop: 1.0, other: 1.0}, rel=1e-3)
    whole.steps = [{("", 0): 5.0}]  # interrupted: then nothing is known of it
    assert times.own(whole) == {loop: 3.0, other: 1.0}


def test_functions_that_a_library_calls_are_told_too(tmp_path: Path, clock: Clock) -> None:
    """Their tracing time is subtracted from the line that called the library, not from the loop next to it."""
    own = module(tmp_path, """
        def forward(model, x):
            x = model(x)
            for _ in range(3):
                x = x + 1
    """, clock)  # fmt: skip
    with LineTimes() as times:
        own.forward(nn.Sequential(nn.Linear(3, 3), nn.ReLU()), torch.ones(2, 3))
    file = str(tmp_path / "own.py")
    assert times.rounds[file, 2] == 1
    assert times.events[file, 2] >= 1 + 3 * 3
    assert times.events[file, 4] == times.rounds[file, 4] == 3


def test_modules_that_a_line_calls(tmp_path: Path, clock: Clock) -> None:
    own = module(tmp_path, """
        def forward(model, x):
            return model(x), setattr(clock, "now", clock.now + 9)
    """, clock)  # fmt: skip
    model, x = nn.Sequential(nn.Linear(3, 3), nn.ReLU()), torch.ones(2, 3)
    with LineTimes() as times:
        own.forward(model, x)
    line = slowest_line(times, untraced(lambda: own.forward(model, x)))
    assert line is not None
    assert (line.modules, line.seconds, line.share) == (3, 9, 1.0)


def test_the_hook_of_others_comes_back() -> None:
    def other(frame: object, event: str, argument: object) -> None:
        return None

    before = sys.gettrace()
    sys.settrace(other)
    try:
        with pytest.raises(ZeroDivisionError), LineTimes():
            1 / 0  # noqa: B018
        assert sys.gettrace() is other
    finally:
        sys.settrace(before)


LOOPS = """
    def forward(self, x):
        for t in range(9):
            for k in range(3):
                x = x + t
        for layer in self.layers:
            x = layer(x)
        for n in range(9):
            x = self.layers[n](x)
        for block in self.blocks:
            x = block.attention(x)
        rows = [row.mean(0) for row in x]
        rows = [layer(x) for layer in self.layers]
        while x:
            x = x - 1
        return x
"""


@pytest.mark.parametrize(
    ("line", "loops"),
    [
        (1, []),
        (4, [range(2, 5), range(3, 5)]),
        (6, []),
        (8, []),
        (10, []),
        (11, [range(11, 12)]),
        (12, []),
        (14, [range(13, 15)]),
        (15, []),
    ],
    ids=[
        "none",
        "nested",
        "layers",
        "layers by number",
        "parts of layers",
        "rows",
        "a list of layers",
        "while",
        "after",
    ],
)
def test_loops_over_layers_are_none(tmp_path: Path, line: int, loops: list[range]) -> None:
    file = tmp_path / "model.py"
    file.write_text(textwrap.dedent(LOOPS).lstrip())
    assert loops_around(str(file), line) == loops


def test_no_source_no_loop(tmp_path: Path) -> None:
    assert loops_around(str(tmp_path / "gone.py"), 1) == []
    (tmp_path / "notebook.py").write_text("%matplotlib inline\nfor x in y: pass\n")
    assert loops_around(str(tmp_path / "notebook.py"), 2) == []
