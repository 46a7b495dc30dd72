"""The advice for slow loading and for recompiling is one that helps, and says no more than was measured."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, IterableDataset

from pytest_trainhealth.causes import Suspicion
from pytest_trainhealth.records.speed import LoadingRecord
from pytest_trainhealth.records.verdict import Fix, Place

from .test_performance import found, made_up, told

LINE = Place("data.py", 12, "row = json.loads(line)")


def slow(computing: float = 0.01, cores: int = 2, **facts: Any) -> Suspicion:
    """Batches of 16 samples, by default 10 ms each."""
    loading = LoadingRecord("Clips", **{"workers": 0, "batch_size": 16, "item": 0.01, "item_place": LINE, **facts})
    return found("data-loading-bottleneck", made_up(wait=0.1, compute=computing, loading=loading, cores=cores))


def fix(suspicion: Suspicion) -> Fix:
    assert suspicion.fix is not None
    return suspicion.fix


# -- how many workers ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("facts", "workers", "said"),
    [
        ({"computing": 0.04, "busy": 0.1}, 4, "load in parallel, and do the fixed part of __getitem__ once:"),
        ({"computing": 0.04, "cores": 4}, 4, "load in parallel, and do the fixed part of __getitem__ once:"),
        ({"busy": 0.1}, 8, "do the fixed part of __getitem__ once; 8 workers shorten the wait, 16 would end it:"),
        ({"busy": 0.9}, 2, "do the fixed part of __getitem__ once; 2 workers, on 2 processors, only shorten the wait:"),
        ({"cores": 1}, 2, "do the fixed part of __getitem__ once; 2 workers, on 1 processor, only shorten the wait:"),
        (
            {"cores": 64},
            8,
            "do the fixed part of __getitem__ once; 8 workers, on 64 processors, only shorten the wait:",
        ),
    ],
    ids=["wait", "compute", "wait for long", "more than processors", "one processor", "many processors"],
)
def test_workers_that_wait_need_no_processor_of_their_own(facts: dict[str, Any], workers: int, said: str) -> None:
    advice = fix(slow(**facts))
    assert advice.instruction == said
    assert advice.code == (f"DataLoader(dataset, num_workers={workers}, persistent_workers=True)",)


@pytest.mark.parametrize(
    ("busy", "workers", "said"),
    [
        (0.9, 2, "do the fixed part of __getitem__ once; more workers need more processors:"),
        (0.1, 8, "do the fixed part of __getitem__ once; keeping up takes 16 workers:"),
    ],
)
def test_where_more_workers_are_no_help_none_are_advised(busy: float, workers: int, said: str) -> None:
    advice = fix(slow(busy=busy, workers=workers))
    assert advice.instruction == said
    assert "num_workers" not in advice.code[0]


def test_a_collate_function_cannot_be_stored_by_sample() -> None:
    advice = fix(slow(item=0.0001, collate=0.16, workers=2))
    assert advice == Fix("do less in the collate function; more workers need more processors")


# -- a dataset that is iterated ------------------------------------------------------------------------


def test_workers_for_an_iterable_dataset_need_a_share_each() -> None:
    suspicion = slow(iterable=True)
    assert told(suspicion)[1] == "making a batch: Clips.__iter__ 160 ms for 16 samples, collate 0 ms"
    assert suspicion.why == "Clips.__iter__ takes longer to make a batch than a step takes to learn from it"
    assert suspicion.places == (LINE,)
    advice = fix(suspicion)
    assert not any("num_workers=" in line for line in advice.code)
    assert "__getitem__" not in str(advice)
    assert "get_worker_info()" in advice.code[0]
    assert "map-style" in advice.instruction


def test_an_iterable_dataset_of_which_nothing_could_be_read() -> None:
    suspicion = slow(iterable=True, item=0.0, item_place=None)
    assert len(told(suspicion)) == 1
    assert suspicion.why == "the next batch is not ready when a step is done"
    assert "get_worker_info()" in fix(suspicion).code[0]


class AsAdvised(IterableDataset[int]):
    """The lines of the advice, taken at their word."""

    def __iter__(self) -> Any:
        known: dict[str, Any] = {"torch": torch, "itertools": itertools, "rows": iter(range(10))}
        exec("\n".join(fix(slow(iterable=True)).code), known)
        return known["rows"]


@pytest.mark.parametrize("workers", [0, 2])
def test_the_lines_give_every_sample_once(workers: int) -> None:
    loader = DataLoader(AsAdvised(), batch_size=None, num_workers=workers)
    assert sorted(loader) == list(range(10))


# -- recompilation -------------------------------------------------------------------------------------

SHAPES = Fix("let it expect changing shapes, or give it the same ones:", ("torch.compile(model, dynamic=True)",))
KEPT_OUT = "keep what changes out of the compiled function, or in a tensor:"


def recompiled(because: str) -> Suspicion:
    return found("recompilation", made_up(compiled={step: 1 for step in range(20)}, compiled_because=because))


@pytest.mark.parametrize(
    "because",
    [
        "tensor 'tokens' size mismatch at index 1. expected 15, actual 16",
        "tensor 'x' stride mismatch at index 0. expected 4, actual 5",
        "2 <= x.size()[0] <= 5  # x.sin() if x.shape[0] > 5 else x.cos()  # model.py:53 in forward",
    ],
)
def test_shapes_that_change_are_to_be_expected(because: str) -> None:
    assert fix(recompiled(because)) == SHAPES


@pytest.mark.parametrize(
    ("because", "code"),
    [
        ("len(self.schedule) == 8            # return y / len(self.schedule)  # model.py:13 in forward", "self.step"),
        ("self.mode == 'warm'", "self.step"),
        ("GLOBAL_STATE changed: grad_mode ", "self.step"),
        ("self.temperature == 0.25       # return y / self.temperature  # model.py:3 in f (HINT)", "self.temperature"),
    ],
)
def test_a_python_value_that_changes_is_kept_out(because: str, code: str) -> None:
    advice = fix(recompiled(because))
    assert advice.instruction == KEPT_OUT
    assert advice.code[0].startswith(f"{code} = torch.tensor(")
    assert not any("dynamic=True" in line for line in advice.code)


def test_a_number_is_kept_as_it_is() -> None:
    assert fix(recompiled("self.step == 7")).code[0].startswith("self.step = torch.tensor(7)  #")


def test_another_kind_of_tensor_is_no_matter_of_its_size() -> None:
    advice = fix(recompiled("tensor 'x' dtype mismatch. expected Float, actual Double"))
    assert "dtype" in advice.instruction
    assert not advice.code


def test_without_a_reason_both_are_said() -> None:
    suspicion = recompiled("")
    assert len(told(suspicion)) == 1
    assert len(fix(suspicion).code) == 2


def test_the_reason_is_told_without_the_compilers_table() -> None:
    because = "len(self.seen) == 8                     # return y / len(self.seen)  # mp/model.py:13 in forward"
    assert told(recompiled(because))[1] == "the compiler's reason: len(self.seen) == 8, in: return y / len(self.seen)"


class Annealed(nn.Module):
    """Divides by a number that grows, or by a tensor that does; or by the width of what it is given."""

    def __init__(self, step: object) -> None:
        super().__init__()
        self.step = step

    def forward(self, x: Tensor) -> Tensor:
        return x / (1 + self.step)  # type: ignore[operator]


def reasons(model: Annealed, widths: list[int], **how: Any) -> tuple[int, str]:
    """Graphs that the compiler makes, and what it says of the last."""
    from pytest_trainhealth.observe.calls.compiled import compiled_graphs
    from pytest_trainhealth.observe.signals.speed import compilations

    torch.compiler.reset()
    compiled, before = torch.compile(model, backend="eager", **how), compiled_graphs()
    for width in widths:
        model.step += 1  # type: ignore[operator]
        compiled(torch.ones(4, width))
    return compiled_graphs() - before, compilations._reason()


def test_what_this_compiler_really_says() -> None:
    """The advice goes by its words, which may change: a number, the tensor that is advised instead, a width."""
    same, other = [3] * 6, [3, 4, 5, 6, 7, 8]
    many, because = reasons(Annealed(0), same)
    assert many > 3
    assert fix(recompiled(because)).instruction == KEPT_OUT
    assert reasons(Annealed(0), same, dynamic=True)[0] > 3  # so that is no help
    assert reasons(Annealed(torch.tensor(0)), same)[0] == 1
    many, because = reasons(Annealed(torch.tensor(0)), other, dynamic=False)
    assert many > 3
    assert fix(recompiled(because)) == SHAPES
    assert reasons(Annealed(torch.tensor(0)), other, dynamic=True)[0] == 1
