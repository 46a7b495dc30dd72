"""is_reproducible: judged on made-up traces, and on small trainings that no seed decides."""

from __future__ import annotations

import random
import sys
import threading
import time
import types
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import replace
from multiprocessing.pool import ThreadPool

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F

from pytest_trainhealth import Training, diagnose
from pytest_trainhealth.causes.nondeterministic import look
from pytest_trainhealth.checks.is_reproducible import AGAIN, judge
from pytest_trainhealth.records.judgement import CouldNotJudge, FailIfConfirmed, NeedsControl, Passed
from pytest_trainhealth.records.state import EntropyRecord, StateRecord
from pytest_trainhealth.records.trace import Trace


def run(losses=(2.0, 1.5, 1.0), batches=("a", "b", "c"), **state) -> Trace:
    return replace(Trace.of(losses), state=StateRecord(batches=list(batches), **state))


def judged(one: Trace, other: Trace):
    return judge(one, {}, {AGAIN.label: other})


def test_a_second_run_is_asked_for():
    assert judge(run(), {}) == NeedsControl(AGAIN)


def test_the_same_twice_passes():
    assert judged(run(), run()) == Passed(figures={"same_steps": 3.0})


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (run(starts_differently=("head.weight",)), "built twice with the same seeds, head.weight is other"),
        (run(batches=("a", "c", "b")), "part at step 1: the batch differs"),
        (run(losses=(2.0, 1.5, 1.1)), "part at step 2: loss 1.000 and 1.100"),
        (run(losses=(2.0, 1.5, 1.0 + 1e-15)), "loss 1.000000000000000 and 1.000000000000001"),
        (run(losses=(2.0, 1.5), batches=("a", "b")), "take 3 and 2 steps"),
    ],
)
def test_what_differs_first_is_named(other, said):
    found = judged(run(), other)
    assert isinstance(found, FailIfConfirmed)
    assert said in found.symptom.summary
    assert isinstance(found.otherwise, CouldNotJudge)


def test_values_at_the_end_and_draws_count_too():
    assert "end with other values of w" in judged(run(end={"w": "1"}), run(end={"w": "2"})).symptom.summary
    drawn = judged(run(draws=[("1", "1", "1")]), run(draws=[("1", "2", "1")]))
    assert "random numbers of numpy" in drawn.symptom.summary


def test_a_run_that_was_cut_short_is_not_judged():
    cut = replace(run(), cut_short="the time budget was used up at step 2")
    assert judged(run(), cut) == CouldNotJudge("the time budget was used up at step 2")


def test_the_source_that_was_seen_is_tried_first():
    again = run(losses=(2.0, 1.4, 1.0), entropy=[EntropyRecord("clock", "time.time()")])
    symptom = judged(run(), again).symptom
    found = look(replace(run(), compared_with={AGAIN.label: again}), symptom)
    assert found is not None
    assert found.cures[0].label == "clock held still"


def factory(loss=None, data=None, prepare=None):
    def training() -> Training:
        model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 3))
        if prepare is not None:
            prepare(model)
        batches = data() if data is not None else [(torch.randn(8, 6), torch.randint(3, (8,))) for _ in range(4)]
        plain = loss or (lambda model, batch: F.cross_entropy(model(batch[0]), batch[1]))
        return Training(model, torch.optim.SGD(model.parameters(), 0.1), plain, batches)

    return training


def verdict(subject):
    (found,) = diagnose(subject, ["is_reproducible"]).verdicts
    return found


def noisy(draw):
    return lambda model, batch: F.cross_entropy(model(batch[0] + 0.1 * draw()), batch[1])


def test_seeded_randomness_of_every_kind_passes():
    own = np.random.default_rng(0)
    draws = [
        lambda: torch.randn(()),
        lambda: float(np.random.randn()),
        random.random,
        lambda: float(own.normal()),
    ]
    for draw in draws:
        assert verdict(factory(noisy(draw))).passed
        assert verdict(factory(noisy(draw))()).passed  # a training, and no function that makes it


def test_a_generator_in_a_module_beside_the_training_is_put_back():
    beside = types.ModuleType("beside")
    exec("import random\nrandom_numbers = random.Random(3)\ndef draw(): return random_numbers.random()", vars(beside))
    sys.modules["beside"] = beside
    state = beside.random_numbers.getstate()
    try:
        found = verdict(factory(noisy(lambda: sys.modules["beside"].draw())))
        assert found.passed
        (note,) = found.notes  # and it is told that a second training of one script would be another one
        assert note.startswith("random_numbers is made when a module is imported, and not seeded when the training is")
        assert note.endswith("a second training in the same process parts from the first at step 0")
        assert verdict(factory(noisy(lambda: sys.modules["beside"].draw()))()).notes == ()  # nobody builds it again

        def seeds(model):
            beside.random_numbers.seed(3)  # where it stood already

        assert verdict(factory(noisy(lambda: sys.modules["beside"].draw()), prepare=seeds)).notes == ()
    finally:
        del sys.modules["beside"]
    assert beside.random_numbers.getstate() == state


def test_a_clock_that_is_only_looked_at_changes_nothing():
    seen = []

    def loss(model, batch):
        seen.append(time.time())
        return F.cross_entropy(model(batch[0]), batch[1])

    assert verdict(factory(loss)).passed


@pytest.mark.parametrize(
    ("draw", "cure"),
    [
        (lambda: time.time_ns() % 1000 / 1000, "clock held still"),
        (lambda: random.SystemRandom().random(), "system's random numbers held still"),
        (lambda: random.Random().random(), "system's random numbers held still"),
        (lambda: hash("name") % 1000 / 1000, "hash of text held still"),
    ],
)
def test_what_no_seed_decides_is_found_and_named(draw, cure):
    found = verdict(factory(noisy(draw)))
    assert found.failed
    (finding,) = found.findings
    assert (finding.cause, finding.certainty) == ("nondeterministic", "confirmed")
    assert [rerun.cure for rerun in finding.reruns if rerun.confirms] == [cure]


def test_the_order_of_batches_is_told_from_the_step():
    pool = [(torch.randn(8, 6), torch.randint(3, (8,))) for _ in range(12)]

    class Unordered:
        def __iter__(self):
            return iter(sorted(pool, key=lambda batch: time.perf_counter_ns() * 7919 % 1009))

    found = verdict(factory(data=Unordered))
    assert found.failed
    assert found.findings[0].statement == "batches do not come from the seed"


def test_a_watched_test_is_run_again():
    def script(clock: bool):
        def main() -> None:
            model = nn.Linear(4, 2)
            optimizer = torch.optim.SGD(model.parameters(), 0.1)
            noise = torch.Generator().manual_seed(time.time_ns() % 2**31 if clock else 1)
            for _ in range(6):
                loss = model(torch.randn(8, 4) + torch.randn((8, 4), generator=noise)).square().mean()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()

        return main

    assert verdict(script(False)).passed
    found = verdict(script(True))
    assert found.failed
    assert found.findings[0].confirmed


# -- threads of the loop's own --------------------------------------------------------------------


def parts_added_up(how):
    """The loss has a weight, the sum of what threads make of the parts of a batch, in one order or another."""

    def weight(inputs):
        def work(part):
            return inputs[part].exp().sum()

        parts = range(8)
        if how in ("imap", "imap_unordered"):
            with ThreadPool(2) as threads:
                return sum(getattr(threads, how)(work, parts))
        with ThreadPoolExecutor(2) as pool:
            if how == "map":
                return sum(pool.map(work, parts))
            futures = {pool.submit(work, part): part for part in parts}
            if how == "sorted":
                return sum(future.result() for future in sorted(as_completed(futures), key=futures.get))
            if how == "counted":
                assert sum(1 for _ in as_completed(futures)) == 8
                return sum(future.result() for future in futures)
            return sum(future.result() for future in as_completed(futures))

    return lambda model, batch: weight(batch[0]) * F.cross_entropy(model(batch[0]), batch[1])


@pytest.mark.parametrize("how", ["as_completed", "imap_unordered"])
def test_results_in_the_order_in_which_threads_are_done(how):
    found = verdict(factory(parts_added_up(how)))
    assert found.failed
    (finding,) = found.findings
    assert (finding.cause, finding.certainty) == ("nondeterministic", "confirmed")
    assert [rerun.cure for rerun in finding.reruns if rerun.confirms] == ["threads done in a fixed order"]


@pytest.mark.parametrize("how", ["map", "imap", "sorted", "counted"])
def test_results_of_threads_in_the_order_of_the_parts(how):
    assert verdict(factory(parts_added_up(how))).passed
    assert ThreadPoolExecutor.submit.__module__ == "concurrent.futures.thread"


def test_a_task_that_waits_for_the_next_one_does_not_hang():
    def loss(model, batch):
        with ThreadPoolExecutor(2) as pool:
            came = threading.Event()
            first = pool.submit(came.wait, 30)
            pool.submit(came.set)
            assert first.result()
        return F.cross_entropy(model(batch[0]), batch[1])

    (found,) = diagnose(factory(loss), ["is_reproducible"], steps=2).verdicts
    assert found.passed
