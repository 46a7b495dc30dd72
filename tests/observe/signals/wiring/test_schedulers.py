"""Schedulers that are stepped: noticed once each, wherever the step comes from."""

from __future__ import annotations

import torch
from torch import nn
from torch.optim.lr_scheduler import LinearLR, LRScheduler, ReduceLROnPlateau, SequentialLR, StepLR

from pytest_trainhealth.programs.watched_program import watch


def trained(make, steps=5, per_update=1):
    model = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.8)
    scheduler = make(optimizer)
    for _ in range(steps):
        loss = model(torch.randn(8, 4)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        for _ in range(per_update):
            scheduler.step(*([loss] if isinstance(scheduler, ReduceLROnPlateau) else []))


def test_calls_are_counted_and_located():
    with watch(signals=("schedulers",)) as trace:
        trained(lambda optimizer: StepLR(optimizer, 2), per_update=2)
    (found,) = trace.wiring.schedulers
    assert (found.kind, found.optimizer, found.calls) == ("StepLR", "SGD", 10)
    assert "scheduler.step" in found.place.code
    assert "StepLR(optimizer, 2)" in found.made_at.code


def test_one_that_steps_others_counts_once():
    with watch(signals=("schedulers",)) as trace:
        trained(lambda o: SequentialLR(o, [LinearLR(o, 0.1, total_iters=3), StepLR(o, 2)], [3]))
    assert [(s.kind, s.calls) for s in trace.wiring.schedulers] == [("SequentialLR", 5)]


def test_one_with_a_step_of_its_own():
    with watch(signals=("schedulers",)) as trace:
        trained(lambda optimizer: ReduceLROnPlateau(optimizer))
    assert [(s.kind, s.calls) for s in trace.wiring.schedulers] == [("ReduceLROnPlateau", 5)]


def test_rates_and_settings_of_every_update():
    with watch(signals=()) as trace:
        trained(lambda optimizer: StepLR(optimizer, 2))
    record = trace.wiring.optimizers["SGD"]
    assert [round(rate, 6) for rate in record.rates] == [0.1, 0.1, 0.01, 0.01, 0.001]
    assert record.initial_lr == 0.1
    assert record.settings["momentum"] == 0.8


def test_torch_is_as_it_was():
    before = (LRScheduler.step, ReduceLROnPlateau.step, LRScheduler.__init__)
    with watch(signals=("schedulers",)):
        trained(lambda optimizer: StepLR(optimizer, 2))
    assert (LRScheduler.step, ReduceLROnPlateau.step, LRScheduler.__init__) == before
