"""What is known of a training before any change is tried: it decides which changes make sense for it."""

from __future__ import annotations

import os
from dataclasses import dataclass

import torch
from torch import nn
from torch.utils.data import DataLoader, IterableDataset

from ..analysis.learning_rates import warming_up
from ..records.trace import Trace
from ..records.wiring import OptimizerRecord
from ..training import Training, is_one_batch

#: Optimizers whose step is about as long as the rate, whatever the size of the gradient: with k times the batch their
#: rate grows by the root of k. The others' grows by k.
_ADAPTIVE = {"Adam", "AdamW", "NAdam", "RAdam", "Adamax", "RMSprop", "Adagrad", "Adadelta", "Adafactor", "Lion", "Muon"}
#: Those of torch that have a fused version on every device that it knows.
_FUSED = {"Adam", "AdamW", "SGD", "Adagrad"}


@dataclass(frozen=True)
class Traits:
    optimizers: tuple[OptimizerRecord, ...] = ()
    #: The learning rate is still rising at the last step.
    warming_up: bool = False
    #: Samples of a batch, and how many batches there are; None where nothing tells.
    batch: int | None = None
    batches: int | None = None
    one_batch: bool = False
    own_step: bool = False
    #: Worker processes of its loader; None where it has no DataLoader whose samples workers could share.
    workers: int | None = None
    cores: int = 1
    convolutions: bool = False
    half: bool = False
    compiled: bool = False
    fused: bool = False
    #: Vectors that weight decay acts on.
    decayed_vectors: int = 0

    @property
    def optimizer(self) -> OptimizerRecord | None:
        return next((each for each in self.optimizers if each.steps), None)

    @property
    def adaptive(self) -> bool:
        return self.optimizer is not None and self.optimizer.kind in _ADAPTIVE

    @property
    def can_be_fused(self) -> bool:
        return self.optimizer is not None and self.optimizer.kind in _FUSED and not self.fused


def traits_of(training: Training, trace: Trace) -> Traits:
    """`trace`: of a run of it as it is."""
    modules = [each for model in training.modules.values() for each in model.modules()]
    decayed = any(each.weight_decay for each in trace.wiring.optimizers.values())
    vectors = [p for p in trace.wiring.parameters.values() if p.trainable and p.held_by and len(p.shape) <= 1]
    return Traits(
        optimizers=tuple(trace.wiring.optimizers.values()),
        warming_up=warming_up(trace),
        batch=trace.batch_size,
        batches=trace.batches,
        one_batch=training.data is None or is_one_batch(training.data),
        own_step=training.step is not None,
        workers=_workers(training.data),
        cores=len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
        convolutions=any(isinstance(each, nn.Conv2d) for each in modules),
        half=training.precision is not None
        or any(p.dtype in (torch.float16, torch.bfloat16) for m in training.modules.values() for p in m.parameters()),
        compiled=any(_is_compiled(each) for each in modules),
        fused=any(g.get("fused") for each in training.optimizers.values() for g in each.param_groups),
        decayed_vectors=len(vectors) if decayed else 0,
    )


def _workers(data: object) -> int | None:
    """Workers that read on in one stream would each give all of it: only samples that have a number can be shared."""
    if not isinstance(data, DataLoader) or isinstance(data.dataset, IterableDataset):
        return None
    return data.num_workers


def _is_compiled(module: nn.Module) -> bool:
    return type(module).__name__ == "OptimizedModule" or module._compiled_call_impl is not None
