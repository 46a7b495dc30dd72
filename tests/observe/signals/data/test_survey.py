"""The parts of a look through the data: prints, what is shared by chance, bounded reading, neighbours of labels."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader, RandomSampler, Subset, TensorDataset

from pytest_trainhealth.analysis import data_faults
from pytest_trainhealth.observe.signals.data.bounded_reading import Reading, stored_tensors
from pytest_trainhealth.observe.signals.data.copied_targets import copies
from pytest_trainhealth.observe.signals.data.data_table import DataTable
from pytest_trainhealth.observe.signals.data.field_roles import FieldRoles
from pytest_trainhealth.observe.signals.data.field_statistics import KEPT, FieldStatistics
from pytest_trainhealth.observe.signals.data.label_neighbours import label_noise
from pytest_trainhealth.observe.signals.data.sample_prints import Sketcher, are_among, different, joined, prints
from pytest_trainhealth.observe.signals.data.shared_samples import enumerable, shared_samples
from pytest_trainhealth.records.survey import SharedSamples, SurveyRecord

DRAWN = np.random.default_rng(1)


# -- prints ----------------------------------------------------------------------------------------------------------


def test_a_hundred_thousand_samples_have_as_many_prints() -> None:
    rows = DRAWN.standard_normal((100_000, 5)).astype(np.float32)
    assert different(prints(rows)) == len(rows)
    assert different(prints(np.concatenate([rows, rows[:100]]))) == len(rows)


def test_the_print_depends_on_every_place_and_on_nothing_else() -> None:
    row = DRAWN.standard_normal((1, 33)).astype(np.float32)
    others = np.repeat(row, 33, 0)
    others[np.arange(33), np.arange(33)] += np.float32(1e-3)
    assert different(prints(np.concatenate([row, others, row[:, ::-1]]))) == 35
    assert prints(row)[0] == prints(np.concatenate([others, row]))[-1]


def test_the_sign_of_zero_does_not_count() -> None:
    assert different(prints(np.array([[0.0, 1.0], [-0.0, 1.0]], np.float32))) == 1


def test_fields_in_another_order_are_another_sample() -> None:
    one, other = prints(np.arange(4).reshape(2, 2)), prints(np.arange(4, 8).reshape(2, 2))
    assert not (joined(one, other) == joined(other, one)).any()


def test_among_others() -> None:
    some = np.array([3, 9, 4], np.uint64)
    assert are_among(some, np.array([4, 1, 3, 3], np.uint64)).tolist() == [True, False, True]
    assert not are_among(some, np.zeros(0, np.uint64)).any()


def test_near_duplicates_have_the_same_sketch_and_others_do_not() -> None:
    rows = DRAWN.standard_normal((5000, 20)).astype(np.float32)
    sketcher = Sketcher(rows)
    found = sketcher.sketches(rows)
    assert different(found) == len(rows)
    near = sketcher.sketches(rows + 1e-5 * DRAWN.standard_normal(rows.shape).astype(np.float32))
    assert (found == near).mean() > 0.98


# -- shared by chance ------------------------------------------------------------------------------------------------


def leaks(data: np.ndarray, val: np.ndarray) -> bool:
    one, other, nothing = prints(data), prints(val), np.zeros(0, np.uint64)
    found = shared_samples(one, other, nothing, nothing, [data])
    found.enumerable = enumerable([data], len(data) + len(val))
    return data_faults.leak(SurveyRecord(shared=found)) is not None


@pytest.mark.parametrize("values", [2, 3, 5, 10])
@pytest.mark.parametrize("columns", [2, 4, 8, 12])
def test_draws_from_few_values_never_leak(values: int, columns: int) -> None:
    for _ in range(20):
        data, val = (DRAWN.integers(values, size=(size, columns)) for size in (500, 200))
        assert not leaks(data, val)
        assert not leaks(data.astype(np.float32), val.astype(np.float32))


def test_draws_from_uneven_values_never_leak() -> None:
    """Most samples are one of a few, as in a table of categories, and the rest are rare."""
    for _ in range(50):
        data, val = (DRAWN.geometric(0.3, size=(size, 5)) for size in (2000, 500))
        assert not leaks(data, val)


def test_measured_samples_leak_though_data_hold_them_twice() -> None:
    rows = DRAWN.standard_normal((300, 6)).astype(np.float32)
    assert leaks(np.concatenate([rows, rows[:100]]), np.concatenate([rows[:50], rows[:50] + 1]))
    assert not leaks(np.concatenate([rows, rows[:100]]), rows + 1)


def test_texts_that_are_on_both_sides_leak() -> None:
    texts = DRAWN.integers(1000, size=(300, 20))
    assert leaks(texts, texts[:30])
    assert not leaks(texts, DRAWN.integers(1000, size=(30, 20)))


@pytest.mark.parametrize(("shared", "fault"), [(2, False), (9, False), (10, True)])
def test_a_few_are_no_fault(shared: int, fault: bool) -> None:
    """Less than 1 %, or fewer than three: blank images, the duplicates that any benchmark has."""
    found = SurveyRecord(shared=SharedSamples(1000, shared))
    assert (data_faults.leak(found) is not None) is fault


def test_the_nodes_of_one_graph_are_no_fault() -> None:
    assert data_faults.leak(SurveyRecord(shared=SharedSamples(1000, 500, otherwise=500))) is None


# -- reading ---------------------------------------------------------------------------------------------------------


def samples(reading: Reading) -> list[int]:
    return [int(value) for batch in reading for value in batch[0]]


def test_rows_of_a_stored_data_set_are_read_past_its_loader() -> None:
    order = torch.Generator().manual_seed(0)
    data = TensorDataset(torch.arange(100), torch.arange(100))
    before = order.get_state()
    reading = Reading(DataLoader(data, 8, shuffle=True, generator=order))
    assert samples(reading) == list(range(100))
    assert reading.complete
    assert torch.equal(order.get_state(), before)


def test_of_subsets_of_subsets_the_right_rows_are_read() -> None:
    data = TensorDataset(torch.arange(100), torch.arange(100))
    some = Subset(Subset(data, range(50, 100)), [3, 1, 2])
    assert samples(Reading(DataLoader(some, 2))) == [53, 51, 52]


def test_what_the_user_may_have_changed_is_read_through_the_loader() -> None:
    data = TensorDataset(torch.arange(100))
    assert stored_tensors(DataLoader(data, 8, sampler=RandomSampler(data, replacement=True))) is None
    assert stored_tensors(DataLoader(data, 8, collate_fn=list)) is None
    assert stored_tensors(DataLoader(data, 8, sampler=[1, 2, 3])) is None
    assert stored_tensors(DataLoader(data, batch_sampler=[[1], [2]])) is None


def test_no_more_batches_are_read_than_asked_for() -> None:
    reading = Reading([(torch.arange(4),)] * 9, 3)
    assert len(list(reading)) == 3
    assert not reading.complete


def test_an_endless_loader_is_read_in_part() -> None:
    class Endless:
        def __iter__(self):
            while True:
                yield (torch.zeros(2),)

    reading = Reading(Endless())
    assert len(list(reading)) == 32
    assert not reading.complete


# -- what is kept ----------------------------------------------------------------------------------------------------


def test_moments_in_parts_are_those_of_the_whole() -> None:
    rows = torch.randn(1000, 3, generator=torch.Generator().manual_seed(0)) * 5 + 1000
    field = FieldStatistics("[0]", rows.shape, rows.dtype)
    for number, part in enumerate(rows.split(37)):
        field.add(part, number)
    assert field.spreads == pytest.approx(rows.std(0, correction=0).numpy(), rel=1e-4)
    assert field.summary(is_input=True).mean == pytest.approx(float(rows.mean()), rel=1e-5)


def test_rows_are_kept_from_all_over_the_data_and_of_the_same_samples() -> None:
    table = DataTable("data", FieldRoles())
    for part in torch.arange(50_000).split(500):
        table.add((part.float()[:, None], part))
    numbers, labels = table.fields["[0]"].kept()[:, 0], table.fields["[1]"].kept()[:, 0]
    assert len(labels) == KEPT
    assert (numbers == labels).all()
    assert abs(labels.mean() - 25_000) < 2000


# -- labels and targets ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("noise", [0.0, 0.05, 0.1, 0.2])
def test_label_noise_is_estimated_with_its_uncertainty(noise: float) -> None:
    labels = DRAWN.integers(4, size=1000)
    rows = 3 * DRAWN.standard_normal((4, 10))[labels] + DRAWN.standard_normal((1000, 10))
    given = np.where(DRAWN.random(1000) < noise, (labels + 1) % 4, labels)
    found = label_noise("[1]", rows, given)
    assert found is not None
    assert abs(found.rate - noise) <= 2 * found.uncertainty + 0.01


def test_labels_without_clusters_are_no_noise() -> None:
    """Neighbours agree nowhere, so next to nothing is counted."""
    found = label_noise("[1]", DRAWN.standard_normal((1000, 10)), DRAWN.integers(5, size=1000))
    assert found is None or found.agreed < 0.05 * found.samples


def test_noise_without_the_target_never_holds_it() -> None:
    for _ in range(300):
        labels = DRAWN.integers(2, size=48)
        rows = DRAWN.integers(2, size=(48, 200)).astype(np.float32)
        assert not copies("[0]", rows, "[1]", labels, classes=True)


def test_prototypes_of_classes_are_no_copies() -> None:
    labels = DRAWN.integers(3, size=200)
    rows = DRAWN.standard_normal((3, 6))[labels].astype(np.float32)
    assert not copies("[0]", rows, "[1]", labels, classes=True)
