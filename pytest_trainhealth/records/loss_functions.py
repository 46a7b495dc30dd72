"""Torch's loss and activation functions by name, with what is known about each: the one table that all others read.

Names only, so that reading a record of calls needs no torch.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import Literal

#: A class of several; true or false, as 1 and 0; the same as 1 and -1; numbers, which the input should approach; or
#: something else, about which nothing is claimed.
Targets = Literal["classes", "binary", "signed", "numbers", "other"]


@dataclass(frozen=True)
class LossFunction:
    name: str
    targets: Targets
    #: The activation function that it applies itself: it takes raw scores.
    applies: str = ""
    #: The target's position among the arguments.
    target_at: int = 1


@dataclass(frozen=True)
class Activation:
    name: str
    #: The smallest and the largest value that it can give.
    low: float
    high: float
    #: The output is no longer a score that can be as large or as small as a loss on scores needs it.
    bounds_scores: bool = False


LOSSES = (
    LossFunction("cross_entropy", "classes", applies="softmax"),
    LossFunction("nll_loss", "classes"),
    LossFunction("binary_cross_entropy", "binary"),
    LossFunction("binary_cross_entropy_with_logits", "binary", applies="sigmoid"),
    LossFunction("mse_loss", "numbers"),
    LossFunction("l1_loss", "numbers"),
    LossFunction("smooth_l1_loss", "numbers"),
    LossFunction("huber_loss", "numbers"),
    LossFunction("soft_margin_loss", "signed"),
    LossFunction("hinge_embedding_loss", "signed"),
    LossFunction("margin_ranking_loss", "signed", target_at=2),
    LossFunction("cosine_embedding_loss", "signed", target_at=2),
    LossFunction("kl_div", "other"),
    LossFunction("multi_margin_loss", "other"),
    LossFunction("multilabel_soft_margin_loss", "other"),
    LossFunction("poisson_nll_loss", "other"),
    LossFunction("gaussian_nll_loss", "other"),
)
ACTIVATIONS = (
    Activation("softmax", 0, 1, bounds_scores=True),
    Activation("sigmoid", 0, 1, bounds_scores=True),
    Activation("hardsigmoid", 0, 1, bounds_scores=True),
    Activation("log_softmax", -inf, 0),
    Activation("log_sigmoid", -inf, 0),
    Activation("tanh", -1, 1, bounds_scores=True),
    Activation("softsign", -1, 1, bounds_scores=True),
    Activation("relu", 0, inf, bounds_scores=True),
    Activation("softplus", 0, inf),
    Activation("relu6", 0, 6, bounds_scores=True),
    # the output of a recurrent layer is its hidden state
    Activation("lstm", -1, 1, bounds_scores=True),
    Activation("gru", -1, 1, bounds_scores=True),
    Activation("rnn_tanh", -1, 1, bounds_scores=True),
)
#: Layers that end in a bounded function of their own, which cannot be left out: they need a layer behind them.
RECURRENT = frozenset(("lstm", "gru", "rnn_tanh"))


def _with(targets: Targets) -> tuple[str, ...]:
    return tuple(loss.name for loss in LOSSES if loss.targets == targets)


NAMES = frozenset(loss.name for loss in LOSSES)
WITH_CLASSES, BINARY, SIGNED = _with("classes"), _with("binary"), _with("signed")
#: Differences between numbers: input and target may change places.
DIFFERENCES = _with("numbers")
#: Each sample is compared with its own target, the second argument.
SAMPLE_BY_SAMPLE = (*WITH_CLASSES, *BINARY, *DIFFERENCES)
TARGET_AT = {loss.name: loss.target_at for loss in LOSSES}
SOFTMAXES = ("softmax", "log_softmax")
#: The function, and what it applies itself; whatever is here takes raw scores.
APPLIES = {loss.name: loss.applies for loss in LOSSES if loss.applies} | dict.fromkeys(SOFTMAXES, "softmax")
#: The values that each activation function can give.
RANGES = {each.name: (each.low, each.high) for each in ACTIVATIONS}
BOUNDED = frozenset(each.name for each in ACTIVATIONS if each.bounds_scores)
