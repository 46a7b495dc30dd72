"""First tries: what came out when each blind batch was scored before anybody had seen it (`docs/first_tries.json`).

Nothing here is computed from programs: the figures were written down on the day and stay, whatever is mended later.
"""

from __future__ import annotations

import json
import math
from typing import Any

from .counting import Share
from .results import FILE
from .tables import table

FIRST_TRIES = FILE.with_name("first_tries.json")

WORDS = """\
Programs that were written blind, by someone who had read neither the package nor its corpus, only a list of causes with
a line on how each shows: small trainings with one fault each, mostly after bugs that people have reported, their twins
without the fault, and healthy programs. They are in `tests/evaluation/corpus/blind`. **Each batch was scored once, with
seed 0, before anybody looked at its programs.** Rules are mended after each, so the next faults meet mended rules, and
no batch can be a first try again. These are the figures to expect on unseen code, as far as its fault is one of the
causes that have a name here; all others on this page are in-sample.
"""

AFTERWARDS = """\
*not judged*: twins or healthy programs of which some check could not judge something; no test fails for that. Sixty
programs are few: where 51 of 60 are named first, the true share may lie between 74 % and 92 % (Wilson's interval,
95 %), so a few programs more or less from batch to batch say nothing.
"""


def load() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(FIRST_TRIES.read_text())
    return found


def text(batches: list[dict[str, Any]]) -> str:
    head = ("batch", "scored", "faults", "found", "named first", "wrongly confirmed", "false alarms", "not judged")
    remarks = "\n".join(f"- {each['batch']}: {each['remark']}." for each in batches if each["remark"])
    return f"{WORDS}\n{table(head, map(_cells, batches))}\n\n{AFTERWARDS}\n{remarks}\n"


def _cells(batch: dict[str, Any]) -> tuple[object, ...]:
    healthy = batch["healthy"]
    # rounded up, as shares of what is right are rounded down
    alarms = f"{batch['alarms']} of {healthy} ({math.ceil(1000 * batch['alarms'] / healthy) / 10:g} %)"
    after = (alarms, f"{batch['not_judged']} of {healthy}")
    if "found" not in batch:  # healthy programs alone
        return (batch["batch"], batch["date"], *["-"] * 4, *after)
    shares = (_with_percent(batch[key], batch["programs"]) for key in ("found", "named_first"))
    return (batch["batch"], batch["date"], batch["programs"], *shares, batch["wrongly_confirmed"], *after)


def _with_percent(good: int, all_: int) -> str:
    share = Share(good, all_)
    return f"{share} ({share.percent})"
