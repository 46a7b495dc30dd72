"""The file of a baseline: what is written is read, and what is no baseline is refused in one line."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from pytest_trainhealth.baselines.file import UnreadableBaseline, parsed, read, text, write
from pytest_trainhealth.plugin.baseline_paths import file_name
from pytest_trainhealth.records.baseline import (
    Baseline,
    BatchSteps,
    Figure,
    LayerFigures,
    StepRow,
    Surroundings,
    added_up,
)

BASELINE = Baseline(
    test="test_net.py::test_net",
    seed=7,
    seeds=8,
    surroundings=Surroundings("2.13", "cpu", "x86_64 AVX2", "float32", 1),
    optimizers={"SGD": "SGD, lr 0.1, momentum 0"},
    order="RandomSampler",
    batch_size=16,
    batches=None,
    memorised=Figure(40.0, 41.5, 2.5),
    layers=(LayerFigures("0.weight", (4, 3), Figure(1.5, 1.6, 0.1, 1e-7), None, Figure(0.0)),),
    steps=(StepRow(Figure(1.25, 1.3, 0.02, 1e-7), Figure(0.5), 0.1, BatchSteps("ab", "cd", 3.0, "ef")),),
)


def test_what_is_written_is_read(tmp_path):
    assert parsed(text(BASELINE)) == BASELINE
    write(tmp_path / "deep" / "er" / "it.json", BASELINE)
    assert read(tmp_path / "deep" / "er" / "it.json") == BASELINE
    assert [path.name for path in (tmp_path / "deep" / "er").iterdir()] == ["it.json"]


def test_a_layer_is_a_line_and_a_step_is_one(tmp_path):
    lines = text(BASELINE).splitlines()
    assert json.loads(text(BASELINE))["layers"][0]["layer"] == "0.weight"
    assert len(lines) == 20
    assert sum("0.weight" in line for line in lines) == 1


def test_values_have_six_digits_and_tolerances_two():
    layer = replace(BASELINE.layers[0], start=Figure(1.23456789, 1.1111111111, 0.0123456, 1.23456e-7))
    assert "[1.23457, 1.11111, 0.012, 1.2e-07]" in text(replace(BASELINE, layers=(layer,)))


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "line 1 is not JSON"),
        ("[]", "it is no baseline"),
        ('{"format": 99}', "it has format 99, and this version reads 1"),
        ('{"format": 1}', "it is damaged (KeyError: 'layers')"),
        (text(BASELINE).replace("1.25", '"x"'), "it is damaged (ValueError"),
        (text(BASELINE).replace('"torch"', '"tensorflow"'), "it is damaged (TypeError"),
    ],
)
def test_what_is_no_baseline_is_refused_in_one_line(content, said):
    with pytest.raises(UnreadableBaseline) as raised:
        parsed(content)
    assert said in str(raised.value)
    assert "\n" not in str(raised.value)


def test_bytes_that_are_no_text(tmp_path):
    (tmp_path / "it.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UnreadableBaseline, match="not UTF-8"):
        read(tmp_path / "it.json")


def test_names_that_no_file_system_takes_are_told_apart():
    assert file_name("test_a[3-0.1]") == "test_a[3-0.1]"
    assert file_name("test_a[x/y]") != file_name("test_a[x:y]")
    assert file_name("test_a[x/y]").startswith("test_a[x_y]-")
    assert len(file_name("x" * 999)) == 120
    assert not file_name("../..").startswith("../")


def test_prints_add_up_in_any_order():
    assert added_up(["ff", "1", "2"]) == added_up(["2", "ff", "1"]) != added_up(["ff", "1"])
    assert added_up(["ff", ""]) == added_up([]) == ""
