"""Hugging Face: models that return their loss, Trainer, TRL, PEFT and accelerate; returned and watched say the same."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from pytest_trainhealth import Training, diagnose

from .verdicts import alarms, said

pytestmark = pytest.mark.frameworks
FORMS = ("raw", "trainer", "sft", "peft", "accelerate")
WAYS = ("returned", "watched")
#: What a watched program can be asked: whether a batch can be memorised is for those that can be given one.
OF_WATCHED = ("gradients_flow", "trains_without_nan", "uses_its_input", "learns_from_data")
SHIFTED = ("shifted", "uses_its_input", "labels-not-aligned confirmed")
PADDING = ("padding counted", "uses_its_input", "mask-ignored confirmed")
LEFT_OUT = ("left out", "gradients_flow", "parameters-not-in-optimizer confirmed")
FAULTS = {
    "raw": (SHIFTED, PADDING, LEFT_OUT),
    "trainer": (SHIFTED, PADDING, LEFT_OUT),
    "sft": (SHIFTED, PADDING, LEFT_OUT),
    "peft": (
        SHIFTED,
        ("optimizer first", "gradients_flow", "parameters-not-in-optimizer confirmed"),
        ("eval", "gradients_flow", "wrong-mode confirmed"),
    ),
    "accelerate": (SHIFTED, LEFT_OUT, ("no zero_grad", "gradients_flow", "missing-zero-grad confirmed")),
}
#: Healthy, and unusual in what the rules look at.
HEALTHY = (
    *("end_as_padding", "encoder_decoder", "masked_words", "prompt_tuning", "last_token", "packed"),
    *("padded_in_front", "without_a_mask", "two_tables"),
)
FAULTY = (
    ("mask_left_out", "uses_its_input", "mask-ignored confirmed"),
    ("mask_left_out_in_front", "uses_its_input", "mask-ignored confirmed"),
    ("mask_inverted", "uses_its_input", "mask-ignored confirmed"),
    ("mask_of_ones", "uses_its_input", "mask-ignored confirmed"),
    ("head_replaced", "gradients_flow", "tied-weights-broken likely"),
)


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")


def programs() -> Any:
    """Imported when a test needs them: these tests are collected where the packages are not installed, too."""
    from . import hugging_face_programs

    return hugging_face_programs


def program(form: str, way: str) -> Any:
    if form == "peft":
        programs().pretrained()
    return getattr(programs(), f"{form}_{way}")


@pytest.mark.parametrize("form", FORMS)
def test_nothing_is_said_of_a_healthy_training(form: str) -> None:
    assert alarms(program(form, "returned")) == []


@pytest.mark.parametrize("form", FORMS)
def test_nothing_is_said_of_a_healthy_training_that_is_watched(form: str) -> None:
    report = diagnose(program(form, "watched"), checks=OF_WATCHED)
    assert [str(verdict.symptom) for verdict in report.verdicts if verdict.failed] == []
    assert {verdict.check for verdict in report.verdicts if verdict.passed} >= set(OF_WATCHED[:3])


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("form", "fault", "check", "expected"),
    [(form, *fault) for form, faults in FAULTS.items() for fault in faults],
    ids=lambda value: str(value).replace(" ", "_"),
)
def test_a_fault_is_named(form: str, way: str, fault: str, check: str, expected: str) -> None:
    assert said(lambda: program(form, way)(fault), check) == expected


@pytest.mark.parametrize("name", HEALTHY)
def test_nothing_is_said_of_healthy_models_that_are_unusual(name: str) -> None:
    report = diagnose(getattr(programs(), name), checks=("gradients_flow", "uses_its_input"))
    assert [f"{v.check}: {v.reason or v.symptom}" for v in report.verdicts if not v.passed] == []


@pytest.mark.parametrize(("name", "check", "expected"), FAULTY)
def test_masks_and_ties_are_looked_at(name: str, check: str, expected: str) -> None:
    assert said(getattr(programs(), name), check) == expected


def test_a_trainer_with_accumulation_and_a_schedule_is_healthy() -> None:
    assert alarms(lambda: programs().trainer_returned(gradient_accumulation_steps=2, warmup_steps=5)) == []


def test_a_trainer_is_left_as_it_was_and_writes_nothing() -> None:
    """Saving, reporting and evaluating are asked for, and none of it happens."""
    trainer = programs().trainer(save_strategy="steps", save_steps=1, logging_steps=1)
    before = dict(vars(trainer))
    weights = {name: value.clone() for name, value in trainer.model.state_dict().items()}
    report = diagnose(Training.from_hf_trainer(trainer), checks=["gradients_flow", "uses_its_input"])
    assert report.healthy, str(report)
    changed = [name for name, value in vars(trainer).items() if before.get(name) is not value]
    assert changed == []
    assert all((trainer.model.state_dict()[name] == value).all() for name, value in weights.items())
    assert [files for _, _, files in os.walk(".") if files] == []


def test_what_is_frozen_beside_adapters_is_not_blamed() -> None:
    """A LoRA whose rate is so low that it cannot memorise its batch: nobody says to unfreeze the base."""

    def slow() -> Training:
        from peft import LoraConfig, get_peft_model

        model = get_peft_model(programs().llama(), LoraConfig(r=1, target_modules=["q_proj"], task_type="CAUSAL_LM"))
        return programs().of(model, programs().batches(), 1e-4)

    verdict = diagnose(slow, checks=["overfits_one_batch"]).verdicts[0]
    assert not verdict.passed
    assert "frozen-parameters" not in [finding.cause for finding in verdict.findings]


def test_anything_but_a_trainer_is_refused() -> None:
    with pytest.raises(TypeError, match=r"has to be a transformers\.Trainer, not LlamaForCausalLM"):
        Training.from_hf_trainer(programs().llama())


def test_a_missing_package_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    trainer = programs().trainer()
    monkeypatch.setitem(sys.modules, "greenlet", None)
    with pytest.raises(ImportError, match=r'pip install "pytest-trainhealth\[huggingface\]"'):
        Training.from_hf_trainer(trainer)
