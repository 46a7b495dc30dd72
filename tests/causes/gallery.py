"""Made-up traces on either side of what causes decide, for `test_answers.py`: a cause, a sentence, what was seen."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pytest_trainhealth.records.data import Alignment, FieldRecord, KeptTensor, Repaired, SampleChange, ScaleRecord
from pytest_trainhealth.records.losses import GeneratorRange, LossCall, TensorSummary
from pytest_trainhealth.records.numbers import (
    ActivationRecord,
    Crash,
    DropoutRecord,
    FirstBadOperation,
    HalfRecord,
    Range,
)
from pytest_trainhealth.records.probes import (
    InputRecord,
    LastingDropout,
    MaskEdit,
    MixingRecord,
    PaddingRecord,
    ProbeRecord,
    ShiftedTwice,
)
from pytest_trainhealth.records.speed import JoinedRecord, KeptGraph, LoadingRecord, Phases
from pytest_trainhealth.records.trace import Trace
from pytest_trainhealth.records.verdict import Place
from pytest_trainhealth.records.wiring import (
    Accumulation,
    ClipCalls,
    DetachedSample,
    FrozenChange,
    FrozenRows,
    GradientPath,
    GraphEnd,
    LostUpdates,
    ModeRecord,
    ModuleRecord,
    NoisyTeacher,
    OptimizerRecord,
    OutsideWrites,
    ParameterRecord,
    SchedulerRecord,
)

HERE, THERE = Place("train.py", 7, "clip_grad_norm_(w, 1.0)"), Place("model.py", 3, "self.fc = nn.Linear(8, 8)")
#: A cause, a sentence, what was seen, and the symptom's category.
Case = tuple[str, str, Trace, str]


def weight(name: str, fan_in: int = 64, units: int = 64, **facts: Any) -> ParameterRecord:
    known: dict[str, Any] = {
        "module": name.rpartition(".")[0],
        "module_class": "Linear",
        "std": 0.07,
        "norm": 4.0,
        "fan_in": fan_in,
        "moved": True,
        "held_by": ("SGD",),
        "gradients": {0: 1.0, 1: 1.0},
        "updates": {0: 0.01, 1: 0.01},
        "unit_spread": {0: 1.0, 4: 1.0},
    }
    return ParameterRecord(name, **{"shape": (units, fan_in), "size": units * fan_in, **known, **facts})


def made(*parameters: ParameterRecord, losses: list[float] | None = None, kind: str = "SGD", **optimizer: Any) -> Trace:
    trace = Trace.of(losses or [2.0] * 64, parameters or (weight("0.weight"), weight("2.weight", units=10)))
    given = {"lr": {0: 0.1}, "steps": len(trace.losses), "place": HERE, **optimizer}
    trace.wiring.optimizers[kind] = OptimizerRecord(kind, kind, **given)
    for each in trace.wiring.parameters.values():
        trace.wiring.modules[each.module] = ModuleRecord(each.module, each.module_class, calls=4, place=THERE)
    return trace


def cases() -> Iterator[Case]:
    yield from _initialisation()
    yield from _gradients()
    yield from _rates()
    yield from _clipping()
    yield from _regularisation()
    yield from _halves()
    yield from _graphs()
    yield from _inputs()
    yield from _outputs()
    yield from _loops()
    yield from _data()
    yield from _capacity()
    yield from _schedules()
    yield from _loading()
    yield from _memory()


def _initialisation() -> Iterator[Case]:
    name = "bad-initialization"
    for std in (0.49, 0.51, 0.0026, 0.0024, 0.0):
        yield name, f"64 inputs and a spread of {std}", made(weight("0.weight", std=std), weight("2.weight")), "plateau"
    yield name, "the last layer is small", made(weight("0.weight"), weight("2.weight", std=0.001)), "plateau"
    for fan_in in (3, 4):
        yield name, f"{fan_in} inputs", made(weight("0.weight", fan_in=fan_in, std=3.0)), "plateau"
    for mean in (0.124, 0.126, -0.126):
        yield name, f"64 inputs and a mean of {mean}", made(weight("0.weight", mean=mean)), "plateau"
    two = made(weight("0.weight", std=1.0), weight("2.weight", std=2.0))
    for first, classes in ((7.0, 10), (6.8, 10), (7.0, 1)):
        trace = made(weight("0.weight", std=1.0), weight("2.weight", std=2.0), losses=[first] * 9)
        trace.loss.calls = [LossCall("cross_entropy", classes=classes)]
        yield name, f"a first loss of {first} among {classes}", trace, "plateau"
    yield name, "two large ones", two, "explosion"
    two = made(weight("0.weight", std=1.0), weight("2.weight", std=2.0))
    two.numbers.culprit = FirstBadOperation("log", "forward", "-inf", inputs=(Range(0.0, 1.0, 0.0, 0.5, "float32"),))
    yield name, "large, but a logarithm of 0 breaks it", two, "explosion"
    for spread in ({0: 0.0, 4: 0.9e-4}, {0: 0.0, 4: 1.1e-4}, {0: 0.0}, {1: 0.0, 4: 0.0}):
        yield name, f"units differ by {spread}", made(weight("0.weight", unit_spread=spread)), "plateau"
    equal: dict[str, Any] = {"unit_spread": {0: 0.0, 4: 0.0}}
    yield name, "all 0", made(weight("0.weight", norm=0.0, **equal), weight("1.weight", norm=0.0, **equal)), "plateau"
    yield name, "one 0, one constant", made(weight("0.weight", norm=0.0, **equal), weight("1.w", **equal)), "plateau"
    yield name, "a single unit", made(weight("0.weight", units=1, **equal)), "plateau"
    yield (
        name,
        "rows that are no units",
        made(weight("0.weight", fan_in=64, units=64, shape=(64, 8), size=512, **equal)),
        "plateau",
    )
    recurrent = weight("0.weight", **equal)
    recurrent.fan_in = None
    yield name, "nobody knows what its rows are", made(recurrent), "plateau"
    for reached in (1.0, None):
        table = weight("0.weight", gradients={0: reached}, **equal)
        table.fan_in, table.units = None, 32
        yield name, f"32 units, and a gradient of {reached}", made(table), "plateau"
    for facts in ({}, {"norm": 1.0}, {"gradients": {0: 0.1}}, {"gradients": {}}, {"module_class": "Linear"}):
        norm = weight("1.weight", **{"module_class": "BatchNorm1d", "norm": 0.0, "gradients": {0: 0.0}, **facts})
        norm.shape, norm.size = (64,), 64
        yield name, f"a factor of a normalisation at 0, {facts}", made(weight("0.weight"), norm), "plateau"


def _gradients() -> Iterator[Case]:
    name = "exploding-gradients"
    for size in (99.0, 101.0):
        yield name, f"a first gradient of {size}", made(weight("0.weight", gradients={0: size})), "instability"
    for rate, size, category in (
        (0.1, 21.0, "explosion"),
        (0.1, 19.0, "explosion"),
        (0.11, 21.0, "explosion"),
        (0.1, 21.0, "instability"),
    ):
        trace = made(weight("0.weight", gradients={0: size}), lr={0: rate})
        yield name, f"a gradient of {size} at a rate of {rate}", trace, category
    for burst in (99.0, 101.0):
        trace = made(weight("0.weight", gradients={0: 21.0}), losses=[1.0, burst, *[1.0] * 20])
        yield name, f"a loss that bursts to {burst} times", trace, "instability"
    yield (
        name,
        "Adam does not step by the size",
        made(weight("0.weight", gradients={0: 21.0}), kind="Adam"),
        "explosion",
    )
    for later, update in ((101.0, 0.049), (99.0, 0.049), (101.0, 0.051)):
        grown = weight("0.weight", gradients={0: 1.0, 8: later}, updates={0: update, 16: 0.5})
        yield name, f"grows to {later} after updates of {update}", made(grown), "instability"
    yield name, "no updates before", made(weight("0.weight", gradients={0: 1.0, 8: 900.0}, updates={})), "instability"
    yield name, "grows from nothing", made(weight("0.weight", gradients={0: 0.0, 8: 900.0})), "instability"
    yield name, "to infinity", made(weight("0.weight", gradients={0: 1.0, 8: float("inf")})), "instability"
    for front in (50.0, 900.0, 1100.0):
        layers = (weight(f"{n}.weight", gradients={0: size}) for n, size in enumerate((front, 300.0, 100.0)))
        yield name, f"{front} in front, 100 at the back", made(*layers), "instability"
    log = made(*(weight(f"{n}.weight", gradients={0: 400.0}) for n in range(3)))
    log.numbers.culprit = FirstBadOperation("log", "forward", "-inf", inputs=(Range(0.0, 1.0, 0.0, 0.5, "float32"),))
    yield name, "a logarithm of 0", log, "explosion"
    name = "missing-zero-grad"
    for steps, later in (([1, 2, 3, 4, 5], 2.1), ([1, 2], 1.9), ([1], 2.1)):
        trace = made(weight("0.weight", gradients={0: 1.0, 4: 9.0, 8: later}))
        trace.wiring.stale_gradients = {"SGD": steps}
        yield name, f"stale at {steps}, a gradient of {later} at step 8", trace, "instability"
    trace = made(weight("0.weight", gradients={0: 1.0, 4: 9.0}))
    trace.wiring.stale_gradients = {"Adam": [1, 2]}
    yield name, "of an optimizer that is not recorded", trace, "instability"
    for label in ("SGD", "Adam"):
        trace = made()
        trace.wiring.leaked_gradients = {label: dict.fromkeys(range(6), "critic")}
        yield name, f"{label} steps with what another left", trace, "instability"
    name = "accumulation-not-scaled"
    for factor, others in ((0.32, 0), (0.31, 0), (0.32, 1), (0.32, 2)):
        trace = made()
        trace.wiring.accumulations = [Accumulation(n, "SGD", 4, factor, HERE) for n in range(2)]
        trace.wiring.accumulations += [Accumulation(9, "SGD", 1) for _ in range(others)]
        yield name, f"a quarter times {4 * factor}, and {others} single passes", trace, "instability"


def _rates() -> Iterator[Case]:
    for kind in ("lr-too-high", "lr-too-low"):
        for update in (0.0, 0.9e-4, 1.1e-4, 0.9e-3, 0.049, 0.051, 11.0):
            yield kind, f"updates of {update}", made(weight("0.weight", updates={0: update})), "plateau"
        yield kind, "no update was looked at", made(weight("0.weight", updates={})), "plateau"
        for steps in (1, 2, 19, 20):
            short = made(weight("0.weight", updates={0: 0.06}), losses=[2.0] * steps)
            yield kind, f"{steps} steps", short, "explosion"
            yield kind, f"{steps} steps", short, "plateau"
        yield kind, "no optimizer steps", made(weight("0.weight", updates={0: 0.06}), steps=0), "plateau"
        creep = [2.0 - 0.01 * step for step in range(64)]
        for update in (0.9e-3, 1.1e-3, 2e-5, 6e-5):
            yield (
                kind,
                f"a creep, updates of {update}",
                made(weight("0.weight", updates={0: update}), losses=creep),
                "plateau",
            )
    yield "lr-too-low", "a rate of 0", made(weight("0.weight", updates={0: 0.0}), lr={0: 0.0}), "plateau"
    for worst in (2.9, 3.1):
        for update in (1e-3, 0.06):
            trace = made(weight("0.weight", updates={0: update}), losses=[2.0, worst, *[1.0] * 30])
            yield "lr-too-high", f"a loss up to {worst}, updates of {update}", trace, "explosion"
    yield "lr-too-high", "it oscillates", made(losses=[2.0, 1.0] * 20), "instability"
    yield (
        "lr-too-high",
        "broken at once",
        made(weight("0.weight", updates={0: 0.06}), losses=[2.0, 1.9, 1.8]),
        "explosion",
    )
    for others in (True, False):
        zero = weight("2.weight", moved=False, lost=LostUpdates(count=9, rate=0.0))
        trace = made(weight("0.weight", moved=others), zero, lr={0: 0.02})
        yield "lr-too-low", f"a group at 0, others move: {others}", trace, "no-learning-rate"
        yield "lr-too-low", f"a group at 0, others move: {others}", trace, "plateau"
    name = "needs-lr-decay"
    bounces = [4.0] * 10 + [1.2, 1.0, 0.8] * 10
    yield name, "it bounces", made(losses=bounces, rates=[0.1] * 40), "plateau"
    yield name, "it bounces, and rates are not known", made(losses=bounces), "plateau"
    yield name, "it stays", made(losses=[4.0] * 10 + [1.0] * 30), "plateau"
    for top in (5.9, 6.1):
        yield name, f"after a jump to {top}", made(losses=[4.0, top, *bounces[2:]]), "plateau"


def _clipping() -> Iterator[Case]:
    name = "bad-gradient-clipping"

    def clipped(*paths: GradientPath, kind: str = "SGD") -> Trace:
        trace = made(kind=kind)
        trace.wiring.gradient_paths = list(paths)
        return trace

    def path(after: float, at: float, place: Place | None = HERE, **facts: Any) -> GradientPath:
        return GradientPath(2, facts.pop("optimizer", "SGD"), after, at, place, **facts)

    for after, at in ((2.0, 0.1), (2.0, 0.11), (0.99, 0.1), (1.0, 0.1), (0.0, 0.0)):
        yield name, f"{after} becomes {at}", clipped(path(after, at), path(after, at)), "plateau"
        yield name, f"{after} becomes {at}", clipped(path(after, at), path(after, at)), "silently-wrong"
    yield name, "nobody clips", clipped(path(2.0, 0.01, None)), "plateau"
    yield name, "at half of the steps", clipped(path(2.0, 0.01), path(2.0, 2.0)), "plateau"
    yield name, "at most steps", clipped(path(2.0, 0.01, None), path(2.0, 0.01), path(2.0, 2.0)), "plateau"
    for at in (0.9e-5, 1.1e-5):
        yield name, f"Adam gets {at}", clipped(path(2.0, at, optimizer="Adam"), kind="Adam"), "plateau"
    scaled = (path(100.0, 1.0, unscaled_later=True), path(100.0, 1.0, unscaled_later=True))
    yield name, "before it is unscaled", clipped(*scaled), "silently-wrong"
    late = (path(2.0, 2.0, left=0.5, changed_later_at=HERE), path(2.0, 2.0, left=0.7), path(2.0, 2.0, left=2.0))
    yield name, "after the step", clipped(*late), "silently-wrong"
    for limit in (0.01, -0.01):
        for count in (1, 2):
            cut = [path(2.0, 1.5, cut_at=limit if number < count else None) for number in range(3)]
            yield name, f"at {limit}, on one side, at {count} of 3 steps", clipped(*cut), "instability"
    for by_norm in (True, False):
        for looks, seen, after in ((4, 4, 3), (4, 0, 0), (4, 4, 1)):
            trace = made()
            trace.wiring.clip_calls["a"] = ClipCalls(HERE, 0.5, by_norm, looks, seen, after)
            yield (
                name,
                f"a line that found {seen} and was late {after} of {looks} times, by norm: {by_norm}",
                trace,
                "silently-wrong",
            )


def _regularisation() -> Iterator[Case]:
    name = "too-much-regularization"
    for share in (0.64, 0.65):
        for module in ("drop", ""):
            trace = made()
            trace.numbers.dropouts = [DropoutRecord(share, module, THERE), DropoutRecord(0.1, "x")]
            yield name, f"dropout of {share} in {module or 'no module'}", trace, "plateau"
            yield name, f"dropout of {share} in {module or 'no module'}", trace, "silently-wrong"
    for kind, rate, decay in (
        ("AdamW", 0.1, 0.051),
        ("AdamW", 0.1, 0.049),
        ("SGD", 0.1, 0.05),
        ("SGD", 0.1, 0.049),
        ("SGD", 1.0, 0.0051),
    ):
        trace = made(kind=kind, lr={0: rate}, weight_decay=decay)
        yield name, f"{kind} at {rate} with a decay of {decay}", trace, "plateau"
    trace = made(weight_decay=1.0)
    trace.numbers.dropouts, trace.numbers.penalties = [DropoutRecord(0.9, "drop", THERE)], [HERE]
    yield name, "all at once", trace, "plateau"
    yield name, "a decay without steps", made(weight_decay=1.0, steps=0), "plateau"
    for last in (0.99, 1.01):
        trace = made(losses=[2.0, *[last] * 40])
        trace.numbers.penalties = [HERE, THERE]
        yield name, f"a penalty, and a loss that falls to {last}", trace, "plateau"
    for smoothing in (0.5, 0.51):
        trace = made()
        trace.loss.calls = [LossCall("cross_entropy", smoothing=smoothing, floor=1.0, chance=1.5, place=HERE)]
        yield name, f"smoothing of {smoothing}", trace, "silently-wrong"


def _halves() -> Iterator[Case]:
    name = "low-precision-overflow"
    for dtype in ("float16", "bfloat16"):
        for category in ("explosion", "plateau"):
            trace = made()
            trace.numbers.halves[dtype] = HalfRecord(dtype, "linear", "fc", 3, 100.0, HERE)
            yield name, f"computed in {dtype}", trace, category
            trace = made()
            trace.numbers.halves[dtype] = HalfRecord(dtype, "linear", "", 1, 1e4, HERE, "exp", THERE)
            yield name, f"an overflow in {dtype}", trace, category
            yield name, f"weights in {dtype}", made(weight("0.weight", dtype=dtype)), category
            for module in ("fc", ""):
                trace = made()
                given = (Range(-9.0, 3.0, 0.1, 0.0, dtype), Range(0.0, 1.0, 0.1, 0.0, "float32"))
                trace.numbers.culprit = FirstBadOperation(
                    "ExpBackward0", "backward", "inf", module, HERE, given, step=3
                )
                yield name, f"what breaks is in {dtype}, in {module or 'no module'}", trace, category
    yield name, "nothing is", made(), "explosion"


def _graphs() -> Iterator[Case]:
    name = "disconnected-graph"
    cut = weight("0.weight", gradients={0: None}, moved=False)

    def ends(*found: GraphEnd, grad: bool = True, parameter: ParameterRecord = cut) -> Trace:
        trace = made(parameter, weight("2.weight"))
        trace.wiring.graph_ends = list(found)
        trace.wiring.modules["0"].grad_enabled, trace.wiring.modules["0"].no_grad_at = grad, None if grad else HERE
        return trace

    mine = frozenset(("0.weight",))
    yield name, "nothing is known of its end", ends(), "plateau"
    yield name, "silently", ends(), "silently-wrong"
    yield name, "under no_grad", ends(grad=False), "plateau"
    yield name, "another's end", ends(GraphEnd(".detach()", "0", HERE, frozenset(("2.weight",)))), "plateau"
    log, made_new, detach = (GraphEnd(kind, "0", HERE, mine) for kind in (".item()", "torch.tensor()", ".detach()"))
    yield name, "a log, and a detach", ends(log, detach), "plateau"
    yield name, "a log, and a new tensor", ends(log, made_new), "plateau"
    yield name, "a new tensor, and a detach", ends(made_new, detach), "plateau"
    yield name, "outside of any module", ends(GraphEnd(".detach()", "", None, mine)), "plateau"
    yield (
        name,
        "rounded",
        ends(GraphEnd("round()", "0", HERE, mine), parameter=weight("0.weight", gradients={0: 0.0})),
        "plateau",
    )
    yield (
        name,
        "rounded, but it learns",
        ends(GraphEnd("round()", "0", HERE, mine), parameter=weight("0.weight")),
        "plateau",
    )
    yield (
        name,
        "frozen on the way",
        ends(parameter=weight("0.weight", gradients={0: None}, moved=False, frozen_since=1)),
        "plateau",
    )
    yield (
        name,
        "thrown away",
        ends(parameter=weight("0.weight", gradients={0: None}, moved=False, in_graph=False)),
        "plateau",
    )
    trace = ends()
    trace.loss_connected = False
    yield name, "a loss that reaches nothing", trace, "plateau"
    for steps in (2, 3):
        trace = made()
        trace.wiring.detached_samples["a"] = DetachedSample(place=HERE, penalty_only=True, steps=list(range(steps)))
        yield name, f"sample() at {steps} steps", trace, "silently-wrong"
    name = "updates-lost"
    for facts in ({}, {"written": True}, {"changed": True}, {"rate": 0.0}):
        still = weight("0.weight", moved=False, lost=LostUpdates(**{"count": 9, "rate": 0.1, **facts}))
        yield name, f"held, and still: {facts}", made(still, weight("2.weight")), "plateau"
    still = weight("0.weight", moved=False, lost=LostUpdates(9, 0.1), held_by=("Adam",))
    yield (
        name,
        "two, of an optimizer that is not recorded",
        made(still, weight("1.w", moved=False, lost=LostUpdates(9, 0.1))),
        "plateau",
    )
    for writes, back, shares in ((2, 2, [0.5] * 2), (3, 3, [0.5] * 3), (3, 2, [0.5] * 3), (9, 9, [1.0] * 9)):
        trace = made(weight("0.weight"), weight("2.weight"))
        trace.wiring.outside_writes["SGD"] = OutsideWrites(9, writes, {"0.weight", "2.weight"}, HERE, back, shares)
        yield name, f"written to {writes} times, {back} of them back to the start", trace, "plateau"
    name = "frozen-parameters-change"
    for by in ("SGD", "statistics"):
        for names in (("body.bn",), ("body.bn", "bn"), ("bn",)):
            trace = made(weight_decay=0.1)
            trace.wiring.frozen_changes = {each: FrozenChange(each, by, [0, 1]) for each in names}
            yield name, f"{names} moved by {by}", trace, "silently-wrong"
    for count in (1, 2):
        trace = made(
            *(weight(f"{n}.weight", gradients={0: 0.0}) for n in range(count)), weight("9.weight"), weight_decay=0.1
        )
        trace.wiring.zeroed_changes = {f"{n}.weight": FrozenChange(f"{n}.weight", "SGD", [0, 1]) for n in range(count)}
        yield name, f"{count} set to 0 by hand", trace, "silently-wrong"
    for decay in (0.0, 0.1):
        trace = made(weight_decay=decay)
        trace.wiring.zeroed_rows["r"] = FrozenRows("emb.weight", "SGD", [0, 1], 3, 9)
        yield name, f"rows of an embedding, with a decay of {decay}", trace, "silently-wrong"
    name = "wrong-mode"
    for trained, evaluated, place in (([], [0, 1], None), ([], [0, 1], HERE), ([0], [1, 2, 3], None), ([], [0], HERE)):
        trace = made()
        trace.wiring.modes["m"] = ModeRecord("Net", trained, evaluated, {"d": "Dropout", "a": "BatchNorm"}, place=place)
        yield name, f"trained {trained}, evaluated {evaluated}, {place}", trace, "silently-wrong"
    trace = made()
    trace.wiring.modes["m"] = ModeRecord("net.decoder", [], [0, 1], {"d": "Dropout"}, part="decoder", holder="net")
    yield name, "a part", trace, "silently-wrong"
    for path in ("", "teacher"):
        trace = made()
        trace.wiring.noisy_teachers["t"] = NoisyTeacher("teacher", ["drop"], [0, 1], path, HERE)
        yield name, f"a teacher at {path or 'no path'}", trace, "silently-wrong"
    trace = made()
    trace.wiring.modes["m"] = ModeRecord("Net", validated=[3, 9], validated_at=HERE)
    yield name, "evaluated in training mode", trace, "silently-wrong"
    for anew, maker in ((True, "user"), (False, "user"), (False, "timm")):
        trace = made()
        trace.probe = ProbeRecord(8, dropouts=[LastingDropout("Net", "F.dropout()", anew, HERE, maker)])
        yield name, f"dropout that lasts, made anew: {anew}, by {maker}", trace, "silently-wrong"


def _inputs() -> Iterator[Case]:
    def probed(**facts: Any) -> Trace:
        trace = made()
        trace.probe = ProbeRecord(8, **facts)
        return trace

    for known_from in ("mask", "lengths", "padding_idx"):
        for facts in (
            {},
            {"unused": True},
            {"longer": False},
            {"operation": "gru", "place": HERE},
            {"operation": "multi_head_attention_forward"},
            {"operation": "mean", "made_by": "timm"},
        ):
            record = PaddingRecord("Net", "m", "tokens", 0.3, 9, 12, known_from=known_from, **facts)
            yield (
                "mask-ignored",
                f"known from {known_from}, {sorted(facts)}",
                probed(paddings=[record]),
                "silently-wrong",
            )
        for function in ("cross_entropy", "mse_loss"):
            record = PaddingRecord(
                "Net",
                "m",
                "tokens",
                0.3,
                9,
                12,
                known_from=known_from,
                in_loss=True,
                counted=1200,
                positions=5000,
                function=function,
                filling=0.0,
                place=HERE,
            )
            yield (
                "mask-ignored",
                f"{function} counts it, from {known_from}",
                probed(paddings=[record]),
                "silently-wrong",
            )
    for known_from in ("mask", "padding_idx", "pad_token_id"):
        facts = {"known_from": known_from, "in_loss": True, "counted": 60, "positions": 224, "filling": 0.0}
        record = PaddingRecord("Net", "m", "tokens", 0.3, 9, 12, labels="labels", **facts)
        yield "mask-ignored", f"in the labels, from {known_from}", probed(paddings=[record]), "silently-wrong"
    for misused in ("missing", "inverted"):
        for share in (0.3, 0.0):
            record = PaddingRecord("Net", "m", "tokens", share, 9, 12, misused=misused, longer=False)
            yield "mask-ignored", f"{misused}, {share} by padding", probed(paddings=[record]), "silently-wrong"
    edited = probed(
        paddings=[PaddingRecord("Net", "m", "t", 0.3, 9, 12)], mask_edits=[MaskEdit("Net", "m", True, 0.6, 0.5)]
    )
    yield "mask-ignored", "a mask that is written to", edited, "silently-wrong"
    for operation in ("", "__getitem__", "select", "view", "softmax", "matmul"):
        for facts in (
            {},
            {"for_all": 3},
            {"module": "rnn", "module_class": "LSTM(batch_first=False)", "given": (4, 5)},
            {"module": "Net"},
            {"module": "sub", "place": HERE},
        ):
            record = MixingRecord("Net", 0, 16, 9, 0.4, operation=operation, **facts)
            yield "batch-mixing", f"by {operation or 'something'}, {facts}", probed(mixing=[record]), "silently-wrong"
    loss = MixingRecord("the loss", 2, 16, 9, 0.4, operation="softmax", given=(16, 5), in_loss=True, place=HERE)
    yield "batch-mixing", "in the loss", probed(mixing=[loss]), "silently-wrong"
    yield (
        "batch-mixing",
        "carried over",
        probed(mixing=[MixingRecord("Net", 0, 9, 9, 1.0, carried="h", place=HERE)]),
        "plateau",
    )
    for argument in (True, False):
        edit = MaskEdit("Net", "mask", argument, 0.6, 0.5, HERE)
        yield "in-place-modification", f"a mask of the data: {argument}", probed(mask_edits=[edit]), "silently-wrong"
    name = "ignores-input"
    x: dict[str, Any] = {"name": "x", "model": "Net", "shape": (16, 8), "place": HERE}
    y: dict[str, Any] = {**x, "name": "y"}
    for title, records in {
        "one": [InputRecord(**x, ignored=True)],
        "two": [InputRecord(**x, ignored=True), InputRecord(**y, ignored=True)],
        "of a package": [InputRecord(**x, ignored=True, made_by="timm")],
        "hidden": [InputRecord(**x, ignored=True, hidden=True)],
        "a column": [InputRecord(**x, unit="column", parts=8, ignored_parts=(3,))],
        "columns": [InputRecord(**x, unit="column", parts=8, ignored_parts=(1, 3, 4))],
        "a range": [InputRecord(**x, unit="column", parts=8, ignored_parts=(3, 4, 5))],
        "positions": [InputRecord(**x, unit="position", parts=8, ignored_parts=(0, 1, 2, 3, 4, 5, 6))],
        "within the data": [InputRecord(**x, within_the_data=True)],
        "within the data, and another": [InputRecord(**x, within_the_data=True), InputRecord(**y)],
    }.items():
        for category in ("silently-wrong", "plateau"):
            yield name, title, probed(inputs=records), category
    mixed = probed(
        inputs=[InputRecord(**x, unit="position", parts=8, ignored_parts=(0, 1))],
        mixing=[MixingRecord("Net", 0, 16, 9, 0.4)],
    )
    yield name, "positions, where samples are read as a sequence", mixed, "silently-wrong"
    for low, high, std, size in ((0.0, 0.0, 0.0, 16), (0.0, 1.0, 0.0, 16), (0.0, 0.0, 0.1, 16), (0.0, 0.0, 0.0, 1)):
        trace = made()
        trace.batch_size = size
        trace.data.scales = [ScaleRecord("x", (16, 8), 0.0, std, low, high)]
        yield name, f"{low} to {high}, spread {std}, of {size}", trace, "plateau"
        yield name, f"{low} to {high}, spread {std}, of {size}", trace, "silently-wrong"


def _outputs() -> Iterator[Case]:
    name = "wrong-output-activation"

    def called(call: LossCall) -> Trace:
        trace = made()
        trace.loss.calls = [call]
        return trace

    for module in ("act", ""):
        for function, activation, facts in (
            ("mse_loss", "sigmoid", {"unreachable": 0.03}),
            ("mse_loss", "sigmoid", {"unreachable": 0.01}),
            ("squared difference", "lstm", {"unreachable": 0.5}),
            ("mse_loss", "relu", {"unreachable": 0.5}),
            ("mse_loss", "log_softmax", {"unreachable": 0.5}),
            ("mse_loss", "exp", {"unreachable": 0.5}),
            ("cross_entropy", "tanh", {}),
            ("cross_entropy", "tanh", {"classes": 1}),
            ("cross_entropy", "softmax", {}),
            ("cross_entropy", "gru", {}),
            ("nll_loss", "tanh", {}),
            ("binary_cross_entropy_with_logits", "relu", {}),
            ("binary_cross_entropy_with_logits", "sigmoid", {}),
            ("mse_loss", "softmax", {"over": 1}),
            ("binary_cross_entropy", "softmax", {"over": 1}),
            ("mse_loss", "softmax", {"over": 1, "error": "ValueError"}),
        ):
            target, given = TensorSummary((8, 4), low=-2.0, high=3.0), TensorSummary((8, 4), low=0.0, high=1.0)
            call = LossCall(
                function,
                activation=activation,
                activation_module=module,
                place=HERE,
                input=given,
                target=target,
                **facts,
            )
            yield name, f"{activation} of {module or 'no module'} before {function}, {facts}", called(call), "plateau"
    labels = TensorSummary((8, 4), low=0, high=1, whole=True)
    shared = LossCall("binary_cross_entropy", activation="softmax", over=4, input=TensorSummary((8, 4)), target=labels)
    yield name, "a softmax shares 1 among labels", called(shared), "plateau"
    for kind, category in (("Sigmoid", "silently-wrong"), ("Other", "silently-wrong"), ("Sigmoid", "plateau")):
        trace = made()
        trace.wiring.modules["act"] = ModuleRecord("act", kind, place=THERE)
        trace.loss.generator_ranges = [
            GeneratorRange(step, "critic", "sigmoid", "act", None, -1.0, 2.0, HERE, 0.4) for step in (0, 1)
        ]
        yield name, f"a generator that ends in {kind}", trace, category
    for name, trace in (("saturated-activations", made()), ("dead-activations", made())):
        for share in (0.49, 0.5, 0.89, 0.9, 1.0):
            for module in ("act", ""):
                trace = made(weight("0.weight", gradients={0: 0.0}), weight("2.weight"))
                trace.numbers.activations["a"] = ActivationRecord(
                    "relu", module, 8, dead={0: share}, saturated={0: share}, place=HERE, in_place=bool(module)
                )
                yield name, f"{share} of the units in {module or 'no module'}", trace, "plateau"
    for looks, probe in (
        ({0: 1.0, 1: 1.0, 2: 1.0, 4: 1.0}, False),
        ({0: 1.0, 1: 1.0, 2: 1.0}, False),
        ({0: 1.0, 1: 1.0, 2: 1.0, 4: 0.9}, False),
        ({0: 1.0}, True),
    ):
        trace = made()
        trace.numbers.activations["a"] = ActivationRecord("relu", "act", 8, dead=looks)
        trace.probe = ProbeRecord(8, inputs=[InputRecord("x", "Net", (8,), ignored=True)]) if probe else None
        yield "dead-activations", f"at looks {looks}, an ignored input: {probe}", trace, "silently-wrong"
    for feeds, units in (("fc", 10), ("", 10)):
        trace = made()
        trace.numbers.activations["a"] = ActivationRecord("softmax", "act", units, place=HERE, feeds=feeds)
        yield "saturated-activations", f"a softmax that feeds {feeds or 'nothing'}", trace, "plateau"
    for output, target in (((8, 1), (8,)), ((8,), (8, 1)), ((8, 1), (1, 8)), ((8, 1), (8, 1))):
        call = LossCall(
            "mse_loss", input=TensorSummary(output), target=TensorSummary(target), terms=64, samples=8, place=HERE
        )
        yield "target-shape-mismatch", f"{output} with {target}", called(call), "plateau"
    difference = LossCall(
        "difference", input=TensorSummary((8, 1)), target=TensorSummary((8,)), result_shape=(8, 8), samples=8
    )
    yield "target-shape-mismatch", "a difference by hand", called(difference), "plateau"


def _loops() -> Iterator[Case]:
    name = "batch-too-small"
    for values, size, crash, category in (
        ({"bn": 2}, 2, None, "plateau"),
        ({"bn": 3}, 3, None, "plateau"),
        ({"bn": 1, "bn2": 2}, 2, None, "plateau"),
        ({"bn": 1}, 1, "more than 1 value per channel", "crash"),
        ({"bn": 1}, 9, "more than 1 value per channel", "crash"),
        ({"bn": 1}, 9, "another error", "crash"),
        ({"bn": 1}, 9, None, "crash"),
        ({"bn": 2}, 9, None, "silently-wrong"),
        ({"bn": 2}, 7, None, "silently-wrong"),
        ({"bn": 2}, None, None, "plateau"),
    ):
        trace = made()
        trace.numbers.values_per_channel, trace.batch_size = dict(values), size
        trace.numbers.most_values_per_channel = dict(values)
        trace.wiring.modules["bn"] = ModuleRecord("bn", "BatchNorm1d", place=THERE if size != 1 else None)
        trace.crash = None if crash is None else Crash("ValueError", crash, 3, HERE)
        yield name, f"{values} of {size}, {crash}", trace, category
    name = "in-place-modification"
    for by_step in (True, False):
        trace = made()
        trace.data.sample_change = SampleChange("Digits", "images", 2, (0.5, 0.6, 0.7), HERE, by_step)
        yield name, f"a sample that changes, by the step: {by_step}", trace, "silently-wrong"
    for title, changes in {
        "grows": {0: 0.5, 1: 0.6, 2: 0.7, 4: 1.1},
        "not beyond its size": {0: 0.5, 1: 0.6, 2: 0.7, 4: 0.9},
        "three looks": {0: 0.5, 1: 0.6, 2: 1.7},
        "comes back": {0: 0.5, 1: 0.6, 2: 0.5, 4: 1.1},
        "begins late": {0: 0.0, 1: 0.6, 2: 0.7, 4: 1.1},
    }.items():
        for count in (1, 2):
            trace = made()
            trace.data.kept_tensors = {str(n): KeptTensor(f"pe{n}", 1.0, changes, HERE) for n in range(count)}
            yield name, f"{count} kept: {title}", trace, "instability"
    name = "thread-oversubscription"
    for threads, cores, workers, load in (
        (2, 2, 0, None),
        (3, 2, 0, None),
        (2, 2, 1, None),
        (1, 1, 9, None),
        (2, 4, 0, 4.1),
        (2, 4, 0, 3.9),
        (4, 2, 0, 4.1),
    ):
        trace = made()
        speed = trace.speed
        speed.threads, speed.cores, speed.workers, speed.load = threads, cores, workers, load
        yield name, f"{threads} threads, {cores} cores, {workers} workers, a load of {load}", trace, "performance"
    name = "recompilation"
    for compiled, because in (
        ({5: 1, 6: 1, 7: 1}, ""),
        ({4: 1, 6: 1, 7: 1}, ""),
        (dict.fromkeys(range(30), 1), "self.n == 3"),
        ({5: 1, 6: 1, 7: 1}, "size mismatch at index 0  # y = x + 1  # hint"),
        ({5: 1, 6: 1, 7: 1}, "dtype mismatch  # " + "y" * 70),
        ({5: 1, 6: 1, 7: 1}, "x is None"),
    ):
        trace = timed()
        trace.speed.compiled, trace.speed.compiled_because = dict(compiled), because
        yield name, f"compiled at {sorted(compiled)[:4]}, because {because[:20]}", trace, "performance"
    name = "small-batch-overhead"
    for joined in (0.011, 0.015, 0.02, 0.03, 0.06):
        trace = timed()
        trace.speed.joined = JoinedRecord(4, 0.01, joined)
        yield name, f"four joined take {joined}", trace, "performance"


def _data() -> Iterator[Case]:
    name = "labels-not-aligned"
    for title, found in {
        "in order": Alignment(256, "classes", 0.1, 0.9, 0.9),
        "by the data": Alignment(256, "classes", 0.1, 0.1, 0.9, "the next", place=HERE),
        "by the step": Alignment(256, "values", 0.0, -0.1, 0.9, "its place", "step", place=HERE),
        "crossed": Alignment(2560, "values", 0.0, 0.0, 0.0, "its place", "step", 1235, HERE),
        "at chance": Alignment(256, "classes", 0.1, 0.1, 0.1, at_chance=True, structured=True),
        "at chance, noise": Alignment(256, "classes", 0.1, 0.1, 0.1, at_chance=True),
        "structured": Alignment(256, "classes", 0.1, 0.1, 0.1, structured=True),
    }.items():
        for category in ("silently-wrong", "plateau"):
            trace = made()
            trace.data.alignment = found
            yield name, title, trace, category
    trace = made()
    trace.data.repaired = Repaired(1920, 1400, HERE)
    yield name, "another target in each epoch", trace, "silently-wrong"
    trace = made()
    trace.data.repaired = Repaired(6, 51, HERE, later=16)
    yield name, "another target in each of many small epochs", trace, "silently-wrong"
    for facts in ({}, {"argument": False, "place": HERE}, {"by_asking": True}):
        twice = made()
        twice.probe = ProbeRecord(8, shifted_twice=[ShiftedTwice("Net", "tokens", "labels", 126, 1.0, **facts)])
        yield name, f"moved twice, {sorted(facts)}", twice, "silently-wrong"
    name = "outliers"
    for ratio in (29.0, 31.0, 99.0, 101.0, 999.0, 1001.0):
        trace = made()
        trace.data.scales = [
            ScaleRecord("x", (16, 8), 0.0, 1.0, -500.0, 200.0, outlier=3, outlier_ratio=ratio, place=HERE)
        ]
        yield name, f"{ratio} times the others", trace, "instability"
    name = "nan-in-data"
    for bad in (0, 3):
        trace = made()
        trace.data.fields = {2: [FieldRecord("x", (16, 8), "float32", 0.0, 1.0, nonfinite=bad, bad_sample=5)]}
        yield name, f"{bad} values", trace, "explosion"
    name = "unnormalized-inputs"
    for mean, std, largest in ((5.1, 1.0, 6.0), (4.9, 1.0, 6.0), (0.0, 5.1, 6.0), (0.0, 1.0, 51.0)):
        for target in (False, True):
            for category in ("plateau", "explosion"):
                trace = made()
                trace.data.scales = [
                    ScaleRecord("x", (16, 8), mean, std, -9.0, 60.0, largest, place=HERE),
                    ScaleRecord("y", (16,), 20.0 * mean, 2.0 * std, -9.0, 900.0, largest, target=target, place=THERE),
                ]
                yield name, f"{mean}, {std}, {largest}; targets too: {target}", trace, category


def _capacity() -> Iterator[Case]:
    name = "insufficient-capacity"

    def model(*layers: ParameterRecord, operations: str = "linear relu", steps: int = 64, terms: int = 0) -> Trace:
        trace = made(*layers, losses=[2.0] * steps)
        trace.numbers.operations = set(operations.split())
        trace.loss.calls = [LossCall("mse_loss", terms=terms)]
        return trace

    def layer(n: int, fan_in: int, units: int, **facts: Any) -> ParameterRecord:
        return weight(f"{n}.weight", fan_in, units, **facts)

    yield name, "one linear layer", model(layer(0, 8, 4), operations="linear"), "plateau"
    yield name, "two linear layers", model(layer(0, 8, 64), layer(1, 64, 4), operations="linear flatten add"), "plateau"
    yield name, "a low rank", model(layer(0, 8, 3), layer(1, 3, 4), operations="linear"), "plateau"
    for units in (1, 2, 3):
        layers = (layer(0, 8, 64), layer(1, 64, units), layer(2, units, 4))
        yield name, f"{units} units in between", model(*layers), "plateau"
    yield name, "two units, two outputs", model(layer(0, 8, 64), layer(1, 64, 2), layer(2, 2, 2)), "plateau"
    yield name, "two units beside", model(layer(0, 8, 64), layer(1, 64, 2), layer(2, 64, 4)), "plateau"
    for kernel in (1, 3):
        kernels = [layer(n, 8, 8, module_class="Conv2d") for n in range(2)]
        for each in kernels:
            each.shape = (8, 8, kernel, kernel)
        yield name, f"kernels of {kernel}", model(*kernels, operations="conv2d relu"), "plateau"
        yield name, f"kernels of {kernel} and a pool", model(*kernels, operations="conv2d relu max_pool2d"), "plateau"
    for terms in (32, 33):
        yield name, f"32 values, {terms} targets", model(layer(0, 8, 4), terms=terms), "plateau"
    for steps in (49, 50):
        yield name, f"{steps} steps", model(layer(0, 8, 4), operations="linear", steps=steps), "plateau"
    yield name, "it does not move", model(layer(0, 8, 4, moved=False), operations="linear"), "plateau"
    yield (
        name,
        "something is frozen",
        model(layer(0, 8, 4), layer(1, 4, 4, trainable=False), operations="linear"),
        "plateau",
    )
    yield name, "at a crawl", model(layer(0, 8, 4, updates={0: 1e-6}), operations="linear"), "plateau"
    yield name, "nothing is wrong", model(layer(0, 8, 64), layer(1, 64, 4)), "plateau"
    name = "vanishing-gradients"
    for share in (0.9e-3, 1.1e-3, 1e-5, 1e-9):
        layers = (layer(n, 8, 8, gradients={0: size, 1: size}) for n, size in enumerate((share, share, 1.0, 1.0)))
        yield name, f"{share} of the last one's", made(*layers), "plateau"


def _schedules() -> Iterator[Case]:
    gone = [0.1] * 10 + [0.0] * 54
    for kind, calls in (
        ("StepLR", 64),
        ("StepLR", 57),
        ("StepLR", 3),
        ("LambdaLR", 64),
        ("ReduceLROnPlateau", 64),
        ("ReduceLROnPlateau", 9),
        ("CosineAnnealingLR", 9),
    ):
        for place in (HERE, None):
            trace = made(rates=gone, initial_lr=0.1)
            trace.wiring.schedulers = [
                SchedulerRecord(kind, "SGD", calls, list(range(calls)), place, THERE, patience=2)
            ]
            for name in ("scheduler-misuse", "lr-decayed-too-early"):
                yield name, f"gone, {kind} stepped {calls} times at {place}", trace, "plateau"
    bare = made(rates=gone)
    two = made(rates=gone, initial_lr=0.1)
    two.wiring.schedulers = [SchedulerRecord(kind, "SGD", 80, []) for kind in ("LambdaLR", "CosineAnnealingLR")]
    for name in ("scheduler-misuse", "lr-decayed-too-early"):
        yield name, "gone, by the training", bare, "plateau"
        yield name, "gone, by two", two, "plateau"
    low = SchedulerRecord("OneCycleLR", "SGD", 2, [19, 39], HERE, THERE, peak=0.5, total_steps=200)
    for title, rates, base, scheduler in (
        ("zero", [0.0] * 64, 0.1, SchedulerRecord("LambdaLR", "SGD", 64)),
        ("zero, by nobody", [0.0] * 64, 0.1, None),
        ("runaway", [0.01] * 40 + [0.2] * 24, 0.01, SchedulerRecord("LambdaLR", "SGD", 64)),
        ("low", [0.001] * 64, 0.1, SchedulerRecord("LambdaLR", "SGD", 64)),
        ("below its peak", [0.02] * 64, 0.02, low),
        ("bounces", [0.1, 0.1, 0.001, 0.001] * 16, 0.1, SchedulerRecord("CosineAnnealingLR", "SGD", 64)),
        ("bounces once an epoch", [0.1, 0.1, 0.001, 0.001] * 16, 0.1, SchedulerRecord("CosineAnnealingLR", "SGD", 4)),
    ):
        trace = made(rates=list(rates), initial_lr=base)
        trace.wiring.schedulers = [] if scheduler is None else [scheduler]
        yield "scheduler-misuse", title, trace, "plateau"
        yield "scheduler-misuse", title, trace, "silently-wrong"
    for category in ("silently-wrong", "plateau"):
        for patience in (None, 0, 3):
            trace = made(losses=[3.0, 2.0, 1.0], rates=[0.1, 0.01, 0.001])
            trace.wiring.schedulers = [
                SchedulerRecord(
                    "ReduceLROnPlateau",
                    "SGD",
                    3,
                    [0, 1, 2],
                    HERE,
                    HERE,
                    mode="max",
                    fed=[3.0, 2.0, 1.0],
                    patience=patience,
                )
            ]
            yield "scheduler-misuse", f"waits for a rise, patience {patience}", trace, category
    for settings in ({"momentum": 0.99}, {"momentum": 0.98}, {"betas[0]": 0.999, "betas[1]": 0.9}, {"eps": 0.1}, {}):
        yield "bad-momentum", f"{settings}", made(settings=dict(settings)), "plateau"


def timed(wait: float = 0.0, compute: float = 0.01, transfer: float = 0.0) -> Trace:
    trace = made(losses=[1.0] * 30)
    trace.speed.waits, trace.speed.computes = [wait] * 30, [compute] * 30
    trace.speed.phases = {step: Phases(transfer, 0.004, 0.003, 0.001) for step in range(30)}
    trace.speed.cores = 4
    return trace


def _loading() -> Iterator[Case]:
    name = "data-loading-bottleneck"
    for wait, transfer in ((0.0049, 0.0), (0.0051, 0.0), (0.02, 0.0), (0.0, 0.005), (0.004, 0.005), (0.0, 0.0)):
        yield name, f"waits {wait}, moves for {transfer}", timed(wait, transfer=transfer), "performance"
    for facts in (
        {},
        {"workers": 1},
        {"workers": 3},
        {"workers": 4},
        {"workers": 8},
        {"item": 0.0},
        {"item": 0.0005},
        {"item": 0.003},
        {"item": 0.1},
        {"item": 0.1, "busy": 0.4},
        {"item": 0.1, "busy": 0.5, "workers": 8},
        {"collate": 0.03, "workers": 8},
        {"collate": 0.09},
        {"iterable": True},
        {"iterable": True, "collate": 0.09},
        {"item": 0.1, "workers": 9},
        {"item": 0.0019, "workers": 2},
        {"item": 0.0001},
    ):
        trace = timed(0.02)
        trace.speed.loading = LoadingRecord(
            **{
                "dataset": "Digits",
                "workers": 0,
                "batch_size": 10,
                "item": 0.002,
                "item_place": HERE,
                "collate_place": THERE,
                **facts,
            }
        )
        yield name, f"loads with {facts}", trace, "performance"


def _memory() -> Iterator[Case]:
    name = "memory-growth"
    codes = (
        "losses.append(loss)",
        "total += loss",
        "total = total + loss",
        "seen.extend(loss)",
        "x = y + loss",
        "outs.append(out)",
        "outs.append([loss])",
        "total += a * b",
        "total += -loss",
        "total += {}",
        "pairs.append((a, b))",
        "not code (",
        "a; b",
        "outs.append([a, b])",
        "total += F.cross_entropy(a, b)",
        "seen.add(loss, 1)",
        "a.b[0] += c.d[1]",
    )
    for code in codes:
        trace = made()
        trace.speed.kept_graphs = [KeptGraph("list", "losses", 3, 9, 30, 90, 7, Place("train.py", 4, code))]
        yield name, code, trace, "growing-memory"
    for before, after, nodes_before, nodes_after, steps in (
        (3, 3, 30, 36, 7),
        (3, 3, 30, 35, 7),
        (1, 9, 1, 9, 1),
        (3, 4, 1000, 9000, 7),
    ):
        trace = made()
        trace.speed.kept_graphs = [
            KeptGraph("the variable", "total", before, after, nodes_before, nodes_after, steps),
            KeptGraph("list", "small", 1, 1, 1, 7, 7, HERE),
        ]
        yield name, f"{before} to {after}, {nodes_before} to {nodes_after} in {steps}", trace, "growing-memory"
