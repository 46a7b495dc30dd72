"""data_is_healthy: on data with one fault each, and on data that look like it and are right."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset, IterableDataset, Subset, TensorDataset, random_split

from pytest_trainhealth import Training, diagnose
from pytest_trainhealth.records.verdict import Verdict

Batches = list[tuple[Tensor, Tensor]]


def table(samples: int = 400, classes: int = 2, features: int = 8) -> tuple[Tensor, Tensor]:
    """Clusters: their columns go together, as those of real tables do."""
    centres, labels = 2 * torch.randn(classes, features), torch.arange(samples) % classes
    return centres[labels] + torch.randn(samples, features), labels


def batches(inputs: Tensor, targets: Tensor, size: int = 32) -> Batches:
    return list(zip(inputs.split(size), targets.split(size), strict=True))


def training(data: Any, val: Any = None, criterion: Any = None, features: int = 8, outputs: int = 2) -> Training:
    model = nn.Sequential(nn.Linear(features, 16), nn.ReLU(), nn.Linear(16, outputs))
    return Training(
        model, torch.optim.Adam(model.parameters()), criterion=criterion or nn.CrossEntropyLoss(), data=data,
        val_data=val,
    )  # fmt: skip


def verdict(program: Callable[[], Training | None], **settings: Any) -> Verdict:
    (found,) = diagnose(program, checks=["data_is_healthy"], **settings).verdicts
    return found


def noted(found: Verdict) -> set[str]:
    return {note.partition(":")[0] for note in found.notes}


# -- faults ----------------------------------------------------------------------------------------------------------


def nan_in_a_later_batch() -> Training:
    x, y = table()
    x[170, 3] = torch.nan
    return training(batches(x, y))


def nan_in_the_first_batch() -> Training:
    x, y = table()
    x[3, 3] = torch.inf
    return training(batches(x, y))


def nan_in_a_stored_data_set() -> Training:
    x, y = table()
    x[170, 3] = torch.nan
    return training(DataLoader(TensorDataset(x, y), 32, shuffle=True))


def nan_in_a_target() -> Training:
    x, _ = table()
    y = x.square().sum(1, keepdim=True)
    y[100] = torch.nan
    return training(batches(x, y), criterion=nn.MSELoss(), outputs=1)


def a_label_too_high() -> Training:
    x, y = table()
    y[300] = 2
    return training(batches(x, y))


def a_label_too_high_where_the_order_is_random() -> Training:
    """With other random numbers the first step may be the one that raises."""
    x, y = table()
    y[::25] = 2
    return training(DataLoader(TensorDataset(x, y), 4, shuffle=True))


def a_label_too_high_for_a_binary_loss() -> Training:
    x, y = table()
    labels = y.float()[:, None]
    labels[300] = 2
    return training(batches(x, labels), criterion=nn.BCEWithLogitsLoss(), outputs=1)


def doubled_before_the_split() -> Training:
    x, y = table()
    one, other = random_split(TensorDataset(torch.cat([x, x[:200]]), torch.cat([y, y[:200]])), [500, 100])
    return training(DataLoader(one, 32, shuffle=True), DataLoader(other, 32))


def one_data_set_in_two_loaders() -> Training:
    data = TensorDataset(*table())
    return training(DataLoader(data, 32, shuffle=True), DataLoader(data, 32))


class Augmented(Dataset[tuple[Tensor, Tensor]]):
    def __init__(self) -> None:
        self.x, self.y = table()

    def __len__(self) -> int:
        return 400

    def __getitem__(self, index: int) -> tuple[Tensor, Tensor]:
        return self.x[index] + 0.1 * torch.randn(8), self.y[index]


def overlapping_subsets_with_augmentation() -> Training:
    data = Augmented()
    return training(DataLoader(Subset(data, range(300)), 32), DataLoader(Subset(data, range(250, 400)), 32))


def both_halves_from_one_seed() -> Training:
    def drawn(samples: int) -> Batches:
        x = torch.randn(samples, 8, generator=torch.Generator().manual_seed(0))
        return batches(x, (x.sum(1) > 0).long())

    return training(drawn(256), drawn(256))


def the_label_among_the_features() -> Training:
    x, y = table()
    return training(batches(torch.cat([x, y[:, None].float()], 1), y), features=9)


def a_code_of_the_label_among_the_features() -> Training:
    x, y = table(classes=3)
    return training(batches(torch.cat([x, torch.tensor([5.0, -1, 2])[y][:, None]], 1), y), features=9, outputs=3)


def the_number_to_predict_among_the_features() -> Training:
    x, _ = table()
    y = x.sum(1, keepdim=True) ** 2
    return training(batches(torch.cat([x, 0.1 * y + 3], 1), y), criterion=nn.MSELoss(), features=9, outputs=1)


def all_inputs_the_same() -> Training:
    x, y = table()
    return training(batches(x / x, y))


class SeededBatches:
    def __len__(self) -> int:
        return 12

    def __iter__(self) -> Any:
        for _ in range(12):
            yield torch.randperm(400, generator=torch.Generator().manual_seed(0))[:32].tolist()


def a_sampler_that_is_seeded_for_every_batch() -> Training:
    return training(DataLoader(TensorDataset(*table()), batch_sampler=SeededBatches()))


class Unsharded(IterableDataset[tuple[Tensor, Tensor]]):
    def __init__(self) -> None:
        self.x, self.y = table()

    def __iter__(self) -> Any:
        return iter(zip(self.x, self.y, strict=True))


def every_worker_reads_everything() -> Training:
    return training(DataLoader(Unsharded(), 32, num_workers=2))


class OwnGenerator(Augmented):
    def __init__(self) -> None:
        super().__init__()
        self.drawn = np.random.default_rng(0)

    def __getitem__(self, index: int) -> tuple[Tensor, Tensor]:
        return self.x[index] + torch.from_numpy(self.drawn.normal(size=8)).float(), self.y[index]


def every_worker_draws_the_same() -> Training:
    return training(DataLoader(OwnGenerator(), 32, num_workers=2))


FAULTS = {
    nan_in_a_later_batch: ("nan-in-data", "confirmed"),
    nan_in_the_first_batch: ("nan-in-data", "confirmed"),
    nan_in_a_stored_data_set: ("nan-in-data", "confirmed"),
    nan_in_a_target: ("nan-in-data", "confirmed"),
    a_label_too_high: ("invalid-labels", "confirmed"),
    a_label_too_high_where_the_order_is_random: ("invalid-labels", "confirmed"),
    a_label_too_high_for_a_binary_loss: ("invalid-labels", "confirmed"),
    doubled_before_the_split: ("data-leakage", "confirmed"),
    one_data_set_in_two_loaders: ("data-leakage", "likely"),  # without the shared samples nothing is left
    overlapping_subsets_with_augmentation: ("data-leakage", "likely"),
    both_halves_from_one_seed: ("data-leakage", "likely"),
    the_label_among_the_features: ("target-leakage", "likely"),
    a_code_of_the_label_among_the_features: ("target-leakage", "likely"),
    the_number_to_predict_among_the_features: ("target-leakage", "likely"),
    all_inputs_the_same: ("constant-features", "likely"),
    a_sampler_that_is_seeded_for_every_batch: ("duplicated-samples", "likely"),
    every_worker_reads_everything: ("duplicated-samples", "likely"),
    every_worker_draws_the_same: ("duplicated-samples", "likely"),
}


@pytest.mark.parametrize("program", FAULTS, ids=lambda program: program.__name__)
def test_a_fault_is_named(program: Callable[[], Training]) -> None:
    found = verdict(program)
    assert found.failed, found
    assert (found.findings[0].cause, found.findings[0].certainty) == FAULTS[program], str(found)


def test_a_place_is_told() -> None:
    assert "sample 10 of batch 5 of data" in str(verdict(nan_in_a_later_batch))
    assert "sample 170 of data" in str(verdict(nan_in_a_stored_data_set))
    assert "sample 12 of batch 9 of data" in str(verdict(a_label_too_high))


def test_two_faults_do_not_hide_each_other() -> None:
    """Without the samples that are not finite the label is still among the features; they were at fault, too."""

    def both() -> Training:
        x, y = table()
        x[40, 0] = torch.nan
        return training(batches(torch.cat([x, y[:, None].float()], 1), y), features=9)

    assert next((f.cause, f.certainty) for f in verdict(both).findings) == ("nan-in-data", "confirmed")


# -- look-alikes -----------------------------------------------------------------------------------------------------


def autoencoder() -> Training:
    x, _ = table()
    return training(batches(x, x), batches(x[:1].expand(40, 8) + torch.randn(40, 8), x[:40]), nn.MSELoss(), outputs=8)


def an_autoencoder_of_one_field() -> Training:
    x, _ = table()
    model = nn.Linear(8, 8)
    return Training(
        model, torch.optim.Adam(model.parameters()), lambda model, x: F.mse_loss(model(x), x), list(x.split(32))
    )


def next_tokens() -> Training:
    model = nn.Sequential(nn.Embedding(20, 16), nn.Linear(16, 20))

    def loss(model: nn.Module, tokens: Tensor) -> Tensor:
        return F.cross_entropy(model(tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten())

    tokens = torch.randint(20, (64, 12)).sort(1).values
    return Training(model, torch.optim.Adam(model.parameters()), loss, list(tokens.split(16)))


def padded_tokens_with_ignored_labels() -> Training:
    model = nn.Sequential(nn.Embedding(20, 16), nn.Linear(16, 20))
    tokens = torch.randint(1, 20, (64, 12))
    tokens[:, 8:] = 0
    labels = torch.where(tokens == 0, -100, tokens)

    def loss(model: nn.Module, batch: Any) -> Tensor:
        return F.cross_entropy(model(batch["input_ids"]).flatten(0, 1), batch["labels"].flatten())

    data = [{"input_ids": a, "labels": b} for a, b in batches(tokens, labels, 16)]
    return Training(model, torch.optim.Adam(model.parameters()), loss, data)


def a_line_on_the_same_grid() -> Training:
    x = torch.linspace(-1, 1, 200)[:, None]
    return training(batches(x, 2 * x + 1), batches(x.clone(), 2 * x + 1), nn.MSELoss(), features=1, outputs=1)


def a_plane_on_the_same_grid() -> Training:
    x = torch.cartesian_prod(torch.linspace(-1, 1, 16), torch.linspace(-1, 1, 16))
    y = x.square().sum(1, keepdim=True)
    return training(batches(x, y), batches(x.clone(), y.clone()), nn.MSELoss(), features=2, outputs=1)


def a_truth_table() -> Training:
    x = torch.cartesian_prod(*[torch.arange(2.0)] * 4)
    y = x.sum(1).long() % 2
    return training(batches(x, y), batches(x.clone(), y.clone()), features=4)


def few_categories() -> Training:
    def drawn(samples: int) -> Batches:
        kinds = torch.randint(3, (samples, 4))
        return batches(F.one_hot(kinds, 3).flatten(1).float(), kinds.sum(1) % 2)

    return training(drawn(400), drawn(100), features=12)


def short_words() -> Training:
    """A hundred words, drawn again and again, each with its own vector."""
    vectors = torch.randn(100, 8)

    def drawn(samples: int) -> Batches:
        words = torch.randint(100, (samples,))
        return batches(vectors[words], words % 2)

    return training(drawn(400), drawn(100))


def windows_of_a_series() -> Training:
    series = torch.sin(torch.arange(600) * 0.1) + 0.1 * torch.randn(600)
    windows = series.unfold(0, 9, 1)
    x, y = windows[:, :8], windows[:, 8:]
    return training(batches(x[:500], y[:500]), batches(x[500:], y[500:]), nn.MSELoss(), outputs=1)


def one_graph_with_two_masks() -> Training:
    x, y = table(200)
    known = torch.arange(200) % 4
    model = nn.Linear(8, 2)

    def loss(model: nn.Module, graph: Any) -> Tensor:
        return F.cross_entropy(model(graph["x"])[graph["mask"]], graph["y"][graph["mask"]])

    one, other = ({"x": x, "y": y, "mask": known == part} for part in (0, 1))
    return Training(model, torch.optim.Adam(model.parameters()), loss, [one], val_data=[other])


def one_batch_several_times() -> Training:
    return training([table(32)] * 8)


class Repeating:
    def __init__(self) -> None:
        self.batch = table(32)

    def __len__(self) -> int:
        return 8

    def __iter__(self) -> Any:
        return iter([self.batch] * 8)


def a_loader_of_ones_own_that_repeats_a_batch() -> Training:
    return training(Repeating())


def blank_images_on_both_sides() -> Training:
    def drawn(samples: int) -> Batches:
        images = torch.rand(samples, 1, 8, 8)
        images[:, :, [0, -1]] = 0
        images[:2] = 0
        return batches(images.flatten(1), torch.arange(samples) % 2)

    return training(drawn(256), drawn(64), features=64)


def labels_that_are_the_sign_of_a_feature() -> Training:
    x = torch.randn(256, 8)
    return training(batches(x, (x[:, 0] > 0).long()))


def a_pendulum() -> Training:
    x = torch.randn(256, 2)
    y = torch.stack([x[:, 1], -x[:, 0]], 1)
    return training(batches(x, y), criterion=nn.MSELoss(), features=2)


def missing_targets() -> Training:
    x, _ = table()
    y = x[:, :1] * x[:, 1:2]
    y[::7] = torch.nan
    return training(batches(x, y), criterion=lambda out, y: ((out - y)[~y.isnan()] ** 2).mean(), outputs=1)


def labels_that_the_step_leaves_out() -> Training:
    x, y = table()
    y[300] = 255
    model = nn.Linear(8, 2)

    def loss(model: nn.Module, batch: Any) -> Tensor:
        known = batch[1] != 255
        return F.cross_entropy(model(batch[0][known]), batch[1][known])

    return Training(model, torch.optim.Adam(model.parameters()), loss, batches(x, y))


def ignored_labels_of_ones_own() -> Training:
    x, y = table()
    y[::9] = 255
    return training(batches(x, y), criterion=nn.CrossEntropyLoss(ignore_index=255))


class Sharded(Unsharded):
    def __iter__(self) -> Any:
        info = torch.utils.data.get_worker_info()
        part = slice(None) if info is None else slice(info.id, None, info.num_workers)
        return iter(zip(self.x[part], self.y[part], strict=True))


def workers_with_a_part_each() -> Training:
    return training(DataLoader(Sharded(), 32, num_workers=2))


def workers_that_draw_from_torch() -> Training:
    return training(DataLoader(Augmented(), 32, num_workers=2))


def a_sorted_series() -> Training:
    x = torch.arange(400.0)[:, None] / 400
    return training(batches(x, x.sin()), criterion=nn.MSELoss(), features=1, outputs=1)


def a_generator() -> Training:
    return training(iter(batches(*table())))


def batches_of_different_lengths() -> Training:
    model = nn.Sequential(nn.Embedding(20, 8), nn.Linear(8, 2))

    def loss(model: nn.Module, batch: Any) -> Tensor:
        return F.cross_entropy(model(batch[0]).mean(1), batch[1])

    data = [(torch.randint(20, (8, length)), torch.arange(8) % 2) for length in (5, 7, 9)]
    return Training(model, torch.optim.Adam(model.parameters()), loss, data)


def images_with_masks() -> Training:
    model = nn.Conv2d(1, 2, 3, padding=1)
    data = [(torch.rand(8, 1, 16, 16), torch.zeros(8, 16, 16).long()) for _ in range(4)]
    return Training(model, torch.optim.Adam(model.parameters()), criterion=nn.CrossEntropyLoss(), data=data)


def pairs_of_one_sample() -> Training:
    x, _ = table()
    model = nn.Linear(8, 4)

    def loss(model: nn.Module, batch: Any) -> Tensor:
        one, other = F.normalize(model(batch[0])), F.normalize(model(batch[1]))
        return F.cross_entropy(one @ other.T / 0.1, torch.arange(len(one)))

    return Training(model, torch.optim.Adam(model.parameters()), loss, batches(x, x + 0.1 * torch.randn(400, 8)))


HEALTHY = [
    autoencoder, an_autoencoder_of_one_field, next_tokens, padded_tokens_with_ignored_labels, a_line_on_the_same_grid,
    a_plane_on_the_same_grid, a_truth_table, few_categories, short_words, windows_of_a_series, one_graph_with_two_masks,
    one_batch_several_times, a_loader_of_ones_own_that_repeats_a_batch, blank_images_on_both_sides,
    labels_that_are_the_sign_of_a_feature, a_pendulum, missing_targets, labels_that_the_step_leaves_out,
    ignored_labels_of_ones_own, workers_with_a_part_each, workers_that_draw_from_torch, a_sorted_series, a_generator,
    batches_of_different_lengths, images_with_masks, pairs_of_one_sample,
]  # fmt: skip


@pytest.mark.parametrize("program", HEALTHY, ids=lambda program: program.__name__)
@pytest.mark.parametrize("seed", [0, 1])
def test_a_look_alike_passes(program: Callable[[], Training], seed: int) -> None:
    found = verdict(program, seed=seed)
    assert found.passed, f"{found.reason} {found}"


# -- advice ----------------------------------------------------------------------------------------------------------


def rare_class() -> Training:
    x, _ = table(1000)
    return training(batches(x, (torch.arange(1000) % 50 == 0).long()))


def tiny_foreground() -> Training:
    model, masks = nn.Conv2d(1, 2, 3, padding=1), torch.zeros(32, 16, 16).long()
    masks[:, 3, 3] = 1
    data = batches(torch.randn(32, 1, 16, 16), masks, 8)
    return Training(model, torch.optim.Adam(model.parameters()), criterion=nn.CrossEntropyLoss(), data=data)


def one_raw_column() -> Training:
    x, y = table()
    x[:, 2] = 3e4 * x[:, 2] + 1e5
    return training(batches(x, y))


def an_outlier() -> Training:
    x, y = table()
    x[77, 2] = 9999
    return training(batches(x, y))


def a_constant_column() -> Training:
    x, y = table(800)
    x[:, 2] = 0.5
    return training(batches(x, y))


def repeated_samples() -> Training:
    x, y = table()
    return training(batches(torch.cat([x, x[:200]]), torch.cat([y, y[:200]]), 48))


def wrong_labels() -> Training:
    x, y = table(1000)
    return training(batches(x, torch.where(torch.arange(1000) % 7 == 0, 1 - y, y)))


def near_duplicates() -> Training:
    x, y = table()
    return training(batches(x, y), batches(x[:64] + 1e-4 * torch.randn(64, 8), y[:64]))


def a_toy_target() -> Training:
    x = torch.randn(256, 8)
    return training(batches(x, x[:, :1].clone()), criterion=nn.MSELoss(), outputs=1)


def nan_in_validation() -> Training:
    x, y = table()
    x[390, 0] = torch.nan
    return training(batches(x[:300], y[:300]), batches(x[300:], y[300:]))


ADVICE = {
    rare_class: "class-imbalance",
    tiny_foreground: "class-imbalance",
    an_outlier: "outliers",
    a_constant_column: "constant-features",
    repeated_samples: "duplicated-samples",
    wrong_labels: "label-noise",
    a_toy_target: "target-leakage",
    missing_targets: "nan-in-data",
    nan_in_validation: "nan-in-data",
}


@pytest.mark.parametrize("program", ADVICE, ids=lambda program: program.__name__)
def test_advice_is_a_note_with_its_page(program: Callable[[], Training]) -> None:
    found = verdict(program)
    assert found.passed, str(found)
    assert noted(found) == {ADVICE[program]}
    assert found.notes[0].endswith(f"(pytest --trainhealth-explain {ADVICE[program]})")


def test_what_was_a_note_is_a_fault_once_it_is_shown() -> None:
    """A raw column with which 80 steps learn nothing; val_data that are copies of data, but for noise."""
    raw, copied = (verdict(program).findings[0] for program in (one_raw_column, near_duplicates))
    assert (raw.cause, raw.certainty) == ("unnormalized-inputs", "confirmed")
    assert (copied.cause, copied.certainty) == ("data-leakage", "likely")


def test_sorted_batches_are_a_note() -> None:
    x, y = table()
    order = y.argsort()
    assert any("sorted by class" in note for note in verdict(lambda: training(batches(x[order], y[order]))).notes)


def test_random_validation_data_are_a_note() -> None:
    found = verdict(lambda: training(batches(*table()), DataLoader(Augmented(), 32, shuffle=True)))
    assert any("drawn at random" in note for note in found.notes)
    assert any("random order" in note for note in found.notes)


def test_what_was_not_read_is_told() -> None:
    found = verdict(lambda: training(DataLoader(Augmented(), 4)))
    assert any("128 samples of data were looked at, not all" in note for note in found.notes)
    assert not verdict(lambda: training(DataLoader(Augmented(), 4)), max_batches=1000).notes


# -- could not judge -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("some", [slice(None), slice(2)])
def test_validation_on_the_data_themselves_is_not_judged(some: slice) -> None:
    def smoke() -> Training:
        data = batches(*table())
        return training(data, data if some == slice(None) else data[some])

    found = verdict(smoke)
    assert found.outcome == "could not judge"
    assert "nothing is held out" in found.reason


class Broken(Augmented):
    def __getitem__(self, index: int) -> tuple[Tensor, Tensor]:
        if index == 200:
            raise OSError("broken file")
        return super().__getitem__(index)


def test_a_batch_that_cannot_be_read_is_told() -> None:
    found = verdict(lambda: training(DataLoader(Broken(), 32)))
    assert (found.outcome, found.reason) == (
        "could not judge", "reading batch 6 of data raises OSError: broken file"
    )  # fmt: skip


# -- watched ---------------------------------------------------------------------------------------------------------


def fit(x: Tensor, y: Tensor) -> None:
    model = nn.Linear(8, 2)
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    for inputs, labels in DataLoader(TensorDataset(x, y), 32):
        optimizer.zero_grad()
        F.cross_entropy(model(inputs), labels).backward()
        optimizer.step()


def test_a_watched_test_is_looked_at_by_its_batches() -> None:
    found = verdict(lambda: fit(*table()))
    assert found.passed
    assert any("only the batches were looked at that 13 steps were given" in note for note in found.notes)


def test_nan_in_a_watched_test() -> None:
    x, y = table()
    x[170, 3] = torch.nan
    found = verdict(lambda: fit(x, y))
    assert found.failed
    assert found.findings[0].cause == "nan-in-data"


# -- nothing is changed ----------------------------------------------------------------------------------------------


class Counting(Augmented):
    """Draws from a generator of its own, and counts."""

    def __init__(self) -> None:
        super().__init__()
        self.drawn, self.read = torch.Generator().manual_seed(3), 0

    def __getitem__(self, index: int) -> tuple[Tensor, Tensor]:
        self.read += 1
        return self.x[index] + torch.randn(8, generator=self.drawn), self.y[index]


def test_loaders_generators_and_random_numbers_stay_as_they_were() -> None:
    data, val = Counting(), Counting()
    order = torch.Generator().manual_seed(5)
    loader = DataLoader(data, 32, shuffle=True, generator=order)
    given = training(loader, DataLoader(val, 32))
    before = [data.drawn.get_state(), val.drawn.get_state(), order.get_state(), torch.get_rng_state()]
    weights = [p.detach().clone() for p in given.modules[""].parameters()]
    assert verdict(given).passed  # type: ignore[arg-type]
    after = [data.drawn.get_state(), val.drawn.get_state(), order.get_state(), torch.get_rng_state()]
    assert all(torch.equal(a, b) for a, b in zip(before, after, strict=True))
    assert (data.read, val.read) == (0, 0)
    assert all(torch.equal(a, b) for a, b in zip(weights, given.modules[""].parameters(), strict=True))


@pytest.mark.parametrize("beside", [True, False])
def test_a_grid_of_places_is_the_same_in_all_samples(beside: bool) -> None:
    """What lies there is given along with it, and reconstructed. Without it, there is nothing to tell samples by."""
    grid, values = torch.linspace(-1, 1, 8).expand(128, 8).clone(), torch.randn(128, 8)

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.places, self.rest = nn.Linear(8, 16), nn.Linear(32, 8)
            self.values = nn.Linear(16, 16)

        def forward(self, both: Tensor, places: Tensor) -> Tensor:
            return self.rest(torch.cat([self.values(both), self.places(places)], 1))

    def program() -> Training:
        model = Net()

        def loss(model: nn.Module, batch: tuple[Tensor, Tensor]) -> Tensor:
            both = torch.cat([batch[0], batch[1]] if beside else [batch[1], batch[1]], 1)
            return F.mse_loss(model(both if beside else batch[1].repeat(1, 1), batch[1]), batch[0])

        if not beside:
            model.values = nn.Linear(8, 16)
        return Training(model, torch.optim.Adam(model.parameters()), loss, batches(values, grid))

    found = verdict(program)
    assert found.passed if beside else found.findings[0].cause == "constant-features"
