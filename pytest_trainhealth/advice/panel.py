"""The changes that are tried, one row each: how a run is changed, when that makes sense, and the code to paste.

All are hooks that cures use, too; nothing of the user's is edited. The panel is fixed, so that "no gain beyond noise"
means the same for everybody.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from .. import wording
from ..records.intervention import Cure
from ..records.wiring import OptimizerRecord
from .traits import Traits

#: How many batches are joined into one, and from how many parts a gradient is accumulated. By judgement: 4, as much as
#: a batch can be off without being another training.
TIMES = 4
#: The norm that gradients are clipped at: 1, as most recipes do.
_NORM = 1.0
#: Of the steps, in which the rate warms up. By judgement: a fifth, as a run here is the beginning of a longer one.
_WARMING = 0.2
#: Most worker processes that are tried. By judgement: 4, as more help few trainings, and need as many processors.
_MOST_WORKERS = 4


@dataclass(frozen=True)
class Change:
    name: str
    cures: tuple[Cure, ...]
    code: tuple[str, ...]
    #: Why it makes no sense here; empty if it does.
    unfit: str = ""
    #: Whether fewer steps may be needed with it, and whether a step may take another time.
    learns: bool = True
    timed: bool = False
    #: A rate that is lower from the start: less noise in the end, which a decay brings without slower progress before.
    lower_rate: bool = False
    #: The first run of it takes long.
    slow_start: bool = False


def panel(traits: Traits, steps: int) -> tuple[Change, ...]:
    """For runs of so many steps, in the order in which they are tried: what takes long comes last."""
    return (
        *(_rate(traits, factor) for factor in (3, 10)),
        *(_rate(traits, 1 / factor) for factor in (3, 10)),
        Change(
            "warm-up",
            (Cure("rate_schedule", "warm-up", {"warm_up": _warming(steps)}),),
            (
                f"scheduler = torch.optim.lr_scheduler.LinearLR(optimizer, 1 / {_warming(steps)}, 1.0, "
                f"total_iters={_warming(steps)})",
                "scheduler.step()  # after every optimizer.step()",
            ),
            _unfit_for_rates(traits),
        ),
        Change(
            "decay",
            (Cure("rate_schedule", "decay", {"decay": steps}),),
            (
                "scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=number_of_steps)",
                "scheduler.step()  # after every optimizer.step()",
            ),
            _unfit_for_rates(traits),
        ),
        Change(
            "clipping",
            (Cure("clip_gradients", "clipping", {"max_norm": _NORM}),),
            (f"torch.nn.utils.clip_grad_norm_(model.parameters(), {_NORM})  # before optimizer.step()",),
        ),
        Change(
            "no weight decay on biases and norms",
            (Cure("undecayed_vectors", "no weight decay on vectors"),),
            _undecayed(traits),
            "" if traits.decayed_vectors else "no weight decay acts on biases or norms",
        ),
        Change(
            "standardised inputs",
            (Cure("standardised_inputs", "standardised inputs", {"inputs": 0.0}),),
            (
                "mean, std = inputs.mean(0), inputs.std(0)  # of the training data",
                "inputs = (inputs - mean) / std.clamp_min(1e-6)",
            ),
        ),
        Change(
            "torch's own initialisation",
            (Cure("default_initialisation", "torch's own initialisation"),),
            (
                "for module in model.modules():",
                '    if hasattr(module, "reset_parameters"):',
                "        module.reset_parameters()",
            ),
        ),
        Change(
            "initialisation by unit variance",
            (Cure("reinitialise", "initialisation by unit variance"),),
            (
                "# once, layer by layer from the first to the last, with the inputs that each gets:",
                "layer.weight.data /= layer(inputs).std()",
            ),
        ),
        Change(
            f"batch x {TIMES}, the rate following",
            (
                Cure("larger_batches", f"batch x {TIMES}", {"count": TIMES}),
                Cure("learning_rate", "the rate following", {"factor": _following(traits)}),
            ),
            _larger_batch(traits),
            _unfit_for_larger_batches(traits),
            timed=True,
        ),
        Change(
            "fused optimizer",
            (Cure("fused_update", "fused optimizer"),),
            (_made_with(traits, "fused=True"),),
            "" if traits.can_be_fused else "the optimizer has no fused version, or is fused already",
            learns=False,
            timed=True,
        ),
        Change(
            "loader workers",
            (Cure("loader_workers", "loader workers", {"count": _worker_count(traits)}),),
            (f"DataLoader(..., num_workers={_worker_count(traits)}, persistent_workers=True)",),
            "" if traits.workers == 0 else "no DataLoader that loads in this process",
            learns=False,
            timed=True,
        ),
        Change(
            "bfloat16",
            (Cure("autocast", "bfloat16", {"dtype": "bfloat16"}),),
            (
                "with torch.autocast(device_type, torch.bfloat16):",
                "    loss = ...  # forward pass and loss; backward() outside",
            ),
            "a lower precision is in use already" if traits.half else "",
            learns=False,
            timed=True,
        ),
        Change(
            f"gradient accumulation from {TIMES} parts",
            (Cure("micro_batches", f"{TIMES} parts", {"count": TIMES}),),
            (
                f"for part in batch.chunk({TIMES}):",
                f"    (loss(model, part) / {TIMES}).backward()",
                "optimizer.step()",
            ),
            _unfit_for_parts(traits),
            learns=False,
            timed=True,
        ),
        Change(
            "channels-last",
            (Cure("channels_last", "channels-last"),),
            (
                "model = model.to(memory_format=torch.channels_last)",
                "images = images.to(memory_format=torch.channels_last)",
            ),
            "" if traits.convolutions else "no convolutions over images",
            learns=False,
            timed=True,
        ),
        Change(
            "torch.compile",
            (Cure("compiled", "torch.compile"),),
            ("model = torch.compile(model)",),
            learns=False,
            timed=True,
            slow_start=True,
        ),
    )


def _rate(traits: Traits, factor: float) -> Change:
    name = f"learning rate x {factor:g}" if factor > 1 else f"learning rate / {1 / factor:g}"
    return Change(
        name,
        (Cure("learning_rate", name, {"factor": factor}),),
        (_made_with(traits, "", factor),),
        _unfit_for_rates(traits),
        lower_rate=factor < 1,
    )


def _unfit_for_rates(traits: Traits) -> str:
    if traits.optimizer is None:
        return "no optimizer was seen to step"
    return "the learning rate is still rising at the last step: more steps would show it" if traits.warming_up else ""


def _unfit_for_larger_batches(traits: Traits) -> str:
    if traits.optimizer is None:
        return "no optimizer was seen to step"
    if traits.one_batch or (traits.batches is not None and traits.batches < 2 * TIMES):
        return f"fewer than {2 * TIMES} batches to join"
    return "" if traits.batch else "the batches do not say how many samples they have"


def _unfit_for_parts(traits: Traits) -> str:
    if traits.own_step:
        return "the step is your own: only you can cut its batches"
    return "" if traits.batch and traits.batch >= 2 * TIMES else f"batches of fewer than {2 * TIMES} samples"


def _following(traits: Traits) -> float:
    """The rate grows with the batch; with its root where steps are about as long whatever the gradient is."""
    return math.sqrt(TIMES) if traits.adaptive else float(TIMES)


def _worker_count(traits: Traits) -> int:
    """At least two: they also wait for disks and networks, which takes no processor."""
    return min(_MOST_WORKERS, max(traits.cores, 2))


def _warming(steps: int) -> int:
    return max(1, round(_WARMING * steps))


def _larger_batch(traits: Traits) -> tuple[str, ...]:
    size = "..." if traits.batch is None else str(TIMES * traits.batch)
    return (f"DataLoader(..., batch_size={size})", _made_with(traits, "", _following(traits)))


def _made_with(traits: Traits, more: str, factor: float = 1.0) -> str:
    """How the optimizer is made then, in the words that made it where these are known."""
    optimizer = traits.optimizer
    if optimizer is None:
        return f"optimizer = ...({more})"
    rate = optimizer.initial_lr or optimizer.first_lr
    given = [] if rate is None else [f"lr={wording.short(rate * factor)}"]
    if optimizer.rate_name and factor != 1.0 and rate is not None:
        return f"{optimizer.rate_name} = {wording.short(rate * factor)}  # instead of {wording.short(rate)}"
    was = "" if factor == 1.0 or rate is None else f"  # instead of {wording.short(rate)}"
    return f"{optimizer.kind}(model.parameters(), {', '.join([*given, *filter(None, [more])])}){was}"


def _undecayed(traits: Traits) -> tuple[str, ...]:
    optimizer: OptimizerRecord | None = traits.optimizer
    decay = wording.short(0.0 if optimizer is None else optimizer.weight_decay)
    return (
        "matrices = [p for p in model.parameters() if p.ndim > 1]",
        "vectors = [p for p in model.parameters() if p.ndim <= 1]",
        f'groups = [{{"params": matrices, "weight_decay": {decay}}}, {{"params": vectors, "weight_decay": 0.0}}]',
    )
