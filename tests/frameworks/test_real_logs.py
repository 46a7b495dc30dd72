"""Logs as the real writers write them, of small trainings that are healthy or sick: what is each of them told?"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

from pytest_trainhealth import Verdict, history
from pytest_trainhealth.engine.finished_run import judge_history
from pytest_trainhealth.engine.request import Request
from pytest_trainhealth.histories.unreadable import UnreadableHistory

pytestmark = pytest.mark.frameworks

#: Of each training: its learning rate, its samples, its epochs, and the noise in its labels.
RECIPES: dict[str, dict[str, Any]] = {
    "healthy": {"lr": 1e-3, "samples": 1024, "epochs": 12, "noise": 0.3, "width": 32},
    "a NaN in the data": {"lr": 1e-3, "samples": 512, "epochs": 12, "noise": 0.3, "width": 32, "broken": 300},
    "rate of 0": {"lr": 0.0, "samples": 256, "epochs": 12, "noise": 0.3, "width": 32},
    "overfitting": {"lr": 1e-2, "samples": 64, "epochs": 80, "noise": 1.0, "width": 256},
}
#: In a frame, NaN is an empty cell, and nobody can tell the two apart.
SPARED = {
    ("pandas", "a NaN in the data"): ("could not judge", None),
}
EXPECTED = {
    "healthy": ("passed", None),
    "a NaN in the data": ("failed", None),
    "rate of 0": ("failed", None),
    "overfitting": ("failed", "overfitting"),
}


def told(source: Any) -> Verdict:
    return judge_history(history(source), Request("history_is_healthy", "run", 0))


def data(samples: int, noise: float, broken: int | None = None) -> tuple[TensorDataset, TensorDataset]:
    generator = torch.Generator().manual_seed(0)
    inputs = torch.randn(samples + 512, 20, generator=generator)
    labels = (inputs[:, :3].sum(1) + noise * torch.randn(len(inputs), generator=generator) > 0).long()
    if broken is not None:
        inputs[broken, 0] = torch.nan
    return TensorDataset(inputs[:samples], labels[:samples]), TensorDataset(inputs[samples:], labels[samples:])


def network(width: int) -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(20, width), nn.ReLU(), nn.Linear(width, 2))


def steps(recipe: dict[str, Any]) -> Iterator[dict[str, float]]:
    """A loop by hand: an entry for each epoch, and one for every fourth step."""
    train, val = data(recipe["samples"], recipe["noise"], recipe.get("broken"))
    model = network(recipe["width"])
    optimizer = torch.optim.SGD(model.parameters(), recipe["lr"] * 30, momentum=0.5)
    inputs, labels = val.tensors
    count = 0
    for epoch in range(recipe["epochs"]):
        for x, y in DataLoader(train, batch_size=32, shuffle=True):
            loss = F.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            norm = nn.utils.clip_grad_norm_(model.parameters(), 1e9)
            optimizer.step()
            count += 1
            if count % 4 == 0:
                yield {"step": count, "epoch": epoch, "train/loss": loss.item(), "train/grad_norm": float(norm),
                       "lr": optimizer.param_groups[0]["lr"]}  # fmt: skip
        with torch.no_grad():
            yield {"step": count, "epoch": epoch, "val/loss": F.cross_entropy(model(inputs), labels).item()}


def by_lightning(recipe: dict[str, Any], folder: Path) -> Path:
    lightning = pytest.importorskip("lightning")
    from lightning.pytorch.callbacks import LearningRateMonitor
    from lightning.pytorch.loggers import CSVLogger

    class Module(lightning.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.model = network(recipe["width"])

        def training_step(self, batch: Any, index: int) -> Tensor:
            loss = F.cross_entropy(self.model(batch[0]), batch[1])
            self.log("train_loss", loss, on_step=True, on_epoch=True)
            return loss

        def validation_step(self, batch: Any, index: int) -> None:
            self.log("val_loss", F.cross_entropy(self.model(batch[0]), batch[1]))

        def configure_optimizers(self) -> Any:
            return torch.optim.Adam(self.parameters(), recipe["lr"])

    train, val = data(recipe["samples"], recipe["noise"], recipe.get("broken"))
    logger = CSVLogger(folder, name="runs")
    trainer = lightning.Trainer(
        max_epochs=recipe["epochs"], logger=logger, accelerator="cpu", enable_progress_bar=False,
        enable_checkpointing=False, enable_model_summary=False, log_every_n_steps=4, num_sanity_val_steps=0,
        callbacks=[LearningRateMonitor("step")],
    )  # fmt: skip
    trainer.fit(Module(), DataLoader(train, batch_size=32, shuffle=True), DataLoader(val, batch_size=256))
    return Path(logger.log_dir) / "metrics.csv"


def by_hugging_face(recipe: dict[str, Any], folder: Path) -> Path:
    transformers = pytest.importorskip("transformers")

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = network(recipe["width"])

        def forward(self, inputs: Tensor, labels: Tensor) -> dict[str, Tensor]:
            logits = self.model(inputs)
            return {"loss": F.cross_entropy(logits, labels), "logits": logits}

    train, val = (
        [{"inputs": x, "labels": y} for x, y in part]
        for part in data(recipe["samples"], recipe["noise"], recipe.get("broken"))
    )
    arguments = transformers.TrainingArguments(
        output_dir=str(folder), num_train_epochs=recipe["epochs"], learning_rate=recipe["lr"], logging_steps=4,
        eval_strategy="epoch", save_strategy="no", report_to=[], per_device_train_batch_size=32, use_cpu=True,
        per_device_eval_batch_size=256, disable_tqdm=True, max_grad_norm=1e9, logging_nan_inf_filter=False,
    )  # fmt: skip
    trainer = transformers.Trainer(model=Model(), args=arguments, train_dataset=train, eval_dataset=val)
    trainer.train()
    trainer.save_state()
    return folder / "trainer_state.json"


def by_tensorboard(recipe: dict[str, Any], folder: Path) -> Path:
    pytest.importorskip("tensorboard")
    from torch.utils.tensorboard import SummaryWriter

    with SummaryWriter(str(folder / "run")) as writer:
        for entry in steps(recipe):
            for name, value in entry.items():
                if name not in ("step", "epoch"):
                    writer.add_scalar(name, value, int(entry["step"]))
    return folder / "run"


def by_json_lines(recipe: dict[str, Any], folder: Path) -> Path:
    with (folder / "log.jsonl").open("w") as file:
        for entry in steps(recipe):
            file.write(json.dumps(entry) + "\n")
    return folder / "log.jsonl"


def by_pandas(recipe: dict[str, Any], folder: Path) -> Any:
    pandas = pytest.importorskip("pandas")
    return pandas.DataFrame(list(steps(recipe)))


def by_wandb(recipe: dict[str, Any], folder: Path) -> Path:
    wandb = pytest.importorskip("wandb")
    run = wandb.init(mode="offline", dir=str(folder), project="runs", settings=wandb.Settings(silent=True))
    for entry in steps(recipe):
        run.log({name: value for name, value in entry.items() if name != "step"}, step=int(entry["step"]))
    run.finish()
    return next(folder.glob("wandb/offline-run-*"))


def by_keras(recipe: dict[str, Any], folder: Path) -> Any:
    os.environ.setdefault("KERAS_BACKEND", "torch")
    keras = pytest.importorskip("keras")
    train, val = data(recipe["samples"], recipe["noise"], recipe.get("broken"))
    keras.utils.set_random_seed(0)
    model = keras.Sequential([keras.layers.Dense(recipe["width"], activation="relu"), keras.layers.Dense(2)])
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.Adam(recipe["lr"]), loss=loss, metrics=["accuracy"])
    (x, y), (vx, vy) = ([t.numpy() for t in part.tensors] for part in (train, val))
    return model.fit(x, y, validation_data=(vx, vy), epochs=recipe["epochs"], batch_size=32, verbose=0)


WRITERS: dict[str, Callable[[dict[str, Any], Path], Any]] = {
    "Lightning CSVLogger": by_lightning,
    "Hugging Face Trainer": by_hugging_face,
    "Keras History": by_keras,
    "SummaryWriter": by_tensorboard,
    "JSON lines": by_json_lines,
    "pandas": by_pandas,
    "wandb offline": by_wandb,
}


@pytest.mark.parametrize("recipe", RECIPES)
@pytest.mark.parametrize("writer", WRITERS)
def test_what_a_real_log_is_told(writer: str, recipe: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    verdict = told(WRITERS[writer](RECIPES[recipe], tmp_path))
    outcome, cause = SPARED.get((writer, recipe), EXPECTED[recipe])
    first = verdict.findings[0] if verdict.findings else None
    print(
        f"{writer} | {recipe} | {verdict.outcome} | {verdict.headline} | {first and first.certainty} | {verdict.notes}"
    )
    assert verdict.outcome == outcome, str(verdict)
    assert cause is None or (first is not None and first.cause == cause)
    assert first is None or first.certainty != "confirmed"


@pytest.mark.parametrize(
    ("damage", "left", "words"),
    [
        (lambda data: data[:-20], 49, "is damaged or cut off at byte"),
        (lambda data: data[:500] + b"garbage!" + data[508:], 8, "is damaged or cut off at byte"),
        (lambda data: b"not an event file, really" + data, 0, "is no event file, or is damaged from its first byte on"),
    ],
)
def test_an_event_file_that_is_damaged_says_so(
    tmp_path: Path, damage: Callable[[bytes], bytes], left: int, words: str
) -> None:
    """TensorBoard's own reader stops there without a word."""
    pytest.importorskip("tensorboard")
    from torch.utils.tensorboard import SummaryWriter

    with SummaryWriter(str(tmp_path)) as writer:
        for step in range(50):
            writer.add_scalar("loss/train", 2 * 0.9**step, step)
    (file,) = tmp_path.iterdir()
    file.write_bytes(damage(file.read_bytes()))
    if not left:
        with pytest.raises(UnreadableHistory, match=words):
            history(tmp_path)
        return
    found = history(tmp_path)
    assert len(found["loss/train"]) == left
    assert words in found.notes[0]
