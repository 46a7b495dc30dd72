"""More made-up traces for `test_answers.py`: signs, labels, steps, ties, optimizers, and what is waited for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pytest_trainhealth.records.comparison import Comparison, OperatorTime
from pytest_trainhealth.records.losses import LossCall, Similarity, TensorSummary
from pytest_trainhealth.records.numbers import Crash, FirstBadOperation, Range
from pytest_trainhealth.records.probes import LeakRecord, ProbeRecord
from pytest_trainhealth.records.speed import CallRecord, LineRecord, SyncRecord
from pytest_trainhealth.records.trace import Trace
from pytest_trainhealth.records.verdict import Place
from pytest_trainhealth.records.wiring import (
    DoubleUpdate,
    EmptyUpdates,
    HelpedCritic,
    LostUpdates,
    ModuleRecord,
    OptimizerRecord,
    TiedPair,
    UnusedPasses,
    WronglyScaled,
)

from .gallery import HERE, THERE, Case, made, weight


def more_cases() -> Iterator[Case]:
    yield from _signs()
    yield from _labels()
    yield from _reductions()
    yield from _broken()
    yield from _steps()
    yield from _left_out()
    yield from _unused()
    yield from _pairs()
    yield from _slow()


def called(*calls: LossCall, losses: list[float] | None = None, **optimizer: Any) -> Trace:
    trace = made(losses=losses, **optimizer)
    trace.loss.calls = list(calls)
    return trace


def _signs() -> Iterator[Case]:
    name = "wrong-loss-sign"
    whole: dict[str, Any] = {"weight": -1.0, "sole": True, "place": HERE}
    yield name, "a minus", called(LossCall("mse_loss", **whole)), "plateau"
    yield name, "a likelihood", called(LossCall("log-likelihood", **whole)), "plateau"
    for function in ("cross_entropy", "log-likelihood"):
        call = LossCall(function, weight=1.0, sole=True, distances=True, place=HERE, input=TensorSummary((8, 4)))
        yield name, f"distances to {function}", called(call), "plateau"
    for kind in ("cosine_similarity", "overlap"):
        trace = called()
        trace.loss.similarities = [Similarity(kind, place=HERE, rises=True)]
        yield name, f"{kind} is made small", trace, "plateau"
    divergence = LossCall("KL divergence", weight=-0.5, complete=True, terms=4, place=HERE)
    yield name, "a divergence", called(divergence, LossCall("mse_loss", weight=1.0, complete=True, terms=4)), "plateau"
    yield name, "a reward", called(LossCall("reward", weight=0.5, place=HERE)), "plateau"
    yield name, "without bound", called(losses=[-0.5 * step**2 for step in range(40)]), "plateau"
    yield name, "maximised", called(LossCall("mse_loss", weight=1.0, sole=True, place=THERE), maximize=True), "plateau"
    yield name, "nothing", called(LossCall("mse_loss", weight=1.0, sole=True)), "plateau"
    for steps in (2, 3):
        trace = called()
        trace.wiring.helped_critics["c"] = HelpedCritic("critic", "maker", HERE, list(range(steps)))
        yield name, f"a critic that is helped at {steps} steps", trace, "silently-wrong"


def _labels() -> Iterator[Case]:
    name = "invalid-labels"
    for function, classes, low, high in (
        ("cross_entropy", 5, 1, 5),
        ("cross_entropy", 5, 0, 5),
        ("cross_entropy", 5, -1, 4),
        ("cross_entropy", 5, 1, 7),
        ("cross_entropy", 1, 0, 5),
        ("binary_cross_entropy", None, 0, 2),
        ("soft_margin_loss", None, 0, 1),
    ):
        for error, category in (("", "plateau"), ("", "crash"), ("IndexError", "crash")):
            target = TensorSummary((8, 2), "int64", low, high)
            call = LossCall(function, classes=classes, invalid=3, target=target, error=error, place=HERE, step=2)
            yield name, f"{function} of {classes}: {low} to {high}, raises {error or 'nothing'}", called(call), category
    for ignored, reduction in ((1, "mean"), (0.9, "mean"), (1, "sum")):
        target = TensorSummary((8, 2), "int64", -100, -100)
        call = LossCall("cross_entropy", ignored=ignored, reduction=reduction, target=target, place=HERE)
        yield name, f"{ignored} are ignored in a {reduction}", called(call), "explosion"
    for operation, value, infinite, sample in (
        ("_ctc_loss", "inf", 0.0, 3),
        ("_ctc_loss", "nan", 0.0, None),
        ("exp", "inf", 0.0, 3),
        ("_ctc_loss", "inf", 0.1, 3),
        ("_ctc_loss", "inf", 0.0, None),
    ):
        trace = called()
        given = (Range(0.0, 1.0, 0.1, 0.0, "float32", infinite=infinite),)
        trace.numbers.culprit = FirstBadOperation(operation, "forward", value, place=HERE, inputs=given, sample=sample)
        yield name, f"{operation} is {value}, {infinite} infinite, sample {sample}", trace, "explosion"
    name = "missing-activation-for-loss"
    for function in ("nll_loss", "kl_div", "binary_cross_entropy", "cross_entropy"):
        for low, high, facts in (
            (-2.0, 2.0, {}),
            (0.0, 1.0, {}),
            (-2.0, 0.5, {}),
            (0.2, 1.5, {}),
            (-3.0, 0.0, {}),
            (0.0, 1.0, {"activation": "softmax", "value": -0.3}),
            (0.0, 1.0, {"probabilities": True}),
        ):
            facts = dict(facts)
            given = TensorSummary((8, 4), low=low, high=high, probabilities=facts.pop("probabilities", False))
            for error, category in (("", "plateau"), ("RuntimeError", "crash"), ("RuntimeError", "plateau")):
                call = LossCall(function, input=given, error=error, place=HERE, **facts)
                told = (
                    f"{function} is given {low} to {high}, {facts or given.probabilities}, raises {error or 'nothing'}"
                )
                yield name, told, called(call), category
    name = "wrong-loss-for-task"
    for shape, value, category in (((8, 1), None, "plateau"), ((8,), -0.0, "plateau"), ((8,), 0.5, "crash")):
        call = LossCall(
            "cross_entropy",
            classes=1,
            value=value,
            input=TensorSummary((8, 1)),
            place=HERE,
            target=TensorSummary(shape, distinct=2),
        )
        yield name, f"one output, targets of {shape}, a value of {value}", called(call), category
    labels = TensorSummary((8, 4), "float32", 0, 1, whole=True)
    for category in ("plateau", "crash"):
        yield (
            name,
            "several labels",
            called(LossCall("cross_entropy", input=TensorSummary((8, 4)), target=labels)),
            category,
        )
    for module in ("act", ""):
        call = LossCall("cross_entropy", activation="softmax", over=4, activation_module=module, place=HERE)
        yield "double-softmax", f"in {module or 'no module'}", called(call), "plateau"


def _reductions() -> Iterator[Case]:
    name = "loss-reduction"
    for reduction, times, terms, samples in (
        ("sum", 1.0, 64, 16),
        ("mean", 64.0, 64, 16),
        ("sum", 1 / 16, 64, 16),
        ("mean", 16.0, 64, 16),
        ("mean", 1 / 16, 64, 16),
        ("mean", 1 / 64, 64, 16),
        ("mean", 1.0, 64, 16),
        ("sum", 1 / 64, 64, 16),
        ("sum", 1.0, 8, 8),
        ("sum", 1.0, 7, 7),
        ("mean", 64.03, 64, 16),
        ("mean", 64.1, 64, 16),
        ("sum", -1.0, 64, 16),
        ("mean", 8.0, 64, 8),
        ("mean", 1 / 8, 64, 8),
    ):
        for kind in ("SGD", "Adam"):
            for sole in (True, False):
                call = LossCall(
                    "mse_loss", reduction=reduction, weight=times, terms=terms, samples=samples, sole=sole, place=HERE
                )
                told = f"{reduction} times {times:.4g} over {terms} terms of {samples}, alone: {sole}, {kind}"
                yield name, told, called(call, kind=kind), "instability"
    kl = LossCall("KL divergence", weight=1.0, complete=True, terms=1, samples=16, place=HERE, part=1.0)
    other = LossCall(
        "mse_loss",
        weight=1.0,
        complete=True,
        terms=160,
        samples=16,
        place=THERE,
        part=1.0,
        floor=0.0,
        chance=1.0,
        given_target=True,
    )
    yield name, "a divergence that is summed", called(kl, other), "plateau"
    mean_of_sums = LossCall("KL divergence", weight=1 / 16, complete=True, terms=1, samples=16, place=HERE, part=1.0)
    yield name, "a divergence beside a mean over values", called(mean_of_sums, other), "plateau"


def _broken() -> Iterator[Case]:
    name = "unstable-operation"
    for operation, value in (
        ("log", "-inf"),
        ("mm", "inf"),
        ("mm", "nan"),
        ("_foreach_add_", "inf"),
        ("exp_", "inf"),
        ("special", "nan"),
    ):
        for phase in ("forward", "update"):
            trace = called()
            given = (Range(0.0, 201.0, 0.1, 0.5, "float32"), Range(-1.0, 1.0, 0.1, 0.0, "float32", infinite=0.2))
            trace.numbers.culprit = FirstBadOperation(operation, phase, value, "net", HERE, given, step=2, sample=3)
            yield name, f"{operation} makes {value} in the {phase}", trace, "explosion"
    for high, step in ((199.0, 2), (201.0, 2), (201.0, 0)):
        for module, place, before in (("", HERE, True), ("", HERE, False), ("", None, False)):
            trace = called()
            trace.batch_size = 16 if step else None
            trace.numbers.culprit = FirstBadOperation(
                "exp",
                "forward",
                "inf",
                module,
                place,
                (Range(0.0, high, 0.1, 0.0, "float32"),),
                step=step,
                before_model=before,
                sample=1,
            )
            yield name, f"exp of {high} at step {step}, at {place}, before the model: {before}", trace, "explosion"
    for operation in ("SqrtBackward0", "PowBackward1", "MulBackward0", "DivBackward0"):
        for finite in (True, False):
            trace = called()
            trace.numbers.culprit = FirstBadOperation(operation, "backward", "nan", inputs=(), from_finite=finite)
            yield name, f"{operation} of finite values: {finite}", trace, "explosion"
    name = "loss-scaler-misuse"
    for factor in (65536.0, 1 / 1024, 1.0):
        for count, category in ((1, "plateau"), (2, "plateau"), (1, "crash")):
            trace = called()
            trace.wiring.wrongly_scaled = [WronglyScaled(step, "SGD", factor, 3.0, HERE) for step in range(count)]
            yield name, f"{count} times with a factor of {factor:.4g}", trace, category
    for message in (
        "step() has already been called since the last update().",
        "No inf checks were recorded for this",
        "x",
    ):
        trace = called()
        trace.crash = Crash("RuntimeError", message, 3, HERE)
        for category in ("crash", "plateau"):
            yield name, f"it says {message}", trace, category


def _steps() -> Iterator[Case]:
    name = "gradients-cleared-before-step"
    for steps in (1, 2):
        for category in ("not-learning", "plateau"):
            trace = called()
            trace.wiring.after_backward = {step: 0.5 for step in range(3)}
            trace.wiring.at_update = {step: 0.0 if step < steps else 0.5 for step in range(3)}
            trace.wiring.cleared_at = HERE
            yield name, f"at {steps} of 3 steps", trace, category
    for robbed, steps in ((2, 4), (3, 6), (3, 8), (4, 8)):
        trace = called(steps=steps)
        trace.wiring.empty_updates = EmptyUpdates(full=9, robbed={"SGD": robbed}, place=HERE)
        yield name, f"robbed {robbed} of {steps} times", trace, "not-learning"
    for cleared, missing, full in ((5, 0, 4), (4, 0, 3), (5, 5, 4), (6, 5, 4), (5, 6, 4), (5, 0, 5)):
        trace = called()
        trace.wiring.empty_updates = EmptyUpdates(full, cleared, missing, HERE)
        for other in (name, "empty-optimizer-steps"):
            yield other, f"{cleared} cleared, {missing} not computed, {full} full", trace, "not-learning"
    for used in (1, 0):
        trace = called()
        trace.wiring.unused_passes["SGD"] = UnusedPasses(
            "SGD", [0, 3, 3], [1, used, used], place=HERE, cleared_at=THERE
        )
        for category in ("silently-wrong", "not-learning"):
            yield name, f"thrown away, {used} used", trace, category
    once = called()
    once.wiring.unused_passes["SGD"] = UnusedPasses("SGD", [1, 1, 1], [0, 0, 0], place=HERE)
    yield name, "one pass, thrown away", once, "silently-wrong"
    name = "missing-optimizer-step"
    for moved, updates, backwards, gradient, known in (
        (False, 0, 1, 1.0, True),
        (True, 0, 1, 1.0, True),
        (False, 1, 1, 1.0, True),
        (False, 0, 0, 1.0, True),
        (False, 0, 1, 0.0, True),
        (False, 0, 1, 1.0, False),
    ):
        trace = made(weight("0.weight", moved=moved, gradients={0: gradient}), losses=[1.0] * 3)
        trace.updates, trace.backwards = [updates] * 3, [backwards, 0, 0]
        if not known:
            trace.wiring.optimizers.clear()
        yield (
            name,
            f"{updates} updates, {backwards} passes, moved {moved}, gradient {gradient}, known {known}",
            trace,
            "not-learning",
        )
    for label in ("critic", "Adam[1]"):
        trace = made(
            weight("0.weight"), weight("1.weight", held_by=(label,), moved=False), weight("2.weight", moved=False)
        )
        trace.wiring.optimizers[label] = OptimizerRecord(label, "Adam", place=THERE)
        yield name, f"{label} is idle", trace, "not-learning"
    name = "duplicate-parameters"
    for optimizers, count in ((("SGD", "SGD"), 1), (("SGD", "Adam"), 1), (("SGD", "SGD"), 2), (("SGD", "Adam"), 2)):
        trace = called(parameters=5)
        trace.wiring.double_updates = {
            str(n): DoubleUpdate(f"{n}.weight", optimizers, [0, 1, 2, 3, 4]) for n in range(count)
        }
        yield name, f"{count} held by {optimizers}", trace, "silently-wrong"


def _left_out() -> Iterator[Case]:
    name = "parameters-not-in-optimizer"

    def orphan(label: str = "head.0.weight", **facts: Any) -> Any:
        return weight(label, **{"held_by": (), "moved": False, "behind_trained": True, **facts})

    for statement in (
        "optimizer = SGD(model.parameters(), lr=0.1)",
        "opt = torch.optim.SGD(net.body.parameters(), lr=0.1)",
        "self.opt = SGD([{'params': self.net.body.parameters()}], lr=0.1)",
        "optimizer = SGD(params=model[0].parameters())",
        "return Training(model, SGD(model.parameters(), lr=0.1))",
        "optimizer = make(model)",
        "not code (",
        "",
        "x = 1",
        "optimizer = SGD(list(model.parameters()), lr=0.1)",
        "optimizer = SGD([p for p in params], lr=0.1)",
        "a, b = SGD(w), 2",
        "optimizer = SGD(model.a_very_long_name_of_a_part_of_it.parameters(), lr=0.1, momentum=0.9, nesterov=True)",
        "optimizer = SGD([], lr=0.1)",
        "optimizer = SGD()",
    ):
        yield (
            name,
            f"made by {statement or 'nothing known'}",
            made(orphan(), weight("body.weight"), statement=statement),
            "plateau",
        )
    titles: dict[str, dict[str, Any]] = {
        "outside": {"outside_model": True},
        "another model": {"model": "other"},
        "kept in a list": {"kept_in": "net.layers"},
        "a plain tensor": {"kept_in": "scale", "plain_tensor": True},
        "made late": {"appeared": 0},
        "piles up": {"gradients": {0: 1.0, 1: 2.0, 2: 3.1}},
        "hardly piles up": {"gradients": {0: 1.0, 1: 2.0, 2: 2.9}},
        "two looks": {"gradients": {0: 1.0, 1: 9.0}},
    }
    for title, facts in titles.items():
        for count in (1, 3):
            orphans = (orphan(f"{n}.weight", **facts) for n in range(count))
            yield name, f"{count}, {title}", made(*orphans, weight("body.weight")), "plateau"
    for foreign, parameters in ((0, 2), (1, 2), (2, 2)):
        for others in (True, False):
            held = weight("body.weight", gradients={0: 1.0} if others else {0: 0.0})
            trace = made(orphan(), held, foreign_tensors=foreign, foreign_values=9, parameters=parameters)
            yield name, f"{foreign} of {parameters} are foreign, others learn: {others}", trace, "plateau"
    for place in (THERE, None):
        for code in ("SGD(model.parameters())", "SGD(ps)"):
            trace = made(orphan(), weight("body.weight"), place=Place("train.py", 1, code))
            trace.wiring.modules["head"] = ModuleRecord("head", "Linear", after_optimizer=True, place=place)
            yield name, f"replaced at {place}, made by {code}", trace, "plateau"
    name = "frozen-parameters"
    for count in (1, 2):
        frozen = [weight(f"body.{n}", trainable=False, moved=False) for n in range(count)]
        yield name, f"{count} frozen", made(*frozen, weight("head.weight")), "plateau"
        yield name, f"all {count} frozen", made(*frozen), "plateau"
        late = [weight(f"d.{n}", frozen_since=n, gradients={0: None}, moved=False) for n in range(count)]
        yield name, f"{count} frozen on the way", made(*late, weight("head.weight")), "plateau"
    yield (
        name,
        "frozen and moved",
        made(weight("body.0", trainable=False, moved=True), weight("head.weight")),
        "plateau",
    )
    zero = weight("2.weight", moved=False, lost=LostUpdates(count=9, rate=0.0))
    named = made(weight("0.weight"), zero, lr={0: 0.02}, rate_place=THERE, rate_name="LR")
    yield "lr-too-low", "a group at 0, and a name for the rate", named, "no-learning-rate"
    crawl = weight("0.weight", updates={0: 1e-6})
    yield "lr-too-low", "a name for the rate", made(crawl, rate_place=THERE, rate_name="LR"), "plateau"


def _unused() -> Iterator[Case]:
    name = "unused-parameters"
    cut: dict[str, Any] = {"gradients": {0: None}, "moved": False}
    titles: dict[str, tuple[dict[str, Any], int]] = {
        "did not run": ({}, 0),
        "ran": ({}, 4),
        "thrown away": ({"in_graph": False}, 4),
        "outside, not in the graph": ({"in_graph": False, "outside_model": True}, 4),
        "outside, in the graph": ({"in_graph": True, "outside_model": True}, 4),
    }
    for title, (facts, calls) in titles.items():
        for count in (1, 2):
            parts = [weight(f"spare{n}.weight", **cut, **facts) for n in range(count)]
            trace = made(*parts, weight("head.weight"))
            for n in range(count):
                trace.wiring.modules[f"spare{n}"].calls = calls
            yield name, f"{count} {title}", trace, "plateau"
    trace = made(weight("net.scale", **cut, in_graph=False), weight("net.fc.weight"), weight("net.weight"))
    yield name, "a part of a module that learns", trace, "plateau"
    lost = made(weight("spare.weight", **cut), weight("head.weight"))
    lost.loss_connected = False
    yield name, "a loss that reaches nothing", lost, "plateau"


def _pairs() -> Iterator[Case]:
    name = "tied-weights-broken"
    for how in ("values", "transposed", "memory"):
        for meant in ("assigned", "said", "siamese", "memory"):
            trace = made(weight("left.0.weight"), weight("right.0.weight"))
            trace.wiring.tied_pairs = [TiedPair("left.0.weight", "right.0.weight", how, meant)]
            yield name, f"{how}, {meant}", trace, "silently-wrong"
    for maker in ("user", "transformers"):
        trace = made(weight("words.weight", made_by=maker), weight("head.weight", made_by=maker))
        trace.wiring.tied_pairs = [TiedPair("words.weight", "head.weight", "declared", "configuration")]
        yield name, f"declared, made by {maker}", trace, "silently-wrong"
    name = "target-leakage"
    for operation in ("lstm", "scaled_dot_product_attention", "conv1d", "cumsum"):
        for module in ("layer", ""):
            for shift, kind in ((1, "future"), (0, "future"), (1, "same")):
                trace = made()
                record = LeakRecord(
                    "Net", "tokens", kind, 4, 9, 0.2, shift=shift, operation=operation, module=module, place=HERE
                )
                trace.probe = ProbeRecord(8, leaks=[record])
                yield (
                    name,
                    f"{kind} by {operation} in {module or 'no module'}, shifted by {shift}",
                    trace,
                    "silently-wrong",
                )


def _slow() -> Iterator[Case]:
    for torch in (True, False):
        trace = made()
        trace.speed.calls = [CallRecord("sort", 3, 0.1, 0.5, HERE, torch)]
        trace.speed.operators = [("aten::sort", 0.25), ("aten::add", 0.24)]
        yield "slow-operation", f"a call of torch's: {torch}", trace, "performance"
    trace = made()
    trace.speed.loop = LineRecord(9, 0.1, 0.7, HERE)
    yield "slow-operation", "a loop", trace, "performance"
    trace = made()
    trace.speed.line = LineRecord(9, 0.1, 0.7, HERE)
    yield "slow-operation", "a line", trace, "performance"
    for device, often in (("cuda", 3.0), ("cuda", 3.1), ("cpu", 9.0)):
        trace = made()
        trace.speed.syncs = [SyncRecord("_item_", 1.0, device, HERE), SyncRecord("cpu", often - 1, device, THERE)]
        yield "device-sync", f"waits {often} times for {device}", trace, "performance"
    for outcome in ("slower", "not slower"):
        for wait, grown in ((0.0011, True), (0.0009, False)):
            trace = made()
            operators = tuple(OperatorTime(f"aten::{n}", 2.0 + n, 1.0) for n in range(4)) if grown else ()
            trace.comparison = Comparison(
                "main",
                outcome,
                ratio=1.3,
                low=1.2,
                high=1.4,
                pairs=9,
                steps_a_round=5,  # type: ignore[arg-type]
                current=0.013,
                other=0.01,
                grown=operators,
                wait_current=wait,
            )
            yield "throughput-regression", f"{outcome}, waits {wait}, operators grew: {grown}", trace, "performance"
            trace.speed.calls = [CallRecord("sort", 3, 0.1, 0.5, HERE, True)]
            yield "slow-operation", f"{outcome}, waits {wait}", trace, "performance"
