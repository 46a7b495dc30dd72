"""The loop of Lightning, one step at a time: what is real, what is put off, and what is left behind."""

from __future__ import annotations

import signal
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from pytest_trainhealth import Training, diagnose
from pytest_trainhealth.frameworks.stepwise_loop import LoopEnded, StepwiseLoop

from .verdicts import alarms

pytestmark = pytest.mark.frameworks


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def taken(training: Training, steps: int) -> list[float]:
    batch = next(iter(training.data))
    with training.running():
        return [float(training.step(batch)) for _ in range(steps)]  # type: ignore[misc]


def test_the_trainer_does_what_its_options_say() -> None:
    from .lightning_programs import LitAutoEncoder, loader

    module = LitAutoEncoder()
    training = Training.from_lightning(module, loader(), gradient_clip_val=1e-3, accumulate_grad_batches=3)
    norms, updates = [], 0
    batch = next(iter(training.data))
    with training.running():
        (optimizer,) = training.optimizers.values()

        def stepped(*_: object) -> None:
            nonlocal updates
            updates += 1
            norms.append(torch.nn.utils.get_total_norm([p.grad for p in module.parameters() if p.grad is not None]))

        optimizer.register_step_post_hook(stepped)
        for _ in range(6):
            training.step(batch)  # type: ignore[misc]
    assert updates == 2
    assert max(norms) <= 1.001e-3


def test_an_epoch_is_a_pass_over_the_data_and_ends_with_validation() -> None:
    from .lightning_programs import LitAutoEncoder, loader

    class Counting(LitAutoEncoder):
        def on_train_epoch_end(self) -> None:
            seen.append(f"epoch after {self.trainer.global_step}")

        def on_validation_epoch_end(self) -> None:
            if not self.trainer.sanity_checking:
                seen.append("validation")

    seen: list[str] = []
    training = Training.from_lightning(Counting(), loader(), val_data=loader(32, shuffle=False))
    taken(training, 33)
    assert seen == ["validation", "epoch after 16", "validation", "epoch after 32"]


def test_what_would_stop_the_trainer_is_put_off(elsewhere: Path) -> None:
    from .lightning_programs import LitClassifier, callbacks, loader

    training = Training.from_lightning(
        LitClassifier(), loader(), val_data=loader(32, shuffle=False), max_epochs=2, callbacks=callbacks()
    )
    assert len(taken(training, 450)) == 450
    assert list(elsewhere.iterdir()) == []


def test_a_run_leaves_nothing_behind(capfd: pytest.CaptureFixture[str]) -> None:
    from .lightning_programs import LitAutoEncoder, loader

    module = LitAutoEncoder()
    before = {name: value.clone() for name, value in module.state_dict().items()}
    handlers = [signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)]
    training = Training.from_lightning(module, loader(), val_data=loader(32, shuffle=False))
    first = diagnose(training).verdicts
    assert all(verdict.passed for verdict in first)
    assert all(torch.equal(value, before[name]) for name, value in module.state_dict().items())
    assert module._trainer is None
    assert module.training
    assert handlers == [signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)]
    assert capfd.readouterr() == ("", "")


def test_every_run_of_one_object_is_the_same() -> None:
    from .lightning_programs import LitClassifier, loader

    training = Training.from_lightning(LitClassifier(), loader(), max_epochs=3)
    verdict = diagnose(training, checks=["is_reproducible"]).verdicts[0]
    assert verdict.passed, verdict


def test_its_own_validation_is_what_is_evaluated() -> None:
    from .lightning_programs import LitClassifier, loader

    training = Training.from_lightning(LitClassifier(), loader(), val_data=loader(32, shuffle=False))
    verdict = diagnose(training, checks=["evaluates_cleanly"]).verdicts[0]
    assert verdict.passed, verdict


def test_several_loaders_at_once() -> None:
    from .lightning_programs import LitAutoEncoder, loader

    class Two(LitAutoEncoder):
        def training_step(self, batch: Any, batch_idx: int) -> torch.Tensor:
            return super().training_step(batch["a"], batch_idx) + super().training_step(batch["b"], batch_idx)

    training = Training.from_lightning(Two(), {"a": loader(), "b": loader(64)})
    assert len(training.data) == 16
    assert sum(1 for _ in training.data) == 16
    assert len(taken(training, 20)) == 20


def test_a_module_with_its_own_loader() -> None:
    from .lightning_programs import LitAutoEncoder, loader

    class WithData(LitAutoEncoder):
        def train_dataloader(self) -> Any:
            return loader()

    assert alarms(lambda: Training.from_lightning(WithData())) == []


def test_the_package_under_its_other_name() -> None:
    import pytorch_lightning
    from torch import nn

    class Lit(pytorch_lightning.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(3, 1)

        def training_step(self, batch: Any, batch_idx: int) -> torch.Tensor:
            return (self.layer(batch) - batch.sum(1, keepdim=True)).pow(2).mean()

        def configure_optimizers(self) -> Any:
            return torch.optim.Adam(self.parameters(), 1e-2)

    losses = taken(Training.from_lightning(Lit(), [torch.randn(8, 3) for _ in range(4)]), 30)
    assert losses[-1] < losses[0]


def test_what_the_module_raises_comes_out() -> None:
    from .lightning_programs import LitAutoEncoder, loader

    class Broken(LitAutoEncoder):
        def training_step(self, batch: Any, batch_idx: int) -> torch.Tensor:
            if self.trainer.global_step == 2:
                raise KeyError("here")
            return super().training_step(batch, batch_idx)

    with pytest.raises(KeyError, match="here"):
        taken(Training.from_lightning(Broken(), loader()), 5)


def test_an_interrupt_stays_one() -> None:
    from .lightning_programs import LitAutoEncoder, loader

    class Interrupted(LitAutoEncoder):
        def training_step(self, batch: Any, batch_idx: int) -> torch.Tensor:
            raise KeyboardInterrupt

    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        taken(Training.from_lightning(Interrupted(), loader()), 1)
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"devices": 2}, "in this process, and these options start others"),
        ({"module": torch.nn.Linear(2, 2)}, "has to be a LightningModule, not Linear"),
    ],
)
def test_what_cannot_be_run(given: dict[str, Any], message: str) -> None:
    from .lightning_programs import LitAutoEncoder, loader

    options = {"module": LitAutoEncoder(), **given}
    with pytest.raises((TypeError, ValueError), match=message):
        taken(Training.from_lightning(data=loader(), **options), 1)


def test_without_greenlet_the_message_has_the_line_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    from .lightning_programs import LitAutoEncoder, loader

    monkeypatch.setitem(sys.modules, "greenlet", None)
    with pytest.raises(ImportError, match=r'greenlet is not installed: pip install "pytest-trainhealth\[lightning\]"'):
        Training.from_lightning(LitAutoEncoder(), loader())


class Short(StepwiseLoop):
    """A loop by hand, which ends by itself."""

    NAME = "the short loop"

    def __init__(self) -> None:
        super().__init__("lightning")
        self.layer = torch.nn.Linear(2, 1)
        self.optimizer = torch.optim.SGD(self.layer.parameters(), 0.1)
        self.ended: list[str] = []

    def fit(self) -> None:
        try:
            for _ in range(3):
                loss = self.layer(self.next_batch()).pow(2).mean()
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
                self.note_loss(loss)
        finally:
            self.ended.append("fit")

    def optimizers(self) -> list[torch.optim.Optimizer]:
        return [self.optimizer]


class TestALoopByHand:
    def test_it_goes_on_where_it_was(self) -> None:
        loop = Short()
        with loop.running():
            losses = [float(loop.take(torch.ones(4, 2))) for _ in range(2)]
            assert loop.ended == []
        assert losses[1] < losses[0]
        assert loop.ended == ["fit"]

    def test_one_that_ends_by_itself_says_so(self) -> None:
        loop = Short()
        with loop.running():
            for _ in range(3):
                loop.take(torch.ones(4, 2))
            with pytest.raises(LoopEnded, match="the short loop ended by itself after 3 batches"):
                loop.take(torch.ones(4, 2))

    def test_a_check_of_it_could_not_judge(self) -> None:
        loop = Short()
        training = Training._of_loop(loop, loop.layer, [torch.ones(4, 2)])
        verdict = diagnose(training, checks=["overfits_one_batch"]).verdicts[0]
        assert verdict.outcome == "could not judge"
        assert "ended by itself after 3 batches" in verdict.reason

    def test_what_torch_is_told_outside_holds_inside(self) -> None:
        loop = Short()
        with loop.running(), torch.autocast("cpu", dtype=torch.bfloat16):
            assert loop.take(torch.ones(4, 2)).dtype == torch.bfloat16

    def test_a_profiler_that_is_set_outside_hears_of_it(self) -> None:
        loop, heard = Short(), set()
        with loop.running():
            sys.setprofile(lambda frame, event, _: heard.add(frame.f_code.co_name))
            try:
                loop.take(torch.ones(4, 2))
            finally:
                sys.setprofile(None)
            loop.take(torch.ones(4, 2))
        assert "zero_grad" in heard
