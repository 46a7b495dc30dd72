"""Counts all tools in the same way: found, named, false alarms, and what each could not take."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ..scoreboard.cases import Case
from ..scoreboard.counting import Judged, Share
from ..scoreboard.tables import table
from .asking import TOOLS, tool

WORDS = """\
The same programs (seed 0) with other tools from PyPI, each used as its documentation says. *found*: it raised at least
one alarm. *named*: some alarm, not only the first, stands for the true cause; which causes an alarm stands for is in
`tests/evaluation/peers`, generously: all that its name, its message or its documentation speaks of. *false alarms*: an
alarm on a twin or a healthy program. Shares are of the programs that a tool could take; those that it could not, or on
which it (or the program under it) raised an error of another kind, are counted apart. Where a tool tells errors from
warnings, both ways of reading it are given. Confirming a cause by a re-run is not compared. None of these tools was
made for this corpus; ours was made with it at hand.
"""
NOT_RUN = """\
TrainCheck (`traincheck` 0.2.0) is not in the table. It learns invariants from the trace of a healthy reference *script*
and checks the trace of another script against them: it takes files on the command line, no model, step or function, and
it says which invariants are broken, not which cause. It was tried by hand on one pair of scripts, an MLP with and
without `zero_grad()`: of the 542 invariants learnt from the healthy script 30 were broken without `zero_grad()`, and 17
by the healthy script itself with another seed. That took minutes on a busy machine (two traces, inference, check), so
the corpus was not written out as scripts for it: one pair says little about how good it is.
"""


@dataclass(frozen=True)
class Row:
    name: str
    found: Share
    named: Share
    false_alarms: Share
    not_taken: int
    raised: int

    def cells(self) -> tuple[object, ...]:
        shares = (f"{share} ({share.percent})" for share in (self.found, self.named, self.false_alarms))
        return (self.name, *shares, self.not_taken, self.raised)


def row(name: str, answers: Iterable[Mapping[str, Any]], cases: Mapping[str, Case], *, warnings: bool) -> Row:
    means = tool(name).MEANS
    faulty, named, healthy = [], [], []
    apart: Counter[str] = Counter()
    for answer in answers:
        case = cases.get(answer["case"])
        if answer["tool"] != name or case is None:
            continue
        if "alarms" not in answer:
            apart["not taken" if "cannot" in answer else "raised"] += 1
            continue
        alarms = [what for what, sure in answer["alarms"] if sure or warnings]
        if case.kind == "fault":
            faulty.append(bool(alarms))
            named.append(any(means.get(what, set()) & case.right for what in alarms))
        else:
            healthy.append(bool(alarms))
    shares = (Share(sum(each), len(each)) for each in (faulty, named, healthy))
    label = tool(name).NAME + (", warnings too" if warnings else "")
    return Row(label, *shares, apart["not taken"], apart["raised"])


def ours(every: Iterable[Judged]) -> Row:
    """Our own results by the same rules: named anywhere counts, and cases without a verdict are counted apart."""
    first = [j for j in every if j.result.seed == 0]
    with_verdict = [j for j in first if not j.result.error]
    faulty = [j for j in with_verdict if j.case.kind == "fault"]
    healthy = [j for j in with_verdict if j.case.kind != "fault"]
    return Row(
        "**pytest-trainhealth**",
        Share(sum(j.found for j in faulty), len(faulty)),
        Share(sum(j.named for j in faulty), len(faulty)),
        Share(sum(j.false_alarm for j in healthy), len(healthy)),
        0,
        len(first) - len(with_verdict),
    )


def text(answers: list[dict[str, Any]], every: list[Judged], cases: Mapping[str, Case]) -> str:
    present = [name for name in TOOLS if any(answer["tool"] == name for answer in answers)]
    asked = {answer["case"] for answer in answers}  # programs that joined the corpus later are in no row
    ours_ = ours(j for j in every if j.case.id in asked)
    rows = [ours_, *(row(name, answers, cases, warnings=w) for name in present for w in (False, True))]
    # a tool that has no warnings needs only one row
    shown = [
        r for i, r in enumerate(rows) if not (i and r.name.endswith("too") and r.cells()[1:] == rows[i - 1].cells()[1:])
    ]
    head = ("", "found", "named", "false alarms", "not taken", "raised")
    how = "\n".join(f"- **{tool(name).NAME}**: {tool(name).HOW}." for name in present)
    why = Counter(f"{tool(a['tool']).NAME}: {a['cannot']}" for a in answers if "cannot" in a)
    reasons = "\n".join(f"- {reason} ({count} programs)" for reason, count in sorted(why.items()))
    table_ = table(head, (r.cells() for r in shown))
    return f"{WORDS}\n{table_}\n\n{how}\n\nNot taken:\n\n{reasons or '- none'}\n\n{NOT_RUN}"
