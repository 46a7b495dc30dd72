"""Lightning modules as its documentation writes them, each with the faults that can be put into it."""

from __future__ import annotations

from typing import Any

import lightning as L  # noqa: N812 - as everybody writes it
import torch
import torch.nn.functional as F
from lightning.pytorch.callbacks import EarlyStopping, LearningRateMonitor, ModelCheckpoint
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split


def samples(count: int = 256) -> TensorDataset:
    """Points of four classes in twenty dimensions, well apart from one another."""
    generator = torch.Generator().manual_seed(3)
    centres = torch.randn(4, 20, generator=generator)
    labels = torch.randint(4, (count,), generator=generator)
    return TensorDataset(centres[labels] + 0.5 * torch.randn(count, 20, generator=generator), labels)


def loader(count: int = 256, *, shuffle: bool = True) -> DataLoader[Any]:
    return DataLoader(samples(count), batch_size=16, shuffle=shuffle)


class LitAutoEncoder(L.LightningModule):
    """The example of Lightning's README."""

    def __init__(self, fault: str = "") -> None:
        super().__init__()
        self.fault = fault
        self.encoder = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 3))
        drops = [nn.Dropout(0.1)] if "decoder" in fault else []
        self.decoder = nn.Sequential(nn.Linear(3, 64), nn.ReLU(), *drops, nn.Linear(64, 20))
        if fault == "decoder evaluated":
            self.decoder.eval()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.encoder(x)

    def training_step(self, batch: Any, batch_idx: int) -> torch.Tensor:
        x, _ = batch
        z = self.encoder(x)
        if self.fault == "detached":
            z = z.detach()
        x_hat = self.decoder(z)
        loss = F.mse_loss(x_hat, x)
        if self.fault == "clipped early":
            nn.utils.clip_grad_norm_(self.parameters(), 1.0)
        self.log("train_loss", loss)
        return loss

    def validation_step(self, batch: Any, batch_idx: int) -> None:
        x, _ = batch
        self.log("val_loss", F.mse_loss(self.decoder(self.encoder(x)), x))

    def configure_optimizers(self) -> Any:
        trained = self.encoder if self.fault == "left out" else self
        return torch.optim.Adam(trained.parameters(), lr=1.0 if self.fault == "rate" else 3e-3)


class LitClassifier(L.LightningModule):
    """A backbone with a classifier; a schedule for the whole training; metrics and a checkpoint of the best epoch."""

    def __init__(self, fault: str = "") -> None:
        super().__init__()
        self.save_hyperparameters()
        self.fault = fault
        self.backbone = nn.Sequential(nn.Linear(20, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Dropout(0.1))
        self.classifier = nn.Linear(64, 4)
        if fault == "frozen":
            self.freeze()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        logits = self.classifier(self.backbone(x))
        return logits.softmax(dim=-1) if self.fault == "softmax" else logits

    def training_step(self, batch: Any, batch_idx: int) -> Any:
        x, y = batch
        logits = self(x)
        loss = F.cross_entropy(logits, y)
        self.log("train_loss", loss, prog_bar=True)
        return {"loss": loss, "accuracy": (logits.argmax(-1) == y).float().mean()}

    def validation_step(self, batch: Any, batch_idx: int) -> None:
        x, y = batch
        logits = self(x)
        self.log("val_loss", F.cross_entropy(logits, y))
        self.log("val_acc", (logits.argmax(-1) == y).float().mean())

    def configure_optimizers(self) -> Any:
        optimizer = torch.optim.AdamW(self.parameters(), lr=3e-3)
        if self.fault:
            return optimizer
        steps = int(self.trainer.estimated_stepping_batches)
        schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=1e-2, total_steps=steps)
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": schedule, "interval": "step"}}


class LitGAN(L.LightningModule):
    """Manual optimization with two optimizers, as the documentation shows it."""

    def __init__(self, fault: str = "") -> None:
        super().__init__()
        self.automatic_optimization = False
        self.fault = fault
        self.generator = nn.Sequential(nn.Linear(8, 32), nn.LeakyReLU(0.2), nn.Linear(32, 20))
        self.discriminator = nn.Sequential(nn.Linear(20, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))

    def training_step(self, batch: Any, batch_idx: int) -> None:
        real, _ = batch
        optimizer_g, optimizer_d = self.optimizers()
        ones, zeros = torch.ones(len(real), 1), torch.zeros(len(real), 1)

        self.toggle_optimizer(optimizer_g)
        fake = self.generator(torch.randn(len(real), 8))
        loss_g = F.binary_cross_entropy_with_logits(self.discriminator(fake), ones)
        optimizer_g.zero_grad()
        self.manual_backward(loss_g)
        optimizer_g.step()
        self.untoggle_optimizer(optimizer_g)

        self.toggle_optimizer(optimizer_d)
        loss_d = F.binary_cross_entropy_with_logits(self.discriminator(real), ones)
        loss_d = loss_d + F.binary_cross_entropy_with_logits(self.discriminator(fake.detach()), zeros)
        optimizer_d.zero_grad()
        self.manual_backward(loss_d)
        optimizer_d.step()
        self.untoggle_optimizer(optimizer_d)
        self.log_dict({"loss_g": loss_g, "loss_d": loss_d}, prog_bar=True)

    def configure_optimizers(self) -> Any:
        betas = (0.5, 0.999)
        return [
            torch.optim.Adam(self.generator.parameters(), lr=2e-4, betas=betas),
            torch.optim.Adam(self.discriminator.parameters(), lr=2e-4, betas=betas),
        ], []


class LitManual(L.LightningModule):
    """Manual optimization of a single model."""

    def __init__(self, fault: str = "") -> None:
        super().__init__()
        self.automatic_optimization = False
        self.fault = fault
        self.model = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 4))

    def training_step(self, batch: Any, batch_idx: int) -> torch.Tensor:
        x, y = batch
        optimizer = self.optimizers()
        loss = F.cross_entropy(self.model(x), y)
        if self.fault != "no zero_grad":
            optimizer.zero_grad()
        self.manual_backward(loss)
        self.clip_gradients(optimizer, gradient_clip_val=5.0, gradient_clip_algorithm="norm")
        optimizer.step()
        return loss

    def configure_optimizers(self) -> Any:
        return torch.optim.SGD(self.parameters(), lr=0.1, momentum=0.9)


class PointsData(L.LightningDataModule):
    """Splits its data at random where it is set up, and asks its Trainer."""

    def prepare_data(self) -> None:
        self.prepared = True

    def setup(self, stage: str) -> None:
        assert self.prepared
        assert self.trainer.world_size == 1
        self.train, self.val = random_split(samples(), [224, 32])

    def train_dataloader(self) -> DataLoader[Any]:
        return DataLoader(self.train, batch_size=16, shuffle=True)

    def val_dataloader(self) -> DataLoader[Any]:
        return DataLoader(self.val, batch_size=16)

    def on_after_batch_transfer(self, batch: Any, dataloader_idx: int) -> Any:
        x, y = batch
        return x / 2, y


def callbacks() -> list[Any]:
    """As in a project's own train.py."""
    return [EarlyStopping("val_loss", patience=1), ModelCheckpoint(monitor="val_loss"), LearningRateMonitor()]
