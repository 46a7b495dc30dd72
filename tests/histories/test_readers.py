"""What is read from logs of every format: whole, sparse, cut off, damaged, resumed, begun anew, very long."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from pytest_trainhealth import History, history
from pytest_trainhealth.histories.find import runs_in
from pytest_trainhealth.histories.series_builder import SeriesBuilder
from pytest_trainhealth.histories.unreadable import UnreadableHistory


def written(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_lightning_has_training_and_validation_in_rows_of_their_own(tmp_path: Path) -> None:
    text = "epoch,lr-Adam,step,train_loss,val_loss\n,0.1,0,,\n0,,0,2.0,\n0,,0,,2.1\n,0.1,1,,\n1,,1,1.0,\n1,,1,,1.2\n"
    found = history(written(tmp_path, "metrics.csv", text))
    assert found.format == "csv"
    assert {name: list(series.values) for name, series in found.series.items()} == {
        "lr-Adam": [0.1, 0.1],
        "train_loss": [2.0, 1.0],
        "val_loss": [2.1, 1.2],
    }
    assert list(found["train_loss"].steps) == [0, 1]
    assert list(found["val_loss"].lines) == [4, 7]
    assert found["train_loss"].empty_from is None
    assert found["val_loss"].when(1) == "step 1 (epoch 1)"


def test_one_epoch_of_lightning_does_not_end_in_nothing(tmp_path: Path) -> None:
    rows = "".join(f"0,{step},{2 - step / 10},\n" for step in range(9))
    found = history(written(tmp_path, "metrics.csv", f"epoch,step,train_loss,val_loss\n{rows}0,9,,1.2\n0,9,,1.1\n"))
    assert found["train_loss"].empty_from is None


def test_a_column_that_becomes_empty_while_others_go_on(tmp_path: Path) -> None:
    """A frame writes NaN as nothing."""
    rows = "".join(f"{e},{1 / (e + 1) if e < 6 else ''},{e / 10}\n" for e in range(12))
    series = history(written(tmp_path, "history.csv", f"epoch,loss,accuracy\n{rows}"))["loss"]
    assert series.empty_from is not None
    assert series.at(series.empty_from) == "epoch 6"
    assert series.empty_from.line == 8


@pytest.mark.parametrize("delimiter", [";", "\t"])
def test_other_delimiters_and_decimal_commas(tmp_path: Path, delimiter: str) -> None:
    point = "," if delimiter == ";" else "."
    text = "\n".join(delimiter.join(row) for row in (["epoch", "loss"], ["1", f"0{point}5"], ["2", f"0{point}25"]))
    assert list(history(written(tmp_path, "log.csv", text))["loss"].values) == [0.5, 0.25]


def test_a_column_that_says_which_part_of_the_data(tmp_path: Path) -> None:
    text = ",epoch,phase,loss\n0,1,train,0.9\n1,1,val,1.0\n2,2,train,0.5\n3,2,val,0.7\n"
    found = history(written(tmp_path, "log.csv", text))
    assert {name: list(series.values) for name, series in found.series.items()} == {
        "train_loss": [0.9, 0.5],
        "val_loss": [1.0, 0.7],
    }


def test_an_export_of_tensorboard_has_its_name_in_the_file_name(tmp_path: Path) -> None:
    path = written(tmp_path, "run-1-tag-train_loss.csv", "Wall time,Step,Value\n1.0,0,2.5\n2.0,10,1.5\n")
    assert list(history(path)["train_loss"].steps) == [0, 10]


def test_words_for_what_is_not_finite(tmp_path: Path) -> None:
    series = history(written(tmp_path, "log.csv", "step,loss\n0,1\n1,nan\n2,-Infinity\n3,inf\n"))["loss"]
    assert (series.nonfinite, series.first_nonfinite, series.ends_nonfinite) == (
        3,
        series.ends_nonfinite,
        series.first_nonfinite,
    )
    assert series.first_nonfinite is not None
    assert math.isnan(series.first_nonfinite.value)
    assert (series.first_nonfinite.step, series.first_nonfinite.line) == (1, 3)


def test_a_series_without_any_finite_value_has_its_steps(tmp_path: Path) -> None:
    series = history(written(tmp_path, "log.csv", "step,loss,val_loss\n5,1,\n10,,nan\n20,,nan\n"))["val_loss"]
    assert series.ends_nonfinite is not None
    assert series.at(series.ends_nonfinite) == "step 10"


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.csv", "epoch,loss\n0,1\n1,abc\n2,0.5\n", "a.csv:3: 'abc' under loss is no number"),
        ("a.csv", "epoch,loss\n0,1\n1\n2,0.5\n", "a.csv:3: has 1 value where the header names 2 columns"),
        ("a.csv", "epoch,loss\n0,1,2\n1,2,3\n", "a.csv:2: has 3 values where the header names 2 columns"),
        ("a.csv", "", "a.csv:1: has no header: its first row has to name the columns"),
        ("a.jsonl", '{"loss": 1}\n{"loss": \n{"loss": 2}\n', "a.jsonl:2: is no JSON: Expecting value (column 1)"),
        ("a.jsonl", '{"loss": 1}\n[1]\n{"loss": 2}\n', "a.jsonl:2: an object for each entry was expected, not [1]"),
        ("a.json", '{"loss": [1,\n2,\n', "a.json:3: is no JSON: Expecting value; the file ends here"),
        ("a.json", '{"loss":\n[1, oops]}', "a.json:2: is no JSON: Expecting value"),
        ("a.json", "[1, 2]", "a.json:1: an object for each entry was expected, not 1"),
        ("a.json", "", "a.json:1: is empty: a history is a list for each name, or an object for each entry"),
        ("a.parquet", "PAR1", "a.parquet: no reader knows this. Known: CSV"),
        ("run-x.wandb", "nothing", "run-x.wandb: "),
    ],
)
def test_what_is_damaged_is_named_with_its_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, text: str, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    written(tmp_path, name, text)
    with pytest.raises(UnreadableHistory) as error:
        history(name)
    assert str(error.value).startswith(message)


def test_a_file_that_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UnreadableHistory, match=r"^gone\.csv: No such file"):
        history("gone.csv")


@pytest.mark.parametrize(
    ("name", "text"),
    [("a.csv", "step,loss\n0,1\n1,0.5\n2"), ("a.jsonl", '{"step": 0, "loss": 1}\n{"step": 1, "loss": 0.5}\n{"ste')],
)
def test_a_last_line_that_is_cut_off_does_not_count(tmp_path: Path, name: str, text: str) -> None:
    found = history(written(tmp_path, name, text))
    assert list(found["loss"].values) == [1, 0.5]
    assert "is cut off, and does not count" in found.notes[0]


def test_keras_has_a_list_for_each_name_and_counts_epochs_from_one(tmp_path: Path) -> None:
    text = json.dumps({"loss": [3, 2, 1, 0.5], "val_loss": [2.5, 1.5], "lr": [0.1] * 4}, indent=1)
    found = history(written(tmp_path, "history.json", text))
    assert found["loss"].when(0) == "epoch 1"
    assert list(found["val_loss"].steps) == [2, 4]  # every second epoch
    assert found["loss"].lines[1] == 4


def test_hugging_face_sums_up_at_the_end(tmp_path: Path) -> None:
    """Its `train_loss` is the mean over the run."""
    log = [{"epoch": 0.5, "loss": 2.0, "step": 5}, {"epoch": 1.0, "eval_loss": 1.9, "step": 10}]
    state = {"global_step": 10, "log_history": [*log, {"train_loss": 1.5, "train_runtime": 9.0, "step": 10}]}
    found = history(written(tmp_path, "trainer_state.json", json.dumps(state, indent=2)))
    assert found.format == "trainer_state"
    assert set(found.series) == {"loss", "eval_loss"}
    assert found["eval_loss"].lines[0] == 9


def test_nested_entries_and_numbers_written_as_words(tmp_path: Path) -> None:
    text = '{"_step": 0, "train": {"loss": 2.5}, "note": "x"}\n{"_step": 1, "train": {"loss": "NaN"}}\n'
    found = history(written(tmp_path, "wandb-history.jsonl", text))
    assert (list(found["train/loss"].values), found["train/loss"].nonfinite) == ([2.5], 1)


class Frame:
    """As much of a frame as is needed: pandas is never imported."""

    def __init__(self, columns: dict[str, list[Any]]) -> None:
        self.columns = list(columns)
        self._values = columns
        self.iloc = self

    def __getitem__(self, where: tuple[slice, int]) -> Frame:
        return Frame({"": self._values[self.columns[where[1]]]})

    def tolist(self) -> list[Any]:
        return self._values[""]


def test_a_frame_is_read_row_by_row_and_nan_is_an_empty_cell() -> None:
    nan = math.nan
    found = history(Frame({"step": [1, 1, 2, 2], "train_loss": [2.0, nan, 1.0, nan], "val_loss": [nan, 2.1, nan, 1.1]}))
    assert list(found["val_loss"].values) == [2.1, 1.1]
    assert found["train_loss"].nonfinite == 0


def test_what_is_in_memory() -> None:
    assert list(history([{"loss": 1}, {"loss": 0.5}])["loss"].values) == [1, 0.5]
    assert isinstance(history({"loss": [1, 2]}), History)
    with pytest.raises(UnreadableHistory, match="a list for each name was expected"):
        history({"loss": 1.0})
    with pytest.raises(
        UnreadableHistory, match="a path, a dict of lists, a list of dicts or a frame is needed, not int"
    ):
        history(5)


def built(steps: list[float], epochs: list[float] | None = None) -> SeriesBuilder:
    builder = SeriesBuilder("loss")
    for row, step in enumerate(steps):
        builder.add(float(row), step, math.nan if epochs is None else epochs[row], row + 2, row)
    return builder


def test_a_run_that_was_resumed_goes_on_from_there() -> None:
    series = built([0, 1, 2, 3, 4, 2, 3, 4, 5]).series()
    assert list(series.steps) == [0, 1, 2, 3, 4, 5]
    assert list(series.values) == [0, 1, 5, 6, 7, 8]
    assert [point.step for point in series.resumed] == [2]


def test_of_several_runs_in_one_log_the_last_counts() -> None:
    series = built([0, 1, 2, 3, 4, 0, 1, 2]).series()
    assert list(series.values) == [5, 6, 7]
    assert series.began_anew[0].line == 7


def test_steps_that_begin_anew_with_each_epoch_are_no_restarts() -> None:
    counted = built([0, 1, 2, 0, 1, 2, 0, 1, 2], [0, 0, 0, 1, 1, 1, 2, 2, 2]).series()
    assert (len(counted), counted.unit, list(counted.began_anew)) == (9, "entry", [])
    without_epochs = built([0, 1, 2, 0, 1, 2, 0, 1, 2]).series()
    assert (len(without_epochs), without_epochs.unit) == (9, "entry")


def test_a_header_in_the_middle_is_a_new_run(tmp_path: Path) -> None:
    rows = "".join(f"{e},{3 - e / 10}\n" for e in range(8))
    found = history(written(tmp_path, "log.csv", f"epoch,loss\n{rows}epoch,loss\n{rows}"))
    assert len(found["loss"]) == 8
    assert found.notes == ("the log holds 2 runs: the last one is judged, from line 11 on",)


def test_a_long_log_is_held_in_few_points(tmp_path: Path) -> None:
    """Neighbours become their mean; how far they were apart is kept."""
    rows = "".join(f"{i},{i % 2}\n" for i in range(20_000))
    series = history(written(tmp_path, "log.csv", f"step,loss\n{rows}"))["loss"]
    assert len(series) <= 2048
    assert series.entries_each == 16
    assert set(series.values) == {0.5}
    assert min(series.swings[1:]) == 1.0
    assert series.steps[-1] == 19_984


def test_several_rows_at_once_are_the_same_as_one_by_one(tmp_path: Path) -> None:
    rows = [f"{i},{math.sin(i)},{i if i % 7 == 0 else ''}\n" for i in range(3000)]
    found = history(written(tmp_path, "log.csv", "step,loss,rare\n" + "".join(rows)))
    slow = history([{"step": i, "loss": math.sin(i), **({"rare": i} if i % 7 == 0 else {})} for i in range(3000)])
    for name in ("loss", "rare"):
        assert list(found[name].values) == pytest.approx(list(slow[name].values))
        assert list(found[name].steps) == list(slow[name].steps)
        assert list(found[name].swings) == pytest.approx(list(slow[name].swings))


def test_runs_are_found_and_none_twice(tmp_path: Path) -> None:
    for name in (
        "a/metrics.csv",
        "b/checkpoint-10/trainer_state.json",
        "b/checkpoint-20/trainer_state.json",
        "c/events.out.tfevents.1.host",
        "d/train/events.out.tfevents.1.host",
        "d/validation/events.out.tfevents.2.host",
        "e/offline-run-1/run-1.wandb",
        "f/data.csv",
        ".hidden/metrics.csv",
    ):
        written(tmp_path, name, "x")
    found = [str(path.relative_to(tmp_path)) for path in runs_in(tmp_path)]
    assert found == ["a/metrics.csv", "b/checkpoint-20/trainer_state.json", "c", "d", "e/offline-run-1"]
