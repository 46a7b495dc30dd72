"""resumes_exactly: judged on made-up traces, and on small trainings whose checkpoints lack one part each."""

from __future__ import annotations

import copy
from dataclasses import replace

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from pytest_trainhealth import Training, diagnose
from pytest_trainhealth.checks.resumes_exactly import AGAIN, RESUMED, judge
from pytest_trainhealth.records.judgement import CouldNotJudge, NeedsControl, Passed
from pytest_trainhealth.records.state import StateRecord
from pytest_trainhealth.records.trace import Trace
from pytest_trainhealth.records.verdict import Symptom

WHOLE = [2.0, 1.9, 1.8, 1.7, 1.6, 1.5]


def run(losses=tuple(WHOLE), **state) -> Trace:
    return replace(Trace.of(losses), state=StateRecord(saved_at=4, from_training=True, **state))


def test_a_resumed_run_is_asked_for_then_an_uninterrupted_one():
    asked = judge(run(), {})
    assert isinstance(asked, NeedsControl)
    assert asked.control.options == {"at": 4, "path": ""}
    assert judge(run(), {}, {RESUMED: run((1.6, 1.4))}) == NeedsControl(AGAIN)


def test_steps_after_the_interruption_are_compared():
    assert isinstance(judge(run(), {}, {RESUMED: run(WHOLE[4:])}), Passed)
    assert isinstance(judge(run(), {}, {RESUMED: run()}), Passed)  # it forgets on its way, and has all steps
    found = judge(run(), {}, {RESUMED: run((1.6, 1.4)), AGAIN.label: run()})
    assert isinstance(found, Symptom)
    assert "step 5 has a loss of 1.500 and 1.400" in found.summary


def test_values_at_the_end_count_too():
    found = judge(run(end={"w": "1"}), {}, {RESUMED: run(WHOLE[4:], end={"w": "2"}), AGAIN.label: run(end={"w": "1"})})
    assert isinstance(found, Symptom)
    assert "w end with other values" in found.summary


def test_a_run_that_is_never_the_same_is_not_judged():
    found = judge(run(), {}, {RESUMED: run((1.6, 1.4)), AGAIN.label: run([*WHOLE[:5], 1.3])})
    assert found == CouldNotJudge("two runs that nothing interrupts differ, too: see is_reproducible")


def test_too_few_steps_are_not_judged():
    short = replace(Trace.of([2.0, 1.0]), state=StateRecord(batches=["a", "b"], from_training=True))
    assert "2 steps are too few to interrupt" in judge(short, {}).reason


# -- real trainings --------------------------------------------------------------------------------


class Averaged(nn.Module):
    """Keeps an average of its inputs, in one of several ways."""

    def __init__(self, how: str) -> None:
        super().__init__()
        self.how, self.layer = how, nn.Linear(4, 3)
        if how == "attribute":
            self.mean = torch.zeros(4)
        else:
            self.register_buffer("mean", torch.zeros(4), persistent=how == "buffer")
        self.history: list[float] = []

    def forward(self, x):
        self.mean = 0.9 * self.mean + 0.1 * x.detach().mean(0)
        self.history.append(float(x.mean()))
        return self.layer(x - self.mean)


#: More than there are steps before the interruption: the first batch must not come next by chance.
BATCHES = 11


def batches():
    return [(torch.randn(8, 4), torch.randint(3, (8,))) for _ in range(BATCHES)]


def verdict(subject):
    (found,) = diagnose(subject, ["resumes_exactly"]).verdicts
    return found


def test_what_state_dicts_lose_is_judged_without_save_and_load():
    def training(how: str) -> Training:
        model = Averaged(how)
        return Training(model, torch.optim.Adam(model.parameters(), 1e-2), criterion=F.cross_entropy, data=batches())

    assert verdict(lambda: training("buffer")).passed  # its history is lost as well, and makes no difference
    for how in ("attribute", "not persistent"):
        found = verdict(lambda how=how: training(how))
        assert found.failed
        assert found.findings[0].cause == "checkpoint-incomplete"
        assert found.findings[0].confirmed
        assert [rerun.cure for rerun in found.findings[0].reruns if rerun.confirms] == ["mean carried over"]


def test_weights_that_a_module_keeps_once_more_are_no_state_of_their_own():
    """An LSTM has them in a list."""

    class Reader(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.lstm, self.head = nn.LSTM(4, 5, batch_first=True), nn.Linear(5, 3)
            self.views = {"head": self.head.weight[:2].detach()}

        def forward(self, x):
            return self.head(self.lstm(x.unsqueeze(1))[0][:, -1])

    def training() -> Training:
        model = Reader()
        return Training(model, torch.optim.Adam(model.parameters(), 1e-2), criterion=F.cross_entropy, data=batches())

    assert verdict(training).passed


def test_what_a_module_notes_for_itself_on_the_way_is_kept():
    """A flag that says that hooks are in place: without it they would be there twice."""

    class Hooked(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(4, 3)

        def forward(self, x):
            if not getattr(self, "_hooked", False):
                self.layer.register_forward_hook(lambda module, given, output: 2 * output)
                self._hooked = True
            return self.layer(x)

    def training() -> Training:
        model = Hooked()
        return Training(model, torch.optim.Adam(model.parameters(), 1e-2), criterion=F.cross_entropy, data=batches())

    assert verdict(training).passed


def complete(without: str = "", *, dropout: float = 0.0) -> Training:
    model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(dropout), nn.Linear(8, 3))
    optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 2, 0.5)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**8, growth_interval=2)
    seen = 0

    def step(batch):
        nonlocal seen
        seen += 1
        loss = F.cross_entropy(model(batch[0]), batch[1]) * (1 + seen / 100)
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        scheduler.step()
        return loss

    parts = {"weights": model, "optimizer": optimizer, "scheduler": scheduler, "scaler": scaler}

    def save(path):
        states = {name: part.state_dict() for name, part in parts.items() if name != without}
        torch.save({**states, "random": torch.get_rng_state(), "seen": seen}, path)

    def load(path):
        nonlocal seen
        saved = torch.load(path)
        for name, part in parts.items():
            if name in saved:
                part.load_state_dict(saved[name])
        if without != "random numbers":
            torch.set_rng_state(saved["random"])
        if without != "loop":
            seen = saved["seen"]

    return Training(model, optimizer, step=step, data=batches(), save=save, load=load)


def test_a_complete_checkpoint_passes():
    assert verdict(complete).passed
    assert verdict(complete()).passed  # a training, and no function that makes it
    assert verdict(lambda: complete(dropout=0.3)).passed


@pytest.mark.parametrize(
    ("without", "cure"),
    [
        ("optimizer", "the optimizer's state carried over"),
        ("scheduler", "the scheduler's state carried over"),
        ("loop", "variables of the loop carried over"),
        ("random numbers", "the state of the random numbers carried over"),
    ],
)
def test_what_is_missing_is_named(without, cure):
    found = verdict(lambda: complete(without, dropout=0.3))
    assert found.failed
    (finding,) = found.findings
    assert (finding.cause, finding.certainty) == ("checkpoint-incomplete", "confirmed")
    assert [rerun.cure for rerun in finding.reruns if rerun.confirms] == [cure]


def test_several_missing_parts_are_carried_over_together():
    def training():
        made = complete("optimizer", dropout=0.3)
        load, random = made.load, torch.get_rng_state

        def forgetful(path):
            before = random()
            load(path)
            torch.set_rng_state(before)

        made.load = forgetful
        return made

    found = verdict(training)
    assert found.failed
    assert found.findings[0].confirmed
    assert [rerun.cure for rerun in found.findings[0].reruns if rerun.confirms] == ["all of these carried over"]


def test_a_checkpoint_that_cannot_be_loaded_is_a_failure():
    def training():
        made = complete()
        made.load = lambda path: torch.load(path)["modle"]
        return made

    found = verdict(training)
    assert found.failed
    assert "load(path) raises KeyError" in found.symptom.summary
    assert found.findings[0].cause == "checkpoint-incomplete"


def test_the_position_of_data_that_keep_it_themselves_is_judged():
    class Positioned:
        """A loader that knows where it is."""

        def __init__(self) -> None:
            self.batches, self.next = batches(), 0

        def __iter__(self):
            while True:
                self.next += 1
                yield self.batches[(self.next - 1) % BATCHES]

        def state_dict(self):
            return {"next": self.next}

        def load_state_dict(self, state):
            self.next = state["next"]

    def training(kept: bool):
        model, data = nn.Linear(4, 3), Positioned()
        optimizer = torch.optim.SGD(model.parameters(), 0.1)

        def save(path):
            torch.save({"model": model.state_dict(), "data": data.state_dict()}, path)

        def load(path):
            saved = torch.load(path)
            model.load_state_dict(saved["model"])
            if kept:
                data.load_state_dict(saved["data"])

        return Training(model, optimizer, criterion=F.cross_entropy, data=data, save=save, load=load)

    assert verdict(lambda: training(True)).passed
    found = verdict(lambda: training(False))
    assert found.failed
    assert "another batch" in found.symptom.summary
    assert found.findings[0].confirmed


def test_a_watched_test_says_why_it_cannot_be_judged():
    def script():
        model = nn.Linear(4, 3)
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        for inputs, labels in batches() * 3:
            optimizer.zero_grad()
            F.cross_entropy(model(inputs), labels).backward()
            optimizer.step()

    found = verdict(script)
    assert found.outcome == "could not judge"
    assert found.reason == "a watched test cannot be started again from a checkpoint: return a Training"


def test_wrong_arguments_are_told_at_once():
    model = nn.Linear(4, 3)
    rest = {"optimizer": torch.optim.SGD(model.parameters(), 0.1), "criterion": F.cross_entropy, "data": batches()}
    with pytest.raises(TypeError, match=r"save has to be callable as save\(path\), not str 'file'"):
        Training(model, **rest, save="file", load=print)
    with pytest.raises(TypeError, match="save= and load= together: save= was given, and no load="):
        Training(model, **rest, save=print)


def test_what_no_checkpoint_can_be_called_with_is_told_at_once():
    model = nn.Linear(4, 3)
    rest = {"optimizer": torch.optim.SGD(model.parameters(), 0.1), "criterion": F.cross_entropy, "data": batches()}

    def save(path, epoch): ...

    def load(model, path): ...

    with pytest.raises(TypeError, match=r"save\(path\) or save\(\), not save\(path, epoch\)"):
        Training(model, **rest, save=save, load=print)
    with pytest.raises(TypeError, match=r"load\(path\) or load\(state\), not load\(model, path\)"):
        Training(model, **rest, save=lambda path: None, load=load)


def test_everything_is_left_as_it_was():
    made = complete(dropout=0.3)
    before = copy.deepcopy(made.model.state_dict())
    verdict(made)
    assert all(torch.equal(value, before[name]) for name, value in made.model.state_dict().items())


# -- objects whose state_dict() is somebody else's ------------------------------------------------


class Slowed(torch.optim.Optimizer):
    """Another optimizer's steps, and every third time half of the way back to where it was."""

    def __init__(self, inner: torch.optim.Optimizer, *, tells: bool) -> None:
        super().__init__(inner.param_groups, dict(inner.defaults))
        self._inner, self._tells, self._taken = inner, tells, 0
        self._anchor = [p.detach().clone() for group in inner.param_groups for p in group["params"]]
        self.param_groups, self.state = inner.param_groups, inner.state

    def step(self, closure=None):
        self._inner.step(closure)
        self._taken += 1
        if self._taken % 3 == 0:
            with torch.no_grad():
                for old, p in zip(self._anchor, self.param_groups[0]["params"], strict=True):
                    p.copy_(old.lerp_(p, 0.5))

    def state_dict(self):
        own = {"anchor": copy.deepcopy(self._anchor), "taken": self._taken} if self._tells else {}
        return {**self._inner.state_dict(), **own}

    def load_state_dict(self, values):
        values = dict(values)
        if self._tells:
            self._anchor, self._taken = values.pop("anchor"), values.pop("taken")
        self._inner.load_state_dict(values)
        self.param_groups, self.state = self._inner.param_groups, self._inner.state


class Noise:
    """Beside the model, with a state_dict() that tells half of the story."""

    def __init__(self, *, tells: bool) -> None:
        self.tells, self.level, self.calls = tells, 0.1, 0

    def __call__(self, x):
        self.calls += 1
        return x + self.level * self.calls

    def state_dict(self):
        return {"level": self.level, **({"calls": self.calls} if self.tells else {})}

    def load_state_dict(self, values):
        vars(self).update(values)


def wrapped_optimizer(*, tells: bool) -> Training:
    model = nn.Linear(4, 3)
    optimizer = Slowed(torch.optim.SGD(model.parameters(), 0.1, momentum=0.9), tells=tells)
    return with_checkpoint(model, optimizer, lambda model, batch: F.cross_entropy(model(batch[0]), batch[1]), optimizer)


def noise_of_its_own(*, tells: bool) -> Training:
    model, noise = nn.Linear(4, 3), Noise(tells=tells)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    return with_checkpoint(
        model, optimizer, lambda model, batch: F.cross_entropy(model(noise(batch[0])), batch[1]), optimizer, noise
    )


def with_checkpoint(model, optimizer, loss, *others) -> Training:
    def save(path):
        torch.save([model.state_dict(), *(each.state_dict() for each in others)], path)

    def load(path):
        for each, values in zip((model, *others), torch.load(path), strict=True):
            each.load_state_dict(values)

    return Training(model, optimizer, loss, batches(), save=save, load=load)


@pytest.mark.parametrize(
    ("make", "named"),
    [(wrapped_optimizer, "Slowed._taken"), (noise_of_its_own, "noise.calls")],
    ids=["optimizer", "loop"],
)
def test_what_a_state_dict_leaves_out_is_named(make, named):
    found = verdict(lambda: make(tells=False))
    assert found.failed
    assert (found.findings[0].cause, found.findings[0].certainty) == ("checkpoint-incomplete", "confirmed")
    assert named in found.findings[0].statement
    assert verdict(lambda: make(tells=True)).passed


# -- objects that can be called ---------------------------------------------------------------------


class Weighing:
    """Weighs losses by their running averages, which are plain numbers in a dict."""

    def __init__(self, names) -> None:
        self.averages = dict.fromkeys(names, 1.0)

    def __call__(self, losses):
        for name, loss in losses.items():
            self.averages[name] = 0.9 * self.averages[name] + 0.1 * loss.item()
        return sum(loss / self.averages[name] for name, loss in losses.items())


def weighed(*, saved: bool) -> Training:
    model, weighing, sizes = nn.Linear(4, 3), Weighing(["class"]), Weighing(["size"])
    optimizer = torch.optim.SGD(model.parameters(), 0.1)

    def loss(model, batch):
        output = model(batch[0])
        return weighing({"class": F.cross_entropy(output, batch[1])}) + sizes({"size": output.square().mean()})

    def save():
        own = {"weighing": weighing.averages, "sizes": sizes.averages} if saved else {}
        return copy.deepcopy({"model": model.state_dict(), "optimizer": optimizer.state_dict(), **own})

    def load(state):
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        if saved:
            weighing.averages, sizes.averages = state["weighing"], state["sizes"]

    return Training(model, optimizer, loss, batches(), save=save, load=load)


def test_what_an_object_that_can_be_called_keeps_is_named_by_its_path():
    found = verdict(lambda: weighed(saved=False))
    assert found.failed
    (finding,) = found.findings
    assert (finding.cause, finding.certainty) == ("checkpoint-incomplete", "confirmed")
    assert "weighing.averages" in finding.evidence[0].text
    assert "sizes.averages" in finding.evidence[0].text  # two of a kind are two
    assert verdict(lambda: weighed(saved=True)).passed
