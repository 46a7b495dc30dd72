"""Judging what probes showed, on made-up traces."""

from __future__ import annotations

import pytest

from pytest_trainhealth.causes import cause
from pytest_trainhealth.checks import uses_its_input
from pytest_trainhealth.records.judgement import CouldNotJudge, Passed
from pytest_trainhealth.records.numbers import ActivationRecord
from pytest_trainhealth.records.probes import (
    InputRecord,
    LeakRecord,
    MaskEdit,
    MixingRecord,
    PaddingRecord,
    ProbeRecord,
    ScrambleRecord,
    ShiftedTwice,
)
from pytest_trainhealth.records.symptoms import SILENT
from pytest_trainhealth.records.trace import Trace
from pytest_trainhealth.records.verdict import Symptom

IGNORED = InputRecord("level", "Denoiser", (16,), ignored=True)
COLUMNS = InputRecord("x", "Table", (16, 8), unit="column", parts=8, ignored_parts=(5, 6, 7))
MIXED = MixingRecord(
    "Gestures", 0, 16, 15, 0.4, operation="lstm", module="lstm", module_class="LSTM(batch_first=False)"
)
PADDED = PaddingRecord("Classifier", "mask", "tokens", 0.3, 15, 12)
LEAKING = LeakRecord("Model", "tokens", "future", 8, 16, 0.2, operation="lstm", module="lstm")
MIXED_BY_LOSS = MixingRecord("the loss", 8, 16, 15, 0.09, operation="log_softmax", given=(16, 4), in_loss=True)
CARRIED = MixingRecord("Reader", 0, 16, 16, 1.0, carried="state[0]")
COUNTED = PaddingRecord(
    "Words", "padding_idx", "words", 0.3, 15, 12, known_from="padding_idx", in_loss=True, counted=59, positions=176,
    function="cross_entropy", filling=0.0,
)  # fmt: skip
TORN = ScrambleRecord("view", (16, 10, 6), (16, 6, 10))
TORN_IN_LOSS = ScrambleRecord("view", (16, 8, 5), (16, 5, 8), in_loss=True)
EDITED = MaskEdit("Reader", "mask", True, 0.66, 0.55)
TWICE = ShiftedTwice("LlamaForCausalLM", "input_ids", "labels", 126, 1.0)
LEFT_OUT = PaddingRecord("Bert", "attention_mask", "input_ids", 0.3, 15, 12, misused="missing", longer=False)
INVERTED = PaddingRecord("Bert", "attention_mask", "input_ids", 0.0, 15, 12, misused="inverted", longer=False)
IN_LABELS = PaddingRecord(
    "Llama", "attention_mask", "input_ids", 0.3, 15, 12, in_loss=True, counted=59, positions=176, filling=0.0,
    labels="labels",
)  # fmt: skip


def trace(**found: object) -> Trace:
    made = Trace.of([1.0] * 9)
    made.probe = ProbeRecord(8, calls=1, seen=1, judged={"inputs": 1, "mixing": 1}, **found)  # type: ignore[arg-type]
    return made


FOUND = {
    "ignores-input": trace(inputs=[IGNORED]),
    "batch-mixing": trace(mixing=[MIXED]),
    "mask-ignored": trace(paddings=[PADDED]),
    "target-leakage": trace(leaks=[LEAKING]),
    "target-shape-mismatch": trace(scrambles=[TORN_IN_LOSS]),
    "in-place-modification": trace(mask_edits=[EDITED]),
    "labels-not-aligned": trace(shifted_twice=[TWICE]),
}
OTHERS = [
    ("batch-mixing", trace(mixing=[MIXED_BY_LOSS])),
    ("batch-mixing", trace(mixing=[CARRIED])),
    ("batch-mixing", trace(scrambles=[TORN])),
    ("mask-ignored", trace(paddings=[COUNTED])),
    ("in-place-modification", trace(mask_edits=[EDITED], paddings=[PADDED])),
    ("mask-ignored", trace(paddings=[LEFT_OUT])),
    ("mask-ignored", trace(paddings=[INVERTED])),
    ("mask-ignored", trace(paddings=[IN_LABELS])),
]


@pytest.mark.parametrize(("name", "made"), [*FOUND.items(), *OTHERS])
def test_each_fault_is_a_symptom_that_its_own_cause_explains(name, made):
    symptom = uses_its_input.judge(made, {})
    assert isinstance(symptom, Symptom)
    assert symptom.category == SILENT
    answers = {other: cause(other).look(made, symptom) for other in FOUND}
    assert [other for other, suspicion in answers.items() if suspicion is not None] == [name]
    statement = answers[name].statement
    assert len(f"{name}: {statement}") <= 90


def test_mixing_that_may_be_meant_is_not_judged_and_not_passed():
    judged = uses_its_input.judge(trace(unproven=["the batch is one sequence for gru"]), {})
    assert isinstance(judged, CouldNotJudge)
    assert judged.reason.endswith("which may be meant: the batch is one sequence for gru")
    # a fault elsewhere is one nevertheless
    assert isinstance(uses_its_input.judge(trace(unproven=["a graph"], leaks=[LEAKING]), {}), Symptom)


def test_what_a_probe_has_proven_is_told():
    last = InputRecord("x", "MADE", (16, 8), unit="column", parts=8, ignored_parts=(7,), in_order=True)
    judged = uses_its_input.judge(trace(designs=["samples are compared in pairs (matmul)"], inputs=[last]), {})
    assert isinstance(judged, Passed)
    assert judged.notes == (
        "samples change each other's outputs, as is meant: samples are compared in pairs (matmul)",
        "column 7 of x comes last in the order of MADE, and reaches no output",
    )


def test_the_transpose_that_was_meant_is_spelled_out():
    symptom = Symptom("", SILENT, 0.0, 0.0)
    for record, code in (
        (TORN, "x.permute(0, 2, 1)"),
        (ScrambleRecord("view", (16, 10, 32), (16, 4, 10, 8)), "x.unflatten(-1, (heads, -1)).transpose(1, 2)"),
        (ScrambleRecord("reshape", (16, 4, 10, 8), (16, 10, 32)), "x.transpose(1, 2).flatten(2)"),
        (ScrambleRecord("view", (16, 12, 12, 3), (16, 3, 12, 12)), "x.permute(0, 3, 1, 2)"),
    ):
        suspicion = cause("batch-mixing").look(trace(scrambles=[record]), symptom)
        assert suspicion is not None
        assert suspicion.fix.code == (code,)


def test_the_loss_is_told_what_to_leave_out():
    suspicion = cause("mask-ignored").look(trace(paddings=[COUNTED]), Symptom("", SILENT, 0.0, 0.0))
    assert suspicion is not None
    assert suspicion.fix.code == ("F.cross_entropy(..., ignore_index=0)",)


@pytest.mark.parametrize(
    ("made", "code", "cure"),
    [
        (trace(paddings=[IN_LABELS]), "labels = labels.masked_fill(attention_mask == 0, -100)", "padding_not_counted"),
        (trace(paddings=[LEFT_OUT]), "attention_mask = (input_ids != pad_token_id).long()", "right_mask"),
        (trace(paddings=[INVERTED]), "attention_mask = (input_ids != pad_token_id).long()", "right_mask"),
        (trace(shifted_twice=[TWICE]), "labels = input_ids.clone()", "labels_moved_back"),
    ],
)
def test_what_a_model_is_given_can_be_put_right_in_a_re_run(made, code, cure):
    symptom = uses_its_input.judge(made, {})
    assert isinstance(symptom, Symptom)
    (suspicion,) = filter(None, (cause(name).look(made, symptom) for name in FOUND))
    assert suspicion.fix.code == (code,)
    assert [each.kind for each in suspicion.cures] == [cure]


@pytest.mark.parametrize("found", [{"inputs": [IGNORED]}, {"mixing": [MIXED]}, {"leaks": [LEAKING]}])
def test_models_of_a_package_are_noted(found):
    made = trace(**found)
    for record in next(iter(found.values())):
        record.made_by = "transformers"
    try:
        judged = uses_its_input.judge(made, {})
        assert isinstance(judged, Passed)
        assert len(judged.notes) == 1
        symptom = Symptom("", SILENT, 0.0, 0.0)
        assert all(cause(name).look(made, symptom) is None for name in FOUND)
    finally:
        for record in next(iter(found.values())):
            record.made_by = "user"


def test_columns_are_listed_as_a_range():
    made = trace(inputs=[COLUMNS])
    symptom = uses_its_input.judge(made, {})
    assert isinstance(symptom, Symptom)
    assert symptom.summary.startswith("3 of 8 columns of x have no influence")
    suspicion = cause("ignores-input").look(made, symptom)
    assert suspicion is not None
    assert suspicion.statement == "columns 5 to 7 of x have no influence on the output of Table"


def test_a_batch_object_may_hold_more_than_the_model_uses():
    spare = InputRecord("batch['id']", "Model", (16, 3), ignored=True, direct=False)
    used = InputRecord("batch['x']", "Model", (16, 8), direct=False)
    assert isinstance(uses_its_input.judge(trace(inputs=[spare, used]), {}), Passed)
    assert isinstance(uses_its_input.judge(trace(inputs=[spare]), {}), Symptom)


def test_nothing_seen_is_not_judged():
    assert isinstance(uses_its_input.judge(Trace.of([1.0, 1.0]), {}), CouldNotJudge)
    made = Trace.of([1.0] * 9)
    made.probe = ProbeRecord(8, reasons=["Model cannot be called again: it returns no tensor"])
    judged = uses_its_input.judge(made, {})
    assert isinstance(judged, CouldNotJudge)


def test_a_dead_layer_is_the_reason_and_not_the_input():
    made = trace(inputs=[IGNORED])
    made.numbers.activations["0"] = ActivationRecord("relu", "act", 12, dead={0: 1.0})
    symptom = uses_its_input.judge(made, {})
    assert isinstance(symptom, Symptom)
    assert cause("ignores-input").look(made, symptom) is None
    assert cause("dead-activations").look(made, symptom) is not None
    assert cause("dead-activations").look(trace(mixing=[MIXED]), symptom) is None


def test_padding_is_marked_by_lengths_or_by_the_embedding():
    lengths = PaddingRecord(
        "Reader", "lengths", "words", 0.1, 15, 12, known_from="lengths", operation="gru", unused=True
    )
    symptom = uses_its_input.judge(trace(paddings=[lengths]), {})
    assert isinstance(symptom, Symptom)
    assert symptom.summary.startswith("more padding after words, marked by lengths,")
    suspicion = cause("mask-ignored").look(trace(paddings=[lengths]), symptom)
    assert suspicion is not None
    assert suspicion.why == "lengths are not used"
    assert "pack_padded_sequence(embedded, lengths" in suspicion.fix.code[0]

    packed = PaddingRecord("Reader", "padding_idx", "words", 0.1, 15, 12, known_from="padding_idx", operation="gru")
    suspicion = cause("mask-ignored").look(trace(paddings=[packed]), symptom)
    assert suspicion is not None
    assert "pack_padded_sequence(embedded, (words != padding_idx).sum(1)," in suspicion.fix.code[0]

    token = PaddingRecord("Encoder", "padding_idx", "tokens", 0.1, 15, 12, known_from="padding_idx", longer=False)
    token.operation = "multi_head_attention_forward"
    suspicion = cause("mask-ignored").look(trace(paddings=[token]), symptom)
    assert suspicion is not None
    assert suspicion.statement == "padding of tokens changes the output"
    assert suspicion.fix.code == ("src_key_padding_mask=(tokens == padding_idx)",)
