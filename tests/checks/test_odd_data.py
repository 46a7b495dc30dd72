"""data_is_healthy on data nobody has tuned it to: faults in other clothes, and odd data that are right.

Each is small, so that all of them together take seconds.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.data import ConcatDataset, DataLoader, Dataset, TensorDataset, WeightedRandomSampler

from pytest_trainhealth import Training

from .test_data_is_healthy import Batches, batches, noted, table, training, verdict

Program = Callable[[], Training]


def correlated(samples: int, features: int = 8) -> Tensor:
    """Columns that go together, as those of real tables do."""
    common = torch.randn(samples, 2)
    return common @ torch.randn(2, features, generator=torch.Generator().manual_seed(1)) + torch.randn(
        samples, features
    )


def regression(x: Tensor, y: Tensor, val: Any = None, **settings: Any) -> Training:
    return training(batches(x, y), val, nn.MSELoss(), features=x.shape[1], outputs=1, **settings)


# -- faults ----------------------------------------------------------------------------------------------------------


def a_fee_that_follows_the_label() -> Training:
    x = correlated(500)
    y = (x[:, 0] + 2 * torch.randn(500) > 0).long()
    fee = torch.where(y > 0, 3 + torch.rand(500), torch.zeros(500))
    return training(batches(torch.cat([x, fee[:, None]], 1), y), features=9)


def the_logarithm_of_the_number() -> Training:
    x = correlated(400)
    y = torch.exp(0.3 * x[:, :1] + torch.randn(400, 1))
    return regression(torch.cat([x, y.log()], 1), y)


def a_window_that_ends_too_late() -> Training:
    """Time first, then the channels; the channel to predict is the second."""
    series = torch.stack([torch.sin(torch.arange(700) * 0.3), torch.randn(700).cumsum(0) * 0.1], 1)
    windows = series.unfold(0, 12, 1).transpose(1, 2).contiguous()
    model = nn.Sequential(nn.Flatten(), nn.Linear(24, 16), nn.ReLU(), nn.Linear(16, 1))
    data = batches(windows, windows[:, -1, 1:].clone())
    return Training(model, torch.optim.Adam(model.parameters()), criterion=nn.MSELoss(), data=data)


def a_tag_among_the_features_of_its_word() -> Training:
    tags = torch.randint(3, (60, 10))
    words = torch.randn(3, 6)[tags] + 2 * torch.randn(60, 10, 6)
    x = torch.cat([words, tags[..., None] * 0.5 - 1], 2)
    model = nn.Linear(7, 3)

    def loss(model: nn.Module, batch: Any) -> Tensor:
        return F.cross_entropy(model(batch[0]).flatten(0, 1), batch[1].flatten())

    return Training(model, torch.optim.Adam(model.parameters()), loss, batches(x, tags, 12))


def numbers_shuffled_apart() -> Training:
    x, val = correlated(600), correlated(200)
    y, val_y = (each.sum(1, keepdim=True) for each in (x, val))
    return regression(x, y[torch.randperm(600)], batches(val, val_y))


def classes_shuffled_apart() -> Training:
    x, y = table(700, 3)
    return training(batches(x[:500], y[:500][torch.randperm(500)]), batches(x[500:], y[500:]), outputs=3)


def labels_in_the_order_of_numbers_files_in_that_of_names() -> Training:
    x, y = table(300, 4)
    by_name = torch.tensor(sorted(range(300), key=str))
    data = TensorDataset(x[by_name], y)
    return training(DataLoader(data, 30, shuffle=True), outputs=4)


def a_third_of_the_labels_wrong() -> Training:
    x, y = table(1000, 4)
    noisy = torch.where(torch.rand(700) < 0.4, torch.randint(4, (700,)), y[:700])
    return training(batches(x[:700], noisy), batches(x[700:], y[700:]), outputs=4)


def noise_was_added_before_the_split() -> Training:
    x, y = correlated(250, 40), torch.arange(250) % 2
    copies = torch.cat([x + 0.03 * torch.randn_like(x) for _ in range(4)])
    order = torch.randperm(1000)
    x, y = copies[order], y.repeat(4)[order]
    return training(batches(x[:800], y[:800]), batches(x[800:], y[800:]), features=40)


def a_join_that_multiplies() -> Training:
    x, y = table(150)
    order = torch.randperm(750)
    val, val_y = table(100)
    return training(batches(x.repeat(5, 1)[order], y.repeat(5)[order]), batches(val, val_y))


def the_first_batch_again_and_again() -> Training:
    data = TensorDataset(*table(320))

    def first() -> Any:
        return next(iter(DataLoader(data, 32, shuffle=True, generator=torch.Generator().manual_seed(3))))

    return training([first() for _ in range(10)], batches(*table(64)))


def a_code_for_missing_values() -> Training:
    x, y = table(600)
    x[torch.rand(600, 8) < 0.01] = 99999.0
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 2))
    optimizer = torch.optim.SGD(model.parameters(), 0.05, momentum=0.9)
    return Training(model, optimizer, criterion=nn.CrossEntropyLoss(), data=batches(x, y))


def one_raw_column() -> Training:
    x = correlated(600)
    y = x[:, :1] - x[:, 1:2]
    raw = torch.cat([x, 5e4 + 1e4 * torch.randn(600, 1)], 1)
    model = nn.Sequential(nn.Linear(9, 16), nn.Tanh(), nn.Linear(16, 1))
    return Training(
        model, torch.optim.SGD(model.parameters(), 0.05, momentum=0.9), criterion=nn.MSELoss(), data=batches(raw, y)
    )


def six_of_two_thousand() -> Training:
    x, y = torch.randn(2000, 8), torch.zeros(2000, dtype=torch.long)
    y[torch.randperm(2000)[:6]] = 1
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 2))
    data = batches(x + 0.7 * y[:, None], y, 64)
    return Training(model, torch.optim.Adam(model.parameters(), 1e-2), criterion=nn.CrossEntropyLoss(), data=data)


def words_that_the_vocabulary_does_not_know() -> Training:
    x = torch.zeros(600, 40)
    x[:, 3] = (torch.rand(600) < 0.5).float()
    return training(batches(x, torch.randint(3, (600,))), features=40, outputs=3)


def a_price_and_the_tax_that_is_computed_from_it() -> Training:
    """The other columns tell most of it, too, as those of a good table do."""
    x = torch.randn(1000, 6)
    y = x @ torch.tensor([[0.8], [0.5], [-0.5], [0.4], [0.3], [0.0]]) + 0.3 * torch.randn(1000, 1)
    return regression(torch.cat([x, torch.exp(0.4 * y)], 1), y)


def a_third_of_the_labels_of_texts_wrong() -> Training:
    """So noisy, and of so many tokens, that labels which are learnt from tell next to nothing."""
    tone, y = 0.5 * torch.randn(200), torch.arange(760) % 2
    lean = torch.where(y[:, None] > 0, tone[None], -tone[None])
    tokens = torch.multinomial(lean.softmax(1), 20, replacement=True)
    wrong = torch.where(torch.rand(500) < 0.35, 1 - y[:500], y[:500])
    model = nn.Sequential(nn.EmbeddingBag(200, 16), nn.Linear(16, 2))
    return Training(
        model, torch.optim.Adam(model.parameters()), criterion=nn.CrossEntropyLoss(), data=batches(tokens[:500], wrong),
        val_data=batches(tokens[500:], y[500:]),
    )  # fmt: skip


def a_join_that_finds_nothing(columns: int = 4) -> Training:
    """Nine of ten columns are filled with 0, and what is left tells nothing."""
    x = torch.randn(900, 40)
    y = torch.tanh(x[:, 10:] @ torch.randn(30, 1)) + 0.1 * torch.randn(900, 1)
    x[:, columns:] = 0.0
    return regression(x[:700], y[:700], batches(x[700:], y[700:]))


FAULTS: dict[Program, tuple[str, str]] = {
    a_fee_that_follows_the_label: ("target-leakage", "likely"),
    the_logarithm_of_the_number: ("target-leakage", "likely"),
    a_price_and_the_tax_that_is_computed_from_it: ("target-leakage", "likely"),
    a_join_that_finds_nothing: ("constant-features", "likely"),
    a_window_that_ends_too_late: ("target-leakage", "likely"),
    a_tag_among_the_features_of_its_word: ("target-leakage", "likely"),
    numbers_shuffled_apart: ("labels-not-aligned", "likely"),
    classes_shuffled_apart: ("labels-not-aligned", "likely"),
    labels_in_the_order_of_numbers_files_in_that_of_names: ("labels-not-aligned", "likely"),
    a_third_of_the_labels_of_texts_wrong: ("label-noise", "likely"),
    a_third_of_the_labels_wrong: ("label-noise", "likely"),
    noise_was_added_before_the_split: ("data-leakage", "likely"),
    a_join_that_multiplies: ("duplicated-samples", "likely"),
    the_first_batch_again_and_again: ("duplicated-samples", "likely"),
    a_code_for_missing_values: ("outliers", "confirmed"),
    one_raw_column: ("unnormalized-inputs", "confirmed"),
    six_of_two_thousand: ("class-imbalance", "likely"),
    words_that_the_vocabulary_does_not_know: ("constant-features", "likely"),
}


@pytest.mark.parametrize("program", FAULTS, ids=lambda program: program.__name__)
def test_a_fault_is_named(program: Program) -> None:
    found = verdict(program)
    assert found.failed, str(found)
    assert (found.findings[0].cause, found.findings[0].certainty) == FAULTS[program], str(found)


# -- odd, and right --------------------------------------------------------------------------------------------------


def a_rare_class_copied_ten_times() -> Training:
    x, y = table(400)
    rare = (y == 1) & (torch.arange(400) < 60)
    common = y == 0
    x, y = torch.cat([x[common], x[rare].repeat(7, 1)]), torch.cat([y[common], y[rare].repeat(7)])
    return training(batches(x, y), batches(*table(100)))


def categories_that_never_occur() -> Training:
    kinds = (torch.rand(600).pow(4) * 40).long()
    x = torch.cat([torch.randn(600, 4), F.one_hot(kinds, 60).float()], 1)
    y = kinds.float()[:, None] * 0.1 + x[:, :1] + 0.1 * torch.randn(600, 1)
    return regression(x[:480], y[:480], batches(x[480:], y[480:]))


def codes_of_a_large_vocabulary_and_noise() -> Training:
    """Most categories never occur, and nothing tells the answers: a smoke test, or a hard problem."""
    codes = F.one_hot((torch.rand(900) * 8).long(), 60).float()
    return regression(codes[:700], torch.randn(700, 1), batches(codes[700:], torch.randn(200, 1)))


def most_sensors_off() -> Training:
    x = torch.randn(900, 40)
    x[:, 6:] = 0.0
    y = x[:, :1] - x[:, 1:2] + 0.3 * torch.randn(900, 1)
    return regression(x[:700], y[:700], batches(x[700:], y[700:]))


def the_same_length_in_two_units() -> Training:
    """Each column is in the order of the target, and each tells it without the other."""
    radius = 0.5 + torch.rand(800, 1)
    others = radius + 0.1 * torch.randn(800, 4)
    return regression(torch.cat([radius, 2 * radius, others], 1), radius**2)


def people_that_validation_knows_well_and_others() -> Training:
    """Samples of one person resemble each other, within each set; what tells those of one says little of the others."""
    people, answer = 3 * torch.randn(60, 12), torch.arange(60) % 2
    who = torch.cat([torch.arange(40).repeat(15), 40 + torch.arange(20).repeat(10)])
    x = people[who] + 0.3 * torch.randn(800, 12)
    return training(batches(x[:600], answer[who[:600]]), batches(x[600:], answer[who[600:]]), features=12)


def texts_of_which_the_order_matters() -> Training:
    tokens = torch.randint(30, (700, 12))
    y = (tokens[:, 0] > tokens[:, 1]).long()
    model = nn.Sequential(nn.Embedding(30, 8), nn.Flatten(), nn.Linear(96, 2))
    return Training(
        model, torch.optim.Adam(model.parameters()), criterion=nn.CrossEntropyLoss(),
        data=batches(tokens[:500], y[:500]), val_data=batches(tokens[500:], y[500:]),
    )  # fmt: skip


def overlapping_windows_one_after_the_other() -> Training:
    series = torch.sin(torch.arange(900) * 0.2) + 0.3 * torch.randn(900).cumsum(0) * 0.1
    windows = series.unfold(0, 17, 1)
    x, y = windows[:, :16], windows[:, 16:]
    return regression(x[:700], y[:700], batches(x[700:], y[700:]))


def the_value_before_is_a_feature() -> Training:
    y = torch.randn(501).cumsum(0) * 0.2
    x = torch.cat([y[:-1, None], correlated(500)], 1)
    return regression(x[:400], y[1:401, None], batches(x[400:], y[401:, None]))


def a_trajectory_that_begins_with_the_answer() -> Training:
    angle = 2 * torch.rand(300, 1) - 1
    times = torch.linspace(0, 3, 20)
    path = torch.stack([angle * torch.cos(times), -angle * torch.sin(times)], 2)
    model = nn.Sequential(nn.Flatten(), nn.Linear(40, 1))
    return Training(
        model, torch.optim.Adam(model.parameters()), criterion=nn.MSELoss(), data=batches(path, angle.clone())
    )


def a_feature_that_is_nearly_always_right() -> Training:
    x = correlated(600)
    y = (x[:, 0] + 0.02 * torch.randn(600) > 0).long()
    return training(batches(x[:480], y[:480]), batches(x[480:], y[480:]))


def lines_of_a_spectrum() -> Training:
    """An element is there, and all its lines are, or none: each feature alone tells, and so do the others."""
    y = torch.randint(2, (400,))
    lines = (0.5 + torch.rand(400, 6)) * y[:, None]
    return training(batches(torch.cat([lines, correlated(400, 4)], 1), y), features=10)


def powers_of_one_number() -> Training:
    x = torch.linspace(-2, 2, 400)[torch.randperm(400), None]
    return regression(torch.cat([x, x**2, x**3, x**4], 1), torch.exp(x))


def a_flag_that_one_class_never_has() -> Training:
    x, y = correlated(500), torch.arange(500) % 2
    flag = ((torch.rand(500) < 0.8) & (y == 1)).float()
    return training(batches(torch.cat([x, flag[:, None]], 1), y), features=9)


def weak_labels_beside_right_ones() -> Training:
    x, y = table(1000, 4)
    weak = torch.where(torch.rand(800) < 0.1, torch.randint(4, (800,)), y[:800])
    return training(batches(x[:800], weak), batches(x[800:], y[800:]), outputs=4)


def random_labels_of_a_smoke_test() -> Training:
    def drawn(samples: int) -> Batches:
        return batches(torch.randn(samples, 8), torch.randint(3, (samples,)))

    return training(drawn(500), drawn(200), outputs=3)


class Jittered(Dataset[tuple[Tensor, Tensor]]):
    def __init__(self, x: Tensor, y: Tensor) -> None:
        self.x, self.y = x, y

    def __len__(self) -> int:
        return len(self.x)

    def __getitem__(self, index: int) -> tuple[Tensor, Tensor]:
        return self.x[index] * torch.randn(8).sign(), self.y[index]


def augmented_beyond_recognition_but_not_for_validation() -> Training:
    x, y = table(600)
    return training(DataLoader(Jittered(x[:450], y[:450]), 32, shuffle=True), batches(x[450:], y[450:]))


def only_clear_cases_for_validation() -> Training:
    x, y = table(1200)
    x[:800] += 3 * torch.randn(800, 8)
    return training(batches(x[:800], y[:800]), batches(x[800:], y[800:]))


def classes_that_overlap() -> Training:
    x, y = torch.randn(900, 8), torch.randint(2, (900,))
    x[:, 0] += 0.8 * y
    return training(batches(x[:700], y[:700]), batches(x[700:], y[700:]))


def five_samples_for_validation() -> Training:
    return training(batches(*table(300)), batches(*table(5)))


def people_seen_from_a_few_sides() -> Training:
    """Each class is one person, and photographs of one person are nearly the same."""
    faces, who = 3 * torch.randn(20, 24), torch.randint(20, (700,))
    x = faces[who] + 0.1 * torch.randn(700, 24)
    return training(batches(x[:560], who[:560]), batches(x[560:], who[560:]), features=24, outputs=20)


def points_in_a_plane() -> Training:
    angle = torch.rand(900) * 6.28
    y = torch.arange(900) % 2
    plane = torch.stack([angle.cos(), angle.sin()], 1) * (1 + y[:, None]) + 0.1 * torch.randn(900, 2)
    x = plane @ torch.randn(2, 12)
    return training(batches(x[:700], y[:700]), batches(x[700:], y[700:]), features=12)


def drawn_more_often_by_a_sampler() -> Training:
    x, y = torch.randn(1200, 8), torch.zeros(1200, dtype=torch.long)
    y[:8] = 1
    weights = torch.where(y == 1, 100.0, 1.0)
    return training(DataLoader(TensorDataset(x, y), 60, sampler=WeightedRandomSampler(weights.tolist(), 1200)))


def a_rare_class_that_is_weighed() -> Training:
    x, y = torch.randn(1500, 8), torch.zeros(1500, 1)
    y[:7] = 1
    return training(batches(x, y), criterion=nn.BCEWithLogitsLoss(pos_weight=torch.tensor(200.0)), outputs=1)


def a_rare_class_that_is_learnt() -> Training:
    x, y = torch.randn(1500, 8), torch.zeros(1500, dtype=torch.long)
    y[torch.randperm(1500)[:9]] = 1
    model = nn.Linear(8, 2)
    optimizer = torch.optim.Adam(model.parameters(), 0.3)
    data = batches(x + 8 * y[:, None], y, 128)
    return Training(model, optimizer, criterion=nn.CrossEntropyLoss(), data=data)


def raw_pixels() -> Training:
    x, y = torch.randint(256, (200, 64)).float(), torch.arange(200) % 2
    x[:, :32] *= (0.3 + 0.7 * y)[:, None]
    return training(batches(x, y), features=64)


def raw_columns_in_front_of_a_norm() -> Training:
    x, y = table(500)
    x[:, 2] = 5e4 + 1e4 * x[:, 2]
    model = nn.Sequential(nn.BatchNorm1d(8), nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 2))
    return Training(model, torch.optim.Adam(model.parameters()), criterion=nn.CrossEntropyLoss(), data=batches(x, y))


def incomes_with_a_long_tail() -> Training:
    x = torch.cat([correlated(600), torch.exp(2 * torch.randn(600, 1))], 1)
    return regression(x, (x[:, -1:] + 1).log() + x[:, :1])


def one_data_set_five_times_in_an_epoch() -> Training:
    data = TensorDataset(*table(120))
    return training(DataLoader(ConcatDataset([data] * 5), 32, shuffle=True), batches(*table(60)))


def the_same_few_batches_for_every_epoch() -> Training:
    return training(batches(*table(96)) * 6, batches(*table(64)))


def padding_nearly_everywhere() -> Training:
    tokens, labels = torch.zeros(400, 60, dtype=torch.long), torch.arange(400) % 3
    tokens[:, :5] = torch.randint(1, 15, (400, 5)) + 15 * labels[:, None]
    model = nn.Sequential(nn.EmbeddingBag(64, 16, padding_idx=0), nn.Linear(16, 3))
    criterion = nn.CrossEntropyLoss()
    return Training(
        model, torch.optim.Adam(model.parameters()), criterion=criterion, data=batches(tokens[:320], labels[:320]),
        val_data=batches(tokens[320:], labels[320:]),
    )  # fmt: skip


def users_whose_features_come_with_every_purchase() -> Training:
    users, items = torch.randn(40, 6), torch.randn(30, 6)
    who, what = torch.randint(40, (800,)), torch.randint(30, (800,))
    x = torch.cat([users[who], items[what]], 1)
    y = (users[who] * items[what]).sum(1, keepdim=True) + 0.5 * torch.randn(800, 1)
    return regression(x[:640], y[:640], batches(x[640:], y[640:]))


def a_twentieth_of_the_pixels() -> Training:
    masks = (torch.rand(80, 1, 12, 12) < 0.05).float()
    images = torch.randn(80, 1, 12, 12) + 2 * masks
    model = nn.Conv2d(1, 1, 3, padding=1)
    return Training(
        model, torch.optim.Adam(model.parameters()), criterion=nn.BCEWithLogitsLoss(), data=batches(images, masks, 8)
    )


def nodes_that_graphs_share() -> Training:
    """Subgraphs of one large graph: the same nodes come again in other company."""
    x, y = table(150, 3)
    nodes = torch.stack([torch.randperm(150)[:20] for _ in range(90)])
    model = nn.Linear(8, 3)

    def loss(model: nn.Module, batch: Any) -> Tensor:
        return F.cross_entropy(model(batch[0]).flatten(0, 1), batch[1].flatten())

    data = batches(x[nodes], y[nodes], 10)
    return Training(model, torch.optim.Adam(model.parameters()), loss, data[:7], val_data=data[7:])


ODD: tuple[Program, ...] = (
    a_rare_class_copied_ten_times,
    categories_that_never_occur,
    codes_of_a_large_vocabulary_and_noise,
    most_sensors_off,
    people_that_validation_knows_well_and_others,
    texts_of_which_the_order_matters,
    the_same_length_in_two_units,
    overlapping_windows_one_after_the_other,
    the_value_before_is_a_feature,
    a_trajectory_that_begins_with_the_answer,
    a_feature_that_is_nearly_always_right,
    lines_of_a_spectrum,
    powers_of_one_number,
    a_flag_that_one_class_never_has,
    weak_labels_beside_right_ones,
    random_labels_of_a_smoke_test,
    augmented_beyond_recognition_but_not_for_validation,
    only_clear_cases_for_validation,
    classes_that_overlap,
    five_samples_for_validation,
    people_seen_from_a_few_sides,
    points_in_a_plane,
    drawn_more_often_by_a_sampler,
    a_rare_class_that_is_weighed,
    a_rare_class_that_is_learnt,
    raw_pixels,
    raw_columns_in_front_of_a_norm,
    incomes_with_a_long_tail,
    one_data_set_five_times_in_an_epoch,
    the_same_few_batches_for_every_epoch,
    padding_nearly_everywhere,
    users_whose_features_come_with_every_purchase,
    a_twentieth_of_the_pixels,
    nodes_that_graphs_share,
)


@pytest.mark.parametrize("program", ODD, ids=lambda program: program.__name__)
def test_odd_data_that_are_right_pass(program: Program) -> None:
    found = verdict(program)
    assert found.outcome == "passed", str(found)


def test_what_does_no_harm_is_a_note() -> None:
    assert "unnormalized-inputs" in noted(verdict(raw_columns_in_front_of_a_norm))
    assert "class-imbalance" in noted(verdict(a_rare_class_that_is_weighed))
