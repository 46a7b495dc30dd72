"""What tells the causes of one symptom apart: for each, what to look at first, and which causes each sign speaks for.

A symptom has up to fifty causes. Nobody reads them in a row: a reader looks at one thing, and what is seen there leaves
a handful. Not for the diagnosis, which measures; for the pages of the symptoms.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..records import symptoms


@dataclass(frozen=True)
class Signs:
    """`first`: one thing to look at, and how. `tell_apart`: what may be seen there, and the causes that it speaks for.

    `called`: what people call it who do not know its name here, for those who ask with their own words.
    """

    first: str
    tell_apart: tuple[tuple[str, tuple[str, ...]], ...] = ()
    called: str = ""


SIGNS: dict[str, Signs] = {
    symptoms.NOT_LEARNING: Signs(
        "Which parameters get a gradient, which are held by an optimizer, and which move? `gradients_flow` says so for "
        "each. Only where all of them move is the loss worth looking at: is it that of a guess, ln(classes)?",
        (
            (
                "no parameter moves at all",
                (
                    "missing-optimizer-step",
                    "gradients-cleared-before-step",
                    "empty-optimizer-steps",
                    "updates-lost",
                    "loss-scaler-misuse",
                ),
            ),
            ("some get no gradient", ("disconnected-graph", "unused-parameters", "frozen-parameters")),
            ("some get gradients and do not move", ("parameters-not-in-optimizer", "scheduler-misuse")),
            (
                "gradients shrink from the last layer to the first",
                ("vanishing-gradients", "saturated-activations", "bad-initialization", "dead-activations"),
            ),
            (
                "all move, and the loss stays at that of a guess",
                ("ignores-input", "batch-mixing", "target-shape-mismatch", "invalid-labels", "lost-initialization"),
            ),
            (
                "all move, and the loss stops at one value far above 0",
                ("double-softmax", "wrong-output-activation", "missing-activation-for-loss", "ignored-class"),
            ),
            ("all move, by less than 0.001 % of their size", ("bad-gradient-clipping", "loss-reduction", "lr-too-low")),
            (
                "the loss jumps up and down instead of being flat",
                ("missing-zero-grad", "unnormalized-inputs", "exploding-gradients", "lr-too-high"),
            ),
        ),
        called="stuck, constant, does not decrease, does not go down, not improving, weights do not change, zero "
        "gradients, always predicts the same class",
    ),
    symptoms.NO_RATE: Signs(
        "Print `optimizer.param_groups[i]['lr']` before each of the first steps.",
        (
            ("it is 0 from the start and stays so", ("scheduler-misuse",)),
            ("a group was made with a rate of 0, or nearly", ("lr-too-low",)),
        ),
    ),
    symptoms.PLATEAU: Signs(
        "The shape of the curve on one batch (`overfits_one_batch`, with -v): is it flat, a straight line down, or a "
        "saw? And where does it stop: at 0, at that of a guess, or between?",
        (
            ("a straight line that never bends", ("bad-gradient-clipping", "lr-too-low")),
            ("a saw with the same height all the time", ("needs-lr-decay", "lr-too-high", "batch-too-small")),
            ("flat at a value that the loss cannot get below", ("double-softmax", "wrong-output-activation")),
            ("flat, and lower without regularisation", ("too-much-regularization",)),
            ("flat, and lower in evaluation mode, or in a larger model", ("wrong-mode", "insufficient-capacity")),
            (
                "flat, and some layers no longer move",
                ("dead-activations", "saturated-activations", "vanishing-gradients", "parameters-not-in-optimizer"),
            ),
            ("flat from where the learning rate has come near 0", ("lr-decayed-too-early", "scheduler-misuse")),
            ("low on one batch, a guess on several", ("labels-not-aligned", "ignores-input")),
        ),
        called="stagnates, stuck after a while, no longer improves, stops decreasing, levels off",
    ),
    symptoms.INSTABILITY: Signs(
        "The norm of the gradient over the first twenty steps: does it grow steadily, jump once in a while, or stay "
        "the same while the loss jumps?",
        (
            ("it grows in a straight line from step to step", ("missing-zero-grad", "accumulation-not-scaled")),
            ("it jumps, with certain batches", ("outliers", "batch-too-small", "invalid-labels")),
            (
                "it is large from the start, in the first layers most",
                ("exploding-gradients", "unnormalized-inputs", "bad-initialization", "loss-reduction"),
            ),
            ("it stays the same, and the loss rises", ("wrong-loss-sign", "missing-activation-for-loss")),
            ("it stays the same, and the loss jumps to and fro", ("bad-momentum", "scheduler-misuse", "lr-too-high")),
        ),
        called="goes up and down, unstable, spikes, diverges, noisy, zigzag, bounces, increases, fluctuates",
    ),
    symptoms.EXPLOSION: Signs(
        "At which step, and which value is the first that is not finite? `trains_without_nan` names the operation and "
        "your line.",
        (
            ("an input of the model, or a target", ("nan-in-data", "invalid-labels")),
            (
                "the result of one operation whose inputs were ordinary (log, sqrt, division, exp)",
                ("unstable-operation", "missing-activation-for-loss"),
            ),
            ("a value beyond 65,504 in float16", ("low-precision-overflow", "loss-scaler-misuse")),
            (
                "gradients that have grown over some steps",
                ("exploding-gradients", "bad-gradient-clipping", "missing-zero-grad", "lr-too-high"),
            ),
            ("the very first forward pass", ("unnormalized-inputs", "bad-initialization", "outliers")),
        ),
        called="nan loss, explodes, inf, infinite, overflow, blows up",
    ),
    symptoms.OVERFITTING: Signs(
        "The two curves in one picture: do they part slowly, or are they apart from the first epoch on?",
        (
            ("they part slowly, the validation loss has a lowest point", ("overfitting",)),
            ("apart from the start, even before training", ("unnormalized-inputs", "wrong-mode")),
        ),
        called="overfits, memorises, gap, poor validation accuracy, does not generalise",
    ),
    symptoms.PERFORMANCE: Signs(
        "What a step consists of: the bar of `keeps_throughput` shows waiting, forward, backward and the optimizer.",
        (
            ("waiting is the largest part", ("data-loading-bottleneck",)),
            ("twice the samples take hardly longer", ("small-batch-overhead",)),
            ("one line or one operator takes most of it", ("slow-operation", "device-sync")),
            ("some steps take ten times as long as others", ("recompilation", "thread-oversubscription")),
            ("it was faster at another revision", ("throughput-regression",)),
        ),
        called="low utilisation, idle, bottleneck, takes long, throughput, speed",
    ),
    symptoms.MEMORY: Signs(
        "What outlives its step with a `grad_fn`: lists of losses, running totals, attributes of the model.",
        (("a tensor that is kept with its graph", ("memory-growth",)),),
        called="memory leak, out of memory after a while, oom, ram",
    ),
    symptoms.SILENT: Signs(
        "Change one thing and see what follows: another input, another sample beside it, a longer padding, the same "
        "batch in evaluation mode. `uses_its_input` does so.",
        (
            ("the output stays the same for another input", ("ignores-input",)),
            ("the output changes with the other samples of the batch", ("batch-mixing", "wrong-mode")),
            ("it changes with what stands behind the padding", ("mask-ignored",)),
            (
                "what is meant to be frozen, tied or updated once is not",
                ("frozen-parameters-change", "tied-weights-broken", "duplicate-parameters", "in-place-modification"),
            ),
            ("the loss is nearly 0 from the start", ("target-leakage", "ignored-class")),
            ("the loss is lower than it can be", ("wrong-loss-sign", "invalid-labels", "wrong-loss-for-task")),
            (
                "the loss falls, and the answers are wrong on other batches",
                ("labels-not-aligned", "target-shape-mismatch", "double-softmax"),
            ),
        ),
        called="bad predictions, accuracy too good, wrong results, too good to be true",
    ),
    symptoms.CRASH: Signs(
        "The innermost line of your own in the traceback, and the shapes, types and devices of what it was given.",
        (
            ("sizes that do not fit", ("shape-mismatch", "target-shape-mismatch")),
            ("types or devices that do not fit", ("dtype-mismatch", "device-mismatch")),
            ("an index or a label out of range", ("id-out-of-range", "invalid-labels")),
            (
                '"backward through the graph a second time", "modified by an inplace operation"',
                ("graph-used-twice", "in-place-modification"),
            ),
            ('"does not require grad"', ("disconnected-graph",)),
            ("StopIteration, or an iterator that is used up", ("data-used-up",)),
            ('"expected more than 1 value per channel"', ("batch-too-small",)),
            ("no memory left", ("out-of-memory",)),
        ),
        called="exception, runtime error, traceback, fails",
    ),
    symptoms.UNEQUAL: Signs(
        "The first step at which the two runs differ, and whether batch, weights and random numbers were still the "
        "same before it.",
        (
            ("other batches, or other random numbers", ("nondeterministic",)),
            ("the same until the checkpoint is loaded", ("checkpoint-incomplete",)),
            ("the same until an evaluation comes between", ("evaluation-changes-state", "wrong-mode")),
            ("gradients that differ by a factor", ("accumulation-not-scaled", "batch-mixing")),
            ("small differences that grow, in one of two precisions", ("precision-mismatch", "updates-lost")),
        ),
        called="not reproducible, nondeterministic, different results, seed, resume, checkpoint, bf16, fp16",
    ),
    symptoms.OUT_OF_STEP: Signs(
        "The parameters of every rank after the first update, and the samples that each of them got.",
        (("they differ, or the samples are the same", ("ranks-out-of-sync",)),),
        called="ddp, fsdp, distributed, multi gpu, hangs, deadlock, ranks",
    ),
    symptoms.FAULTY_DATA: Signs(
        "One batch, printed: ranges, labels, and the first sample as a person would look at it.",
        (
            ("values that are NaN or Inf, or far from all others", ("nan-in-data", "outliers")),
            ("features on different scales", ("unnormalized-inputs", "constant-features")),
            ("labels that the loss does not allow", ("invalid-labels",)),
            ("labels of the wrong samples, or contradicting ones", ("labels-not-aligned", "label-noise")),
            ("samples that are there twice, or in both sets", ("duplicated-samples", "data-leakage")),
            ("a feature that holds the answer", ("target-leakage",)),
            ("one class has nearly everything", ("class-imbalance",)),
        ),
        called="bad data, dirty data, labels, dataset, leakage",
    ),
    symptoms.OFF_RECORD: Signs(
        "What differs first: the start, the batch, the loss, a gradient, the rate or an update.",
        called="baseline, regression, changed",
    ),
    symptoms.WORSE: Signs(
        "The step from which on the two curves part, and what was changed between the two.",
        called="regression, worse than before",
    ),
}
