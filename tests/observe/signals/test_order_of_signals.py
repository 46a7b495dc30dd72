"""Listeners receive events one after the other: some must not disturb others, so their order matters."""

from __future__ import annotations

from itertools import chain, pairwise

import pytest

from pytest_trainhealth.checks import check
from pytest_trainhealth.engine import closeup
from pytest_trainhealth.observe import signals
from pytest_trainhealth.observe.run.run import Run
from pytest_trainhealth.observe.signals.probes.probes import Probes
from pytest_trainhealth.observe.signals.speed import kept_graphs, slow_calls
from pytest_trainhealth.settings import CHECKS


def test_probes_come_last() -> None:
    """They call the models again, when all others have stopped listening."""
    assert signals.close_signals()[-1] == "probes"
    assert list(signals.all_signals())[-2:] == ["probes", "held_out"]  # that one calls them, too, in other runs
    assert isinstance(signals.make_signals(Run(), signals.close_signals())[-1], Probes)


def test_probes_come_last_wherever_they_are_asked_for() -> None:
    assert isinstance(signals.make_signals(Run(), ("probes", "modules", "fields"))[-1], Probes)


@pytest.mark.parametrize("name", CHECKS)
def test_probes_come_last_in_every_check(name: str) -> None:
    assert "probes" not in check(name).signals[:-1]


def test_signals_are_made_in_the_order_in_which_they_are_asked_for() -> None:
    asked = ("batch_writes", "stale_gradients", "modules")
    made = signals.make_signals(Run(), asked)
    wanted = [signals.signal(name) for name in (*signals.ALWAYS, *asked)]
    assert [type(signal) for signal in made] == wanted


def test_the_closer_look_keeps_the_order_of_all() -> None:
    places = [list(signals.all_signals()).index(name) for name in signals.close_signals()]
    assert places == sorted(places)


def test_looks_at_a_slow_step_come_one_after_the_other() -> None:
    """Each would be seen by the others: the graphs first, whose last step decides when the rest begin."""
    graphs = range(kept_graphs.FIRST, kept_graphs.LAST + 1)
    looks = (
        graphs,
        slow_calls.CALLS,
        slow_calls.OPERATORS,
        slow_calls.SYNCS,
        slow_calls.LINES,
        slow_calls.UNTRACED,
    )
    assert all(first.stop == then.start for first, then in pairwise(looks))
    assert list(chain.from_iterable(looks)) == list(range(graphs.start, slow_calls.STEPS))


def test_samples_of_a_slow_training_are_read_when_nothing_else_looks_any_more() -> None:
    assert closeup._LOOKS == ("threads", "kept_graphs", "slow_calls", "loading")
