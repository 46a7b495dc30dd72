"""Whether an error complains about a value that is NaN or infinite, and which value that is."""

from __future__ import annotations

import re
from types import TracebackType
from typing import Any

import torch
from torch import Tensor, distributions

from ...records.error_words import words_of
from ...records.errors import FailedCall

_SAYS_NAN = re.compile(r"\bnans?\b|\bnon-?finite\b|\bnot finite\b|\bnot a number\b", re.IGNORECASE)
_SAYS_INF = re.compile(r"\binf(inite|inity)?s?\b|\bnon-?finite\b|\bnot finite\b", re.IGNORECASE)
#: Names of arguments that say more than which of them it is.
_SPOKEN = ("input", "target", "weight")
#: Of the value and of what it belongs to, in the frames of torch.distributions that check them.
_VALUE, _NAME = "value", "param"


def what_is_not_finite(error: BaseException, call: FailedCall | None) -> tuple[str, str]:
    """What it is, and "nan" or "inf"; two empty strings where nothing speaks for it."""
    message = words_of(error)
    if call is not None:
        for given in call.given:
            if given.nans or (given.infinities and _SAYS_INF.search(message)):
                named = given.argument in _SPOKEN
                what = f"the {given.argument} of {call.function}" if named else f"what {call.function} is given"
                return what, "nan" if given.nans else "inf"
    checked = _checked_by_a_distribution(error.__traceback__)
    if checked is not None:
        return checked
    if _SAYS_NAN.search(message):
        return "the value that it complains about", "nan"
    return "", ""


def _checked_by_a_distribution(trace: TracebackType | None) -> tuple[str, str] | None:
    """`validate_args`: parameters when it is made, values when it is asked for their likelihood."""
    found = None
    while trace is not None:
        variables: dict[str, Any] = trace.tb_frame.f_locals
        owner, value = variables.get("self"), variables.get(_VALUE)
        if isinstance(owner, distributions.Distribution) and isinstance(value, Tensor) and _is_bad(value):
            name = variables.get(_NAME)
            called = name if isinstance(name, str) else "the value"
            found = f"{called} of {type(owner).__name__}", "nan" if bool(torch.isnan(value).any()) else "inf"
        trace = trace.tb_next
    return found


def _is_bad(value: Tensor) -> bool:
    """An infinite value may be rightly refused, as a scale of 0 may; NaN is never meant."""
    return value.is_floating_point() and not value.is_meta and not bool(torch.isfinite(value).all())
