"""Lightning's real Trainer: a returned `Training.from_lightning`, and a watched `Trainer.fit`, say the same."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_trainhealth import Training

from .verdicts import alarms, said

pytestmark = pytest.mark.frameworks
WAYS = pytest.mark.parametrize("way", ["returned", "watched"])
SILENT = {
    "logger": False,
    "enable_checkpointing": False,
    "enable_progress_bar": False,
    "enable_model_summary": False,
    "accelerator": "cpu",
}


def program(way: str, kind: str, fault: str = "", data: str = "loader", **options: Any) -> Callable[[], object]:
    import lightning as L  # noqa: N812

    from . import lightning_programs as programs

    def parts() -> tuple[Any, Any, Any]:
        module = getattr(programs, kind)(fault)
        validates = type(module).validation_step is not L.LightningModule.validation_step
        val = programs.loader(32, shuffle=False) if data == "loader" and validates else None
        return module, getattr(programs, data)(), val

    def returned() -> Training:
        module, given, val = parts()
        return Training.from_lightning(module, given, val_data=val, **options)

    def watched() -> None:
        module, given, val = parts()
        trainer = L.Trainer(**{"max_steps": 200, **SILENT, **options})
        if isinstance(given, L.LightningDataModule):
            trainer.fit(module, datamodule=given)
        else:
            trainer.fit(module, given, val)

    return returned if way == "returned" else watched


@WAYS
@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("LitAutoEncoder", {}),
        ("LitClassifier", {"max_epochs": 20}),
        ("LitClassifier", {"max_epochs": 20, "data": "PointsData"}),
        (
            "LitClassifier",
            {"max_epochs": 20, "precision": "bf16-mixed", "accumulate_grad_batches": 2, "gradient_clip_val": 1.0},
        ),
        ("LitGAN", {}),
        ("LitManual", {}),
    ],
    ids=["readme", "schedule", "datamodule", "options", "two optimizers", "manual optimization"],
)
def test_healthy_modules_pass(
    way: str, kind: str, options: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert alarms(program(way, kind, **options)) == []
    assert list(tmp_path.iterdir()) == []


@WAYS
@pytest.mark.parametrize(
    ("kind", "fault", "check", "cause"),
    [
        ("LitAutoEncoder", "left out", "gradients_flow", "parameters-not-in-optimizer confirmed"),
        ("LitAutoEncoder", "left out", "overfits_one_batch", "parameters-not-in-optimizer confirmed"),
        # there is no re-run for it: only the user knows how the two were meant to be connected
        ("LitAutoEncoder", "detached", "gradients_flow", "disconnected-graph likely"),
        # only parts of the module are called, and the Trainer keeps the modes that it finds
        ("LitAutoEncoder", "decoder evaluated", "gradients_flow", "wrong-mode confirmed"),
        # the closure clips what the step before has used
        ("LitAutoEncoder", "clipped early", "gradients_flow", "bad-gradient-clipping confirmed"),
        ("LitAutoEncoder", "rate", "overfits_one_batch", "lr-too-high confirmed"),
        ("LitClassifier", "softmax", "overfits_one_batch", "double-softmax confirmed"),
        ("LitManual", "no zero_grad", "gradients_flow", "missing-zero-grad confirmed"),
    ],
)
def test_faults_are_named(way: str, kind: str, fault: str, check: str, cause: str) -> None:
    assert said(program(way, kind, fault), check) == cause
