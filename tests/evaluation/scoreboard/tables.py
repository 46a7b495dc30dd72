"""Markdown tables of judged results."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from .counting import (
    LEAST_CONFIRMED,
    LEAST_FOUND,
    LEAST_NAMED,
    MOST_FALSE_ALARMS,
    MOST_WRONGLY_CONFIRMED,
    Figures,
    Judged,
    Share,
    figures,
)


def table(head: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    """The first column holds text, the others figures."""
    head = list(head)
    lines = [head, ["---", *["--:"] * (len(head) - 1)], *([str(cell) for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def totals(total: Figures) -> str:
    def row(what: str, share: Share, bar: float) -> tuple[str, ...]:
        return what, str(share), share.percent, f"at least {bar:.0%}", "yes" if share.value >= bar else "**no**"

    def count(what: str, number: int, of: str, bar: int) -> tuple[str, ...]:
        return what, of, str(number), f"at most {bar}", "yes" if number <= bar else "**no**"

    alarms = total.false_alarms
    return table(
        ("", "counted", "figure", "bar", "kept"),
        (
            row("found", total.found, LEAST_FOUND),
            row("named first", total.named, LEAST_NAMED),
            row("confirmed, where a cure can exist", total.confirmed, LEAST_CONFIRMED),
            count("wrongly confirmed", total.wrongly_confirmed, f"{total.found.all + alarms.all} diagnoses",
                  MOST_WRONGLY_CONFIRMED),
            count("false alarms", alarms.good, f"{alarms.all} healthy ones", MOST_FALSE_ALARMS),
            ("both faults named, where there are two", str(total.both), total.both.percent, "", ""),
            ("some check could not judge", f"{total.unjudged}", "", "", ""),
            ("no verdict: raised, hung or died", f"{total.no_verdict}", "", "", ""),
        ),
    )  # fmt: skip


def grouped(all_judged: Iterable[Judged], word: str, of: Callable[[Judged], str]) -> str:
    """One row for each group of faults. Twins and healthy programs count too if they share the group's name."""
    groups: dict[str, list[Judged]] = {}
    for j in all_judged:
        groups.setdefault(of(j), []).append(j)
    rows = []
    for name in sorted(groups):
        faulty = figures(j for j in groups[name] if j.case.kind == "fault")
        every = figures(groups[name])
        rows.append(
            (
                name,
                faulty.programs,
                *(share.percent for share in (faulty.found, faulty.named)),
                faulty.confirmed.percent,
                every.wrongly_confirmed or "",
                every.false_alarms.good or "",
                f"{faulty.seconds:.1f}",
            )
        )
    head = (word, "faults", "found", "named first", "confirmed", "wrongly confirmed", "false alarms", "seconds")
    return table(head, rows)


def misses(all_judged: Iterable[Judged]) -> Iterator[str]:
    """A line for each program and seed whose cause was not named first, with what the diagnosis says instead."""
    for j in all_judged:
        if j.missed:
            yield f"- `{j.case.name}` ({j.case.cause}), seed {j.result.seed}: {diagnosis_text(j)}"


def wrongly_confirmed(all_judged: Iterable[Judged]) -> Iterator[str]:
    for j in all_judged:
        if j.wrongly_confirmed:
            truth = f" is {j.case.cause}" if j.case.cause else " is healthy"
            yield f"- `{j.case.id}`{truth}, seed {j.result.seed}: {', '.join(j.wrongly_confirmed)}"


def alarms(all_judged: Iterable[Judged]) -> Iterator[str]:
    for j in all_judged:
        if j.false_alarm:
            where = f"{', '.join(j.result.failed)}: " if j.result.failed else ""
            yield f"- `{j.case.id}`, seed {j.result.seed}: {where}{diagnosis_text(j)}"


def diagnosis_text(j: Judged) -> str:
    if j.result.error:
        return f"no verdict ({j.result.error.replace('|', '/')})"
    if not j.result.failed:
        return "nothing" if not j.result.unjudged else f"nothing ({', '.join(j.result.unjudged)} could not judge)"
    return ", ".join(f"{name} ({certainty})" for name, certainty in j.result.findings) or "no known cause fits"
