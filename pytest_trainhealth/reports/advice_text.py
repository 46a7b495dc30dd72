"""Advice in lines: gains with the code to paste, and in one line each what gained nothing and what was not tried."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..records.advice import Advice
from ..wording import plural

#: Columns that a line of names may take. By judgement: as wide as a chart.
_WIDEST = 100


def advice_lines(advice: Sequence[Advice]) -> Iterator[str]:
    gains = [each for each in advice if each.status == "gain"]
    vain = [each.change for each in advice if each.status == "no gain"]
    for number, each in enumerate(gains, 1):
        yield f"{number}. {each}"
        yield from (f"     {line}" for line in each.code)
    if vain:
        none = "no gain beyond noise" if gains else "no change gains anything beyond noise"
        yield from _listed(f"{none}, {plural(len(vain), 'change')} tried: ", vain)
    reasons = dict.fromkeys(each.statement for each in advice if each.status == "not tried")
    for reason in reasons:
        same = [each.change for each in advice if each.status == "not tried" and each.statement == reason]
        yield from _listed("not tried: ", [*same[:-1], f"{same[-1]} ({reason})"])
    for each in advice:
        if each.status == "not measured":
            yield f"not measured: {each}"


def _listed(label: str, names: Sequence[str]) -> Iterator[str]:
    line = label + names[0]
    for name in names[1:]:
        if len(line) + len(name) + 2 > _WIDEST:
            yield f"{line},"
            line = f"  {name}"
        else:
            line += f", {name}"
    yield line
